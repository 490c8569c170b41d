"""What locations proved before lives in Redis for a fleet: every worker knows it, and nothing evicts it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a_discovery import Cache, Discovery, SyncDiscovery, Trust, TrustError
from a2a_discovery._http.redis import ANSWERS, LEASES, PROVEN, open_redis
from a2a_discovery._http.shelf import Note
from a2a_discovery._trust.continuity import Past, decode_past
from a2a_discovery.testing import Clock, FakeAgent


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent("shop.example", clock=Clock())


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Any]:
    from redis.asyncio import Redis

    async with Redis.from_url(redis_url) as client:
        yield client


def worker(agent: FakeAgent, redis_url: str, **options: Any) -> Discovery:
    """A discovery that shares nothing with the others but the server."""
    return Discovery(transport=agent, clock=agent.clock, cache=Cache.redis(redis_url), **options)


async def seen(agent: FakeAgent, redis_url: str) -> None:
    async with worker(agent, redis_url) as d:
        await d.discover("shop.example")


async def test_a_renewed_copy_brings_what_its_location_proved_when_it_was_read(
    open_desk: Any, redis_url: str, client: Any
) -> None:
    url = "https://shop.example/card.json"
    async with open_desk(Cache.redis(redis_url)) as desk:
        desk.origin.page(url, cache_control="max-age=60", etag='"1"')
        await desk.fetcher.keep(await desk.get(url, keep=False), location=url, record=b"proven")
        renewed = await desk.get(url, keep=False, mode="refresh")
        await client.delete(*[key async for key in client.scan_iter(f"{PROVEN}:*")])  # another worker forgets it

        assert await desk.fetcher.recall(url, renewed) == b"proven"
        assert await desk.fetcher.recall(url) is None


async def test_a_card_that_stopped_being_signed_is_refused_by_every_worker(agent: FakeAgent, redis_url: str) -> None:
    await seen(agent, redis_url)
    agent.signers.clear()

    async with worker(agent, redis_url) as d:
        with pytest.raises(TrustError) as refused:
            await d.discover("shop.example", refresh=True)

    assert refused.value.code == "downgraded"


async def test_forgetting_is_there_at_once_and_reaches_the_others(agent: FakeAgent, redis_url: str) -> None:
    async with worker(agent, redis_url) as one, worker(agent, redis_url) as other:
        await one.discover("shop.example")
        agent.signers.clear()
        other.forget("shop.example")

        assert (await one.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL


def test_forgetting_works_without_asyncio_and_outside_of_any_call(agent: FakeAgent, redis_url: str) -> None:
    with SyncDiscovery(transport=agent, clock=agent.clock, cache=Cache.redis(redis_url)) as s:
        s.discover("shop.example")
        agent.signers.clear()
        worker(agent, redis_url).forget("shop.example")

        assert s.discover("shop.example", refresh=True).trust.level is Trust.CHANNEL


async def test_it_has_no_lifetime_and_a_place_of_its_own(agent: FakeAgent, redis_url: str, client: Any) -> None:
    before = {key async for key in client.scan_iter(f"{PROVEN}:*")}
    began = agent.clock()
    await seen(agent, redis_url)
    agent.card["version"] = "1.1.0"
    agent.clock.advance(1000)
    await seen(agent, redis_url)

    (key,) = {key async for key in client.scan_iter(f"{PROVEN}:*")} - before
    held = await client.hgetall(key)

    assert key.endswith(b":https://shop.example")
    assert await client.ttl(key) == -1
    assert (float(held[b"since"]), float(held[b"changed"])) == (began, began + 1000)
    past = decode_past(held[b"record"])
    assert past is not None
    assert (past.level, past.version) == (Trust.SIGNED, "1.1.0")
    assert len({ANSWERS, LEASES, PROVEN}) == 3
    assert not any(one.startswith(other) for one in (LEASES, PROVEN) for other in (ANSWERS,))


async def test_clearing_the_answers_leaves_it(agent: FakeAgent, redis_url: str, client: Any) -> None:
    await seen(agent, redis_url)
    async for key in client.scan_iter(f"{ANSWERS}:*"):
        await client.delete(key)

    agent.signers.clear()
    async with worker(agent, redis_url) as d:
        with pytest.raises(TrustError, match="proves less than before"):
            await d.discover("shop.example")


async def test_of_two_workers_at_once_the_one_that_saw_more_proven_is_believed(
    agent: FakeAgent, redis_url: str
) -> None:
    store = open_redis(redis_url, agent.clock)
    channel = uuid.uuid4().hex  # the server outlives a test
    more, less = (Past(level=level).encode() for level in (Trust.SIGNED, Trust.CHANNEL))
    await store.remember(Note(channel=channel, location="https://shop.example", record=more))

    await store.remember(Note(channel=channel, location="https://shop.example", record=less))

    assert await store.recall(channel, "https://shop.example") == more
    assert await store.recall("other", "https://shop.example") is None
    await store.close()


async def test_while_the_server_is_gone_the_process_remembers(
    agent: FakeAgent, caplog: pytest.LogCaptureFixture
) -> None:
    async with worker(agent, "redis://127.0.0.1:1/0") as d:
        await d.discover("shop.example")
        agent.signers.clear()
        with pytest.raises(TrustError) as refused:
            await d.discover("shop.example", refresh=True)
        assert refused.value.code == "downgraded"

        d.forget("shop.example")
        assert (await d.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL

    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warned.count("a2a.cache.failed") == 1
