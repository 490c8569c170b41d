"""A Redis server behind hishel's interface: one round trip a call, and what a fleet shares besides answers.

hishel's own storage needs five round trips for a read and a dozen for a write, and of two workers that write under one
key at the same moment one loses its answer. Here the answers of one key are one hash: a field ``m`` + variant holds the
entry's name and when it came, a field ``b`` + variant all the rest. So they are read, replaced and evicted together.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hishel import Entry, Headers
from redis import ConnectionError as NoConnectionError
from redis import Redis as BlockingRedis
from redis import RedisError
from redis import TimeoutError as NoAnswerError
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from a2a_discovery._http.lease import NOTHING
from a2a_discovery._http.shelf import Note
from a2a_discovery._http.store import Store, arrived, lists, unpacked, variant
from a2a_discovery._trust.continuity import decode_past

_SECONDS = 2.5
"""For the server to answer, or to take a connection. It stands beside us, or is of no use; but a busy event loop of our
own counts in."""
_CONNECTIONS = 8
"""Kept to the server: one event loop has no use for more, and a thousand calls at once shall not open a thousand."""
_KNOWN = 4096
"""Entries whose key is remembered, the latest, for callers of hishel's interface, who name an entry without it."""

ANSWERS = "a2a-discovery:answers:1"
LEASES = "a2a-discovery:lease:1"
PROVEN = "a2a-discovery:proven:1"
"""Prefixes of the keys, each with the version of what stands there. What locations proved has no lifetime, so that a
server whose ``maxmemory-policy`` is one of ``volatile-*`` never evicts it with the answers."""

# Each runs whole before anything else does. `each` calls a function with the variant, name and arrival of every entry.
_EACH = """
local function each(work)
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 1) == 'm' then
      local mark = redis.call('HGET', KEYS[1], field)
      work(string.sub(field, 2), string.sub(mark, 1, 32), tonumber(string.sub(mark, 34)))
    end
  end
end
local function last(milliseconds)
  local wanted = tonumber(milliseconds)
  if wanted > 0 and redis.call('PTTL', KEYS[1]) < wanted then redis.call('PEXPIRE', KEYS[1], wanted) end
end
local function drop(names, from)
  local gone = {}
  for i = from, #names do gone[names[i]] = true end
  each(function(variant, name)
    if gone[name] then redis.call('HDEL', KEYS[1], 'm' .. variant, 'b' .. variant) end
  end)
end
"""
_DISCARD = _EACH + "drop(ARGV, 1)"
# ARGV: variant, name, arrival, all the rest, milliseconds; then the names of those it replaces
_REPLACE = (
    _EACH
    + """
drop(ARGV, 6)
local newer = false
each(function(variant, name, at) newer = newer or (variant == ARGV[1] and at > tonumber(ARGV[3])) end)
if newer then return end
redis.call('HSET', KEYS[1], 'm' .. ARGV[1], ARGV[2] .. ' ' .. ARGV[3], 'b' .. ARGV[1], ARGV[4])
last(ARGV[5])
"""
)
# ARGV: name, arrival, header fields, milliseconds
_RENEW = (
    _EACH
    + """
each(function(variant, name, at)
  if name ~= ARGV[1] or at > tonumber(ARGV[2]) then return end
  local rest = redis.call('HGET', KEYS[1], 'b' .. variant)
  local first = string.find(rest, '\\n', 1, true)
  local second = string.find(rest, '\\n', first + 1, true)
  local renewed = string.sub(rest, 1, first) .. ARGV[3] .. string.sub(rest, second)
  redis.call('HSET', KEYS[1], 'm' .. variant, name .. ' ' .. ARGV[2], 'b' .. variant, renewed)
  last(ARGV[4])
end)
"""
)
# KEYS: leases; ARGV: milliseconds, then their tokens
_EXTEND = """
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[i + 1] then redis.call('PEXPIRE', key, ARGV[1]) end
end
"""
_FREE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
if ARGV[3] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
"""
# Of two workers that looked at the same time, the one that saw more proven stays.
_REMEMBER = """
local known = redis.call('HMGET', KEYS[1], 'record', 'level')
if known[1] == ARGV[1] or tonumber(known[2] or '0') > tonumber(ARGV[2]) then return end
redis.call('HSETNX', KEYS[1], 'since', ARGV[3])
redis.call('HSET', KEYS[1], 'record', ARGV[1], 'level', ARGV[2], 'changed', ARGV[3])
"""


class StoreUnreachable(ConnectionError):  # noqa: N818  (the server is what it names)
    """The server is not there, or does not answer."""


class StoreRefused(Exception):  # noqa: N818
    """The server answered that it won't do what it was asked: no room, no permission."""


class RedisStore(Store):
    """Entries in a Redis server. It is also `lease.Shared` and `lease.Ledger`.

    Every method raises `StoreUnreachable` or `StoreRefused` where the server did not do it.

    Args:
        client: for the running event loop; it is closed with the store.
        clock: seconds since the epoch.
    """

    def __init__(self, client: Any, clock: Callable[[], float]) -> None:
        super().__init__()
        self._client = client
        self._clock = clock
        self._keys: OrderedDict[uuid.UUID, str] = OrderedDict()

    async def get_entries(self, key: str) -> list[Entry]:
        """The entries under a key."""
        with _ours():
            return self._read(key, await self._client.hgetall(f"{ANSWERS}:{key}"))

    async def look_up(self, key: str, channel: str, location: str) -> tuple[list[Entry], bytes | None]:
        """The entries under a key, and what a location proved before."""
        with _ours():
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.hgetall(f"{ANSWERS}:{key}")
                pipe.hget(_place(channel, location), "record")
                fields, record = await pipe.execute()
        return self._read(key, fields), record

    def _read(self, key: str, fields: Mapping[bytes, bytes]) -> list[Entry]:
        found = []
        for field, mark in fields.items():
            entry = _unpack(mark, fields.get(b"b" + field[1:])) if field[:1] == b"m" else None
            if entry is not None:
                self._know(entry.id, key)
                found.append(entry)
        return found

    async def replace(
        self,
        entry: Entry,
        body: bytes,
        key: str,
        *,
        ttl: float | None,
        old: Sequence[uuid.UUID],
        note: Note | None = None,
    ) -> None:
        """Write an entry, unless a later one is there, remove the ones it replaces, and remember its location."""
        request, response = entry.request, entry.response
        sent = json.dumps([request.method, request.url, lists(request.headers), response.status_code])
        rest = b"\n".join((sent.encode(), json.dumps(lists(response.headers)).encode(), body))
        self._know(entry.id, key)
        with _ours():
            async with self._client.pipeline(transaction=True) as pipe:
                if note is not None:
                    pipe.eval(_REMEMBER, 1, *self._noted(note))
                named = variant(request, response), entry.id.hex, repr(arrived(response.headers))
                pipe.eval(_REPLACE, 1, f"{ANSWERS}:{key}", *named, rest, _milliseconds(ttl), *_names(old))
                await pipe.execute()

    async def renew(self, id: uuid.UUID, key: str, headers: Headers, *, ttl: float | None) -> None:  # noqa: A002
        """Renew an entry's header fields, if it is still there and no newer."""
        head = id.hex, repr(arrived(headers)), json.dumps(lists(headers)), _milliseconds(ttl)
        with _ours():
            await self._client.eval(_RENEW, 1, f"{ANSWERS}:{key}", *head)

    async def discard(self, ids: Sequence[uuid.UUID], key: str) -> None:
        """Remove entries under a key."""
        with _ours():
            await self._client.eval(_DISCARD, 1, f"{ANSWERS}:{key}", *_names(ids))

    async def update_headers(self, id: uuid.UUID, headers: Headers) -> None:  # noqa: A002  (hishel's word)
        """Renew an entry that this process saw lately."""
        key = self._keys.get(id)
        if key is not None:
            await self.renew(id, key, headers, ttl=0.0)

    async def remove_entry(self, id: uuid.UUID) -> None:  # noqa: A002
        """Remove an entry that this process saw lately."""
        key = self._keys.get(id)
        if key is not None:
            await self.discard([id], key)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    # What a fleet shares besides

    async def take(self, key: str, token: str, seconds: float) -> str | None:
        """Put a token under a key for so long, where none is; what stood there, or ``None``."""
        with _ours():
            found = await self._client.set(f"{LEASES}:{key}", token, nx=True, get=True, px=_milliseconds(seconds))
        return _text(found)

    async def holders(self, keys: Sequence[str]) -> list[str | None]:
        """The tokens under keys, in order."""
        with _ours():
            found = await self._client.mget([f"{LEASES}:{key}" for key in keys])
        return [_text(each) for each in found]

    async def extend(self, tokens: Mapping[str, str], seconds: float) -> None:
        """Let tokens, by key, stand for so long from now, where they still do."""
        keys = [f"{LEASES}:{key}" for key in tokens]
        with _ours():
            await self._client.eval(_EXTEND, len(keys), *keys, _milliseconds(seconds), *tokens.values())

    async def free(self, key: str, token: str, seconds: float | None) -> None:
        """Take a token away, if it still stands there; with ``seconds``, `NOTHING` stands there for so long."""
        quiet = "" if seconds is None else _milliseconds(seconds)
        with _ours():
            await self._client.eval(_FREE, 1, f"{LEASES}:{key}", token, NOTHING, quiet)

    async def recall(self, channel: str, location: str) -> bytes | None:
        """The record of a location, or ``None``."""
        with _ours():
            record: bytes | None = await self._client.hget(_place(channel, location), "record")
        return record

    async def remember(self, note: Note) -> None:
        """Write a record in the place of an older one that proves no more."""
        with _ours():
            await self._client.eval(_REMEMBER, 1, *self._noted(note))

    def _noted(self, note: Note) -> tuple[Any, ...]:
        past = decode_past(note.record)
        level = 0 if past is None else int(past.level)
        return _place(note.channel, note.location), note.record, level, f"{self._clock():.3f}"

    def _know(self, id_: uuid.UUID, key: str) -> None:
        self._keys[id_] = key
        while len(self._keys) > _KNOWN:
            self._keys.popitem(last=False)


def open_redis(url: str, clock: Callable[[], float]) -> RedisStore:
    """Open the store, with a client for the running event loop, which it closes."""
    # Once more, on a new connection: the server closes idle ones. What took too long once will do so again.
    retry = Retry(NoBackoff(), 1, supported_errors=(NoConnectionError,))
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=_CONNECTIONS,
        timeout=_SECONDS,
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        retry=retry,
    )
    return RedisStore(Redis.from_pool(pool), clock)


def forget(url: str, channel: str, location: str) -> None:
    """Remember nothing of a location any more, as seen through one channel. It blocks, for seconds at most.

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


def _unpack(mark: bytes, rest: bytes | None) -> Entry | None:
    sent, _, more = (rest or b"").partition(b"\n")
    head, _, body = more.partition(b"\n")
    try:
        id_ = uuid.UUID(hex=mark[:32].decode())
    except ValueError:
        return None
    return unpacked(id_, sent, head, body)


def _place(channel: str, location: str) -> str:
    # The location stays readable, for whoever looks into the server; a channel is long.
    return f"{PROVEN}:{hashlib.sha256(channel.encode()).hexdigest()[:16]}:{location}"


def _names(ids: Iterable[uuid.UUID]) -> list[str]:
    return [each.hex for each in ids]


def _milliseconds(seconds: float | None) -> int:
    return int((seconds or 0.0) * 1000)


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
