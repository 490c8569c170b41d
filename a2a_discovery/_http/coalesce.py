"""Concurrent calls for one thing make one request."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from a2a_discovery.errors import DiscoveryError

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Flight(Generic[T]):
    """A request under way, and who waits for it."""

    task: asyncio.Task[None]
    waiting: dict[asyncio.Future[T], None] = field(default_factory=dict)
    """One for each caller, in order: to be cancelled is to cancel what one waits for, and that is nobody else's."""


class Flights(Generic[T]):
    """The requests under way on one event loop, by name.

    Each is a task of its own: a caller who is cancelled only stops waiting, and the last one to leave stops it.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def join(self, name: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The result, or the error, of the request of that name, which is begun here unless it is under way."""
        flight = self._flights.get(name)
        first = flight is None
        if flight is None:
            flight = self._begin(name, work)
        waiter = asyncio.get_running_loop().create_future()
        flight.waiting[waiter] = None
        try:
            result: T = await waiter
            return result
        except DiscoveryError as error:
            if first:
                raise
            raise copy.copy(error) from error.__cause__  # each caller's own: it collects a traceback and a step
        finally:
            del flight.waiting[waiter]
            if not flight.waiting and not flight.task.done():
                self._forget(name, flight)
                flight.task.cancel()

    async def aclose(self) -> None:
        """Stop what is under way, and wait until it has stopped."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, name: Hashable, work: Callable[[], Awaitable[T]]) -> _Flight[T]:
        async def run() -> None:
            # Callers are told from within the task: to wait for the task itself is a turn of the loop more for each.
            try:
                result = await work()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is raised where it is waited for)
                self._forget(name, flight)
                for waiter in _pending(flight):
                    waiter.set_exception(error)
            else:
                self._forget(name, flight)
                for waiter in _pending(flight):
                    waiter.set_result(result)

        def landed(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._forget(name, flight)
            for waiter in _pending(flight):  # it was stopped, perhaps before it began
                waiter.cancel()
            if not task.cancelled():
                task.exception()  # of a program that ends; it is raised by the loop already

        flight = self._flights[name] = _Flight(task=asyncio.create_task(run()))
        self._tasks.add(flight.task)
        flight.task.add_done_callback(landed)
        return flight

    def _forget(self, name: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(name) is flight:
            del self._flights[name]


def _pending(flight: _Flight[T]) -> list[asyncio.Future[T]]:
    """Those of its callers who still wait."""
    return [waiter for waiter in flight.waiting if not waiter.done()]
