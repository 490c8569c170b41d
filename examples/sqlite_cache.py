"""Keep what was discovered in a file, for the next process.

Cache.sqlite() without a path uses the user's cache directory; Cache.redis(url) shares one among machines.
"""

import asyncio
import tempfile
from pathlib import Path

from a2a_discovery import Cache, Discovery
from a2a_discovery.testing import Clock, FakeAgent


async def one_process(cache: Path, shop: FakeAgent, clock: Clock) -> str:
    """What a process does that starts, asks once, and ends."""
    async with Discovery(cache=Cache.sqlite(cache), transport=shop, clock=clock) as discovery:
        agent = await discovery.discover("shop.example")
        return agent.source.cache


async def main(directory: Path) -> None:
    clock = Clock()  # the time as we want it, so that nobody has to wait
    shop = FakeAgent("shop.example", clock=clock)  # its cards stay fresh for 300 seconds

    print("first process: ", await one_process(directory / "cards.db", shop, clock))
    print("second process:", await one_process(directory / "cards.db", shop, clock))
    clock.advance(301)
    print("after expiry:  ", await one_process(directory / "cards.db", shop, clock))
    print("the shop saw:  ", [request.status for request in shop.requests if request.kind == "card"])


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
