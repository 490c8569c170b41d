"""Exit codes, each with a real cause, and errors for a person and for a script."""

import json
import socket

import pytest

from a2a_discovery._cli.exits import Exit, exit_for
from a2a_discovery.errors import DiscoveryError, UsageError
from a2a_discovery.testing import FakeAgent, Reply


def test_0_for_a_card(get):
    assert get().exit_code == 0


@pytest.mark.parametrize("reply", [Reply.json({"message": "hello"}), Reply.json(7)])
def test_1_for_an_answer_that_is_no_card(get, shop, reply):
    shop.agent.replies["/card.json"] = reply

    result = get(target=f"{shop.url}/card.json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "[not-a-card]" in result.stderr


def test_1_for_a_card_that_proves_too_little(get, shop):
    shop.agent.signers.clear()

    assert (get("--require", "signed").exit_code, get("--require", "channel").exit_code) == (1, 0)


def test_1_for_a_card_without_usable_interface(get, shop):
    result = get("--binding", "urn:example:pigeon")

    assert result.exit_code == 1
    assert "[no-usable-interface]" in result.stderr
    assert "in this command: --binding NAME" in result.stderr


def test_1_for_a_place_that_the_policy_forbids_and_the_flag_that_opens_it(command, shop):
    result = command("get", shop.url)

    assert result.exit_code == 1
    assert "in this command: --local" in result.stderr
    assert shop.agent.requests == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("get",),
        ("get", "shop.example", "--no-such-flag"),
        ("get", "shop.example", "--require", "much"),
        ("get", "shop.example", "--timeout", "soon"),
        ("get", "shop.example", "--timeout", "0"),
        ("get", "shop.example", "--timeout", "nan"),
        ("get", "ftp://shop.example/card"),
        ("get", "shop.example/card"),
        ("get", "shop.example", "--ca", "no-such-file.pem"),
        ("get", "shop.example", "--ca", __file__),
        ("get", "shop.example", "--keys", "no-such-file.json"),
        ("get", "shop.example", "--keys", __file__),
        ("get", "shop.example", "--proxy", "socks9://x"),
        ("get", "shop.example", "--credential-host", "api.saas.example"),
        ("get", "shop.example", "--extended", "--credential-host", "*"),
        ("got",),
    ],
    ids=" ".join,
)
def test_2_for_a_call_that_makes_no_sense(command, monkeypatch, arguments):
    result = command(*arguments, env={"TOKEN": "x"})

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_3_where_no_card_is(get, shop):
    result = get(target=f"{shop.url}/nothing.json")

    assert result.exit_code == 3
    assert "/nothing.json (404" in result.stderr


def test_3_where_nobody_listens(command):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    result = command("get", f"http://localhost:{port}", "--local")

    assert result.exit_code == 3
    assert "[connect]" in result.stderr


def test_3_where_the_certificate_is_a_strangers_and_the_flag_that_trusts_it(command, shop):
    result = command("get", shop.url, "--local")

    assert result.exit_code == 3
    assert "in this command: --ca FILE" in result.stderr


def test_3_where_the_server_fails(get, shop):
    shop.agent.fail("card", 500)

    assert get().exit_code == 3


def test_3_where_a_file_is_missing(command, tmp_path):
    assert command("get", tmp_path / "none.json").exit_code == 3


def test_4_where_the_card_is_private(get, shop):
    shop.agent.private = 401

    assert get().exit_code == 4


def test_5_where_no_answer_comes_in_time(get, shop):
    gate = shop.agent.hold("card")

    result = get("--timeout", "0.2")

    gate.open()
    assert result.exit_code == 5
    assert "in this command: --timeout SECONDS" in result.stderr


def test_an_error_as_json_goes_to_stderr_and_nothing_to_stdout(get, shop):
    result = get("--json", target=f"{shop.url}/nothing.json")

    assert (result.exit_code, result.stdout) == (3, "")
    error = json.loads(result.stderr)["error"]
    assert (error["kind"], error["code"], error["exit"]) == ("NotFoundError", "no-card", 3)
    assert error["attempts"] == [{"url": f"{shop.url}/nothing.json", "status": 404, "reason": "not found"}]


def test_a_refusal_as_json_carries_the_report(get, shop):
    shop.agent.signers.clear()

    error = json.loads(get("--json", "--require", "signed").stderr)["error"]

    assert (error["code"], error["report"]["level"], error["report"]["refusal"]) == ("unsigned", "CHANNEL", "unsigned")


def test_a_wrong_card_as_json_carries_its_findings(get, shop):
    del shop.agent.card["name"]
    shop.agent.signers.clear()

    error = json.loads(get("--json", "--strict").stderr)["error"]

    assert "/name" in [finding["pointer"] for finding in error["findings"]]


def errors(kind=DiscoveryError):
    for each in kind.__subclasses__():
        yield from ((each, code) for code in sorted(each.codes))
        yield from errors(each)


@pytest.mark.parametrize(("kind", "code"), [*errors()])
def test_every_error_has_an_exit_code_and_none_is_success(kind, code):
    exit_code = exit_for(kind(code, "x"))

    assert exit_code is not Exit.OK
    assert (exit_code is Exit.USAGE) == (kind is UsageError)
    assert (exit_code is Exit.TIMEOUT) == (code == "timeout")


def test_plain_http_needs_two_flags_and_proves_nothing(command):
    agent = FakeAgent(signers=())
    with agent.serve_in_thread(tls=False) as running:
        address = f"http://127.0.0.1:{running.port}"
        refused = command("get", address, "--allow-private", "--allow-http")
        shown = command("get", address, "--allow-private", "--allow-http", "--require", "none")

    assert (refused.exit_code, "[no-channel]" in refused.stderr) == (1, True)
    assert "in this command: --allow-http --require none" in refused.stderr
    assert (shown.exit_code, "NONE: " in shown.stdout) == (0, True)


CATALOG = "/.well-known/ai-catalog.json"


@pytest.fixture
def catalog(shop):
    """A catalog of two agents, one of them inside it, at the place where the card is not."""
    card = FakeAgent(shop.url, signers=()).document()
    entries = [
        {
            "identifier": f"urn:example:{name}",
            "displayName": f"Agent \x1b[31m{name}",
            "type": "application/a2a-agent-card+json",
            "data": {**card, "name": name},
        }
        for name in ("orders", "refunds")
    ]
    shop.agent.fail("card", 404)
    shop.agent.replies[CATALOG] = Reply.json({"specVersion": "1.0", "entries": entries})
    return f"{shop.url}{CATALOG}"


def test_3_where_a_catalog_lists_several_and_each_is_named_as_a_target(get, catalog):
    result = get()
    told = json.loads(get("--json").stderr)["error"]

    assert (result.exit_code, result.stdout) == (3, "")
    assert f"choose from {catalog}#urn:example:orders (Agent \N{REPLACEMENT CHARACTER}[31morders)" in result.stderr
    assert [entry["identifier"] for entry in told["entries"]] == ["urn:example:orders", "urn:example:refunds"]


def test_an_entry_of_a_catalog_is_a_target(get, catalog):
    result = get("--json", target=f"{catalog}#urn:example:refunds")

    found = json.loads(result.stdout)
    assert (result.exit_code, found["card"]["name"]) == (0, "refunds")
