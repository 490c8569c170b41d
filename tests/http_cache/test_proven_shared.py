"""What locations proved before lives in a store that several share: each of them knows it, and nothing evicts it."""

from __future__ import annotations

import logging
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import Cache, Discovery, SyncDiscovery, Trust, TrustError
from a2a_discovery._http import ledger
from a2a_discovery._http.shelf import Note
from a2a_discovery._http.sqlite import ENTRIES, opened
from a2a_discovery._trust.continuity import Past
from a2a_discovery.policy import Limits
from a2a_discovery.testing import Clock, FakeAgent


@dataclass(frozen=True)
class File:
    """A SQLite file, as another process sees it."""

    path: Path

    def cache(self) -> Cache:
        return Cache.sqlite(self.path)

    def lost(self) -> Cache:
        """One that takes nothing: a directory is no file."""
        return Cache.sqlite(self.path.parent)

    def _run(self, statement: str) -> None:
        with opened(self.path) as connection:
            assert connection is not None
            connection.execute(statement)

    def clear_answers(self) -> None:
        self._run(f"DELETE FROM {ENTRIES}")

    def forget_all(self) -> None:
        self._run(f"DELETE FROM {ledger.TABLE}")


@dataclass(frozen=True)
class Server:
    """A Redis server, as another worker sees it."""

    url: str

    def cache(self) -> Cache:
        return Cache.redis(self.url)

    def lost(self) -> Cache:
        return Cache.redis("redis://127.0.0.1:1/0")

    def _drop(self, prefix: str) -> None:
        from redis import Redis

        with closing(Redis.from_url(self.url)) as client:
            for key in client.scan_iter(f"{prefix}:*"):
                client.delete(key)

    def clear_answers(self) -> None:
        from a2a_discovery._http.redis import ANSWERS

        self._drop(ANSWERS)

    def forget_all(self) -> None:
        from a2a_discovery._http.redis import PROVEN

        self._drop(PROVEN)


@pytest.fixture(params=["sqlite", "redis"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> File | Server:
    return (
        File(tmp_path / "cache.sqlite") if request.param == "sqlite" else Server(request.getfixturevalue("redis_url"))
    )


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent("shop.example", clock=Clock())


def another(agent: FakeAgent, cache: Cache) -> Discovery:
    """One that shares nothing with the others but the store."""
    return Discovery(transport=agent, clock=agent.clock, cache=cache)


async def seen(agent: FakeAgent, cache: Cache) -> None:
    async with another(agent, cache) as d:
        await d.discover("shop.example")


async def test_a_card_that_stopped_being_signed_is_refused_by_all(agent: FakeAgent, shared: Any) -> None:
    await seen(agent, shared.cache())
    agent.signers.clear()

    async with another(agent, shared.cache()) as d:
        with pytest.raises(TrustError) as refused:
            await d.discover("shop.example", refresh=True)

    assert refused.value.code == "downgraded"


async def test_forgetting_is_there_at_once_and_reaches_the_others(agent: FakeAgent, shared: Any) -> None:
    async with another(agent, shared.cache()) as one, another(agent, shared.cache()) as other:
        await one.discover("shop.example")
        agent.signers.clear()
        other.forget("shop.example")

        assert (await one.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL


def test_forgetting_works_without_asyncio_and_outside_of_any_call(agent: FakeAgent, shared: Any) -> None:
    with SyncDiscovery(transport=agent, clock=agent.clock, cache=shared.cache()) as s:
        s.discover("shop.example")
        agent.signers.clear()
        another(agent, shared.cache()).forget("shop.example")

        assert s.discover("shop.example", refresh=True).trust.level is Trust.CHANNEL


async def test_clearing_the_answers_leaves_it(agent: FakeAgent, shared: Any) -> None:
    await seen(agent, shared.cache())
    shared.clear_answers()

    agent.signers.clear()
    async with another(agent, shared.cache()) as d:
        with pytest.raises(TrustError, match="proves less than before"):
            await d.discover("shop.example")


async def test_of_two_at_once_the_one_that_saw_more_proven_is_believed(agent: FakeAgent, shared: Any) -> None:
    store: Any = shared.cache().open(Limits(), agent.clock)
    channel = uuid.uuid4().hex  # a server outlives a test
    more, less = (Past(level=level).encode() for level in (Trust.SIGNED, Trust.CHANNEL))
    await store.remember(Note(channel=channel, location="https://shop.example", record=more))

    await store.remember(Note(channel=channel, location="https://shop.example", record=less))

    assert await store.recall(channel, "https://shop.example") == more
    assert await store.recall("other", "https://shop.example") is None
    await store.close()


async def test_a_renewed_copy_brings_what_its_location_proved_when_it_was_read(open_desk: Any, shared: Any) -> None:
    url = "https://shop.example/card.json"
    async with open_desk(shared.cache()) as desk:
        desk.origin.page(url, cache_control="max-age=60", etag='"1"')
        await desk.fetcher.keep(await desk.get(url, keep=False), location=url, record=b"proven")
        renewed = await desk.get(url, keep=False, mode="refresh")
        shared.forget_all()

        assert await desk.fetcher.recall(url, renewed) == b"proven"
        assert await desk.fetcher.recall("https://shop.example/other.json", renewed) is None
        assert await desk.fetcher.recall(url) is None
        await desk.fetcher.keep(renewed)
        assert await desk.fetcher.recall(url, renewed) is None  # whoever shared the request is told anew


async def test_while_the_store_is_lost_the_process_remembers(
    agent: FakeAgent, shared: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with another(agent, shared.lost()) as d:
        await d.discover("shop.example")
        agent.signers.clear()
        with pytest.raises(TrustError) as refused:
            await d.discover("shop.example", refresh=True)
        assert refused.value.code == "downgraded"

        d.forget("shop.example")
        assert (await d.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL

    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warned.count("a2a.cache.failed") == 1
