"""Every SARIF log is valid by the JSON schema of SARIF 2.1.0, whatever was checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from a2a_discovery import check_card
from a2a_discovery._cli.app import app
from a2a_discovery._cli.sarif import Reported, sarif
from a2a_discovery.errors import FetchError
from a2a_discovery.testing import FakeAgent

DATA = Path(__file__).parent.parent / "data"
CARDS = sorted((DATA / "cards").glob("*.json"))
HOSTILE = "<a href=x>\u202e\x1b[31m\n::error::\U0001f600 {0} %s"


def validator() -> Any:
    schema = json.loads((DATA / "sarif" / "sarif-2.1.0-rtm.5.json").read_text("utf-8"))
    # Formats of later drafts too: SARIF's says `uri-reference`, which the draft it is written in does not know.
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


VALIDATOR = validator()


def faults(log: object) -> list[str]:
    return [f"{list(each.absolute_path)}: {each.message[:200]}" for each in VALIDATOR.iter_errors(log)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def log_of(*arguments: str) -> Any:
    return json.loads(CliRunner().invoke(app, ["check", "--sarif", *arguments]).stdout)


def test_the_schema_refuses_what_is_no_log():
    assert faults({"version": "2.1.0"}) != []
    run = {"tool": {"driver": {"name": "x"}}}
    assert faults({"version": "2.1.0", "runs": [run]}) == []
    assert faults({"version": "2.1.0", "runs": [{**run, "odd": 1}]}) != []
    assert faults({"version": "2.1.0", "runs": [{**run, "artifacts": [{"location": {"uri": "a{b} c"}}]}]}) != []


@pytest.mark.parametrize("card", CARDS, ids=lambda path: path.stem)
def test_a_published_card(card):
    log = log_of(str(card))

    assert faults(log) == []
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == [
        finding.code for finding in check_card(card.read_bytes())
    ]


def test_a_file_and_an_agent_and_one_that_is_not_there(tmp_path):
    (tmp_path / "a card.json").write_bytes(CARDS[0].read_bytes())
    agent = FakeAgent()
    agent.card["name"] = HOSTILE
    with agent.serve_in_thread(tls=False) as running:
        log = log_of("--local", "a card.json", running.url, "nothing.json", str(CARDS[1]))

    assert faults(log) == []
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in log["runs"][0]["results"]
    }
    assert {"a%20card.json", running.url} <= uris
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_clean_card_is_a_valid_log_too(clean, tmp_path):
    (tmp_path / "clean.json").write_text(json.dumps(clean), "utf-8")
    log = log_of("clean.json")

    assert faults(log) == []
    assert log["runs"][0]["results"] == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.none() | st.lists(st.text(max_size=4))), st.text()
)
def test_any_card_under_any_name(members, name):
    body = json.dumps({"name": "x", "skills": [], **members}).encode()
    reports = [
        Reported(target=name, file=True, body=body, findings=check_card(body)),
        Reported(target="shop.example", file=False, body=body, findings=check_card(body)),
        Reported(target=name, file=False, body=b"", findings=(), error=FetchError("timeout", name)),
    ]

    assert faults(json.loads(json.dumps(sarif(reports)))) == []
