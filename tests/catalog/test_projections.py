"""Every published sample reads as its format says; the hostile ones too."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from a2a_discovery import CardError, CatalogEntry
from a2a_discovery._catalog.entry import Follow
from a2a_discovery._catalog.lists import is_card
from a2a_discovery._catalog.project import project
from a2a_discovery._catalog.stream import read_document

HERE = "https://catalog.example/.well-known/ai-catalog.json"


def read(body: bytes, url: str = HERE) -> list[Any]:
    return list(project(read_document(body, depth=64), url))


def told(item: Any) -> tuple[str, ...]:
    """An item in a line: an entry with its place, what to follow, or the code of what was left out."""
    if isinstance(item, CatalogEntry):
        return (item.identifier, item.url or "CARD")
    return (item.kind, item.url) if isinstance(item, Follow) else (item.code, item.pointer)


EXPECTED: dict[str, list[tuple[str, ...]]] = {
    "ai_catalog/01_minimal.json": [
        ("urn:air:example.com:a2a:research", "https://agents.example.com/researchAssistant"),
    ],
    "ai_catalog/02_legacy_mediatype_2026-04.json": [
        ("urn:example:agent-finance-001", "https://api.example.com/agents/finance-agent.json"),
    ],
    "ai_catalog/03_inline_card.json": [
        ("urn:air:example.com:a2a:research", "CARD"),
        ("https://registry.example.com/ids/artifacts/7bf4a8c2", "CARD"),
    ],
    "ai_catalog/04_nested.json": [
        ("urn:air:example.com:agent:assistant", "https://api.example.com/agents/assistant.json"),
        ("catalog", "https://catalog.example/catalogs/finance.json"),
        ("urn:air:example.com:agent:finance:a2a", "https://api.example.com/agents/finance"),
        ("registry", "https://registry.example.com/api/v1/"),
    ],
    "ai_catalog/04_nested_child_finance.json": [
        ("urn:air:example.com:agent:tax", "https://catalog.example/.well-known/tax/agent-card.json"),
        ("catalog", "https://example.com/.well-known/ai-catalog.json"),
    ],
    "ai_catalog/05_multi_version.json": [
        ("urn:air:example.com:agent:finance", f"https://api.example.com/agents/finance/v2.{minor}.json")
        for minor in (0, 10, 9)
    ],
    "ai_catalog/06_trust_draft_2026-10.json": [
        ("urn:air:example.com:a2a:research", "https://agents.example.com/research/agent-card.json"),
        ("urn:air:example.com:a2a:older-trust-shape", "https://agents.example.com/older/agent-card.json"),
    ],
    "ai_catalog/07_ard_manifest_v0.91.json": [
        ("urn:air:pay.example:agent:checkout", "https://pay.example/.well-known/agent-card.json"),
    ],
    "ai_catalog/08_dual_type_and_mediatype.json": [
        ("urn:air:bobs-plumbing.example:agent:assistant", "https://bobs-plumbing.example/.well-known/agent-card.json"),
    ],
    "ai_catalog/90_hostile_and_broken.json": [
        ("url-and-data", "/entries/0"),
        ("no-location", "/entries/1"),
        ("missing-identifier", "/entries/2"),
        ("urn:air:evil.example:agent:metadata-ip", "http://169.254.169.254/latest/meta-data/"),
        ("bad-url", "/entries/4/url"),
        ("bad-url", "/entries/5/url"),
        ("not-a-card", "/entries/6/data"),
        ("urn:air:evil.example:agent:params", "https://ok.example/card.json"),
        ("missing-identifier", "/entries/8"),
        ("not-an-entry", "/entries/9"),
        ("urn:air:example.com:ok", "https://ok.example/agent-card.json"),
    ],
    "ard_registry/list_page1.json": [("urn:air:example.com:agent:a", "https://a.example.com/agent-card.json")],
    "ard_registry/list_page2.json": [("urn:air:example.com:agent:b", "CARD")],
    "ard_registry/get_response.json": [
        ("urn:air:example.com:agent:projection-only", "https://p.example.com/agent-card.json"),
    ],
    "ard_registry/search_response.json": [
        ("urn:air:travel.example:agent:flights", "https://travel.example/agents/flights.json"),
        ("lookup", "https://registry.example.com/api/v1/"),
        ("registry", "https://finder.example/"),
    ],
    "ard_registry/agntcy_v1_agents.json": [
        ("urn:ai:org.agntcy:cid:baeareih4sx2examplecid0000000000000000000000000000000000", "CARD"),
        # Both protocols of one agent in an inline catalog, whose own entries have no identifier.
        ("urn:ai:org.agntcy:cid:baeareiexamplecidtwo000000000000000000000000000000000000", "CARD"),
    ],
    "ard_registry/agntcy_wellknown.json": [
        ("catalog", "https://dir.example.org/v1/agents?filter=type%3Dapplication%2Fa2a-agent-card%2Bjson"),
    ],
    "card_list/a2aregistry_org_agents.json": [
        # The row is a lossy copy of a card: the place of the card itself wins.
        ("0d9c2c3e-6a55-4d3c-9d1e-2f5f6f2d7a11", "https://weather.example.net/.well-known/agent-card.json"),
    ],
    "card_list/apicurio_wellknown_agents.json": [
        ("ai-agents/translator-agent", "https://catalog.example/.well-known/agents/ai-agents/translator-agent"),
    ],
    "card_list/bare_cards_litellm_agent_hub.json": [("Hub Agent One", "CARD"), ("Hub Agent Two", "CARD")],
    "card_list/envelope_mixed.json": [
        ("r1", "CARD"),
        ("r2", "https://u.example.com/.well-known/agent-card.json"),
        ("r3", "https://base.example.com/tenants/t1"),
        ("https://s.example.com", "https://s.example.com"),
    ],
    "card_list/urls.json": [
        (url, url)
        for url in (
            "https://agents.example.com",
            "https://agents.example.com/.well-known/agent-card.json",
            "https://host.example.net/a2a/agent1/.well-known/agent-card.json",
        )
    ],
    "ucp/2026-01-11_object_transports.json": [
        ("dev.ucp.shopping", "https://shop.example.com/.well-known/agent-card.json")
    ],
    "ucp/2026-01-23_array_transports.json": [
        ("dev.ucp.shopping", "https://shop.example.com/.well-known/agent-card.json")
    ],
    "ucp/2026-04-08_supported_versions.json": [
        ("dev.ucp.shopping", "https://shop.example.com/.well-known/agent-card.json")
    ],
    "ucp/draft_main_keys.json": [
        ("dev.ucp.shopping", "https://shop.example.com/.well-known/agent-card.json"),
        ("other-version", "/ucp/services/dev.ucp.shopping/1"),
        ("com.example.loyalty", "https://loyalty.example.com/agent-card.json"),
    ],
    "ucp/no_a2a.json": [],
    "vendor/google_agents_list.json": [
        ("urn:agent:projects-000000000000:example:research", "CARD"),
        ("summary", "/agents/1"),  # nothing is made up from its interfaces
    ],
    "vendor/aws_agentcore_search_response.json": [("rec1", "CARD")],
    "vendor/aws_agent_registry_2025-12-01_record.json": [("research", "CARD")],
    "vendor/godaddy_ans_search.json": [
        ("ans://v1.0.0.research.example.com", "https://research.example.com/.well-known/agent-card.json"),
    ],
    "vendor/agentregistry_dev_v0_agents.json": [("no-location", "/items/0")],
    "vendor/mcp_registry_servers.json": [("no-location", "/servers/0")],
    "direct/card_v1.0.json": [("Research Assistant", "CARD")],
    "direct/card_v0.3.json": [("Weather Agent", "CARD")],
    "ucp/agent_card_of_the_shop.json": [("Example Shop Agent", "CARD")],
}

NO_CATALOG = (
    "ard_registry/error_404.json",
    "ard_registry/search_request.json",
    "direct/agents.json",
    "links/rfc9727_api_catalog.json",
    "vendor/google_agents_search_request.json",
)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_reads_as_its_format_says(samples: Any, name: str) -> None:
    assert [told(item) for item in read((samples / name).read_bytes())] == EXPECTED[name]


@pytest.mark.parametrize("name", NO_CATALOG)
def test_a_document_that_lists_nothing_is_no_catalog(samples: Any, name: str) -> None:
    with pytest.raises(CardError) as caught:
        read((samples / name).read_bytes())

    assert caught.value.code == "not-a-catalog"


@pytest.mark.parametrize("name", EXPECTED)
def test_reading_changes_no_document_and_gives_the_same_as_from_text(samples: Any, name: str) -> None:
    document = json.loads((samples / name).read_bytes())
    before = copy.deepcopy(document)

    items = list(project(document, HERE))

    assert document == before
    assert [told(item) for item in items] == EXPECTED[name]


def test_an_entry_has_the_words_of_its_row_and_the_row_itself(sample: Any) -> None:
    document = sample("ai_catalog/06_trust_draft_2026-10.json")

    entry = next(iter(project(document, HERE)))

    assert (entry.version, entry.type) == ("1.2.0", "application/a2a-agent-card+json")
    assert entry.digest == "sha256:d5838a8c02c2ed00df562f2ed9240f1e460bae89b2ab754ea3bd0d56444d272c"
    assert entry.raw is document["entries"][0]
    assert entry.raw["trustManifests"][0]["contributor"] == "did:web:example.com"
    assert (entry.publisher, entry.source) == ("example.com", HERE)


def test_an_older_entry_has_its_words_under_older_names(sample: Any) -> None:
    entry = next(iter(project(sample("ai_catalog/02_legacy_mediatype_2026-04.json"), HERE)))

    assert (entry.name, entry.description) == ("Example Finance Agent", "Multi-protocol finance agent.")
    assert (entry.tags, entry.updated_at) == (("finance", "trading"), "2026-02-22T16:30:00Z")
    assert entry.publisher is None


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("ard_registry/agntcy_v1_agents.json", lambda document: document["results"][0]["data"]["card_data"]),
        ("card_list/envelope_mixed.json", lambda document: document["agents"][0]["agentCard"]),
        ("vendor/google_agents_list.json", lambda document: document["agents"][0]["card"]["content"]),
        ("card_list/bare_cards_litellm_agent_hub.json", lambda document: document[0]),
    ],
)
def test_a_wrapped_card_is_the_very_object_inside(sample: Any, name: str, inner: Any) -> None:
    document = sample(name)

    assert next(iter(project(document, HERE))).card is inner(document)


def test_a_card_that_stands_as_text_is_read(sample: Any) -> None:
    (entry,) = project(sample("vendor/aws_agentcore_search_response.json"), HERE)

    assert (entry.card["name"], entry.display_name, entry.version) == ("AWS Weather Agent", "research", "1.0")


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '"x"', '{"a":1,"a":2}', '{"name":"x","skills":["a"],"url":"https://x.example/"}']
)
def test_a_text_that_is_no_card_is_left_out(sample: Any, text: str) -> None:
    document = sample("vendor/aws_agentcore_search_response.json")
    document["registryRecords"][0]["descriptors"]["a2a"]["agentCard"]["inlineContent"] = text

    assert [told(item) for item in project(document, HERE)] == [("not-a-card", "/registryRecords/0/descriptors")]


def test_a_summary_does_not_pass_as_a_card(sample: Any) -> None:
    row = sample("card_list/apicurio_wellknown_agents.json")["agents"][0]
    assert not is_card(row)

    summary = {name: value for name, value in row.items() if name not in ("groupId", "artifactId")}
    assert [told(item) for item in project([summary], HERE)] == [("summary", "/0")]
    entry = {"identifier": "x", "type": "application/a2a-agent-card+json", "data": summary}
    assert [told(item) for item in project({"entries": [entry]}, HERE)] == [("not-a-card", "/entries/0/data")]


@pytest.mark.parametrize("version", ["1.0", "1.9", "1.10.3", 1, 1.5, None, "", "draft"])
def test_a_document_of_this_major_is_read(version: Any) -> None:
    assert list(project({"specVersion": version, "entries": []}, HERE)) == []


@pytest.mark.parametrize("version", ["2.0", "2", 2, 2.1, "10.0"])
def test_a_document_of_a_higher_major_is_no_catalog(version: Any) -> None:
    with pytest.raises(CardError, match="specVersion") as caught:
        list(project({"specVersion": version, "entries": []}, HERE))

    assert caught.value.code == "not-a-catalog"


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("application/a2a-agent-card+json", True),
        ("APPLICATION/A2A-Agent-Card+JSON;charset=utf-8", True),
        ("application/mcp-server-card+json", False),
        ("application/json", False),
        (7, False),
    ],
)
def test_only_the_type_of_a_card_lists_a_linked_one(kind: Any, listed: bool) -> None:
    row = {"identifier": "x", "type": kind, "url": "https://x.example/card.json"}

    assert bool(list(project({"entries": [row]}, HERE))) is listed


def test_the_type_wins_over_the_older_media_type() -> None:
    row = {
        "identifier": "x",
        "type": "text/html",
        "mediaType": "application/a2a-agent-card+json",
        "url": "https://x.example/",
    }

    assert list(project({"entries": [row]}, HERE)) == []


def test_an_entry_without_identifier_goes_by_its_name() -> None:
    row = {"displayName": "Orders", "mediaType": "application/a2a-agent-card+json", "url": "https://x.example/c.json"}

    assert [told(item) for item in project({"entries": [row]}, HERE)] == [("Orders", "https://x.example/c.json")]


def test_a_relative_url_needs_a_base() -> None:
    document = {"entries": [{"identifier": "x", "type": "application/a2a-agent-card+json", "url": "card.json"}]}

    assert [told(item) for item in project(document, "https://h.example/a/b.json")] == [
        ("x", "https://h.example/a/card.json")
    ]
    assert [told(item) for item in project(document, "")] == [("bad-url", "/entries/0/url")]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:application/json,{}",
        "file:///etc/hosts",
        "https://user@h.example/",
        "https://",
        "https:///x",
        "//",
        "https://h.example:99999/",
        "https://h.example:0/",
        "https://[::1/",
        "https://a b.example/",
        "https://h.example\\@evil.example/",
        "https://h.example/\ud800",
        "",
        None,
        ["https://h.example/"],
        {"href": "https://h.example/"},
    ],
)
def test_what_is_no_fetchable_url_is_left_out(url: Any) -> None:
    rows = [{"identifier": "x", "type": "application/a2a-agent-card+json", "url": url}]

    assert [told(item)[0] for item in project({"entries": rows}, HERE)] in (["bad-url"], ["no-location"])


class TestStream:
    """A large document, decoded an entry at a time."""

    def good(self, number: int) -> str:
        return json.dumps(
            {
                "identifier": f"a{number}",
                "type": "application/a2a-agent-card+json",
                "url": f"https://h.example/{number}",
            }
        )

    @pytest.mark.parametrize(
        ("entry", "code"),
        [
            ('{"identifier":"x","identifier":"y"}', "not-an-entry"),
            ('{"identifier":NaN}', "not-an-entry"),
            ('{"identifier":1e999}', "not-an-entry"),
            ('{"identifier":' + "9" * 5000 + "}", "not-an-entry"),
            ('{"identifier":"\\ud800"}', "not-an-entry"),
            ('{"a":' * 70 + "1" + "}" * 70, "not-an-entry"),
            ("[" * 10_000 + "]" * 10_000, "not-an-entry"),
            ('{"a":' * 10_000 + '"]}\\""' + "}" * 10_000, "not-an-entry"),
            ("null", "not-an-entry"),
        ],
    )
    def test_an_entry_that_no_reader_should_take_costs_no_other(self, entry: str, code: str) -> None:
        body = f'{{"entries":[{self.good(1)}, {entry} ,{self.good(2)}],"host":{{}}}}'.encode()

        assert [told(item) for item in read(body)] == [
            ("a1", "https://h.example/1"),
            (code, "/entries/1"),
            ("a2", "https://h.example/2"),
        ]

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b" ",
            b"\xef\xbb\xbf",
            b"{",
            b'{"entries"',
            b'{"entries":',
            b'{"entries":[',
            b'{"entries":[{}',
            b'{"entries":[{},]}',
            b'{"entries":[{}]',
            b'{"entries":[{}],}',
            b'{"entries":[{}]} x',
            b'{"entries":[],"entries":[]}',
            b'{"entries":[] "host":1}',
            b"{'entries':[]}",
            b'{"entries":[],"host":NaN}',
            b'{"entries":[],"host":' + b"[" * 100 + b"]" * 100 + b"}",
            b'{"entries":[],"host":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            b'{"entries":[],"host":"\\ud800"}',
            b'{"entries":["\xff"]}',
            b'{"entries":["' + b"a" * 300_000 + b"\xc3",
            b"[1,2",
            b"[] []",
            b'{"entries":[{"a":1}{"b":2}]}',
            b'{"entries":' + b"[" * 10_000,
        ],
    )
    def test_a_document_of_broken_grammar_is_refused_whole(self, body: bytes) -> None:
        with pytest.raises(CardError) as caught:
            read(body)

        assert caught.value.code == "not-json"

    def test_entries_and_texts_may_lie_across_the_windows(self) -> None:
        rows = [
            {"identifier": f"é€😀{number}" * 50, "type": "application/a2a-agent-card+json", "url": "https://h.example/"}
            for number in range(5_000)
        ]
        rows[7]["description"] = "😀" * 300_000  # more than a window alone
        document = {"specVersion": "1.0", "entries": rows, "after": [1, 2, 3]}

        for escaped in (True, False):
            body = json.dumps(document, ensure_ascii=escaped).encode()
            assert [item.raw for item in read(body)] == rows

    def test_a_number_at_the_end_of_a_window_is_whole(self) -> None:
        for filler in range(262_120, 262_150):
            body = b'{"x":"' + b"a" * filler + b'","n":12345,"entries":[]}'
            assert read_document(body, depth=64)["n"] == 12345

    def test_a_document_can_be_gone_through_twice(self) -> None:
        document = read_document(f'{{"entries":[{self.good(1)}]}}'.encode(), depth=64)

        assert list(document["entries"]) == list(document["entries"]) == [json.loads(self.good(1))]

    def test_memory_stays_below_three_times_the_document(self) -> None:
        import tracemalloc

        body = f'{{"entries":[{",".join(map(self.good, range(50_000)))}]}}'.encode()
        tracemalloc.start()
        try:
            count = sum(1 for _ in project(read_document(body, depth=64), HERE))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

        assert count == 50_000
        assert len(body) + peak < 3 * len(body)
