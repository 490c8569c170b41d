"""Many targets at once, and one target over time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_discovery.errors import DiscoveryError

if TYPE_CHECKING:
    from a2a_discovery._agent import Agent

T = TypeVar("T")

PER_HOST = 8
"""Most discoveries of one host at a time: what a browser opens to one host, rounded up."""
WATCH_FLOOR = 60.0
"""Seconds between two looks at a watched card at least: an answer without any lifetime must not become a poll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one of many targets: an agent, or the error it ended with."""

    target: Any
    """As it was given."""
    agent: Agent | None = None
    error: DiscoveryError | None = None


class Turns:
    """At most so many at a time for each host; a host nobody waits for leaves nothing behind."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._turns: dict[str, tuple[asyncio.Semaphore, set[object]]] = {}

    @asynccontextmanager
    async def of(self, host: str | None) -> AsyncIterator[None]:
        """Wait for a turn at a host."""
        if host is None:
            yield
            return
        turns, present = self._turns.setdefault(host, (asyncio.Semaphore(self._most), set()))
        me = object()
        present.add(me)
        try:
            async with turns:
                yield
        finally:
            present.discard(me)
            if not present:
                self._turns.pop(host, None)


async def each_as_it_comes(
    targets: Iterable[Any] | AsyncIterable[Any], work: Callable[[Any], Awaitable[T]], *, concurrency: int
) -> AsyncGenerator[T, None]:
    """The results of work on each target, as they come, no more than so many under way or waiting to be taken.

    Whoever takes slowly slows the work down: a finished result holds its place until it is taken.
    """
    slots = asyncio.Semaphore(concurrency)
    done: asyncio.Queue[asyncio.Task[T] | None] = asyncio.Queue()
    running: set[asyncio.Task[T]] = set()

    async def feed() -> None:
        async for target in _each(targets):
            await slots.acquire()
            task = asyncio.ensure_future(work(target))
            running.add(task)
            task.add_done_callback(done.put_nowait)

    feeding = asyncio.create_task(feed())
    feeding.add_done_callback(lambda _: done.put_nowait(None))
    try:
        while running or not feeding.done() or not done.empty():
            task = await done.get()
            if task is None:
                feeding.result()  # raises what the caller's own iterator raised
                continue
            running.discard(task)
            yield task.result()
            slots.release()
    finally:
        for under_way in (feeding, *running):
            under_way.cancel()
        await asyncio.gather(feeding, *running, return_exceptions=True)


async def _each(targets: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(targets, AsyncIterable):
        async for target in targets:
            yield target
    else:
        for target in targets:
            yield target


async def changes(
    look: Callable[[bool], Awaitable[Agent]],
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[object]],
) -> AsyncIterator[Agent]:
    """The agent now, then each time its card, its validators or its trust changed, looked at when it expires."""
    seen = None
    while True:
        agent = await look(seen is not None)
        state = (agent.source.etag, agent.document, agent.trust.level, agent.trust.signatures, agent.trust.authority)
        if state != seen:
            seen = state
            yield agent
        await sleep(max(agent.source.expires_at - clock(), WATCH_FLOOR))
