"""A Redis server shared by a fleet."""

from __future__ import annotations

import logging
import time
import uuid
from typing import Any

import pytest

from a2a_discovery._http.cache import Cache
from a2a_discovery._http.keeper import REST

URL = "https://shop.example/.well-known/agent-card.json"


async def test_what_one_worker_kept_another_reads(open_desk: Any, redis_url: str) -> None:
    async with open_desk(Cache.redis(redis_url)) as one, open_desk(Cache.redis(redis_url)) as other:
        one.origin.page(body=b"\x00card\xff", etag='"1"', cache_control="max-age=60")
        first = await one.get()
        again = await other.get()

    assert (first.cache, again.cache, again.body) == ("network", "fresh", b"\x00card\xff")


async def test_what_is_stored_ends_by_itself_a_week_after_it_expires(open_desk: Any, redis_url: str) -> None:
    from redis.asyncio import Redis

    async with open_desk(Cache.redis(redis_url)) as desk:
        desk.origin.page(etag='"1"', cache_control="max-age=60")
        key = (await desk.get()).handle.key
        desk.clock.advance(60)
        await desk.get()

    client = Redis.from_url(redis_url)
    ends = await client.ttl(f"a2a-discovery:1:idx:{key}")
    held = await client.zcard(f"a2a-discovery:1:idx:{key}")
    await client.aclose()

    assert held == 1
    assert 7 * 86_400 < ends <= 7 * 86_400 + 60 + 180


async def test_a_server_that_is_gone_is_a_miss_one_warning_and_then_left_alone(
    open_desk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache.redis("redis://127.0.0.1:1/0")
    async with open_desk(cache) as desk:
        desk.origin.page(cache_control="max-age=60")
        states = [(await desk.get()).cache for _ in range(3)]
    tried = dict(cache.trouble)
    async with open_desk(cache) as desk:
        await desk.get()

    warned = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert states == ["network"] * 3
    assert [record.message for record in warned] == ["a2a.cache.failed"]
    assert cache.trouble == tried


async def test_a_server_that_came_back_is_used_again(open_desk: Any, redis_url: str) -> None:
    cache = Cache.redis(redis_url)
    async with open_desk(cache) as desk:
        desk.origin.page(cache_control="max-age=60")
        await desk.get()
        cache.trouble["server"] = float("inf")
        assert (await desk.get(keep=False)).cache == "network"

        cache.trouble["server"] = time.monotonic() - REST
        assert (await desk.get(keep=False)).cache == "fresh"
    assert cache.trouble == {}


async def test_a_server_that_takes_nothing_more_is_read_all_the_same(
    open_desk: Any, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    from redis.asyncio import Redis

    user = f"reader-{uuid.uuid4().hex}"
    owner = Redis.from_url(redis_url)
    await owner.acl_setuser(user, enabled=True, nopass=True, keys=["*"], categories=["+@read", "+@connection"])
    try:
        async with open_desk(Cache.redis(redis_url)) as desk:
            desk.origin.page(cache_control="max-age=60")
            await desk.get()
        async with open_desk(Cache.redis(redis_url.replace("://", f"://{user}:x@"))) as desk:
            desk.origin.page(other := URL + "?other", cache_control="max-age=60")
            states = [(await desk.get(url)).cache for url in (URL, other, other, URL)]
    finally:
        await owner.acl_deluser(user)
        await owner.aclose()

    warned = [vars(record)["a2a.operation"] for record in caplog.records if record.levelno >= logging.WARNING]
    assert states == ["fresh", "network", "network", "fresh"]
    assert sorted(warned) == ["lease", "write"]
