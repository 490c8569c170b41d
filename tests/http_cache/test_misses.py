"""What was not there is not asked for again at once, and ``Retry-After`` is kept across calls."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._http.backoff import Misses
from a2a_discovery._http.cache import Cache
from a2a_discovery.errors import FetchError
from a2a_discovery.policy import NetworkPolicy

URL = "https://shop.example/.well-known/agent-card.json"


@pytest.fixture
def no_waiting() -> dict[str, Any]:
    """A policy whose exchange has no time for retries of its own."""
    return {"network": NetworkPolicy(timeout=0.05)}


async def test_a_missing_document_is_asked_for_after_one_second_then_two_up_to_a_minute(open_desk: Any) -> None:
    waits = []
    async with open_desk(Cache.memory()) as desk:
        await desk.get()
        for _ in range(8):
            waited = 0
            while desk.origin.count == len(waits) + 1:
                desk.clock.advance(1)
                waited += 1
                answer = await desk.get()
            waits.append(waited)

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert (answer.status, answer.cache) == (404, "network")


async def test_a_remembered_miss_says_so(open_desk: Any) -> None:
    async with open_desk(Cache.memory()) as desk:
        desk.origin.page(status=404, body=b"a large page", x_reason="gone")
        first = await desk.get()
        desk.clock.advance(0.5)
        again = await desk.get()

    assert (again.status, again.cache, again.body, again.handle) == (404, "memory", b"", None)
    assert again.headers["x-reason"] == "gone"
    assert again.fetched_at == first.fetched_at


async def test_a_remembered_failure_is_raised_again_with_a_hint(open_desk: Any) -> None:
    async with open_desk(Cache.memory()) as desk:

        def broken(_: httpx.Request) -> httpx.Response:
            raise httpx.ReadError("broken")

        desk.origin.serve(URL, broken)
        errors = []
        for _ in range(3):
            with pytest.raises(FetchError) as error:
                await desk.get()
            errors.append(error.value)

    assert desk.origin.count == 1
    assert len({id(error) for error in errors}) == 3
    assert {(error.code, error.url, error.step) for error in errors} == {(errors[0].code, URL, "fetch")}
    assert "refresh=True" in (errors[2].hint or "")


@pytest.mark.parametrize("mode", ["refresh", "unconditional"])
async def test_refreshing_passes_the_back_off(open_desk: Any, mode: str) -> None:
    async with open_desk(Cache.memory()) as desk:
        await desk.get()
        desk.origin.page(body=b"here now", cache_control="max-age=60")

        assert (await desk.get()).status == 404
        assert (await desk.get(mode=mode)).body == b"here now"
        assert (await desk.get()).status == 200


async def test_once_it_was_there_the_back_off_begins_anew(open_desk: Any) -> None:
    async with open_desk(Cache.memory()) as desk:
        for _ in range(5):
            await desk.get(mode="refresh")
        desk.origin.page(cache_control="max-age=0")
        await desk.get(mode="refresh")
        desk.origin.page(status=404)
        await desk.get()
        desk.clock.advance(1)

        assert (await desk.get()).cache == "network"


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_kept_across_calls(open_desk: Any, no_waiting: dict[str, Any], status: int) -> None:
    async with open_desk(Cache.memory(), **no_waiting) as desk:
        desk.origin.page(status=status, retry_after="120")
        await desk.get()
        desk.clock.advance(119)
        waiting = await desk.get()
        desk.clock.advance(1)
        asked = await desk.get()

    assert (waiting.cache, waiting.headers["retry-after"]) == ("memory", "1")
    assert (asked.cache, desk.origin.count) == ("network", 2)


async def test_retry_after_may_be_a_date(open_desk: Any, no_waiting: dict[str, Any]) -> None:
    async with open_desk(Cache.memory(), **no_waiting) as desk:
        desk.origin.page(status=503, retry_after="Tue, 14 Nov 2023 22:15:20 GMT")  # 120 s from the start
        await desk.get()
        desk.clock.advance(119)
        assert (await desk.get()).cache == "memory"
        desk.clock.advance(1)
        assert (await desk.get()).cache == "network"


async def test_a_server_cannot_silence_us_for_more_than_a_day(open_desk: Any, no_waiting: dict[str, Any]) -> None:
    async with open_desk(Cache.memory(), **no_waiting) as desk:
        desk.origin.page(status=503, retry_after="99999999999")
        await desk.get()
        desk.clock.advance(86_400)

        assert (await desk.get()).cache == "network"


async def test_a_failing_origin_is_left_alone_and_the_copy_stands_in(
    open_desk: Any, no_waiting: dict[str, Any]
) -> None:
    async with open_desk(Cache.memory(), **no_waiting) as desk:
        desk.origin.page(body=b"good", cache_control="max-age=60")
        await desk.get()
        desk.clock.advance(60)
        desk.origin.page(status=503, retry_after="100")
        asked = desk.origin.count

        for _ in range(5):
            assert (await desk.get()).status == 503
            assert (await desk.get(mode="stored")).body == b"good"

    assert desk.origin.count == asked + 1


async def test_callers_that_open_one_after_another_share_what_was_missed(open_desk: Any) -> None:
    cache = Cache.memory()
    async with open_desk(cache) as desk:
        await desk.get()
    async with open_desk(cache) as other:
        assert (await other.get()).cache == "memory"
    async with open_desk(Cache.memory()) as stranger:
        assert (await stranger.get()).cache == "network"


async def test_loopback_is_asked_at_every_call(open_desk: Any) -> None:
    url = "http://localhost:9999/.well-known/agent-card.json"
    async with open_desk(Cache.memory(), network=NetworkPolicy.local()) as desk:
        states = [(await desk.get(url, local=True)).cache for _ in range(3)]

    assert states == ["network"] * 3


async def test_off_remembers_no_miss(open_desk: Any) -> None:
    async with open_desk(Cache.off()) as desk:
        assert [(await desk.get()).cache for _ in range(2)] == ["network"] * 2


async def test_one_callers_refusal_is_not_anothers(open_desk: Any) -> None:
    async with open_desk(Cache.memory()) as desk:
        desk.origin.page(status=403)
        states = [(await desk.get(principal=name)).cache for name in ("ann", "ann", "bob", None)]

    assert states == ["network", "memory", "network", "network"]


async def test_a_blocked_address_and_a_refused_redirect_are_judged_anew(open_desk: Any) -> None:
    async with open_desk(Cache.memory()) as desk:
        desk.origin.serve(URL, lambda _: httpx.Response(302, headers={"location": "https://elsewhere.example/"}))
        for _ in range(2):
            with pytest.raises(FetchError) as error:
                await desk.get()
            assert error.value.code == "redirect-refused"

    assert desk.origin.count == 2


def test_the_memory_of_misses_is_bounded() -> None:
    misses = Misses()
    for number in range(5000):
        misses.note(str(number), FetchError("dns", "no such name"), at=0.0, retry_after=None)

    assert len(misses) == 4096
    with pytest.raises(FetchError):
        misses.recall("4999", now=0.0)
    assert misses.recall("0", now=0.0) is None


@given(steps=st.lists(st.tuples(st.floats(0, 1e6), st.none() | st.floats(0, 1e12)), max_size=30))
def test_whatever_the_server_asks_the_wait_is_between_a_second_and_a_day(
    steps: list[tuple[float, float | None]],
) -> None:
    misses, now = Misses(), 0.0
    for passed, asked in steps:
        now += passed
        misses.note("key", FetchError("timeout", "too slow"), at=now, retry_after=asked)
        with pytest.raises(FetchError):
            misses.recall("key", now=now + 0.999)
        assert misses.recall("key", now=now + 86_400.001) is None
        assert misses.recall("key", now=now - 1) is None
