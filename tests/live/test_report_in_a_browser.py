"""The report of a crawl as a reader meets it: opened in Chromium, sorted, filtered, read on a phone and without colour.

``A2A_TEST_PICTURES`` names a directory that screenshots are put in, for whoever wants to see it too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import Discovery
from a2a_discovery._cli.records import record_of
from a2a_discovery._cli.report import write_report
from a2a_discovery.testing import FakeAgent, FakeNetwork, Reply, Signer

HERE = Path(__file__).parent / "browser"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOSTILE = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>\"'&lt;\u202eevil\x1b[31m"
SHOWN = HOSTILE.replace("\u202e", "\N{REPLACEMENT CHARACTER}").replace("\x1b", "\N{REPLACEMENT CHARACTER}")


def required(reason: str) -> None:
    if os.environ.get("A2A_REQUIRE_PEERS"):
        pytest.fail(f"A2A_REQUIRE_PEERS is set, and {reason}", pytrace=False)
    pytest.skip(reason)


def agents() -> list[FakeAgent]:
    """Seven of which the page must tell: what they prove, how they are versioned, and what one of them would do."""
    hostile = FakeAgent("hostile.example", signers=[Signer(kid=HOSTILE)])
    interfaces = hostile.card["supportedInterfaces"]
    interfaces[0]["tenant"] = HOSTILE
    interfaces.append({"url": "javascript:window.pwned=1", "protocolBinding": HOSTILE, "protocolVersion": HOSTILE})
    hostile.card |= {"name": HOSTILE, "description": HOSTILE, "version": HOSTILE}
    hostile.card["provider"] = {"organization": HOSTILE, "url": "javascript:window.pwned=1"}
    hostile.card["skills"] = [{"id": HOSTILE, "name": HOSTILE, "description": HOSTILE, "tags": [HOSTILE]}]
    hostile.headers["card"] = {"cache-control": "max-age=60, x=<b>", "etag": '"<b>\'"'}
    found = [hostile]
    for name, version, skills, signers in (
        ("Orders", "1.10.0", 3, None),
        ("Refunds", "1.9.0", 11, ()),
        ("Travel", "1.2.0", 2, None),
    ):
        agent = FakeAgent(f"{name.lower()}.example", signers=signers)
        agent.card |= {"name": name, "version": version}
        agent.card["skills"] *= skills
        found.append(agent)
    found[1].card["x-vendor"] = {"kept": True}
    tampered, gone = FakeAgent("tampered.example"), FakeAgent("gone.example")
    tampered.replies["card"] = Reply.json({**tampered.document(), "name": "Other"})
    gone.fail("card", 404)
    return [*found, tampered, gone]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the browser saw."""
    browser = os.environ.get("A2A_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    node = shutil.which("node")
    if browser is None:
        required("no Chromium is installed")
    if node is None:
        required("node is not installed")
    if not (HERE / "node_modules" / "playwright-core").is_dir():
        required("playwright-core is not installed: run `make peers`")
    page = tmp_path_factory.mktemp("report") / "report.html"
    long = page.with_name("long.html")
    records = _records()
    write_report(page, records, title="targets <b>.txt")
    write_report(long, [{**records[-1], "target": f"{number}.example"} for number in range(503)], title="many")
    command = [str(node), str(HERE / "look.mjs"), page.as_uri(), long.as_uri(), str(browser)]
    pictures = [os.environ["A2A_TEST_PICTURES"]] if "A2A_TEST_PICTURES" in os.environ else []
    done = subprocess.run([*command, *pictures], capture_output=True, check=False, timeout=120, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"page": page.as_uri(), "long": long.as_uri()}


def _records() -> list[dict[str, Any]]:
    import asyncio

    async def crawl() -> list[dict[str, Any]]:
        every = agents()
        async with Discovery(transport=FakeNetwork(*every)) as discovery:
            targets = [agent.host for agent in every]
            return [record_of(outcome) async for outcome in discovery.discover_many(targets)]

    return asyncio.run(crawl())


def levels(texts: list[str]) -> list[str]:
    return [text.split(" ")[-1] for text in texts]


def test_nothing_is_loaded_and_nothing_goes_wrong(seen: Any) -> None:
    assert seen["errors"] == []
    assert {url.partition("#")[0] for url in seen["requests"]} <= {seen["page"], seen["long"], "data:,"}


def test_its_policy_lets_nothing_else_run_or_go_out(seen: Any) -> None:
    assert seen["blocked"] == {"fetch": "TypeError", "script": "did not run"}
    assert len(seen["policy"]) >= 2
    assert all("Content Security Policy" in each for each in seen["policy"])


def test_hostile_text_is_shown_as_text(seen: Any) -> None:
    assert seen["names"][0] == SHOWN[:100]
    assert seen["hostile"].count(SHOWN) >= 5
    assert '"<b>\'"' in seen["hostile"]
    assert (seen["pwned"], seen["title"]) == (None, "targets <b>.txt: agents")
    assert seen["elements"] == {
        "script": 2,
        "style": 1,
        "img": 0,
        "iframe": 0,
        "a[href^='javascript']": 0,
        "[onerror]": 0,
        "[style]": 0,
    }


def test_a_heading_sorts_both_ways_and_says_so(seen: Any) -> None:
    assert seen["sorts"] == ["none"] * 7
    assert levels(seen["byTrust"]["trust"]) == ["SIGNED", "SIGNED", "SIGNED", "CHANNEL", "no-card", "bad-signature"]
    assert seen["byTrust"]["sorts"] == ["none", "descending", *["none"] * 5]
    assert seen["byTrust"]["said"] == "Sorted by Trust, descending."
    again = levels(seen["byTrustAgain"]["trust"])
    assert again == ["CHANNEL", "SIGNED", "SIGNED", "SIGNED", "no-card", "bad-signature"]
    assert seen["byTrustAgain"]["sorts"][1] == "ascending"


def test_versions_and_numbers_sort_as_such(seen: Any) -> None:
    assert [text for text in seen["byVersion"] if re.match(r"\d", text)] == ["1.2.0", "1.9.0", "1.10.0"]
    assert seen["bySkills"] == ["11", "3", "2", "1", "none", "none"]
    assert seen["byName"][-5:] == ["gone.example", "Orders", "Refunds", "tampered.example", "Travel"]


def test_words_trust_and_outcome_filter_rows_and_sections(seen: Any) -> None:
    assert seen["shown"] == "6 of 6"
    assert seen["filtered"] == {"names": ["Orders"], "shown": "1 of 6", "sections": 1}
    assert seen["nothing"] == {"names": [], "said": True}
    assert (seen["channel"], seen["refused"]) == (["Refunds"], ["tampered.example"])


def test_an_agent_opens_with_the_explanation_of_its_trust(seen: Any) -> None:
    opened = seen["opened"]

    assert (opened["count"], opened["signatures"]) == (1, 2)
    assert opened["focused"].startswith("Orders")
    assert "SIGNED: orders.example vouches for this card, by a key of its own site" in opened["text"]
    assert "What no signature protects\n/x-vendor" in opened["text"]
    assert "JSONRPC 1.0 at https://orders.example/a2a/v1" in opened["text"]
    assert seen["back"] == "table"
    assert seen["linked"] == 1


def test_a_screen_reader_hears_a_table_with_headings_and_labels(seen: Any) -> None:
    tree = seen["tree"]

    for name in ("Agent", "Trust", "Interface", "Version", "Skills", "Findings", "Caching"):
        assert f'columnheader "{name}"' in tree
    assert 'rowheader "Orders orders.example"' in tree
    assert re.search(r'cell "SIGNED"', tree)
    assert 'searchbox "Words that stand in the row"' in tree
    assert 'combobox "Trust"' in tree
    assert 'combobox "Outcome"' in tree
    assert 'heading "Who vouches" [level=3]' in tree


def test_a_phone_shows_it_all_without_scrolling_sideways(seen: Any) -> None:
    phone = seen["phone"]

    assert phone["width"] <= 360
    assert '"Trust"' in phone["labels"]
    assert phone["skills"][:4] == ["11", "3", "2", "1"]
    assert phone["targets"] >= 24  # WCAG 2.2 section 2.5.8
    assert 'columnheader "Trust"' in phone["tree"]
    assert 'rowheader "Orders orders.example"' in phone["tree"]


def test_every_text_has_contrast_enough_by_day_and_by_night(seen: Any) -> None:
    assert min(seen["contrast"].values()) >= 4.5  # WCAG 2.2 section 1.4.3


def test_without_scripts_every_row_is_there_and_no_dead_control(seen: Any) -> None:
    assert seen["plain"] == {"rows": 6, "controls": 0}


def test_of_many_the_first_are_shown_and_the_rest_when_asked_for(seen: Any) -> None:
    assert seen["many"] == [[500, "503 of 503, the first 500 of them shown"], [503, "503 of 503"]]
    assert seen["far"] == 1
