"""Turns at an origin, for workers that share a store: who misses first asks, the others wait for what it keeps.

A lease is a key in the store with a lifetime. It covers the request and the line's verdict, since an answer is in the
store only once it was kept. It is a courtesy, never a lock: losing one, or the whole store, costs a request.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from a2a_discovery._http.shelf import Note

LIFETIME = 5.0
"""Seconds that a lease lasts, and that anybody waits for others in all. A card and its keys are fetched and judged
well within one, on a busy machine in two; who takes longer is dead, or so slow that asking too costs less than waiting.
It is half of what one fetch may take."""
TICK = 0.02
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

    async def free(self, key: str, token: str, seconds: float | None) -> None:
        """Take a token away, if it still stands there; with ``seconds``, `NOTHING` stands there for so long."""
        ...


@runtime_checkable
class Ledger(Protocol):
    """What a store can do that also remembers what locations proved before."""

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
        self._waiting: set[_Waiter] = set()
        self._looking: asyncio.Task[None] | None = None
        self._freeing: set[asyncio.Task[Any]] = set()

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
        lease = Lease(key=key, token=uuid.uuid4().hex)
        try:
            holder = await self._attempt("lease", lambda: self._store.take(key, lease.token, LIFETIME), NOTHING)
        except BaseException:
            self._free(lease, None)  # it may have been taken all the same
            raise
        if holder is None or holder == lease.token:
            self._held[key] = lease
            return lease, False
        if holder == NOTHING or asyncio.get_running_loop().time() >= until:
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
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
            self._looking = None
        if self._freeing:
            await asyncio.wait(self._freeing)

    def _free(self, lease: Lease, seconds: float | None) -> None:
        work = self._attempt("lease", lambda: self._store.free(lease.key, lease.token, seconds), None)
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._freeing.add(task)
        task.add_done_callback(self._freeing.discard)

    async def _change(self, key: str, holder: str, until: float) -> str | None:
        """What stands under a key once it is something else than now; `NOTHING` where that takes too long."""
        waiter = _Waiter(key, holder, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout_at(until):
                return await waiter.seen
        except TimeoutError:
            return NOTHING
        finally:
            self._waiting.discard(waiter)

    async def _look(self) -> None:
        """Look at all leases that are waited for, again and again, until none is."""
        while self._waiting:
            await asyncio.sleep(TICK)
            waiting = list(self._waiting)
            found = await self._holders({waiter.key for waiter in waiting})
            for waiter in waiting:
                if found[waiter.key] != waiter.holder and not waiter.seen.done():
                    waiter.seen.set_result(found[waiter.key])

    async def _holders(self, keys: Collection[str]) -> dict[str, str | None]:
        asked = list(keys)
        failed = [NOTHING] * len(asked)
        found = await self._attempt("lease", lambda: self._store.holders(asked), failed)
        return dict(zip(asked, found, strict=True))
