"""``CATALOG#IDENTIFIER``, `CatalogEntry`, and the catalogs that a walk ends at."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import jcs
import pytest

from a2a_discovery import (
    BlockedError,
    CardError,
    CatalogEntry,
    Credentials,
    FetchError,
    NetworkPolicy,
    NotFoundError,
    Trust,
    TrustError,
    TrustPolicy,
)

CATALOG = "https://catalog.example/ai.json"
CARD = "https://shop.example/card.json"
A2A = "application/a2a-agent-card+json"
CATALOG_TYPE = "application/ai-catalog+json"
ME = "urn:air:shop.example:a2a:orders"


def listed(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"specVersion": "1.0", "entries": list(entries), **more}


def entry(identifier: str = ME, **members: Any) -> dict[str, Any]:
    return {"identifier": identifier, "type": A2A, **members}


async def test_a_linked_card_comes_from_its_own_host(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD, displayName="Best shop", description="Buy here", tags=["x"])))
    web.put(CARD, card())

    agent = await discovery().discover(f"{CATALOG}#{ME}")

    assert (agent.trust.authority, agent.trust.level) == ("shop.example", Trust.CHANNEL)
    assert (agent.source.url, agent.source.via) == (CARD, (CATALOG,))
    assert agent.card.name == "Orders"
    assert dict(agent.document) == card()
    assert web.urls == [CATALOG, CARD]


async def test_no_document_gets_a_credential_sent_in_clear_by_writing_http_before_its_host(
    web: Any, discovery: Any, card: Any
) -> None:
    plain, nested = "http://shop.example/card.json", "http://shop.example/more.json"
    web.put(CATALOG, listed(entry(url=plain), {"identifier": "more", "type": CATALOG_TYPE, "url": nested}))
    web.put(plain, card())
    web.put(nested, listed(entry("urn:air:shop.example:a2a:other", url=CARD)))
    d = discovery(
        credentials={"shop.example": Credentials(bearer="secret")},
        network=NetworkPolicy(allow_http=True),
        trust=TrustPolicy(require=Trust.NONE),
    )

    found = [each async for each in d.catalog(CATALOG)]
    for each in found:
        if each.url == CARD:
            web.put(CARD, card())
        await d.discover(each)
    await d.discover(plain)  # what the caller writes is his to answer for

    sent = {str(request.url): [] for request in web.asked}
    for request in web.asked:
        sent[str(request.url)].append(request.headers.get("authorization"))
    assert sent == {
        CATALOG: [None],
        nested: [None],
        plain: [None, "Bearer secret"],
        CARD: ["Bearer secret"],
    }


async def test_an_inline_card_has_the_word_of_its_catalog_alone(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry("urn:air:catalog.example:x", data=card())))

    agent = await discovery().discover(f"{CATALOG}#urn:air:catalog.example:x")

    assert (agent.trust.authority, agent.trust.level) == ("catalog.example", Trust.CHANNEL)
    assert agent.interface.url == "https://shop.example/a2a"
    assert (agent.source.url, agent.source.via) == (CATALOG, (CATALOG,))
    assert dict(agent.document) == card()
    assert web.urls == [CATALOG]


async def test_an_identifier_is_percent_decoded_from_the_fragment(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry("order agent/1", data=card())))

    agent = await discovery().discover(f"{CATALOG}#order%20agent%2F1")

    assert agent.card.name == "Orders"


@pytest.mark.parametrize("identifier", ["urn:air:shop.example:orders", "urn:AIR:Shop.Example:orders"])
async def test_an_identifier_of_another_publisher_is_a_finding_or_a_refusal(
    web: Any, discovery: Any, card: Any, identifier: str
) -> None:
    web.put(CATALOG, listed(entry(identifier, url="https://other.example/card.json")))
    web.put("https://other.example/card.json", card("other.example"))

    agent = await discovery().discover(f"{CATALOG}#{identifier}")
    assert "other-publisher" in {finding.code for finding in agent.findings}
    assert agent.trust.level == Trust.CHANNEL

    with pytest.raises(TrustError) as caught:
        await discovery(trust=TrustPolicy(require=Trust.SIGNED)).discover(f"{CATALOG}#{identifier}")
    assert caught.value.code in ("other-publisher", "unsigned")


async def test_a_name_below_the_publisher_is_the_publisher(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry(url="https://agents.shop.example/card.json")))
    web.put("https://agents.shop.example/card.json", card())

    agent = await discovery().discover(f"{CATALOG}#{ME}")

    assert "other-publisher" not in {finding.code for finding in agent.findings}


async def test_an_identifier_that_is_not_there_is_named(web: Any, discovery: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD)))

    with pytest.raises(NotFoundError) as caught:
        await discovery().discover(f"{CATALOG}#nobody")

    assert caught.value.code == "entry-not-found"
    assert "'nobody'" in str(caught.value)
    assert caught.value.url == CATALOG


async def test_an_entry_that_cannot_be_used_says_why(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD, data=card())))

    with pytest.raises(NotFoundError, match="url-and-data") as caught:
        await discovery().discover(f"{CATALOG}#{ME}")

    assert caught.value.code == "entry-not-found"


async def test_of_several_versions_the_highest_is_taken(web: Any, discovery: Any, card: Any) -> None:
    versions = {"2.0.0": "a", "2.10.0": "b", "2.9.0": "c", "2.10.0-rc.1": "d"}
    web.put(
        CATALOG,
        listed(*(entry(version=each, url=f"https://shop.example/{name}.json") for each, name in versions.items())),
    )
    web.put("https://shop.example/b.json", card())

    agent = await discovery().discover(f"{CATALOG}#{ME}")

    assert agent.source.url == "https://shop.example/b.json"


async def test_without_versions_the_last_updated_is_taken(web: Any, discovery: Any, card: Any) -> None:
    times = {"2026-01-02T00:00:00Z": "a", "2026-01-02T01:30:00+01:00": "b", "2026-01-02T00:45:00Z": "c"}
    rows = (entry(updatedAt=each, version="x", url=f"https://shop.example/{name}.json") for each, name in times.items())
    web.put(CATALOG, listed(*rows))
    web.put("https://shop.example/c.json", card())

    agent = await discovery().discover(f"{CATALOG}#{ME}")

    assert agent.source.url == "https://shop.example/c.json"


async def test_two_entries_with_one_name_and_no_order_are_ambiguous(web: Any, discovery: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD), entry(url="https://shop.example/other.json")))

    with pytest.raises(NotFoundError) as caught:
        await discovery().discover(f"{CATALOG}#{ME}")

    assert caught.value.code == "ambiguous"
    assert [each.url for each in caught.value.entries] == [CARD, "https://shop.example/other.json"]


async def test_two_entries_that_say_the_same_are_one(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD), entry(url=CARD)))
    web.put(CARD, card())

    assert (await discovery().discover(f"{CATALOG}#{ME}")).source.url == CARD


async def test_a_digest_over_the_bytes_of_a_linked_card(web: Any, discovery: Any, card: Any) -> None:
    body = b'{ "x": 1,' + __import__("json").dumps(card()).encode()[1:]
    web.put(CARD, body)
    web.put(CATALOG, listed(entry(url=CARD, digest=f"sha256:{hashlib.sha256(body).hexdigest()}")))
    assert (await discovery().discover(f"{CATALOG}#{ME}")).card.name == "Orders"

    web.put(CATALOG, listed(entry(url=CARD, digest=f"sha256:{hashlib.sha256(body + b' ').hexdigest()}")))
    with pytest.raises(CardError) as caught:
        await discovery().discover(f"{CATALOG}#{ME}")

    assert caught.value.code == "invalid-card"
    assert [finding.code for finding in caught.value.findings] == ["digest-mismatch"]


async def test_a_digest_over_the_canonical_form_of_an_inline_card(web: Any, discovery: Any, card: Any) -> None:
    digest = hashlib.sha256(jcs.canonicalize(card())).hexdigest()
    web.put(CATALOG, listed(entry(data=card(), digest=f"sha256:{digest}")))
    assert (await discovery().discover(f"{CATALOG}#{ME}")).card.name == "Orders"

    web.put(CATALOG, listed(entry(data=card(name="Other"), digest=f"sha256:{digest}")))
    with pytest.raises(CardError, match="digest"):
        await discovery().discover(f"{CATALOG}#{ME}")


@pytest.mark.parametrize(
    "digest", ["sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "md5:d41d8cd98f00b204e9800998ecf8427e"]
)
async def test_a_weak_digest_spoils_its_entry(web: Any, discovery: Any, digest: str) -> None:
    web.put(CATALOG, listed(entry(url=CARD, digest=digest)))

    with pytest.raises(NotFoundError, match="weak-digest"):
        await discovery().discover(f"{CATALOG}#{ME}")


async def test_a_digest_of_an_unknown_kind_is_reported(web: Any, discovery: Any, card: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD, digest="blake3:00")))
    web.put(CARD, card())

    agent = await discovery().discover(f"{CATALOG}#{ME}")

    assert "digest-not-checked" in {finding.code for finding in agent.findings}


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254/card.json",
        "http://169.254.169.254/",
        "https://10.0.0.1/c.json",
        "https://localhost/c.json",
    ],
)
async def test_an_entry_leads_to_no_address_inside(web: Any, discovery: Any, url: str) -> None:
    web.put(CATALOG, listed(entry(url=url)))

    with pytest.raises(BlockedError):
        await discovery().discover(f"{CATALOG}#{ME}")

    assert web.urls == [CATALOG]


async def test_a_document_that_is_a_catalog_of_one_is_followed(web: Any, discovery: Any, card: Any) -> None:
    other = {
        "identifier": "urn:air:shop.example:mcp",
        "type": "application/mcp-server-card+json",
        "url": "https://x.example/",
    }
    web.put(CATALOG, listed(other, entry(url="cards/orders.json")))
    web.put("https://catalog.example/cards/orders.json", card("catalog.example"))

    agent = await discovery().discover(CATALOG)

    assert agent.source.url == "https://catalog.example/cards/orders.json"
    assert agent.source.via == (CATALOG,)


async def test_a_document_that_lists_several_is_ambiguous(web: Any, discovery: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD), entry("urn:air:shop.example:a2a:returns", url=CARD)))

    with pytest.raises(NotFoundError) as caught:
        await discovery().discover(CATALOG)

    assert caught.value.code == "ambiguous"
    assert [each.identifier for each in caught.value.entries] == [ME, "urn:air:shop.example:a2a:returns"]
    assert ME in str(caught.value)


async def test_a_document_that_lists_none_has_no_card(web: Any, discovery: Any) -> None:
    web.put(CATALOG, listed())

    with pytest.raises(NotFoundError) as caught:
        await discovery().discover(CATALOG)

    assert caught.value.code == "no-card"


async def test_what_an_entry_links_to_must_be_a_card(web: Any, discovery: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD)))
    web.put(CARD, listed(entry(url=CARD)))

    with pytest.raises(CardError) as caught:
        await discovery().discover(f"{CATALOG}#{ME}")

    assert caught.value.code == "not-a-card"


async def test_a_linked_page_is_not_json(web: Any, discovery: Any) -> None:
    web.put(CATALOG, listed(entry(url=CARD)))
    web.put(CARD, b"<!doctype html><p>", content_type="text/html")

    with pytest.raises(CardError) as caught:
        await discovery().discover(f"{CATALOG}#{ME}")

    assert caught.value.code == "not-json"


class TestOfADomain:
    UCP = "https://shop.example/.well-known/ucp"
    ARD = "https://shop.example/.well-known/ard.json"
    AI = "https://shop.example/.well-known/ai-catalog.json"

    def profile(self, endpoint: str) -> dict[str, Any]:
        binding = {"version": "2026-04-08", "transport": "a2a", "endpoint": endpoint}
        return {"ucp": {"version": "2026-04-08", "services": {"dev.ucp.shopping": [binding]}}}

    async def test_its_profile_is_followed(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(self.UCP, self.profile(CARD))
        web.put(CARD, card())

        agent = await discovery().discover("shop.example")

        assert agent.source.url == CARD
        assert agent.source.via[-1] == self.UCP
        assert web.urls[2:5] == [self.UCP, self.ARD, self.AI]
        assert "other-publisher" not in {finding.code for finding in agent.findings}

    async def test_the_first_usable_one_in_the_order_wins(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(self.UCP, self.profile(CARD)["ucp"])
        web.put(self.ARD, listed(entry(url=CARD)))
        web.put(self.AI, listed(entry(url="https://shop.example/wrong.json")))
        web.put(CARD, card())

        agent = await discovery().discover("shop.example")

        assert (agent.source.url, agent.source.via[-1]) == (CARD, self.ARD)

    async def test_a_failure_among_them_hides_no_other(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(self.UCP, b"", status=401)
        web.answers[self.ARD] = httpx.ReadError("gone")
        web.put(self.AI, listed(entry(url=CARD)))
        web.put(CARD, card())

        assert (await discovery().discover("shop.example")).source.url == CARD

    async def test_where_all_three_fail_the_first_failure_is_the_error(self, web: Any, discovery: Any) -> None:
        for url in (self.UCP, self.ARD, self.AI):
            web.put(url, b"", status=500)

        with pytest.raises(FetchError) as caught:
            await discovery().discover("shop.example")

        assert caught.value.status == 500
        assert [each.status for each in caught.value.attempts] == [404, 404, 500, 500, 500]

    async def test_a_failure_is_listed_where_another_place_answered(self, web: Any, discovery: Any) -> None:
        web.put(self.UCP, b"", status=403)

        with pytest.raises(NotFoundError) as caught:
            await discovery().discover("shop.example")

        assert [each.status for each in caught.value.attempts] == [404, 404, 403, 404, 404]

    async def test_a_card_of_another_site_is_of_another_publisher(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(self.UCP, self.profile("https://platform.example/card.json"))
        web.put("https://platform.example/card.json", card("platform.example"))

        agent = await discovery().discover("shop.example")
        assert "other-publisher" in {finding.code for finding in agent.findings}

        with pytest.raises(TrustError) as caught:
            await discovery(trust=TrustPolicy(require=Trust.SIGNED)).discover("shop.example")
        assert caught.value.code == "other-publisher"
        assert 'discover("https://platform.example/card.json")' in (caught.value.hint or "")

    async def test_several_agents_are_ambiguous(self, web: Any, discovery: Any) -> None:
        web.put(self.AI, listed(entry(url=CARD), entry("b", url=CARD)))

        with pytest.raises(NotFoundError) as caught:
            await discovery().discover("shop.example")

        assert caught.value.code == "ambiguous"

    async def test_the_failure_of_the_card_it_names_is_the_error(self, web: Any, discovery: Any) -> None:
        web.put(self.UCP, self.profile(CARD))
        web.put(CARD, b"", status=503)

        with pytest.raises(FetchError) as caught:
            await discovery().discover("shop.example")

        assert caught.value.status == 503


class TestAnEntry:
    async def test_made_by_hand_is_fetched_from_its_url(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(CARD, card())

        agent = await discovery().discover(CatalogEntry(identifier="x", source="mine", url=CARD))

        assert (agent.source.url, agent.source.requested) == (CARD, "mine#x")

    async def test_made_by_hand_with_a_card_is_handed_over(self, web: Any, discovery: Any, card: Any) -> None:
        agent = await discovery().discover(CatalogEntry(identifier="x", source="https://big.example/", card=card()))

        assert agent.trust.authority is None
        assert web.urls == []

    async def test_with_a_base_url_is_looked_for_below_it(self, web: Any, discovery: Any, card: Any) -> None:
        url = "https://shop.example/agents/orders"
        web.put(f"{url}/.well-known/agent-card.json", card())

        agent = await discovery().discover(CatalogEntry(identifier="x", source="mine", url=url, base=True))

        assert agent.source.url == f"{url}/.well-known/agent-card.json"


class TestWhereACardWasOnce:
    async def test_a_catalog_that_came_in_its_place_goes_before_the_old_copy(
        self, web: Any, discovery: Any, card: Any
    ) -> None:
        place = "https://shop.example/.well-known/agent-card.json"
        web.put(place, card(), cache_control="max-age=0")
        async with discovery() as d:
            await d.discover("shop.example")
            web.put(place, b"<!doctype html><p>", content_type="text/html")
            web.put("https://shop.example/.well-known/ard.json", listed(entry(url=CARD)))
            web.put(CARD, card(name="Newer"))

            agent = await d.discover("shop.example", refresh=True)

        assert agent.card.name == "Newer"
