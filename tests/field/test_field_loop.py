"""Event loops, threads and lifetimes: who owns what, and what is left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import httpx
import pytest

from a2a_discovery import Discovery, NotFoundError, SyncDiscovery, discover, discover_sync
from a2a_discovery.testing import FakeAgent


def test_one_loop_after_another_may_use_the_same_discovery() -> None:
    """B161"""
    agent = FakeAgent("a.example")
    with agent.serve_in_thread() as running:
        discovery = Discovery(network=running.network)
        names = [asyncio.run(discovery.discover(running.url, refresh=True)).card.name for _ in range(3)]

        async def entered() -> str:
            async with discovery:
                return (await discovery.discover(running.url, refresh=True)).card.name

        names += [asyncio.run(entered()) for _ in range(2)]
        names += [asyncio.run(discover(running.url, network=running.network, refresh=True)).card.name for _ in range(2)]

    assert names == ["Shop"] * 7
    gc.collect()


async def test_an_agent_is_used_after_its_discovery_is_closed() -> None:
    """B163"""
    agent = FakeAgent("a.example", extended=True)
    async with agent.serve() as running:
        async with Discovery(network=running.network) as discovery:
            found = await discovery.discover(running.url)

        again = await found.refresh()

        assert again.card == found.card
        assert again.source.cache == "revalidated"


class Borrowed(httpx.AsyncBaseTransport):
    """A transport of the caller's that counts how often it is closed."""

    def __init__(self, inner: FakeAgent) -> None:
        self.inner = inner
        self.closed = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        self.closed += 1


async def test_a_transport_that_was_handed_in_is_never_closed() -> None:
    """B163"""
    transport = Borrowed(FakeAgent("a.example"))

    async with Discovery(transport=transport) as discovery:
        await discovery.discover("a.example")
    await discover("a.example", transport=transport)

    assert transport.closed == 0


async def test_a_block_that_fails_leaves_no_connection_open() -> None:
    """B164"""
    agent = FakeAgent("a.example")
    agent.fail("card", 404)
    before = len(asyncio.all_tasks())
    async with agent.serve() as running:
        with pytest.raises(NotFoundError):
            async with Discovery(network=running.network) as discovery:
                await discovery.discover(running.url)
        with pytest.raises(NotFoundError):
            await discover(running.url, network=running.network)

    assert len(asyncio.all_tasks()) == before
    gc.collect()  # an open socket would warn, and a warning is an error here


def test_many_loops_at_once_may_use_one_discovery() -> None:
    """B165"""
    agent = FakeAgent("a.example")
    with agent.serve_in_thread() as running:
        discovery = Discovery(network=running.network)
        names: list[str] = []

        async def some() -> None:
            found = await asyncio.gather(*(discovery.discover(running.url, refresh=True) for _ in range(5)))
            names.extend(each.card.name for each in found)

        threads = [threading.Thread(target=asyncio.run, args=(some(),)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert names == ["Shop"] * 30
    gc.collect()


def test_many_threads_may_use_one_sync_discovery() -> None:
    """B165"""
    agent = FakeAgent("a.example")
    with agent.serve_in_thread() as running, SyncDiscovery(network=running.network) as discovery:
        names: list[str] = []
        threads = [
            threading.Thread(target=lambda: names.append(discovery.discover(running.url, refresh=True).card.name))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert names == ["Shop"] * 8


async def test_inside_a_running_loop_the_plain_call_works_as_well() -> None:
    """B161"""
    agent = FakeAgent("a.example")
    with agent.serve_in_thread() as running:
        found = discover_sync(running.url, network=running.network)

    assert found.card.name == "Shop"


@pytest.mark.parametrize("times", [1, 3])
def test_a_discovery_that_nobody_closed_leaves_nothing_that_warns(times: int, recwarn: Any) -> None:
    """B164"""
    agent = FakeAgent("a.example")
    with agent.serve_in_thread() as running:
        for _ in range(times):
            asyncio.run(discover(running.url, network=running.network, refresh=True))
            gc.collect()

    assert [str(each.message) for each in recwarn] == []
