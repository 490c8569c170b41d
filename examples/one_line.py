"""Find an agent, and know whom to trust and what to call.

The agent is a fake one, on this machine, over TLS. With a real one the line is `await discover("shop.example")`.
"""

import asyncio

from a2a_discovery import discover
from a2a_discovery.testing import FakeAgent


async def main() -> None:
    async with FakeAgent("shop.example").serve() as running:
        agent = await discover(running.url, network=running.network)

        print("who:    ", agent.card.name)
        print("where:  ", agent.interface.url, agent.interface.protocol_binding, agent.interface.protocol_version)
        print("trust:  ", agent.trust.level.name, "by", agent.trust.authority)
        print("headers:", agent.headers())


asyncio.run(main())
