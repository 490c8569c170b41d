"""Discover without `await`, where an event loop is running already: a notebook's cell, an async framework's callback.

`asyncio.run` would fail there. `discover_sync` has a loop of its own, on a thread of its own.
"""

import asyncio

from a2a_discovery import SyncDiscovery, discover_sync
from a2a_discovery.testing import FakeAgent


async def cell() -> None:
    """What a notebook does: it runs your plain code inside its loop."""
    shop = FakeAgent("shop.example")
    with shop.serve_in_thread() as running:
        agent = discover_sync(running.url, network=running.network)
        print("once:        ", agent.card.name, agent.trust.level.name)

        # For many calls: one thread, kept connections.
        with SyncDiscovery(network=running.network) as discovery:
            agents = [discovery.discover(running.url) for _ in range(3)]
        print("three times: ", {agent.card.name for agent in agents})


asyncio.run(cell())
