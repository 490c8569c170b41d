"""A Redis server behind hishel's interface."""

from __future__ import annotations

from hishel import AsyncBaseStorage, AsyncRedisStorage


def open_redis(url: str) -> AsyncBaseStorage:
    """Open hishel's storage, with a client for the running event loop, which it closes."""
    from redis.asyncio import Redis

    client = Redis.from_url(url, socket_timeout=2.0, socket_connect_timeout=1.0)
    return AsyncRedisStorage(client, key_prefix="a2a-discovery:1")
