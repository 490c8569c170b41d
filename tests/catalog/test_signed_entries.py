"""Cards inside catalogs that prove more than their catalog's word; what they may not prove."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from a2a_discovery import Discovery, Trust, TrustError, TrustPolicy
from a2a_discovery.testing import FakeAgent

CATALOG = "https://catalog.example/ai.json"
NAME = "urn:air:shop.example:a2a:orders"


@pytest.fixture
def shop() -> FakeAgent:
    return FakeAgent("shop.example")


@pytest.fixture
def net(web: Any, shop: FakeAgent) -> httpx.AsyncBaseTransport:
    """The web of documents, and the shop at its own host."""

    class Net(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "shop.example" and str(request.url) not in web.answers:
                return await shop.handle_async_request(request)
            return web.handle(request)

    return Net()


def put(web: Any, url: str, card: dict[str, Any], identifier: str = NAME) -> None:
    row = {"identifier": identifier, "type": "application/a2a-agent-card+json", "data": card}
    web.put(url, {"specVersion": "1.0", "entries": [row]})


async def test_a_card_signed_by_the_host_of_its_interfaces_is_of_that_host(web: Any, net: Any, shop: FakeAgent) -> None:
    put(web, CATALOG, shop.document())

    agent = await Discovery(transport=net).discover(f"{CATALOG}#{NAME}")

    assert (agent.trust.level, agent.trust.authority) == (Trust.SIGNED, "shop.example")
    assert agent.trust.verified is not None
    assert agent.trust.verified.key_source == "interface-host-jku"
    assert "other-publisher" not in {finding.code for finding in agent.findings}


async def test_it_is_so_for_an_entry_and_for_pinned_keys_too(web: Any, net: Any, shop: FakeAgent) -> None:
    put(web, CATALOG, shop.document())
    policy = TrustPolicy(keys={"shop.example": shop.jwks}, require=Trust.PINNED)
    async with Discovery(transport=net, trust=policy) as d:
        (entry,) = [each async for each in d.catalog(CATALOG)]

        agent = await d.discover(entry)

    assert (agent.trust.level, agent.trust.authority) == (Trust.PINNED, "shop.example")


async def test_another_publishers_name_on_a_card_signed_by_itself_is_refused(
    web: Any, net: Any, shop: FakeAgent
) -> None:
    name = "urn:air:bank.example:a2a:accounts"
    put(web, CATALOG, shop.document(), name)

    agent = await Discovery(transport=net).discover(f"{CATALOG}#{name}")
    assert agent.trust.level == Trust.CHANNEL
    assert "other-publisher" in {finding.code for finding in agent.findings}

    with pytest.raises(TrustError) as caught:
        await Discovery(transport=net, trust=TrustPolicy(require=Trust.SIGNED)).discover(f"{CATALOG}#{name}")
    assert caught.value.code == "other-publisher"


async def test_a_domains_own_catalog_may_not_hold_another_sites_card(web: Any, net: Any, shop: FakeAgent) -> None:
    put(web, "https://bank.example/.well-known/ard.json", shop.document(), "accounts")

    with pytest.raises(TrustError) as caught:
        await Discovery(transport=net, trust=TrustPolicy(require=Trust.SIGNED)).discover("bank.example")

    assert caught.value.code == "other-publisher"


async def test_a_card_that_was_changed_in_its_catalog_is_refused(web: Any, net: Any, shop: FakeAgent) -> None:
    changed = shop.document()
    changed["description"] = "Another one"
    put(web, CATALOG, changed)

    with pytest.raises(TrustError) as caught:
        await Discovery(transport=net).discover(f"{CATALOG}#{NAME}")

    assert caught.value.code == "bad-signature"


async def test_once_signed_an_entry_may_not_come_unsigned(web: Any, net: Any, shop: FakeAgent) -> None:
    put(web, CATALOG, shop.document())
    async with Discovery(transport=net) as d:
        await d.discover(f"{CATALOG}#{NAME}")
        put(web, CATALOG, json.loads(json.dumps(shop.card)))

        with pytest.raises(TrustError) as caught:
            await d.discover(f"{CATALOG}#{NAME}", refresh=True)
        assert caught.value.code == "downgraded"

        d.forget(f"{CATALOG}#{NAME}")
        assert (await d.discover(f"{CATALOG}#{NAME}", refresh=True)).trust.level == Trust.CHANNEL


async def test_two_entries_of_one_catalog_are_judged_each_for_itself(web: Any, net: Any, shop: FakeAgent) -> None:
    unsigned = json.loads(json.dumps(shop.card))
    rows = [
        {"identifier": name, "type": "application/a2a-agent-card+json", "data": card}
        for name, card in (("signed", shop.document()), ("unsigned", unsigned))
    ]
    web.put(CATALOG, {"entries": rows})

    async with Discovery(transport=net) as d:
        levels = {
            name: (await d.discover(f"{CATALOG}#{name}")).trust.level for name in ("signed", "unsigned", "signed")
        }

    assert levels == {"signed": Trust.SIGNED, "unsigned": Trust.CHANNEL}
