"""The stores of one fetcher: opened at first use, and never a reason to fail."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from a2a_discovery._http.freshness import Copy
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
_BEHIND = 64
"""Renewals under way at most before a caller waits for his."""


@dataclass(slots=True, kw_only=True)
class Pending:
    """What to write when the core says `Keep`."""

    key: str
    copy: Copy | None
    """``None``: the answer must not be stored, and what it replaces goes all the same."""
    lifetime: float
    """Seconds it stays fresh."""
    old: Sequence[Copy]
    aside: bool = False
    """It stays in the memory of this process, whatever the store is."""
    done: bool = False


class Keeper:
    """Reads and writes copies. Whatever goes wrong is a miss, and the log says it once until it works again.

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
        self.off = cache.kind == "off"

    async def read(self, key: str) -> list[Copy]:
        """The copies under a key."""
        storage = self._open()
        if storage is None:
            return []
        from a2a_discovery._http.store import read

        empty: list[Copy] = []
        return await self._try("read", lambda: read(storage, key), empty)

    async def read_aside(self, key: str) -> list[Copy]:
        """The copies that this process alone keeps under a key."""
        if self.off:
            return []
        from a2a_discovery._http.store import read

        return await read(self._cache.open_memory(self._limits), key)

    async def recall(self, channel: str, location: str) -> bytes | None:
        """What a location proved before: the file is asked each time, for another process may have seen more.

        Other stores than the file keep no such thing: this process does.
        """
        here = self._cache.shelf.remembered.get(name_of_note(channel, location))
        file = self._file()
        if file is None:
            return here
        nothing: bytes | None = None
        there = await self._try("recall", lambda: file.recall(channel, location), nothing)
        return here if there is None else there

    async def remember(self, note: Note) -> None:
        """Remember what a location proved; in this process, where the file does not take it."""
        self._cache.shelf.remembered[note.name] = note.record
        file = self._file()
        if file is not None and await self._try("remember", lambda: _done(file.remember(note)), False):
            self._cache.shelf.remembered.pop(note.name, None)

    def forget(self, channel: str, location: str) -> None:
        """Remember nothing of a location any more, here and now."""
        self._cache.shelf.remembered.pop(name_of_note(channel, location), None)
        file = self._file()
        if file is None:
            return
        import sqlite3

        from a2a_discovery._http import ledger
        from a2a_discovery._http.sqlite import opened

        try:
            with opened(file.path) as connection:
                if connection is not None:
                    ledger.forget(connection, location, channel)
        except (sqlite3.Error, OSError) as error:
            self._failed("forget", error)

    async def write(self, pending: Pending, note: Note | None = None) -> None:
        """Write what is pending, unless a caller who shared the request did so, and remember its location.

        In SQLite, a renewal after a 304 is not waited for: losing it costs one more 304, waiting for it costs every
        one, and whoever reads next stands behind it at the store's one thread.
        """
        new = pending.copy is not None and pending.copy.id is None
        if note is not None and (not new or pending.done or pending.aside or self._file() is None):
            await self.remember(note)
            note = None
        if self.off or pending.done:
            return
        pending.done = True
        if pending.copy is None or pending.aside:
            await self.remove(pending.old)
        if pending.copy is None:
            return
        storage = self._cache.open_memory(self._limits) if pending.aside else self._open()
        if storage is None:
            return
        from a2a_discovery._http.store import write

        key, copy, lifetime, old = pending.key, pending.copy, pending.lifetime, pending.old
        remembered = self._cache.shelf.remembered
        if note is not None:
            remembered[note.name] = note.record  # until the file has it
        work = self._try(
            "write", lambda: _done(write(storage, key, copy, lifetime=lifetime, old=old, note=note)), False
        )
        if copy.id is None or self._cache.kind != "sqlite" or len(self._renewals) >= _BEHIND:
            if await work and note is not None:
                remembered.pop(note.name, None)
            return
        task: asyncio.Task[object] = asyncio.create_task(work)
        self._renewals.add(task)
        task.add_done_callback(self._renewals.discard)

    async def remove(self, copies: Sequence[Copy]) -> None:
        """Remove copies, from wherever they are."""
        if self.off or not copies:
            return
        from a2a_discovery._http.store import remove

        storage = self._open()
        if storage is not None:
            await self._try("remove", lambda: remove(storage, copies), None)
        await remove(self._cache.open_memory(self._limits), copies)

    async def aclose(self) -> None:
        """Finish what is being written, and close the store. A storage that was handed in stays open."""
        if self._renewals:
            await asyncio.wait(self._renewals)
        storage, self._storage = self._storage, None
        if storage is not None and self._cache.kind != "storage":
            await self._try("close", storage.close, None)

    def _open(self) -> AsyncBaseStorage | None:
        if self._storage is None and not self.off:
            try:
                self._storage = self._cache.open(self._limits, self._clock)
            except Exception as error:  # noqa: BLE001  (a library may be missing, or of another version)
                self._failed("open", error)
        return self._storage

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
        if self._cache.kind == "redis" and what != "close" and time.monotonic() < trouble.get(what, -REST) + REST:
            return default
        try:
            async with asyncio.timeout(PATIENCE):
                result = await work()
        except Exception as error:  # noqa: BLE001  (any store of anybody's make)
            self._failed(what, error)
            return default
        trouble.pop(what, None)
        return result

    def _failed(self, what: str, error: Exception) -> None:
        level = logging.DEBUG if what in self._cache.trouble else logging.WARNING
        self._cache.trouble[what] = time.monotonic()
        reason = f"{type(error).__name__}: {error}"[:200]
        details = {"a2a.store": self._cache.kind, "a2a.operation": what, "a2a.reason": reason}
        log.log(level, "a2a.cache.failed", extra=details)


async def _done(work: Awaitable[object]) -> bool:
    await work
    return True
