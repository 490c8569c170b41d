"""A Redis server shared by a fleet."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hishel import Entry, Headers, Request, Response

from a2a_discovery._http.cache import Cache
from a2a_discovery._http.keeper import REST
from a2a_discovery._http.redis import ANSWERS, RedisStore, open_redis
from a2a_discovery._http.store import Body, arrived

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

    async with Redis.from_url(redis_url) as client:
        ends = await client.ttl(f"{ANSWERS}:{key}")
        held = await client.hlen(f"{ANSWERS}:{key}")

    assert held == 2  # one entry: its name, and all the rest
    assert 7 * 86_400 < ends <= 7 * 86_400 + 60


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

    warned = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert states == ["fresh", "network", "network", "fresh"]
    assert warned == ["a2a.cache.failed"]


async def test_a_server_that_just_worked_is_not_left_alone_for_one_failure(open_desk: Any, redis_url: str) -> None:
    from redis.asyncio import Redis

    async with open_desk(Cache.redis(redis_url)) as desk, Redis.from_url("redis://127.0.0.1:1/0") as nobody:
        desk.origin.page(cache_control="max-age=60")
        await desk.get()
        store = desk.fetcher._keeper._storage
        server, store._client = store._client, nobody
        assert (await desk.get(keep=False)).cache == "network"
        store._client = server

        assert (await desk.get(keep=False)).cache == "fresh"


# The store itself


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[RedisStore]:
    store = open_redis(redis_url, time.time)
    yield store
    await store.close()


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex  # the server outlives a test


def entry(*, at: float = 0.0, vary: str | None = None) -> Entry:
    fields = {"a2a-discovery-copy": f'{{"at": {at}}}'} | ({} if vary is None else {"vary": vary})
    request = Request("GET", URL, Headers({"accept": "x"}))
    return Entry(id=uuid.uuid4(), request=request, response=Response(200, Headers(fields)))


async def put(store: RedisStore, key: str, body: bytes = b"{}", *, old: Any = (), **options: Any) -> Entry:
    made = entry(**options)
    await store.replace(made, body, key, ttl=60.0, old=old)
    return made


async def bodies(store: RedisStore, key: str) -> list[bytes]:
    found = [each.response.stream for each in await store.get_entries(key)]
    return sorted(stream.data for stream in found if isinstance(stream, Body))


async def test_what_was_kept_is_found_as_it_was(store: RedisStore, key: str) -> None:
    made = await put(store, key, b"\x00body\n\xff\n")

    (found,) = await store.get_entries(key)

    assert (found.id, found.request, found.response.headers) == (made.id, made.request, made.response.headers)
    assert await bodies(store, key) == [b"\x00body\n\xff\n"]


async def test_an_entry_replaces_the_one_of_its_variant_and_the_ones_it_is_told_to(store: RedisStore, key: str) -> None:
    await put(store, key, b"1", at=1.0)
    await put(store, key, b"varied", at=1.0, vary="accept")
    await put(store, key, b"2", at=2.0)
    two = await bodies(store, key)
    await put(store, key, b"3", at=3.0, old=[each.id for each in await store.get_entries(key)])

    assert (two, await bodies(store, key)) == ([b"2", b"varied"], [b"3"])


async def test_an_older_answer_never_replaces_a_newer_one(store: RedisStore, key: str) -> None:
    newer = await put(store, key, b"newer", at=2.0)

    await put(store, key, b"older", at=1.0)
    await store.renew(newer.id, key, Headers({"a2a-discovery-copy": '{"at": 1.0}', "x": "older"}), ttl=60.0)
    (found,) = await store.get_entries(key)

    assert (found.id, "x" in found.response.headers) == (newer.id, False)


async def test_renewed_header_fields_leave_the_body_alone_and_it_lives_longer(store: RedisStore, key: str) -> None:
    made = await put(store, key, b"body\nof two lines", at=1.0)

    renewed = Headers({"a2a-discovery-copy": '{"at": 2.0}', "etag": '"2"'})
    await store.renew(made.id, key, renewed, ttl=600.0)
    await store.renew(uuid.uuid4(), key, Headers({"etag": '"gone"'}), ttl=600.0)
    (found,) = await store.get_entries(key)

    assert (found.response.headers["etag"], arrived(found.response.headers)) == ('"2"', 2.0)
    assert await bodies(store, key) == [b"body\nof two lines"]
    assert 60.0 < await store._client.ttl(f"{ANSWERS}:{key}") <= 600.0


async def test_two_that_write_at_once_lose_nothing(store: RedisStore, key: str) -> None:
    await asyncio.gather(*(put(store, key, b"%d" % number, at=float(number)) for number in range(50)))

    assert await bodies(store, key) == [b"49"]


async def test_what_we_did_not_write_so_is_as_if_it_were_not_there(store: RedisStore, key: str) -> None:
    name = uuid.uuid4().hex
    fields = {"mx": "no name", "bx": "no rest", "my": f"{name} 1.0", "by": "[", "mz": f"{name} 1.0", "other": "?"}
    await store._client.hset(f"{ANSWERS}:{key}", mapping=fields)

    assert await store.get_entries(key) == []


async def test_callers_of_hishels_interface_name_an_entry_without_its_key(store: RedisStore, key: str) -> None:
    made = await put(store, key, at=1.0)
    await store.update_headers(made.id, Headers({"a2a-discovery-copy": '{"at": 2.0}', "x": "renewed"}))
    (found,) = await store.get_entries(key)
    await store.remove_entry(made.id)
    await store.remove_entry(uuid.uuid4())

    assert "x" in found.response.headers
    assert await store.get_entries(key) == []
