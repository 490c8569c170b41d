"""Which location a card's past belongs to: it may not escape it elsewhere, nor shut a neighbour out."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import Credentials, Discovery, Trust, TrustError
from a2a_discovery.testing import FakeAgent, FakeNetwork, Reply, Signer

BASE = "https://shop.example/agents/orders"
TOKEN = "let-me-in"


async def test_a_card_at_the_root_must_prove_what_the_one_below_the_url_did() -> None:
    agent = FakeAgent("shop.example")
    agent.card["supportedInterfaces"][0]["url"] = BASE
    agent.card_paths = ("/agents/orders/.well-known/agent-card.json",)
    async with Discovery(transport=agent) as d:
        assert (await d.discover(BASE)).trust.level is Trust.SIGNED
        agent.signers.clear()
        agent.card_paths = ("/.well-known/agent-card.json",)
        with pytest.raises(TrustError) as refused:
            await d.discover(BASE, refresh=True)
        d.forget(BASE)
        found = await d.discover(BASE, refresh=True)

    assert refused.value.code == "downgraded"
    assert found.source.url == "https://shop.example/.well-known/agent-card.json"


def shop(name: str, *signers: Signer) -> FakeAgent:
    agent = FakeAgent(name, extended=True, token=TOKEN, signers=signers)
    agent.sign_extended = bool(signers)
    return agent


def inline(agent: FakeAgent) -> dict[str, Any]:
    return {"identifier": agent.host, "type": "application/a2a-agent-card+json", "data": agent.card}


async def test_the_extended_cards_of_one_catalog_have_each_their_own_past() -> None:
    """Else the first whose extended card is signed shuts out all whose is not."""
    catalog, one, two = FakeAgent("catalog.example"), shop("one.example", Signer()), shop("two.example")
    catalog.replies["/c.json"] = Reply.json({"entries": [inline(one), inline(two)]})
    async with Discovery(transport=FakeNetwork(catalog, one, two)) as d:
        for agent in (one, two):
            found = await d.discover(f"https://catalog.example/c.json#{agent.host}")
            more = await found.upgrade(Credentials(bearer=TOKEN, hosts=(agent.host,)))
            assert more.trust.level is (Trust.SIGNED if agent is one else Trust.CHANNEL)


async def test_forgetting_a_target_forgets_its_extended_card_where_it_was_redirected() -> None:
    here, there = FakeAgent("shop.example"), shop("www.shop.example", Signer())
    here.replies["card"] = Reply.redirect("https://www.shop.example/.well-known/agent-card.json")
    async with Discovery(transport=FakeNetwork(here, there)) as d:
        before = await d.discover("shop.example")
        assert (await before.upgrade(Credentials(bearer=TOKEN))).trust.level is Trust.SIGNED
        there.signers.clear()
        there.card["version"] = "2.0.0"  # an extended card is kept while the public one says the same
        d.forget("shop.example")
        now = await d.discover("shop.example", refresh=True)
        assert (await now.upgrade(Credentials(bearer=TOKEN))).trust.level is Trust.CHANNEL
