"""Time and waiting that a test decides about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_discovery.testing._reply import Request


class Clock:
    """The time as a test wants it: call it for seconds since the epoch.

    Args:
        now: where it starts; the default is 2027-01-15T08:00:00Z.
    """

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def __repr__(self) -> str:
        return f"Clock({self._now!r})"


class Gate:
    """Holds requests until it is opened: `FakeAgent.hold` makes one.

    It works across threads and event loops, and no test has to guess how long to wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = False
        self._arrived = 0
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    async def __call__(self, request: Request) -> None:
        """Stand in ``FakeAgent.replies``: wait until the gate opens, then let the agent answer as usual."""
        with self._lock:
            self._arrived += 1
        self._wake()
        await self._until(lambda: self._open)

    async def arrived(self, number: int = 1) -> None:
        """Wait until so many requests have come to the gate."""
        await self._until(lambda: self._arrived >= number)

    def open(self) -> None:
        """Let those who wait, and all who come later, pass."""
        self._open = True
        self._wake()

    async def _until(self, condition: Callable[[], bool]) -> None:
        entry = (condition, asyncio.get_running_loop().create_future())
        with self._lock:
            if condition():
                return
            self._waiting.append(entry)
        try:
            await entry[1]
        finally:
            with self._lock:
                if entry in self._waiting:
                    self._waiting.remove(entry)

    def _wake(self) -> None:
        with self._lock:
            ready = [entry for entry in self._waiting if entry[0]()]
            self._waiting = [entry for entry in self._waiting if entry not in ready]
        for _, future in ready:
            future.get_loop().call_soon_threadsafe(_resolve, future)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
