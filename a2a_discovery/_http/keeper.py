"""The stores of one fetcher: opened at first use, and never a reason to fail."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from a2a_discovery._http.freshness import Copy
from a2a_discovery._http.lease import Lease, Leases, Ledger, Shared
from a2a_discovery._http.shelf import Note, name_of_note

if TYPE_CHECKING:
    from hishel import AsyncBaseStorage

    from a2a_discovery._http.cache import Cache
    from a2a_discovery._http.sqlite import SqliteStore
    from a2a_discovery.policy import Limits

T = TypeVar("T")

log = logging.getLogger("a2a_discovery")

PATIENCE = 3.0
"""Seconds to wait for a store: longer than for another process's lock, shorter than an origin takes to time out."""
REST = 5.0
"""Seconds that a server which failed is left alone: each call would else wait for it anew."""
SERVER = "server"
"""In `Cache.trouble`: the server itself is not there, whatever is asked of it."""
_BEHIND = 64
"""Renewals under way at most before a caller waits for his."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a store held."""

    copies: Sequence[Copy] = ()
    past: tuple[str, bytes] | None = None
    """A location and what it proved, where there is something, and the store gave it with the copies."""


@dataclass(slots=True, kw_only=True)
class Pending:
    """What to write when the core says `Keep`."""

    key: str
    copy: Copy | None
    """``None``: the answer must not be stored, and what it replaces goes all the same."""
    lifetime: float
    """Seconds it stays fresh."""
    old: Sequence[Copy]
    past: tuple[str, bytes] | None = None
    """As in `Stored`: what its location proved when it was asked for."""
    aside: bool = False
    """It stays in the memory of this process, whatever the store is."""
    done: bool = False
    lease: Lease | None = None
    """The turn among other workers by which it came; it ends when this is written, or the flow that asked does."""


class Keeper:
    """Reads and writes copies. Whatever goes wrong is a miss, and the log warns once until all works again.

    Args:
        cache: the description of where.
        limits: how much the memory holds.
        clock: seconds since the epoch.
    """

    def __init__(self, cache: Cache, limits: Limits, clock: Callable[[], float]) -> None:
        self._cache = cache
        self._limits = limits
        self._clock = clock
        self._storage: AsyncBaseStorage | None = None
        self._renewals: set[asyncio.Task[object]] = set()
        self._leases: Leases | None = None
        self._proven: Ledger | None = None
        self._worked = -PATIENCE
        self.off = cache.kind == "off"

    @property
    def leases(self) -> Leases | None:
        """Turns among the workers that share the store, where it is one that several share."""
        self._open()
        return self._leases

    async def read(self, key: str) -> list[Copy]:
        """The copies under a key."""
        storage = self._open()
        if storage is None:
            return []
        from a2a_discovery._http.store import read

        empty: list[Copy] = []
        return await self._try("read", lambda: read(storage, key), empty)

    async def read_both(self, key: str, channel: str, location: str) -> Stored:
        """The copies under a key, and what a location proved, where the store gives both in one step."""
        ledger = self._ledger()
        if ledger is None:
            return Stored(copies=await self.read(key))
        from a2a_discovery._http.store import copies

        found = await self._try("read", lambda: ledger.look_up(key, channel, location), None)
        if found is None:
            return Stored()
        entries, record = found
        return Stored(copies=await copies(entries), past=None if record is None else (location, record))

    async def read_aside(self, key: str) -> list[Copy]:
        """The copies that this process alone keeps under a key."""
        if self.off:
            return []
        from a2a_discovery._http.store import read

        return await read(self._cache.open_memory(self._limits), _aside(key))

    async def recall(self, channel: str, location: str) -> bytes | None:
        """What a location proved before: the store is asked each time, for another process may have seen more.

        A store of somebody else's keeps no such thing: this process does.
        """
        here = self._cache.shelf.remembered.get(name_of_note(channel, location))
        ledger = self._ledger()
        if ledger is None:
            return here
        nothing: bytes | None = None
        there = await self._try("recall", lambda: ledger.recall(channel, location), nothing)
        return here if there is None else there

    async def remember(self, note: Note) -> None:
        """Remember what a location proved; in this process, where the store does not take it."""
        self._cache.shelf.remembered[note.name] = note.record
        ledger = self._ledger()
        if ledger is not None and await self._try("remember", lambda: _done(ledger.remember(note)), False):
            self._cache.shelf.remembered.pop(note.name, None)

    def forget(self, channel: str, location: str) -> None:
        """Remember nothing of a location any more, here and now."""
        self._cache.shelf.remembered.pop(name_of_note(channel, location), None)
        try:
            if self._cache.kind == "redis" and self._cache.url is not None:
                from a2a_discovery._http import redis

                redis.forget(self._cache.url, channel, location)
            elif (file := self._file()) is not None:
                file.forget(channel, location)
        except Exception as error:  # noqa: BLE001  (any failure of a store)
            self._failed("forget", error)

    async def write(self, pending: Pending, note: Note | None = None) -> None:
        """Write what is pending, unless a caller who shared the request does so, and remember its location.

        Whoever waits for it on another worker may then read it.
        """
        first, pending.done = not pending.done, True
        if note is not None and not (first and self._takes_both(pending)):
            await self.remember(note)
            note = None
        if self.off or not first:
            return
        kept = False
        try:
            kept = await self._write(pending, note)
        finally:
            self.release(pending.lease, missed=not kept)

    async def _write(self, pending: Pending, note: Note | None) -> bool:
        """Whether others find the answer in the store now, and fresh.

        In SQLite, a renewal after a 304 is not waited for: losing it costs one more 304, waiting for it costs every
        one, and whoever reads next stands behind it at the store's one thread.
        """
        if pending.copy is None or pending.aside:
            await self.remove(pending.key, pending.old)
        if pending.copy is None:
            return False
        storage = self._cache.open_memory(self._limits) if pending.aside else self._open()
        if storage is None:
            return False
        from a2a_discovery._http.store import write

        key = _aside(pending.key) if pending.aside else pending.key
        copy, lifetime, old = pending.copy, pending.lifetime, pending.old
        remembered = self._cache.shelf.remembered
        if note is not None:
            remembered[note.name] = note.record  # until the store has it
        work = self._try(
            "write", lambda: _done(write(storage, key, copy, lifetime=lifetime, old=old, note=note)), False
        )
        if copy.id is None or self._cache.kind != "sqlite" or len(self._renewals) >= _BEHIND:
            written = await work
            if written and note is not None:
                remembered.pop(note.name, None)
            return written and lifetime > 0 and not pending.aside
        task: asyncio.Task[object] = asyncio.create_task(work)
        self._renewals.add(task)
        task.add_done_callback(self._renewals.discard)
        return False  # nobody waits for it: a file has no leases

    def release(self, lease: Lease | None, *, missed: bool) -> None:
        """Give a turn back, if it was not yet; see `Leases.free`."""
        if self._leases is not None:
            self._leases.free(lease, missed=missed)

    async def remove(self, key: str, copies: Sequence[Copy]) -> None:
        """Remove copies under a key, from wherever they are."""
        if self.off or not copies:
            return
        from a2a_discovery._http.store import remove

        storage = self._open()
        if storage is not None:
            await self._try("remove", lambda: remove(storage, key, copies), None)
        await remove(self._cache.open_memory(self._limits), key, copies)

    async def aclose(self) -> None:
        """Finish what is being written, and close the store. A storage that was handed in stays open."""
        if self._renewals:
            await asyncio.wait(self._renewals)
        leases, self._leases = self._leases, None
        if leases is not None:
            await leases.aclose()
        storage, self._storage, self._proven = self._storage, None, None
        if storage is not None and self._cache.kind != "storage":
            await self._try("close", storage.close, None)

    def _open(self) -> AsyncBaseStorage | None:
        if self._storage is None and not self.off:
            try:
                opened = self._cache.open(self._limits, self._clock)
            except Exception as error:  # noqa: BLE001  (a library may be missing, or of another version)
                self._failed("open", error)
                return None
            self._storage = opened
            # Asked once: of a protocol, the question costs more than a look into the memory.
            self._leases = Leases(opened, self._try) if isinstance(opened, Shared) else None
            self._proven = opened if isinstance(opened, Ledger) else None
        return self._storage

    def _ledger(self) -> Ledger | None:
        """The store, where it remembers what locations proved."""
        self._open()
        return self._proven

    def _takes_both(self, pending: Pending) -> bool:
        """Whether the store takes an answer and what to remember of its location in one step."""
        new = pending.copy is not None and pending.copy.id is None
        return new and not pending.aside and self._ledger() is not None

    def _file(self) -> SqliteStore | None:
        """The store, where it is a file."""
        if self._cache.kind != "sqlite":
            return None
        from a2a_discovery._http.sqlite import SqliteStore

        storage = self._open()
        return storage if isinstance(storage, SqliteStore) else None

    async def _try(self, what: str, work: Callable[[], Awaitable[T]], default: T) -> T:
        if self._cache.kind == "memory":
            return await work()
        trouble = self._cache.trouble
        if self._cache.kind == "redis" and what != "close":
            since = max(trouble.get(what, -REST), trouble.get(SERVER, -REST))
            if time.monotonic() < since + REST:
                return default
        try:
            async with asyncio.timeout(PATIENCE):
                result = await work()
        except Exception as error:  # noqa: BLE001  (any store of anybody's make)
            self._failed(what, error)
            return default
        trouble.pop(what, None)
        if what != "close":  # which asks the server nothing
            trouble.pop(SERVER, None)
            self._worked = time.monotonic()
        return result

    def _failed(self, what: str, error: Exception) -> None:
        # A server that is not there fails whatever it is asked, and isn't asked for a while. A store that fails in
        # several ways is one trouble all the same, and one warning.
        gone = self._cache.kind == "redis" and isinstance(error, (ConnectionError, TimeoutError))
        trouble = SERVER if gone else what
        level = logging.DEBUG if self._cache.trouble else logging.WARNING
        now = time.monotonic()
        # One that just worked is not gone: this process was too busy to hear it, and it isn't left alone for that.
        self._cache.trouble[trouble] = now - REST if gone and now - self._worked < PATIENCE else now
        reason = f"{type(error).__name__}: {error}"[:200]
        details = {"a2a.store": self._cache.kind, "a2a.operation": what, "a2a.reason": reason}
        log.log(level, "a2a.cache.failed", extra=details)


def _aside(key: str) -> str:
    """The key of what is kept in memory though it is not stored: nothing else may find it."""
    return f"{key}:profile"


async def _done(work: Awaitable[object]) -> bool:
    await work
    return True
