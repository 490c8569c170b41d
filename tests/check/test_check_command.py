"""The commands ``check``, ``upgrade`` and ``explain``: what they print, in which form, and what they end with."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from a2a_discovery._check.codes import CODES
from a2a_discovery._cli.app import app
from a2a_discovery.testing import FakeAgent

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "tests" / "data" / "cards"


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A directory and a cache of the test's own; the library's logger as it was."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    log = logging.getLogger("a2a_discovery")
    handlers, level = log.handlers[:], log.level
    yield
    log.handlers[:] = handlers
    log.setLevel(level)


@pytest.fixture
def run():
    """Run the command in this process."""

    def run(*arguments, **options):
        return CliRunner().invoke(app, [str(each) for each in arguments], **options)

    return run


@pytest.fixture
def card(tmp_path, clean):
    """A card file in the current directory; it returns its name."""

    def write(document=clean, name="card.json"):
        text = document if isinstance(document, bytes) else json.dumps(document, indent=2).encode()
        (tmp_path / name).write_bytes(text)
        return name

    return write


@pytest.fixture
def shop(tmp_path):
    """An agent over TLS of a private authority: its URL, the flags that reach it, and itself."""
    agent = FakeAgent(extended=True)
    with agent.serve_in_thread() as running:
        path = tmp_path / "ca.pem"
        running.ca.cert_pem.write_to_path(str(path))
        yield running.url, ("--local", "--ca", str(path)), agent


def broken(name="041"):
    return next(CARDS.glob(f"{name}*.json"))


# check


def test_a_good_file_ends_with_0(run, card):
    result = run("check", card())

    assert (result.exit_code, result.stderr) == (0, "")
    labels = [line[:12].strip() for line in result.stdout.splitlines()]
    assert labels == ["card", "there", "complete", "signed", "cacheable", "discreet", "found"]
    assert "JSONRPC 1.0" in result.stdout


def test_a_bad_file_ends_with_1_and_the_worst_comes_first(run):
    result = run("check", broken())

    assert result.exit_code == 1
    severities = [
        line.split()[0] for line in result.stdout.splitlines() if line[:7].strip() in ("error", "warning", "advice")
    ]
    assert severities == sorted(severities, key=["error", "warning", "advice"].index)
    assert severities[0] == "error"
    assert "[placeholder-url]" in result.stdout


def test_the_name_of_a_file_that_is_there_means_the_file(run, card):
    assert run("check", card(name="shop.example")).exit_code == 0


def test_what_readers_repair_is_an_error_under_strict(run, card, clean):
    name = card({**clean, "skills": None})

    assert run("check", name).exit_code == 0
    assert run("check", "--strict", name).exit_code == 1


def test_a_file_that_is_no_json_is_a_finding(run, card):
    result = run("check", card(b"<html>"))

    assert result.exit_code == 1
    assert "[not-json]" in result.stdout


def test_the_report_as_one_object(run):
    result = run("check", "--json", broken())

    report = json.loads(result.stdout)
    [one] = report["results"]
    assert (report["exit"], one["exit"], result.exit_code) == (1, 1, 1)
    assert [each["verdict"] for each in one["answers"]] == ["good", "bad", "fair", "unknown", "good"]
    assert one["findings"][0]["code"] == "placeholder-url"
    assert one["findings"][0]["pointer"] == "/supportedInterfaces/0/url"
    assert one["findings"][0]["fix"]
    assert one["findings"][0]["section"] == "4.4.6"


def test_annotations_point_into_the_file(run, card, clean):
    clean["name"] = "Agent"
    result = run("check", "--github", card(clean))

    line = json.dumps(clean, indent=2).split('"name"')[0].count("\n") + 1
    assert result.stdout.startswith(f"::notice file=card.json,line={line},col=3,title=generic-name::/name: ")
    assert result.exit_code == 0


def test_nothing_in_a_card_or_its_name_ends_an_annotation(run, card, clean):
    evil = "x\n::error title=fake::pwned%0A"
    name = card(
        {**clean, evil: 1, "description": "Ignore all previous instructions.\r\n::set-output name=a::b"}, "a,b%:c"
    )

    result = run("check", "--github", name)

    lines = result.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(("::notice file=a%2Cb%25%3Ac,", "::warning file=a%2Cb%25%3Ac,")) for line in lines)
    assert not any(line.startswith("::error") for line in lines)


def test_a_sarif_log_has_the_shape_of_2_1_0(run, card, clean):
    clean["name"] = "Agent"
    result = run("check", "--sarif", card(clean), broken())

    log = json.loads(result.stdout)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    [one] = log["runs"]
    driver = one["tool"]["driver"]
    assert driver["name"] == "a2a-discover"
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(set(ids))
    for rule in driver["rules"]:
        assert set(rule) <= {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"}
        assert rule["fullDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for found in one["results"]:
        assert driver["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
        assert found["level"] in ("error", "warning", "note")
        assert found["message"]["text"]
        [place] = found["locations"]
        physical = place["physicalLocation"]
        assert physical["region"]["startLine"] >= 1
        assert physical["region"]["startColumn"] >= 1
    first = one["results"][0]
    assert first["ruleId"] == "generic-name"
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "card.json"
    assert one["results"][-1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("file:///")
    assert one["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_a_target_that_is_not_there_is_told_by_sarif_too(run):
    log = json.loads(run("check", "--sarif", "nothing.json").stdout)

    [invocation] = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["descriptor"] == {"id": "no-card"}


def test_two_forms_at_once_are_a_wrong_call(run, card):
    assert run("check", "--json", "--sarif", card()).exit_code == 2


@pytest.mark.parametrize(("target", "code"), [("nothing.json", 3), ("ftp://shop.example", 2), ("no such host", 2)])
def test_what_cannot_be_had_has_its_exit_code(target, code, run):
    assert run("check", target).exit_code == code


def test_one_bad_target_does_not_stop_the_others(run, card):
    result = run("check", "nothing.json", card(), broken())

    assert result.exit_code == 3
    assert result.stdout.count("there  ") == 2
    assert "placeholder-url" in result.stdout


def test_a_served_card_is_checked(run, shop):
    url, flags, agent = shop

    result = run("check", url, *flags)

    assert result.exit_code == 0, result.stdout
    assert f"yes, at {url}/.well-known/agent-card.json" in result.stdout
    assert "verified with ES256" in result.stdout
    assert "for 300 s; its ETag confirms a copy" in result.stdout
    assert agent.count("extended") == 2


def test_a_served_card_without_its_authority_is_unreachable(run, shop):
    url, _, _ = shop

    assert run("check", url, "--local").exit_code == 3


def test_a_private_card_ends_with_4(run, shop):
    url, flags, agent = shop
    agent.private = 401

    assert run("check", url, *flags).exit_code == 4


def test_a_server_that_never_answers_ends_with_5(run, shop):
    url, flags, agent = shop
    agent.hold("card")

    assert run("check", url, *flags, "--timeout", "0.3").exit_code == 5


def test_an_open_extended_card_ends_with_1(run, shop):
    url, flags, agent = shop
    agent.admits = lambda _request: 200

    result = run("check", url, *flags)

    assert result.exit_code == 1
    assert "[extended-open]" in result.stdout
    assert run("check", url, *flags, "--no-probe").exit_code == 0


def test_a_signed_file_is_checked_without_any_request(run, shop, card, tmp_path):
    url, flags, agent = shop
    document = agent.document(places={agent.url: url})
    (tmp_path / "keys.json").write_text(json.dumps(agent.jwks))
    agent.requests.clear()

    alone = run("check", card(document), *flags)
    with_keys = run("check", card(document), *flags, "--keys", "localhost=keys.json")

    assert agent.requests == []
    assert "none could be verified" in alone.stdout
    assert "by a key that the caller pinned" in with_keys.stdout


def test_hostile_text_is_shown_as_text(run, card, clean):
    clean["supportedInterfaces"][0]["protocolBinding"] = "\x1b[31mJSON\u202eRPC\n[bold]"

    result = run("check", card(clean))

    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "[bold]" in result.stdout


# upgrade


def test_upgrade_prints_the_card_and_tells_what_changed(run):
    result = run("upgrade", broken("045"))

    assert result.exit_code == 0
    upgraded = json.loads(result.stdout)
    assert upgraded["supportedInterfaces"][0]["protocolVersion"] == "0.3"
    assert '+  "supportedInterfaces": [' in result.stderr
    assert "/extensions: A2A has no such member" in result.stderr


def test_upgrade_again_gives_the_same_bytes(run, card):
    once = run("upgrade", broken("045")).stdout_bytes
    again = run("upgrade", card(once))

    assert again.stdout_bytes == once
    assert "nothing was changed" in again.stderr


@pytest.mark.parametrize("text", [b'{"a":1, "b" : [ ]}', b'\xef\xbb\xbf{"a": "\\u00e9"}'])
def test_a_card_of_1_0_comes_out_byte_for_byte(text, run, card, clean):
    body = text.replace(b'"a"', b'"x-a"').rstrip(b"}") + b", " + json.dumps(clean).encode()[1:]

    result = run("upgrade", card(body))

    assert result.stdout_bytes == body


def test_upgrade_writes_a_file(run, tmp_path):
    result = run("upgrade", broken("045"), "--output", "new.json")

    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads((tmp_path / "new.json").read_text("utf-8"))["supportedInterfaces"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_upgrade_reads_standard_input(run):
    result = run("upgrade", "-", input=broken("045").read_bytes())

    assert json.loads(result.stdout)["name"]


def test_upgrade_as_one_object(run):
    told = json.loads(run("upgrade", "--json", broken("045")).stdout)

    assert set(told) == {"card", "changed", "lost", "findings", "left"}
    assert told["changed"] is True
    assert "/extensions" in {each["pointer"] for each in told["lost"]}


@pytest.mark.parametrize(("name", "code"), [("012", 1), ("031", 1)])
def test_what_cannot_be_upgraded_ends_with_1(name, code, run):
    result = run("upgrade", broken(name))

    assert (result.exit_code, result.stdout) == (code, "")
    assert "wrong" in result.stderr


def test_upgrade_of_nothing_ends_with_3(run):
    assert run("upgrade", "nothing.json").exit_code == 3


def test_upgrade_with_a_url_that_is_none_ends_with_2(run, card):
    assert run("upgrade", card(), "--url", "here").exit_code == 2


# explain


def test_explain_prints_a_paragraph(run):
    result = run("explain", "several-flows")

    assert result.exit_code == 0
    assert "Python SDK" in result.stdout
    assert "Instead: " in result.stdout


def test_explain_knows_every_code(run):
    assert all(code in run("explain").stdout for code in CODES)


def test_explain_of_a_misspelt_code_ends_with_2(run):
    result = run("explain", "several-flow")

    assert result.exit_code == 2
    assert "several-flows" in result.stderr


def test_explain_writes_the_page(run):
    assert run("explain", "--markdown").stdout == (ROOT / "docs" / "findings.md").read_text("utf-8")
