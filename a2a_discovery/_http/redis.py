"""A Redis server behind hishel's interface."""

from __future__ import annotations

from typing import Any

from hishel import AsyncBaseStorage, AsyncRedisStorage
from redis import RedisError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

_SECONDS = 1.0
"""For the server to answer or to take a connection: it stands beside us, or is of no use."""


class StoreUnreachable(Exception):  # noqa: N818  (the server is what it names)
    """The server did not do what it was asked."""


class _Client(Redis):  # type: ignore[misc, unused-ignore]
    """A client whose failures pass through hishel's storage, which else logs each with a traceback and goes on."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call, unused-ignore]
        except RedisError as error:
            raise StoreUnreachable(f"{type(error).__name__}: {error}") from error


def open_redis(url: str) -> AsyncBaseStorage:
    """Open hishel's storage, with a client for the running event loop, which it closes."""
    client = _Client.from_url(
        url,
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        retry=Retry(NoBackoff(), 1),  # once more, on a new connection: the server closes idle ones
    )
    # No lifetime of its own: each entry is written with one.
    return AsyncRedisStorage(client, default_ttl=None, max_stream_size=None, key_prefix="a2a-discovery:1")
