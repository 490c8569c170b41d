"""Read a company's own registry of agents, whose rows no specification knows.

Two values say how: a function that turns a page into entries, and a `Registry` that says where the pages are. The
registry and its agent are played by a few lines at the end; with a real one, leave `transport=` out.
"""

import asyncio

import httpx

from a2a_discovery import CatalogEntry, Credentials, Discovery
from a2a_discovery.registries import Call, Registry, Skipped, token
from a2a_discovery.testing import FakeAgent


def bots(page, url):
    for index, row in enumerate(page["bots"]):
        if row.get("retired"):
            yield Skipped(code="retired", pointer=f"/bots/{index}", message="it is retired")
        else:
            yield CatalogEntry(identifier=row["key"], source=url, url=row["card"], tags=tuple(row["labels"]))


CORP = Registry(name="corp", list=Call(path="v2/bots"), project=bots, paging=token("after", "next"))


async def main() -> None:
    shop = FakeAgent("shop.example")
    mine = {"registry.corp.example": Credentials(bearer="of-the-registry")}

    async with Discovery(credentials=mine, transport=Office(shop)) as d:
        listing = d.find("https://registry.corp.example/api", registry=CORP, tag="orders")
        async for entry in listing:
            agent = await d.discover(entry)
            print("entry:   ", entry.identifier, entry.tags)
            print("agent:   ", agent.card.name, agent.trust.level.name, "by", agent.trust.authority)
            print("via:     ", *agent.source.via)
        print("left out:", *(str(finding) for finding in listing.findings))


class Office(httpx.AsyncBaseTransport):
    """The registry, in two pages, and the agent it names."""

    def __init__(self, shop: FakeAgent) -> None:
        self.shop = shop

    async def handle_async_request(self, request):
        if request.url.host != "registry.corp.example":
            return await self.shop.handle_async_request(request)
        card = "https://shop.example/.well-known/agent-card.json"
        first = {"bots": [{"key": "bot-1", "card": card, "labels": ["hr"]}, {"retired": True}], "next": "2"}
        second = {"bots": [{"key": "bot-2", "card": card, "labels": ["orders"]}], "next": None}
        return httpx.Response(200, json=second if "after" in request.url.params else first)


asyncio.run(main())
