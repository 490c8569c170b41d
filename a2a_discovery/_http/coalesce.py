"""Concurrent calls for one thing make one request."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from a2a_discovery.errors import DiscoveryError

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Flight(Generic[T]):
    """A request under way, and how many wait for it."""

    task: asyncio.Task[T]
    waiting: int = 0


class Flights(Generic[T]):
    """The requests under way on one event loop, by name.

    Each is a task of its own: a caller who is cancelled only stops waiting, and the last one to leave stops it.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()

    async def join(self, name: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The result, or the error, of the request of that name, which is begun here unless it is under way."""
        flight = self._flights.get(name)
        first = flight is None
        if flight is None:
            flight = self._begin(name, work)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        except DiscoveryError as error:
            if first:
                raise
            raise copy.copy(error) from error.__cause__  # each caller's own: it collects a traceback and a step
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(name, flight)
                flight.task.cancel()

    async def aclose(self) -> None:
        """Stop what is under way, and wait until it has stopped."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, name: Hashable, work: Callable[[], Awaitable[T]]) -> _Flight[T]:
        async def run() -> T:
            return await work()

        flight = self._flights[name] = _Flight(task=asyncio.create_task(run()))
        self._tasks.add(flight.task)

        def landed(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            self._forget(name, flight)
            if not task.cancelled():
                task.exception()  # seen, also where nobody is left to see it

        flight.task.add_done_callback(landed)
        return flight

    def _forget(self, name: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(name) is flight:
            del self._flights[name]
