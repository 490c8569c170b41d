"""A Redis server behind hishel's interface, with what a fleet shares besides answers: turns, and what was proven."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hishel import AsyncRedisStorage
from redis import ConnectionError as NoConnectionError
from redis import Redis as BlockingRedis
from redis import RedisError
from redis import TimeoutError as NoAnswerError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from a2a_discovery._http.lease import NOTHING
from a2a_discovery._http.shelf import Note
from a2a_discovery._trust.continuity import decode_past

_SECONDS = 1.0
"""For the server to answer or to take a connection: it stands beside us, or is of no use."""
ANSWERS = "a2a-discovery:1"
LEASES = "a2a-discovery:lease:1"
PROVEN = "a2a-discovery:proven:1"
"""Prefixes of the keys, each with the version of what stands there. What locations proved has no lifetime, so that a
server whose ``maxmemory-policy`` is one of ``volatile-*`` never evicts it with the answers."""

_FREE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then return redis.call('DEL', KEYS[1]) end
return redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
"""
# Of two workers that looked at the same time, the one that saw more proven stays.
_REMEMBER = """
local known = redis.call('HMGET', KEYS[1], 'record', 'level')
if known[1] == ARGV[1] or tonumber(known[2] or '0') > tonumber(ARGV[2]) then return 0 end
redis.call('HSETNX', KEYS[1], 'since', ARGV[3])
return redis.call('HSET', KEYS[1], 'record', ARGV[1], 'level', ARGV[2], 'changed', ARGV[3])
"""


class StoreUnreachable(ConnectionError):  # noqa: N818  (the server is what it names)
    """The server is not there, or does not answer."""


class StoreRefused(Exception):  # noqa: N818
    """The server answered that it won't do what it was asked: no room, no permission."""


class _Client(Redis):  # type: ignore[misc, unused-ignore]
    """A client whose failures pass through hishel's storage, which else logs each with a traceback and goes on."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        with _ours():
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call, unused-ignore]


class RedisStore(AsyncRedisStorage):
    """hishel's storage, which is also `lease.Shared` and `lease.Ledger`.

    Args:
        client: for the running event loop; it is closed with the storage.
        clock: seconds since the epoch.
    """

    def __init__(self, client: _Client, clock: Callable[[], float]) -> None:
        # No lifetime of its own: each entry is written with one.
        super().__init__(client, default_ttl=None, max_stream_size=None, key_prefix=ANSWERS)
        self._redis: Any = client
        self._clock = clock

    async def take(self, key: str, token: str, seconds: float) -> str | None:
        """Put a token under a key for so long, where none is; what stood there, or ``None``."""
        found = await self._redis.set(f"{LEASES}:{key}", token, nx=True, get=True, px=_milliseconds(seconds))
        return _text(found)

    async def holders(self, keys: Sequence[str]) -> list[str | None]:
        """The tokens under keys, in order."""
        return [_text(each) for each in await self._redis.mget([f"{LEASES}:{key}" for key in keys])]

    async def free(self, key: str, token: str, seconds: float | None) -> None:
        """Take a token away, if it still stands there; with ``seconds``, `NOTHING` stands there for so long."""
        quiet = "" if seconds is None else _milliseconds(seconds)
        await self._redis.eval(_FREE, 1, f"{LEASES}:{key}", token, NOTHING, quiet)

    async def recall(self, channel: str, location: str) -> bytes | None:
        """The record of a location, or ``None``."""
        record: bytes | None = await self._redis.hget(_place(channel, location), "record")
        return record

    async def remember(self, note: Note) -> None:
        """Write a record in the place of an older one that proves no more."""
        past = decode_past(note.record)
        level = 0 if past is None else int(past.level)
        key = _place(note.channel, note.location)
        await self._redis.eval(_REMEMBER, 1, key, note.record, level, f"{self._clock():.3f}")


def open_redis(url: str, clock: Callable[[], float]) -> RedisStore:
    """Open the store, with a client for the running event loop, which it closes."""
    client: Any = _Client.from_url(
        url,
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        retry=Retry(NoBackoff(), 1),  # once more, on a new connection: the server closes idle ones
    )
    return RedisStore(client, clock)


def forget(url: str, channel: str, location: str) -> None:
    """Remember nothing of a location any more, as seen through one channel. It blocks, for two seconds at most.

    Raises:
        StoreUnreachable, StoreRefused: it was not done.
    """
    with _ours(), BlockingRedis.from_url(url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS) as client:
        client.delete(_place(channel, location))


@contextmanager
def _ours() -> Iterator[None]:
    try:
        yield
    except (NoConnectionError, NoAnswerError) as error:
        raise StoreUnreachable(f"{type(error).__name__}: {error}") from error
    except RedisError as error:
        raise StoreRefused(f"{type(error).__name__}: {error}") from error


def _place(channel: str, location: str) -> str:
    # The location stays readable, for whoever looks into the server; a channel is long.
    return f"{PROVEN}:{hashlib.sha256(channel.encode()).hexdigest()[:16]}:{location}"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
