"""What locations proved before lives in Redis for a fleet: every worker knows it, and nothing evicts it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a_discovery import Cache, Discovery, Trust
from a2a_discovery._http.redis import ANSWERS, LEASES, PROVEN
from a2a_discovery._trust.continuity import decode_past
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
