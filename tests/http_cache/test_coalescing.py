"""Concurrent calls for one thing make one request."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from a2a_discovery._effects import Fetch
from a2a_discovery._http.cache import Cache
from a2a_discovery.errors import FetchError

URL = "https://shop.example/.well-known/agent-card.json"


class Gate(httpx.AsyncBaseTransport):
    """An origin that answers when it is told to."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = 0
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.error: Exception | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        self.asked.set()
        try:
            await self.open.wait()
        finally:
            self.ended += 1
        if self.error is not None:
            raise self.error
        return httpx.Response(200, headers={"cache-control": "max-age=60"}, content=b"{}")


@pytest.fixture
def gate() -> Gate:
    return Gate()


def fetch(url: str = URL, **options: Any) -> Fetch:
    return Fetch(**({"url": url, "kind": "card", "limit": 1000} | options))


@pytest.mark.parametrize("cache", [Cache.memory(), Cache.off()], ids=["memory", "off"])
async def test_a_thousand_callers_make_one_request(open_desk: Any, gate: Gate, cache: Cache) -> None:
    async with open_desk(cache, transport=gate) as desk:
        callers = [asyncio.create_task(desk.fetcher.fetch(fetch())) for _ in range(1000)]
        await gate.asked.wait()
        gate.open.set()
        answers = await asyncio.gather(*callers)

    assert {answer.body for answer in answers} == {b"{}"}
    assert gate.count == 1


async def test_every_caller_gets_the_error_and_one_of_its_own(open_desk: Any, gate: Gate) -> None:
    gate.error = httpx.ReadError("broken")
    async with open_desk(Cache.memory(), transport=gate) as desk:
        callers = [asyncio.create_task(desk.fetcher.fetch(fetch())) for _ in range(3)]
        await gate.asked.wait()
        gate.open.set()
        errors = await asyncio.gather(*callers, return_exceptions=True)

    assert gate.count == 1
    assert len({id(error) for error in errors}) == 3
    assert {(type(error), error.code, error.url, error.step) for error in errors} == {  # type: ignore[union-attr]
        (FetchError, errors[0].code, URL, "fetch")  # type: ignore[union-attr]
    }


async def test_a_cancelled_caller_cancels_nobody_else(open_desk: Any, gate: Gate) -> None:
    async with open_desk(Cache.memory(), transport=gate) as desk:
        first, second = (asyncio.create_task(desk.fetcher.fetch(fetch())) for _ in range(2))
        await gate.asked.wait()
        first.cancel()
        await asyncio.wait([first])
        gate.open.set()

        assert (await second).status == 200
        assert first.cancelled()
    assert gate.count == 1


async def test_the_last_caller_to_leave_stops_the_request(open_desk: Any, gate: Gate) -> None:
    async with open_desk(Cache.memory(), transport=gate) as desk:
        callers = [asyncio.create_task(desk.fetcher.fetch(fetch())) for _ in range(2)]
        await gate.asked.wait()
        for caller in callers:
            caller.cancel()
        await asyncio.wait(callers)
        await asyncio.sleep(0)
        assert gate.ended == 1
        gate.open.set()
        later = await desk.fetcher.fetch(fetch())

        assert later.status == 200
    assert (gate.count, gate.ended) == (2, 2)


async def test_closing_stops_what_is_under_way(open_desk: Any, gate: Gate) -> None:
    async with open_desk(Cache.memory(), transport=gate) as desk:
        caller = asyncio.create_task(desk.fetcher.fetch(fetch()))
        await gate.asked.wait()
    await asyncio.wait([caller])

    assert gate.ended == 1
    assert caller.cancelled()


@pytest.mark.parametrize(
    "other",
    [
        {"url": "https://shop.example/other"},
        {"mode": "refresh"},
        {"limit": 999},
        {"kind": "keys"},
        {"headers": (("A2A-Version", "0.3"),)},
        {"principal": "bearer:1"},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_different_calls_share_nothing(open_desk: Any, gate: Gate, other: dict[str, Any]) -> None:
    gate.open.set()
    async with open_desk(Cache.memory(), transport=gate) as desk:
        await asyncio.gather(desk.fetcher.fetch(fetch()), desk.fetcher.fetch(fetch(**other)))

    assert gate.count == 2


async def test_callers_with_one_credential_share_and_others_do_not(open_desk: Any, gate: Gate) -> None:
    gate.open.set()
    async with open_desk(Cache.memory(), transport=gate) as desk:
        await asyncio.gather(*(desk.fetcher.fetch(fetch(principal=name)) for name in ("ann", "ann", "bob")))

    assert gate.count == 2


async def test_callers_with_credentials_that_have_no_name_share_nothing(open_desk: Any, gate: Gate) -> None:
    gate.open.set()
    auth = httpx.BasicAuth("a", "b")
    async with open_desk(Cache.memory(), transport=gate) as desk:
        await asyncio.gather(*(desk.fetcher.fetch(fetch(auth_for=lambda _: auth)) for _ in range(2)))

    assert gate.count == 2


async def test_each_caller_reads_the_url_he_asked_for(open_desk: Any, gate: Gate) -> None:
    urls = [f"{URL}#one", f"{URL}#two"]
    async with open_desk(Cache.memory(), transport=gate) as desk:
        callers = [asyncio.create_task(desk.fetcher.fetch(fetch(url))) for url in urls]
        await gate.asked.wait()
        gate.open.set()
        answers = await asyncio.gather(*callers)

    assert [answer.requested for answer in answers] == urls
    assert gate.count == 1


async def test_an_answer_that_several_accept_is_written_once(open_desk: Any, gate: Gate, plain_storage: Any) -> None:
    async with open_desk(Cache.storage(plain_storage), transport=gate) as desk:
        callers = [asyncio.create_task(desk.fetcher.fetch(fetch())) for _ in range(5)]
        await gate.asked.wait()
        gate.open.set()
        for answer in await asyncio.gather(*callers):
            await desk.fetcher.keep(answer)

    assert len(plain_storage.entries) == 1
