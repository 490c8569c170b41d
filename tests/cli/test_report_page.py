"""The report of a crawl as a file: one page, nothing fetched, a stranger's words as words, whatever a record holds."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from a2a_discovery import Discovery
from a2a_discovery._cli.records import record_of
from a2a_discovery._cli.report import page
from a2a_discovery.testing import FakeAgent, FakeNetwork

NOW = 1_800_000_000.0
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;\u202e\x1b[31m\n"


class Page(HTMLParser):
    """Elements, their attributes and what they hold."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "input", "rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


async def crawled(*agents):
    async with Discovery(transport=FakeNetwork(*agents)) as discovery:
        return [record_of(outcome) async for outcome in discovery.discover_many([agent.host for agent in agents])]


@pytest.fixture
async def records():
    unsigned = FakeAgent("unsigned.example", signers=())
    gone = FakeAgent("gone.example")
    gone.fail("card", 404)
    return await crawled(FakeAgent("signed.example"), unsigned, gone)


async def test_it_says_who_vouches_for_each_and_why(records):
    text = page(records, title="targets.txt", now=NOW)

    assert "3 targets, 2 agents" in text
    assert "2027-01-15 08:00 UTC" in text
    assert "SIGNED: signed.example vouches for this card, by a key of its own site" in text
    assert "CHANNEL: whoever runs unsigned.example vouches for this card, by TLS alone" in text
    assert "https://gone.example/.well-known/agent-card.json (404 not found)" in text


async def test_everything_it_needs_is_in_it(records):
    found = Page(page(records, title="x", now=NOW))

    assert {tag for tag, _ in found.elements} & {"img", "iframe", "object", "embed", "base", "video"} == set()
    assert [each.get("src") for each in found.all("script")] == [None, None]
    assert [each["href"] for each in found.all("link")] == ["data:,"]
    assert all(each["href"].startswith("#") for each in found.all("a"))
    assert "url(" not in page(records, title="x", now=NOW)


async def test_its_policy_allows_its_own_style_and_script_and_nothing_else(records):
    text = page(records, title="x", now=NOW)
    policy = next(each["content"] for each in Page(text).all("meta") if "http-equiv" in each)

    allowed = {part.split()[0]: part.split()[1:] for part in policy.split("; ")}
    for tag in ("style", "script"):
        inside = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in inside]
        assert allowed[f"{tag}-src"] == [f"'sha256-{digest}'" for digest in digests]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


async def test_the_table_has_headings_and_each_row_leads_to_its_section(records):
    found = Page(page(records, title="x", now=NOW))
    sections = {each["id"] for each in found.all("details")}

    assert [each["aria-sort"] for each in found.all("th") if each.get("role") == "columnheader"] == ["none"] * 7
    assert len([each for each in found.all("th") if each.get("scope") == "row"]) == 3
    assert {each["data-section"] for each in found.all("tr") if "data-section" in each} == sections
    assert {each["href"] for each in found.all("a")} >= {f"#{section}" for section in sections}
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


async def test_hostile_text_is_text_everywhere():
    agent = FakeAgent("hostile.example")
    agent.card |= {"name": HOSTILE, "description": HOSTILE, "version": HOSTILE, HOSTILE: 1}
    agent.card["provider"] = {"organization": HOSTILE, "url": HOSTILE}
    agent.card["skills"] = [{"id": HOSTILE, "name": HOSTILE, "description": HOSTILE, "tags": [HOSTILE]}]

    text = page(await crawled(agent), title=HOSTILE, now=NOW)

    assert len(Page(text).all("script")) == 2
    assert not Page(text).all("img")
    assert all(each.isprintable() for each in text.replace("\n", ""))


async def test_an_agent_is_told_by_its_target_where_it_has_no_name():
    agent = FakeAgent("nameless.example", signers=())
    agent.card["name"] = ""

    assert "<bdi>nameless.example</bdi>" in page(await crawled(agent), title="x", now=NOW)


ODD = st.sampled_from(
    (
        None,
        True,
        0,
        -1.5,
        10**400,
        float("inf"),
        float("nan"),
        "",
        "x",
        HOSTILE,
        "\ud800",
        [],
        [[]],
        [None, HOSTILE],
        {},
    )
)
MEMBERS = ("name", "trust", "interface", "skills", "findings", "source", "error", "version", "description")
DEEPER = ("level", "signatures", "uncovered", "count", "names", "list", "url", "fetched_at", "expires_at", "attempts")
RECORD = st.dictionaries(
    st.sampled_from(MEMBERS),
    ODD | st.dictionaries(st.sampled_from(DEEPER), ODD | st.lists(ODD), max_size=4),
    max_size=4,
)


@settings(max_examples=100)
@given(st.lists(st.tuples(RECORD, ODD, st.just("agent") | ODD), max_size=2))
@example([])
@example([({"source": {"fetched_at": 1e308, "expires_at": float("inf")}}, "a", "agent")])
def test_a_file_edited_by_hand_still_makes_a_whole_page(members):
    records = [{**record, "target": target, "outcome": outcome} for record, target, outcome in members]

    found = Page(page(records, title="x", now=NOW))

    assert found.open == []
    assert len(found.all("script")) == 2
    assert len(found.all("details")) == len(records)
