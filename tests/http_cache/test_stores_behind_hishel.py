"""Our stores are hishel storages: its own transport works over them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hishel import AsyncBaseStorage, AsyncRedisStorage, CacheOptions
from hishel.httpx import AsyncCacheTransport

from a2a_discovery._http.cache import Cache
from a2a_discovery.policy import Limits


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncBaseStorage]:
    cache = Cache.memory() if request.param == "memory" else Cache.sqlite(tmp_path / "cache.sqlite")
    if request.param == "redis":
        cache = Cache.redis(request.getfixturevalue("redis_url"))
    storage = cache.open(Limits(), lambda: 0.0)
    assert storage is not None
    yield storage
    await storage.close()


async def test_hishels_transport_stores_revalidates_and_serves_through_our_store(storage: AsyncBaseStorage) -> None:
    asked = []

    def origin(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if request.headers.get("if-none-match") == '"1"':
            return httpx.Response(304, headers={"etag": '"1"'})
        return httpx.Response(200, headers={"etag": '"1"', "cache-control": "no-cache"}, content=b"body")

    transport = AsyncCacheTransport(httpx.MockTransport(origin), storage, rfc=CacheOptions(shared=False))
    async with httpx.AsyncClient(transport=transport) as client:
        url = f"https://shop.example/{uuid.uuid4()}"  # a server outlives a test
        answers = [await client.get(url) for _ in range(2)]

    assert [answer.content for answer in answers] == [b"body", b"body"]
    assert [answer.extensions["caching"]["from_cache"] for answer in answers] == [False, True]
    assert len(asked) == 2


async def test_what_hishels_transport_stored_is_no_copy_of_ours(
    storage: AsyncBaseStorage, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_desk(Cache.storage(storage)) as desk:
        desk.origin.page(cache_control="max-age=60")
        answer = await desk.get(keep=False)
        transport = AsyncCacheTransport(httpx.MockTransport(desk.origin), storage)
        async with httpx.AsyncClient(transport=transport) as client:
            await client.get(answer.url, extensions={"caching": {"key": answer.handle.key}})

        assert len(await storage.get_entries(answer.handle.key)) == 1
        assert (await desk.get()).cache == "network"


async def test_hishels_own_redis_storage_can_be_handed_in(open_desk: Any, redis_url: str) -> None:
    from redis.asyncio import Redis

    async with Redis.from_url(redis_url) as client:
        cache = Cache.storage(AsyncRedisStorage(client, key_prefix=f"hishel:{uuid.uuid4().hex}"))
        async with open_desk(cache) as desk:
            desk.origin.page(body=b"card", etag='"1"', cache_control="max-age=60")
            states = [(await desk.get()).cache for _ in range(2)]
            desk.clock.advance(61)
            states += [(await desk.get()).cache for _ in range(2)]

    assert states == ["network", "fresh", "revalidated", "fresh"]
