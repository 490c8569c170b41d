"""Reach an agent inside a company: its names are in an internal DNS, its certificates are by a private authority.

Each permission is one argument; nothing is switched off.
"""

import asyncio
import ssl
import tempfile
from pathlib import Path

from a2a_discovery import BlockedError, FetchError, NetworkPolicy, discover
from a2a_discovery.testing import FakeAgent


async def internal_dns(host: str, port: int) -> list[str]:
    """Addresses of a name; `socket.gaierror` where there are none. Yours asks the company's name server."""
    return ["127.0.0.1"]


async def main(ca_file: Path) -> None:
    async with FakeAgent("shop.corp.example").serve(name="shop.corp.example") as running:
        running.ca.cert_pem.write_to_path(ca_file)
        target = f"shop.corp.example:{running.port}"

        try:
            await discover(target, network=NetworkPolicy(resolve=internal_dns))
        except BlockedError as error:
            print("by default:    ", error.code, error.address)

        try:
            await discover(target, network=NetworkPolicy(resolve=internal_dns, allow_private=True))
        except FetchError as error:
            print("address allowed:", error.code)

        network = NetworkPolicy(
            resolve=internal_dns,
            allow_private=True,
            ssl_context=ssl.create_default_context(cafile=str(ca_file)),
        )
        agent = await discover(target, network=network)
        print("CA trusted too: ", agent.card.name, agent.trust.level.name)


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place) / "ca.pem"))
