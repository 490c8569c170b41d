"""``a2a-discover get``: what a person reads, what a script reads, which request is made."""

import json

import pytest

from a2a_discovery.testing import FakeAgent, Reply, Signer

REMOTE = {"url": "http://shop.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
GRPC = {"url": "shop.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "north"}


def row(output, label):
    """The text beside a label."""
    return next(line for line in output.splitlines() if line.startswith(label + " "))[len(label) :].strip()


def test_it_says_who_where_which_interface_who_vouches_and_how_fresh(get, shop):
    shop.agent.card["provider"] = {"organization": "Example Shop", "url": "https://shop.example"}
    shop.agent.card["supportedInterfaces"].insert(0, REMOTE)

    result = get()

    assert (result.exit_code, result.stderr) == (0, "")
    assert row(result.stdout, "agent") == "Shop 1.0.0"
    assert row(result.stdout, "provider") == f"Example Shop {shop.url}"
    assert row(result.stdout, "card") == f"{shop.url}/.well-known/agent-card.json"
    assert row(result.stdout, "interface") == f"JSONRPC 1.0 {shop.url}/a2a/v1"
    assert row(result.stdout, "also usable") == f"HTTP+JSON 1.0 {shop.url}/a2a/rest"
    assert "/supportedInterfaces/0/url" in row(result.stdout, "skipped")
    assert row(result.stdout, "trust").startswith("SIGNED: ")
    assert shop.agent.signers[0].kid in row(result.stdout, "trust")
    assert row(result.stdout, "extended").startswith("declared")
    assert row(result.stdout, "fresh") == "fetched just now; fresh for 5 min"
    assert "send A2A-Version: 1.0" in result.stdout


def test_what_was_repaired_is_shown_at_its_place(get, shop):
    shop.agent.card["skills"][0]["tags"] = None

    assert row(get().stdout, "found").startswith("/skills/0/tags: ")


def test_strict_repairs_nothing(get, shop):
    shop.agent.card["skills"][0]["tags"] = None

    result = get("--strict")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "[invalid-card]" in result.stderr
    assert row(result.stderr, "wrong").startswith("/skills/0/tags: ")


def test_a_tenant_and_a_binding_of_the_callers_choice_are_shown(get, shop):
    shop.agent.card["supportedInterfaces"].insert(0, GRPC)

    assert row(get("--binding", "GRPC", "--binding", "JSONRPC").stdout, "interface").endswith("(tenant north)")


def test_json_is_one_object_with_five_members(get_json, shop):
    shop.agent.card["x-vendor"] = {"kept": None}
    found = get_json()

    assert list(found) == ["card", "interface", "trust", "source", "findings"]
    assert found["card"] == shop.agent.document(places={shop.agent.url: shop.url})
    assert found["interface"] == {
        "url": f"{shop.url}/a2a/v1",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
        "tenant": "",
    }
    assert (found["trust"]["level"], found["trust"]["authority"]) == ("SIGNED", "localhost")
    assert found["trust"]["signatures"][0]["kid"] == shop.agent.signers[0].kid
    assert found["source"]["url"] == f"{shop.url}/.well-known/agent-card.json"
    assert (found["source"]["cache"], found["source"]["extended"]) == ("network", False)
    assert [(each["code"], each["pointer"]) for each in found["findings"]] == [("unknown-member", "/x-vendor")]


def test_json_of_a_legacy_card_has_the_shape_of_1_0(get_json, shop):
    shop.agent.signers.clear()
    shop.agent.card = {
        "name": "Old",
        "description": "Speaks 0.3.",
        "url": f"{shop.url}/old",
        "version": "3",
        "protocolVersion": "0.3.0",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }

    found = get_json()

    assert found["card"]["supportedInterfaces"][0]["url"] == f"{shop.url}/old"
    assert (found["interface"]["protocolVersion"], found["trust"]["level"]) == ("0.3", "CHANNEL")


def test_the_next_call_finds_the_card_in_the_file_of_the_cache(get_json, shop):
    first, second = get_json(), get_json()

    assert (first["source"]["cache"], second["source"]["cache"]) == ("network", "fresh")
    assert shop.agent.count("card") == 1


def test_refresh_asks_the_origin_with_a_condition(get, shop):
    get()

    result = get("--refresh")

    assert shop.agent.count("card", status=304) == 1
    assert row(result.stdout, "fresh").startswith("stored earlier, and unchanged")


def test_no_cache_reads_and_keeps_nothing(get_json, shop, tmp_path):
    assert [get_json("--no-cache")["source"]["cache"] for _ in range(2)] == ["network", "network"]
    assert shop.agent.count("card") == 2
    assert not (tmp_path / "cache").exists()


def test_a_stale_copy_is_named_as_one(get, shop):
    shop.agent.headers["card"]["cache-control"] = "max-age=0"
    get()
    shop.agent.fail("card", 503)

    assert row(get().stdout, "fresh") == (
        "from the cache and out of date: the refresh failed; asked about again at the next call"
    )


def test_a_card_file_is_read_without_a_request(command, tmp_path):
    agent = FakeAgent(signers=())
    path = tmp_path / "card.json"
    path.write_text(json.dumps(agent.document()))

    result = command("get", path)

    assert result.exit_code == 0
    assert row(result.stdout, "trust").startswith("CHANNEL: ")
    assert row(result.stdout, "fresh") == "as it was handed over"
    assert json.loads(command("get", path, "--json").stdout)["source"]["expires_at"] is None


def test_a_file_in_the_working_directory_needs_no_slash(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "card.json").write_text(json.dumps(FakeAgent(signers=()).document()))

    assert command("get", "card.json").exit_code == 0


def test_a_file_named_like_a_domain_hides_no_domain(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "localhost").write_text("{}")

    assert "[address]" in command("get", "localhost").stderr


def test_a_name_too_long_for_a_file_is_an_error_of_ours(command):
    assert command("get", "a" * 300 + "/card").exit_code == 2
    assert command("get", "a" * 300 + ".json").exit_code == 3


def test_keys_from_a_file_are_pinned_to_the_host_asked_for(get_json, shop, tmp_path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(shop.agent.jwks))

    found = get_json("--keys", path, "--require", "PINNED")

    assert (found["trust"]["level"], found["trust"]["signatures"][0]["key_source"]) == ("PINNED", "pinned")
    assert shop.agent.count("keys") == 0


def test_keys_for_a_card_file_name_the_host_of_its_interfaces(command, tmp_path):
    agent = FakeAgent()
    card, keys = tmp_path / "card.json", tmp_path / "keys.json"
    card.write_text(json.dumps(agent.document()))
    keys.write_text(json.dumps(agent.jwks))

    pinned = command("get", card, "--keys", f"shop.example={keys}", "--json")
    bare = command("get", card, "--keys", keys)

    assert json.loads(pinned.stdout)["trust"]["level"] == "PINNED"
    assert (bare.exit_code, f"--keys HOST={keys}" in bare.stderr) == (2, True)


def test_explain_says_what_became_of_each_signature(get, shop):
    shop.agent.signers.append(Signer(alg="EdDSA", published=False))

    lines = get("--explain").stdout.splitlines()

    first = next(index for index, line in enumerate(lines) if line.startswith("signatures"))
    assert lines[first].split(maxsplit=1)[1].startswith("0: verified: kid ")
    assert "key by same-site-jku" in lines[first]
    assert "thumbprint" in lines[first]
    assert lines[first + 1].strip().startswith("1: ")


def test_explain_says_on_what_a_refusal_rests(get, shop):
    served = shop.agent.document(places={shop.agent.url: shop.url})
    shop.agent.replies["card"] = Reply.json({**served, "description": "Edited."})

    plain, explained = get(), get("--explain", "--no-cache")

    assert (plain.exit_code, explained.exit_code) == (1, 1)
    assert "--explain" in plain.stderr
    assert row(explained.stderr, "signatures").startswith("0: bad-signature")


@pytest.mark.parametrize("columns", ["40", "200"])
def test_a_pipe_gets_one_line_for_each_row_whatever_the_width(get, shop, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    shop.agent.card["description"] = "word " * 40

    assert ("word " * 40).strip() in get().stdout


def test_the_log_is_shown_when_asked_for_and_holds_its_facts(get, shop):
    import logging

    get("--verbose")
    handler = logging.getLogger("a2a_discovery").handlers[0]
    record = logging.LogRecord("a2a_discovery", logging.WARNING, "", 0, "a2a.cache.failed", (), None)
    record.__dict__["a2a.reason"] = "disk\x1b[31m full"

    assert handler.format(record) == "warning a2a.cache.failed reason=disk\N{REPLACEMENT CHARACTER}[31m full"
