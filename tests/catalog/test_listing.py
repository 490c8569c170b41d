"""``d.catalog`` and ``d.find``: domains, nested catalogs, files, what was left out and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_discovery import (
    BlockedError,
    CardError,
    FetchError,
    Limits,
    NetworkPolicy,
    NotFoundError,
    SyncDiscovery,
    UsageError,
)

A2A = "application/a2a-agent-card+json"
NESTED = "application/ai-catalog+json"
ARD = "https://catalog.example/.well-known/ard.json"
AI = "https://catalog.example/.well-known/ai-catalog.json"
ROOT = "https://catalog.example/"


def entry(identifier: str, **members: Any) -> dict[str, Any]:
    members = members or {"url": f"https://agents.example/{identifier}.json"}
    return {"identifier": identifier, "type": A2A, **members}


def nested(url: str) -> dict[str, Any]:
    return {"identifier": f"urn:nested:{url}", "type": NESTED, "url": url}


def listed(*rows: Any) -> dict[str, Any]:
    return {"specVersion": "1.0", "entries": list(rows)}


async def names(listing: Any) -> list[str]:
    return [each.identifier async for each in listing]


def codes(listing: Any) -> list[str]:
    return [finding.code for finding in listing.findings]


class TestADomain:
    async def test_is_asked_for_the_newer_name_first(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(entry("a")))
        web.put(AI, listed(entry("wrong")))

        assert await names(discovery().catalog("catalog.example")) == ["a"]
        assert web.urls == [ARD]

    @pytest.mark.parametrize("status", [404, 405, 410])
    async def test_then_for_the_older_one(self, web: Any, discovery: Any, status: int) -> None:
        web.put(ARD, b"", status=status)
        web.put(AI, listed(entry("a")))

        found = [each async for each in discovery().catalog("catalog.example")]

        assert [each.source for each in found] == [AI]
        assert web.urls == [ARD, AI]

    @pytest.mark.parametrize(
        "link",
        [
            '</other.json>; rel="ai-catalog", </c.json>; rel="ard"',
            "<https://catalog.example/c.json>;rel=ard",
            '</x>; rel="api-catalog", <c.json>; type="application/json"; rel="alternate ARD"',
        ],
    )
    async def test_then_for_what_a_page_links_to(self, web: Any, discovery: Any, link: str) -> None:
        web.put(ROOT, b"<!doctype html><p>Welcome", content_type="text/html", Link=link)
        web.put("https://catalog.example/c.json", listed(entry("a")))

        found = [each async for each in discovery().catalog("catalog.example")]

        assert [each.via for each in found] == [(ROOT, "https://catalog.example/c.json")]
        assert web.urls == [ARD, AI, ROOT, "https://catalog.example/c.json"]

    async def test_a_page_links_in_its_head_too(self, web: Any, discovery: Any) -> None:
        page = b"<!doctype html><head><link rel='ai-catalog' href='https://lists.example/c.json?a=1&amp;b=2'>"
        web.put(ARD, page, content_type="text/html")
        web.put("https://lists.example/c.json?a=1&b=2", listed(entry("a")))

        assert await names(discovery().catalog("catalog.example")) == ["a"]

    async def test_without_any_every_place_is_named(self, web: Any, discovery: Any) -> None:
        with pytest.raises(NotFoundError) as caught:
            await names(discovery().catalog("catalog.example"))

        assert [(each.url, each.status) for each in caught.value.attempts] == [(ARD, 404), (AI, 404), (ROOT, 404)]

    async def test_that_fails_everywhere_is_that_failure(self, web: Any, discovery: Any) -> None:
        for url in (ARD, AI, ROOT):
            web.answers[url] = httpx.ConnectError("nobody listens")

        with pytest.raises(FetchError) as caught:
            await names(discovery().catalog("catalog.example"))

        assert caught.value.code == "connect"

    async def test_a_catalog_that_is_broken_is_not_passed_over(self, web: Any, discovery: Any) -> None:
        web.put(ARD, b'{"entries":[')
        web.put(AI, listed(entry("wrong")))

        with pytest.raises(CardError) as caught:
            await names(discovery().catalog("catalog.example"))

        assert (caught.value.code, caught.value.url) == ("not-json", ARD)


class TestNestedCatalogs:
    async def test_are_read_after_the_catalog_itself(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(nested("/deep/b.json"), entry("a")))
        web.put("https://catalog.example/deep/b.json", listed(entry("b", url="c.json")))

        found = [each async for each in discovery().catalog("catalog.example")]

        assert [(each.identifier, each.url) for each in found] == [
            ("a", "https://agents.example/a.json"),
            ("b", "https://catalog.example/deep/c.json"),
        ]
        assert found[1].via == (ARD, "https://catalog.example/deep/b.json")

    async def test_a_catalog_that_lists_itself_is_read_once(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(entry("a"), nested(ARD), nested("https://catalog.example:443/.well-known/ard.json")))

        listing = discovery().catalog(ARD)

        assert await names(listing) == ["a"]
        assert codes(listing) == ["catalog-cycle", "catalog-cycle"]
        assert web.urls == [ARD]

    async def test_a_circle_ends_where_it_closes(self, web: Any, discovery: Any) -> None:
        web.put("https://c.example/1.json", listed(entry("a"), nested("2.json")))
        web.put("https://c.example/2.json", listed(entry("b"), nested("1.json")))

        listing = discovery().catalog("https://c.example/1.json")

        assert await names(listing) == ["a", "b"]
        assert codes(listing) == ["catalog-cycle"]

    async def test_one_that_two_name_is_read_once(self, web: Any, discovery: Any) -> None:
        web.put("https://c.example/1.json", listed(nested("2.json"), nested("3.json")))
        web.put("https://c.example/2.json", listed(nested("4.json")))
        web.put("https://c.example/3.json", listed(nested("4.json")))
        web.put("https://c.example/4.json", listed(entry("a")))

        listing = discovery().catalog("https://c.example/1.json")

        assert await names(listing) == ["a"]
        assert codes(listing) == []

    async def test_four_levels_are_read_and_no_more(self, web: Any, discovery: Any) -> None:
        for level in range(10):
            web.put(f"https://c.example/{level}.json", listed(entry(f"a{level}"), nested(f"{level + 1}.json")))

        listing = discovery().catalog("https://c.example/0.json")

        assert await names(listing) == ["a0", "a1", "a2", "a3", "a4"]
        assert codes(listing) == ["too-deep"]

    async def test_inline_levels_count_as_well(self, discovery: Any) -> None:
        document: dict[str, Any] = listed(entry("a9"))
        for level in reversed(range(9)):
            document = listed(entry(f"a{level}"), {"identifier": "n", "type": NESTED, "data": document})

        listing = discovery().catalog(document)

        assert await names(listing) == ["a0", "a1", "a2", "a3", "a4"]
        assert codes(listing) == ["too-deep"]

    @pytest.mark.parametrize("answer", [httpx.Response(500), httpx.Response(200, content=b"<p>"), httpx.ReadError("")])
    async def test_a_dead_one_costs_no_other(self, web: Any, discovery: Any, answer: Any) -> None:
        web.put(ARD, listed(nested("https://dead.example/c.json"), entry("a"), nested("b.json")))
        web.put("https://catalog.example/.well-known/b.json", listed(entry("b")))
        web.answers["https://dead.example/c.json"] = answer

        listing = discovery().catalog(ARD)

        assert await names(listing) == ["a", "b"]
        assert len(listing.findings) == 1
        assert listing.findings[0].pointer == "/entries/0"

    async def test_one_at_an_address_inside_is_not_asked(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(nested("https://169.254.169.254/c.json"), nested("http://localhost/c.json"), entry("a")))

        listing = discovery(network=NetworkPolicy.local()).catalog(ARD)

        assert await names(listing) == ["a"]
        assert codes(listing) == ["address", "address"] or codes(listing) == ["address", "scheme"]
        assert web.urls == [ARD]

    async def test_their_number_is_bounded(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(*(nested(f"{number}.json") for number in range(50))))
        for number in range(50):
            web.put(f"https://catalog.example/.well-known/{number}.json", listed(entry(f"a{number}")))

        listing = discovery(limits=Limits(catalog_documents=11)).catalog(ARD)

        assert await names(listing) == [f"a{number}" for number in range(10)]
        assert codes(listing) == ["too-many-documents"]


class TestWhatIsHandedOver:
    async def test_a_mapping_is_read_where_it_is(self, web: Any, discovery: Any, card: Any) -> None:
        found = [each async for each in discovery().catalog(listed(entry("a", data=card())))]

        agent = await discovery().discover(found[0])

        assert (agent.card.name, agent.trust.authority) == ("Orders", None)
        assert web.urls == []

    async def test_a_list_too(self, discovery: Any) -> None:
        assert await names(discovery().catalog(["https://a.example/card.json"])) == ["https://a.example/card.json"]

    async def test_a_file_is_read_from_its_path(self, discovery: Any, samples: Path) -> None:
        listing = discovery().catalog(samples / "ai_catalog" / "90_hostile_and_broken.json")

        assert await names(listing) == [
            "urn:air:evil.example:agent:metadata-ip",
            "urn:air:evil.example:agent:params",
            "urn:air:example.com:ok",
        ]
        assert len(listing.findings) == 8

    async def test_a_file_that_is_not_there_or_too_large(self, discovery: Any, tmp_path: Path) -> None:
        with pytest.raises(NotFoundError):
            await names(discovery().catalog(tmp_path / "none.json"))

        (tmp_path / "big.json").write_bytes(b"[" + b" " * 100 + b"]")
        with pytest.raises(FetchError) as caught:
            await names(discovery(limits=Limits(catalog_bytes=100)).catalog(tmp_path / "big.json"))
        assert caught.value.code == "too-large"

    @pytest.mark.parametrize("target", [7, None, "https://c.example/x.json#a", "ftp://c.example/", "no host"])
    def test_what_is_no_catalog_is_a_bad_target(self, discovery: Any, target: Any) -> None:
        with pytest.raises(UsageError) as caught:
            discovery().catalog(target)

        assert caught.value.code == "bad-target"


class TestTheEntries:
    async def test_are_discovered_each_by_its_own_rules(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(ARD, listed(entry("linked"), entry("inside", data=card())))
        web.put("https://agents.example/linked.json", card("agents.example"))

        async with discovery() as d:
            agents = {each.identifier: await d.discover(each) async for each in d.catalog("catalog.example")}

        assert {name: agent.trust.authority for name, agent in agents.items()} == {
            "linked": "agents.example",
            "inside": "catalog.example",
        }
        assert agents["linked"].source.via == (ARD,)
        assert agents["inside"].source.fetched_at > 0

    async def test_a_card_inside_is_looked_for_again_on_refresh(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(ARD, listed(entry("a", data=card())), cache_control="max-age=0")
        d = discovery()
        (found,) = [each async for each in d.catalog(ARD)]
        web.put(ARD, listed(entry("a", data=card(name="Newer"))))

        assert (await d.discover(found)).card.name == "Orders"
        assert (await d.discover(found, refresh=True)).card.name == "Newer"

    async def test_at_an_address_inside_is_blocked_when_discovered(self, web: Any, discovery: Any, sample: Any) -> None:
        found = [each async for each in discovery().catalog(sample("ai_catalog/90_hostile_and_broken.json"))]

        with pytest.raises(BlockedError):
            await discovery().discover(found[0])

    async def test_may_be_given_to_discover_many_as_they_come(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(ARD, listed(entry("a"), entry("dead"), entry("b")))
        for name in "ab":
            web.put(f"https://agents.example/{name}.json", card(name=name))

        async with discovery() as d:
            outcomes = [each async for each in d.discover_many(d.catalog("catalog.example"), concurrency=2)]

        assert {each.target.identifier: each.agent is not None for each in outcomes} == {
            "a": True,
            "dead": False,
            "b": True,
        }

    async def test_no_more_are_read_than_asked_for(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(nested("n.json"), *(entry(f"a{number}") for number in range(10))))

        assert await names(discovery().catalog(ARD, limit=2)) == ["a0", "a1"]
        assert web.urls == [ARD]

    async def test_a_registry_that_is_named_is_not_asked(self, web: Any, discovery: Any, sample: Any) -> None:
        web.put(ARD, sample("ai_catalog/04_nested.json"))

        listing = discovery().catalog(ARD)

        assert await names(listing) == ["urn:air:example.com:agent:assistant", "urn:air:example.com:agent:finance:a2a"]
        assert codes(listing) == ["registry-not-asked", "http-status"]

    async def test_unless_the_caller_says_so(self, web: Any, discovery: Any, sample: Any) -> None:
        web.put(ARD, sample("ai_catalog/04_nested.json"))
        web.put("https://registry.example.com/api/v1/agents?pageSize=100", sample("ard_registry/list_page2.json"))

        found = await names(discovery().catalog(ARD, follow_registries=True))

        assert found[-1] == "urn:air:example.com:agent:b"


class TestFind:
    def catalog(self, card: Any) -> dict[str, Any]:
        skills = [{"id": "tax", "name": "Tax advice", "description": "Reads receipts", "tags": ["money"]}]
        return listed(
            entry("urn:a:1", data=card(name="Accountant", skills=skills)),
            entry("urn:a:2", url="https://a.example/2.json", tags=["Money"], description="Counts COINS and notes"),
            entry(
                "urn:a:3", url="https://a.example/3.json", capabilities=["TAX"], representativeQueries=["count coins"]
            ),
        )

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({}, "123"),
            ({"identifier": "urn:a:2"}, "2"),
            ({"identifier": "urn:A:2"}, ""),
            ({"skill": "tax"}, "13"),
            ({"skill": "tax advice"}, "1"),
            ({"tag": "money"}, "12"),
            ({"text": "coins"}, "23"),
            ({"text": "COINS count"}, "23"),
            ({"text": "receipts"}, "1"),
            ({"text": "coins receipts"}, ""),
            ({"text": "coins", "skill": "tax"}, "3"),
        ],
    )
    async def test_all_that_is_given_must_fit(
        self, discovery: Any, card: Any, wanted: dict[str, str], found: str
    ) -> None:
        listing = discovery().find(self.catalog(card), **wanted)

        assert await names(listing) == [f"urn:a:{number}" for number in found]

    async def test_no_card_is_fetched_for_it(self, web: Any, discovery: Any) -> None:
        web.put(ARD, listed(entry("a"), entry("b")))

        await names(discovery().find("catalog.example", skill="x", text="y", tag="z"))

        assert web.urls == [ARD]


class TestAnOutage:
    async def test_the_stored_catalog_stands_in_and_says_so(self, web: Any, discovery: Any, card: Any) -> None:
        web.put(ARD, listed(entry("a", data=card())), cache_control="max-age=0")
        async with discovery() as d:
            assert await names(d.catalog(ARD)) == ["a"]
            web.answers[ARD] = httpx.Response(503)

            listing = d.catalog(ARD)
            assert await names(listing) == ["a"]
            assert codes(listing) == ["stale-catalog"]
            assert (await d.discover(f"{ARD}#a")).source.cache == "stale"

    async def test_a_catalog_is_asked_for_again_by_its_etag(self, web: Any, discovery: Any) -> None:
        def answer(request: httpx.Request) -> httpx.Response:
            headers = {"etag": '"1"', "cache-control": "no-cache"}
            if request.headers.get("if-none-match") == '"1"':
                return httpx.Response(304, headers=headers)
            return httpx.Response(200, headers=headers, content=json.dumps(listed(entry("a"))))

        web.answers[ARD] = answer
        async with discovery() as d:
            first, second = await names(d.catalog(ARD)), await names(d.catalog(ARD))

        assert first == second == ["a"]
        assert [request.headers.get("if-none-match") for request in web.asked] == [None, '"1"']


class TestWithoutAsyncio:
    def test_the_same_is_offered(self, web: Any, card: Any, tmp_path: Path, sample: Any) -> None:
        web.put(ARD, listed(entry("a", data=card()), {"identifier": "b", "type": A2A}))
        web.put("https://shop.example/.well-known/ucp", sample("ucp/draft_main_keys.json"))
        (tmp_path / "agents.json").write_text(json.dumps({"agents": {"mine": f"{ARD}#a"}}))

        with SyncDiscovery.from_config(
            tmp_path / "agents.json", env={}, transport=httpx.MockTransport(web.handle)
        ) as d:
            listing = d.catalog("catalog.example")
            assert [d.discover(each).card.name for each in listing] == ["Orders"]
            assert codes(listing) == ["no-location"]
            assert [each.identifier for each in d.find(ARD, tag="shop")] == ["a"]
            assert d.discover("mine").card.name == "Orders"
            assert len(d.merchant_keys("shop.example")["keys"]) == 2
            with pytest.raises(NotFoundError):
                next(d.catalog("nobody.example"))
