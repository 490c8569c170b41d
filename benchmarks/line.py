"""The line: a card that nobody knows yet, one that may have changed, and one that is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from a2a_discovery import Cache, Discovery, NetworkPolicy, Trust
from benchmarks import bare
from benchmarks.peer import WELL_KNOWN, Peer, peer
from benchmarks.table import Result, against, alternate_async, row, spent, typical

TIMES = 200


@row
def cold() -> Iterator[Result]:
    """A signed card over TLS, from nothing."""
    with peer(agents=2 * TIMES) as there:
        ours, other = asyncio.run(_new_connections(there))
        yield against("cold, signed, TLS: new client and connections", ours, other, aim=1.3)
        ours, other = asyncio.run(_kept_connections(there))
        yield against("cold, signed, TLS: kept connections", ours, other, aim=1.4)


async def _new_connections(there: Peer) -> list[float]:
    context = there.context()
    network = NetworkPolicy.local(ssl_context=context)

    async def ours(_: int) -> None:
        async with Discovery(network=network, cache=Cache.memory()) as discovery:
            agent = await discovery.discover(there.origin())
        assert agent.trust.level is Trust.SIGNED

    async def other(_: int) -> None:
        async with httpx.AsyncClient(verify=context) as client:
            await bare.discover(client, there.origin() + WELL_KNOWN)

    return await alternate_async(ours, other, times=TIMES)


async def _kept_connections(there: Peer) -> list[float]:
    context = there.context()
    network = NetworkPolicy.local(ssl_context=context)
    async with (
        Discovery(network=network, cache=Cache.memory()) as discovery,
        httpx.AsyncClient(verify=context) as client,
    ):

        async def ours(number: int) -> None:
            agent = await discovery.discover(there.base(number))
            assert agent.trust.level is Trust.SIGNED

        async def other(number: int) -> None:
            await bare.discover(client, there.card(number))

        return await alternate_async(ours, other, times=TIMES)


@row
def revalidation() -> Iterator[Result]:
    """A 304 for a card that was verified before, on a kept connection; its keys are still fresh."""
    with peer(max_age=300) as there, TemporaryDirectory() as directory:
        stores = (("memory", Cache.memory(), 1.5), ("SQLite", Cache.sqlite(Path(directory) / "cache.sqlite"), 2.0))
        for name, cache, aim in stores:
            ours, other = asyncio.run(_revalidated(there, cache))
            yield against(f"304, {name}, against a bare conditional GET", ours, other, aim=aim)


async def _revalidated(there: Peer, cache: Cache) -> list[float]:
    context, url = there.context(), there.origin() + WELL_KNOWN
    network = NetworkPolicy.local(ssl_context=context)
    async with Discovery(network=network, cache=cache) as discovery, httpx.AsyncClient(verify=context) as client:
        await discovery.discover(there.origin())
        tag = (await client.get(url)).headers["etag"]

        async def ours(_: int) -> None:
            agent = await discovery.discover(there.origin(), refresh=True)
            assert agent.source.cache == "revalidated"

        async def other(_: int) -> None:
            answer = await client.get(url, headers={"If-None-Match": tag, "A2A-Version": "1.0"})
            assert answer.status_code == 304

        return await alternate_async(ours, other, times=2 * TIMES)


@row
def warm() -> Iterator[Result]:
    """The same call again, against the SDK's resolver, which asks again."""
    with peer() as there:
        ours, other = asyncio.run(_warm(there))
    yield Result(what="warm discover", ours=spent(ours), other="", ratio=None, aim="<= 5 µs", met=ours <= 5e-6)
    yield Result(
        what="warm discover, against a2a-sdk's resolver",
        ours=spent(ours),
        other=spent(other),
        ratio=other / ours,
        aim=">= 200",
        met=other / ours >= 200,
    )


async def _warm(there: Peer) -> tuple[float, float]:
    from a2a.client import A2ACardResolver

    context, batch = there.context(), 1000
    network = NetworkPolicy.local(ssl_context=context)
    async with (
        Discovery(network=network, cache=Cache.memory()) as discovery,
        httpx.AsyncClient(verify=context) as client,
    ):
        resolver = A2ACardResolver(client, there.origin())
        target = there.origin()
        await discovery.discover(target)
        ours, other = [], []
        for _ in range(TIMES):
            start = time.perf_counter()
            for _ in range(batch):
                await discovery.discover(target)
            ours.append((time.perf_counter() - start) / batch)
            start = time.perf_counter()
            await resolver.get_agent_card()
            other.append(time.perf_counter() - start)
    return typical(ours), typical(other)
