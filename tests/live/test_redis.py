"""A fleet that shares one Redis server."""

from __future__ import annotations

from a2a_discovery import Cache, Trust


async def test_what_one_process_accepted_another_reads_without_asking(python_peer, discovery, redis_url, raw):
    base = python_peer["shared"]
    first = await discovery(cache=Cache.redis(redis_url)).discover(base)
    seen = raw.get(f"{base}/.well-known/seen").json()

    second = await discovery(cache=Cache.redis(redis_url)).discover(base)

    assert (first.source.cache, second.source.cache) == ("network", "fresh")
    assert second.document == first.document
    assert second.trust.level is Trust.SIGNED
    assert raw.get(f"{base}/.well-known/seen").json() == seen


async def test_a_refresh_by_one_is_a_304_that_all_share(python_peer, discovery, redis_url):
    base = python_peer["max-age"]
    first = discovery(cache=Cache.redis(redis_url))
    await first.discover(base)

    refreshed = await first.discover(base, refresh=True)
    second = await discovery(cache=Cache.redis(redis_url)).discover(base)

    assert refreshed.source.cache == "revalidated"
    assert second.source.cache == "fresh"
    assert second.source.fetched_at == refreshed.source.fetched_at


async def test_a_redis_server_that_is_gone_is_a_miss_and_no_error(python_peer, discovery):
    agent = await discovery(cache=Cache.redis("redis://127.0.0.1:1/0")).discover(python_peer["max-age"])

    assert agent.source.cache == "network"
    assert agent.trust.level is Trust.SIGNED
