"""Turns at an origin, for workers that share a store: who misses first asks, the others wait for what it keeps.

A lease is a key in the store with a lifetime. It covers the request and the line's verdict, since an answer is in the
store only once it was kept. It is a courtesy, never a lock: losing one, or the whole store, costs a request.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from a2a_discovery._http.shelf import Note

if TYPE_CHECKING:
    from hishel import Entry

LIFETIME = 3.0
"""Seconds that a lease lasts unless it is extended, as a living holder does every second: how long a dead one delays
the others. A busy event loop, or a garbage collection, may well be late by one second, hardly by two."""
HELD = 15.0
"""Seconds that a lease is extended at most: a fetch takes 10 at most by default, keys and the verdict the rest. One
that nobody gives back ends all the same."""
PATIENCE = 10.0
"""Seconds that anybody waits for others in all: as long as he would wait for the origin itself."""
TICK = 0.05
"""Seconds between two looks at the leases that are waited for: one request for all of them, and much shorter than what
is waited for."""
QUIET = 1.0
"""Seconds for which nobody queues at an origin that just gave nothing to keep: each would wait to hear the same."""
NOTHING = "-"
"""Stands in the place of a lease whose holder brought nothing."""


@runtime_checkable
class Shared(Protocol):
    """What a store can do that is shared by several workers."""

    async def take(self, key: str, token: str, seconds: float) -> str | None:
        """Put a token under a key for so long, where none is; what stood there, or ``None``."""
        ...

    async def holders(self, keys: Sequence[str]) -> list[str | None]:
        """The tokens under keys, in order."""
        ...

    async def extend(self, tokens: Mapping[str, str], seconds: float) -> None:
        """Let tokens, by key, stand for so long from now, where they still do."""
        ...

    async def free(self, key: str, token: str, seconds: float | None) -> None:
        """Take a token away, if it still stands there; with ``seconds``, `NOTHING` stands there for so long."""
        ...


@runtime_checkable
class Ledger(Protocol):
    """What a store can do that also remembers what locations proved before."""

    async def look_up(self, key: str, channel: str, location: str) -> tuple[list[Entry], bytes | None]:
        """The entries under a key, and the record of a location, in one step."""
        ...

    async def recall(self, channel: str, location: str) -> bytes | None:
        """The record of a location, or ``None``."""
        ...

    async def remember(self, note: Note) -> None:
        """Write a record in the place of an older one that proves no more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A turn that was taken."""

    key: str
    token: str
    since: float = 0.0
    """By the loop's clock."""


@dataclass(slots=True, eq=False)
class _Waiter:
    key: str
    holder: str
    seen: asyncio.Future[str | None]


Attempt = Callable[[str, Callable[[], Awaitable[Any]], Any], Awaitable[Any]]
"""Does something with the store: what, how, and the result where it fails."""


class Leases:
    """The leases of one worker, on one event loop.

    Args:
        store: where they are.
        attempt: asks the store; it never fails.
    """

    def __init__(self, store: Shared, attempt: Attempt) -> None:
        self._store = store
        self._attempt = attempt
        self._held: dict[str, Lease] = {}
        self._waiting: dict[_Waiter, None] = {}  # in order: the same history runs the same way
        self._looking: asyncio.Task[None] | None = None
        self._extending: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def turn(self, key: str, *, until: float) -> tuple[Lease | None, bool]:
        """Take the turn at a key, or wait until whoever has it is done.

        Args:
            key: what is asked for.
            until: by the loop's clock, how long to wait at most.

        Returns:
            The lease, where it was free; and whether to look into the store and, where nothing is there, to try again.
            Neither: go on without, since nothing is to be waited for.
        """
        if key in self._held:
            return None, False  # this process asks for it already, as something else: it would wait for itself
        loop = asyncio.get_running_loop()
        lease = Lease(key=key, token=uuid.uuid4().hex, since=loop.time())
        try:
            holder = await self._attempt("lease", lambda: self._store.take(key, lease.token, LIFETIME), NOTHING)
        except BaseException:
            self._free(lease, None)  # it may have been taken all the same
            raise
        if holder is None or holder == lease.token:
            self._held[key] = lease
            if self._extending is None:
                self._extending = loop.call_later(LIFETIME / 3, self._extend)
            return lease, False
        if holder == NOTHING or loop.time() >= until:
            return None, False
        return None, await self._change(key, holder, until) != NOTHING

    def free(self, lease: Lease | None, *, missed: bool) -> None:
        """Give a turn back; once is enough. It is not waited for.

        Args:
            lease: the turn.
            missed: nothing was kept, so that nobody needs to queue for the next try.
        """
        if lease is not None and self._held.get(lease.key) == lease:
            del self._held[lease.key]
            self._free(lease, QUIET if missed else None)

    async def aclose(self) -> None:
        """Give everything back, and wait for nobody any more."""
        for lease in list(self._held.values()):
            self.free(lease, missed=False)
        if self._extending is not None:
            self._extending.cancel()
            self._extending = None
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
            self._looking = None
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _free(self, lease: Lease, seconds: float | None) -> None:
        self._behind(lambda: self._store.free(lease.key, lease.token, seconds))

    def _extend(self) -> None:
        """Let what is held stand for longer, and come back in a while, as long as anything is held."""
        loop = asyncio.get_running_loop()
        tokens = {key: lease.token for key, lease in self._held.items() if loop.time() - lease.since < HELD}
        self._extending = None
        if tokens:
            self._behind(lambda: self._store.extend(tokens, LIFETIME))
            self._extending = loop.call_later(LIFETIME / 3, self._extend)

    def _behind(self, work: Callable[[], Awaitable[Any]]) -> None:
        task: asyncio.Task[Any] = asyncio.ensure_future(self._attempt("lease", work, None))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, key: str, holder: str, until: float) -> str | None:
        """What stands under a key once it is something else than now; `NOTHING` where that takes too long."""
        waiter = _Waiter(key, holder, asyncio.get_running_loop().create_future())
        self._waiting[waiter] = None
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout_at(until):
                return await waiter.seen
        except TimeoutError:
            return NOTHING
        finally:
            self._waiting.pop(waiter, None)

    async def _look(self) -> None:
        """Look at all leases that are waited for, again and again, until none is."""
        while self._waiting:
            await asyncio.sleep(TICK)
            waiting = list(self._waiting)
            found = await self._holders(dict.fromkeys(waiter.key for waiter in waiting))
            for waiter in waiting:
                if found[waiter.key] != waiter.holder and not waiter.seen.done():
                    waiter.seen.set_result(found[waiter.key])

    async def _holders(self, keys: Collection[str]) -> dict[str, str | None]:
        asked = list(keys)
        failed = [NOTHING] * len(asked)
        found = await self._attempt("lease", lambda: self._store.holders(asked), failed)
        return dict(zip(asked, found, strict=True))
