"""Performing a flow of the core: fetch what it asks for, send it the answers, throw it the failures."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_discovery import _telemetry
from a2a_discovery._effects import Fetch, Fetched, Flow, Invoke, Keep, Recall
from a2a_discovery.errors import DiscoveryError

if TYPE_CHECKING:
    from a2a_discovery._http.fetcher import Fetcher
    from a2a_discovery._http.lease import Lease

T = TypeVar("T")


async def perform(flow: Flow[T], fetcher: Fetcher, invoke: Callable[[Invoke], Awaitable[Fetched]] | None = None) -> T:
    """Run a flow of the core to its end: fetch what it yields, send it the answers, throw it the failures.

    Args:
        flow: what to run.
        fetcher: fetches.
        invoke: asks over gRPC, where that may be wanted.
    """
    leases: list[Lease] = []
    try:
        effect = next(flow)
        while True:
            try:
                if isinstance(effect, Invoke) and invoke is not None:
                    reply = await invoke(effect)
                else:
                    reply = await _perform_one(effect, fetcher)
            except DiscoveryError as error:
                effect = flow.throw(error)
            else:
                leases += _leases(reply, fetcher)
                effect = flow.send(reply)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        flow.close()
        fetcher.release(leases, missed=not isinstance(sys.exception(), asyncio.CancelledError))


def _leases(reply: Any, fetcher: Fetcher) -> Iterator[Lease]:
    for answer in reply if isinstance(reply, tuple) else (reply,):
        lease = fetcher.lease_of(answer)
        if lease is not None:
            yield lease


async def _perform_one(effect: object, fetcher: Fetcher) -> Any:
    if isinstance(effect, Fetch):
        return await _fetch(effect, fetcher)
    if isinstance(effect, Keep):
        return await fetcher.keep(effect.answer, location=effect.location, record=effect.record)
    if isinstance(effect, Recall):
        return await fetcher.recall(effect.location, effect.answer)
    assert isinstance(effect, tuple)  # noqa: S101  (the last kind of effect)
    if len(effect) == 1:  # one JWK Set, mostly: a task of its own would only cost turns of the loop
        return (await _outcome(effect[0], fetcher, alone=True),)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(each, fetcher, alone=False)) for each in effect]
    return tuple(task.result() for task in tasks)


async def _outcome(fetch: Fetch, fetcher: Fetcher, *, alone: bool) -> Fetched | DiscoveryError:
    try:
        return await _fetch(fetch, fetcher, alone=alone)
    except DiscoveryError as error:
        return error


async def _fetch(fetch: Fetch, fetcher: Fetcher, *, alone: bool = True) -> Fetched:
    with _telemetry.span("a2a.fetch", **{"a2a.url": fetch.url, "a2a.kind": fetch.kind}) as current:
        answer = await fetcher.fetch(fetch, alone=alone)
        if current is not None:
            current.set_attributes({"http.response.status_code": answer.status, "a2a.cache": answer.cache})
        return answer
