"""The last good card is the target's, wherever on its walk it was found: an outage is mostly that of a whole site."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import Discovery, DiscoveryError, NotFoundError
from a2a_discovery.testing import Clock, FakeAgent, Reply

NEW, OLD = "/.well-known/agent-card.json", "/.well-known/agent.json"
CATALOG = "/.well-known/ai-catalog.json"
BASE = "https://a.example/agents/tides"


def catalog(*entries: dict[str, Any]) -> Reply:
    return Reply.json({"specVersion": "1.0", "entries": list(entries)}, headers={"cache-control": "max-age=300"})


ENTRY = {
    "identifier": "urn:air:a.example:a2a:tides",
    "displayName": "Tides",
    "mediaType": "application/a2a-agent-card+json",
    "url": "https://a.example/cards/tides.json",
}

PLACES = {
    "the old name": ("a.example", OLD),
    "below the base URL": (BASE, f"/agents/tides{NEW}"),
    "at the base URL": (BASE, "/agents/tides"),
    "at the root": (BASE, NEW),
    "in the domain's catalog": ("a.example", "/cards/tides.json"),
}


@pytest.fixture(params=PLACES.values(), ids=PLACES)
def place(request: Any) -> tuple[str, str]:
    return request.param


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agent(place: tuple[str, str], clock: Clock) -> FakeAgent:
    made = FakeAgent("a.example", signers=[], clock=clock)
    made.card["supportedInterfaces"] = [{"url": BASE, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    made.card_paths = {place[1]}
    if place[1].startswith("/cards"):
        made.replies[CATALOG] = catalog(ENTRY)
    return made


def everywhere(agent: FakeAgent, reply: Reply) -> None:
    """The whole site answers so from now on."""

    class Always(dict[str, Reply]):
        def get(self, _path: str, _default: Any = None) -> Reply:
            return reply

    agent.replies = Always()


OUTAGES = [
    Reply.error(500),
    Reply.dropped(),
    Reply.html(content_type="application/json"),
    Reply.json({"message": "back soon"}),
]


@pytest.mark.parametrize("outage", OUTAGES)
async def test_an_outage_of_a_whole_site_takes_no_card_away_wherever_it_was(
    place: tuple[str, str], agent: FakeAgent, clock: Clock, outage: Reply
) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        good = await d.discover(place[0])
        clock.advance(3600)
        everywhere(agent, outage)
        found = await d.discover(place[0])

        assert found.source.cache == "stale"
        assert (found.card, found.source.url) == (good.card, good.source.url)

        clock.advance(90_000)
        with pytest.raises(DiscoveryError):
            await d.discover(place[0])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_of_a_whole_site_is_never_hidden(
    place: tuple[str, str], agent: FakeAgent, clock: Clock, status: int
) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover(place[0])
        clock.advance(3600)
        everywhere(agent, Reply.error(status))
        with pytest.raises(DiscoveryError) as caught:
            await d.discover(place[0])

    assert caught.value.status == status


async def test_a_card_that_is_gone_from_a_whole_site_is_gone(
    place: tuple[str, str], agent: FakeAgent, clock: Clock
) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover(place[0])
        clock.advance(3600)
        everywhere(agent, Reply.error(404))
        with pytest.raises(NotFoundError):
            await d.discover(place[0])
        clock.advance(70)
        everywhere(agent, Reply.error(500))
        with pytest.raises(DiscoveryError) as caught:
            await d.discover(place[0])

    assert caught.value.code == "http-status"


@pytest.mark.parametrize("place", [PLACES["in the domain's catalog"]])
class TestADomainsCatalog:
    @pytest.mark.parametrize("outage", [*OUTAGES, Reply.html()])
    async def test_an_outage_of_the_catalog_alone_takes_no_card_away(
        self, agent: FakeAgent, clock: Clock, outage: Reply
    ) -> None:
        async with Discovery(transport=agent, clock=clock) as d:
            await d.discover("a.example")
            clock.advance(3600)
            agent.replies[CATALOG] = outage
            found = await d.discover("a.example")

        assert found.source.url == "https://a.example/cards/tides.json"
        assert found.source.cache == "revalidated"

    async def test_an_agent_that_its_catalog_lists_no_more_is_gone(self, agent: FakeAgent, clock: Clock) -> None:
        async with Discovery(transport=agent, clock=clock) as d:
            await d.discover("a.example")
            clock.advance(3600)
            agent.replies[CATALOG] = catalog()
            with pytest.raises(NotFoundError):
                await d.discover("a.example")


@pytest.mark.parametrize("place", [PLACES["at the root"]])
async def test_a_root_card_that_named_another_agent_does_not_stand_in(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("a.example")
        clock.advance(3600)
        everywhere(agent, Reply.error(500))
        with pytest.raises(DiscoveryError):
            await d.discover("https://a.example/agents/weather")
        assert (await d.discover("a.example")).source.cache == "stale"
