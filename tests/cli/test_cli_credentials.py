"""Where secrets come from, where they go, and that they are never shown."""

import os
import subprocess
import sys

import pytest

from a2a_discovery.testing import Reply

SECRET = "let-me-in"  # the one that the fake agent knows


@pytest.fixture
def secret(monkeypatch):
    """The environment variable that holds the secret."""
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    return "SHOP_TOKEN"


def test_the_extended_card_with_a_token_from_the_environment(get_json, shop, secret):
    found = get_json("--extended", "--bearer-env", secret)

    assert [skill["id"] for skill in found["card"]["skills"]] == ["orders", "refunds"]
    assert found["source"]["extended"] is True
    assert shop.agent.requests[-1].authorization == f"Bearer {SECRET}"


def test_the_public_card_is_asked_for_without_the_token(get, shop, secret):
    get("--extended", "--bearer-env", secret)

    assert [each.authorization for each in shop.agent.requests if each.kind != "extended"] == [None, None]


def test_a_private_card_gets_the_token_of_the_host_that_was_asked_for(get_json, shop, secret):
    shop.agent.private = 401

    assert get_json("--bearer-env", secret)["card"]["name"] == "Shop"
    assert get_json("--bearer-env", secret, "--extended")["source"]["extended"] is True


def test_the_keys_of_a_private_card_are_asked_for_without_the_token(get, shop, secret):
    shop.agent.private = 401

    get("--bearer-env", secret)

    assert [each.authorization for each in shop.agent.requests if each.kind == "keys"] == [None]


def test_an_api_key_goes_where_the_card_says(get, shop, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    scheme = {"apiKeySecurityScheme": {"location": "header", "name": "X-Shop-Key"}}
    for card in (shop.agent.card, shop.agent.extended):
        card["securitySchemes"] = {"key": scheme}
        card["securityRequirements"] = [{"schemes": {"key": {}}}]
    shop.agent.admits = lambda request: 200 if request.headers.get("x-shop-key") == SECRET else 401

    result = get("--extended", "--api-key-env", "SHOP_KEY")

    assert (result.exit_code, "this is the extended card" in result.stdout) == (0, True)


def test_a_wrong_token_ends_with_4_and_is_not_repeated(get, shop, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "s3cret-but-wrong")

    for flags in (("--json",), (), ("--explain", "--verbose")):
        result = get("--extended", "--bearer-env", "SHOP_TOKEN", *flags)

        assert (result.exit_code, result.stdout) == (4, "")
        assert "s3cret" not in result.stderr
        assert "in this command: --bearer-env" not in result.stderr


def test_a_token_is_never_printed(get, secret, tmp_path):
    for flags in (("--json",), (), ("--explain", "--verbose")):
        result = get("--extended", "--bearer-env", secret, *flags)

        assert result.exit_code == 0
        assert SECRET not in result.output
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert kept
    assert SECRET.encode() not in kept


def test_a_variable_that_is_not_set_ends_with_4_before_any_request(get, shop):
    result = get("--extended", "--bearer-env", "NO_SUCH_VARIABLE")

    assert result.exit_code == 4
    assert "'NO_SUCH_VARIABLE' is not set" in result.stderr
    assert shop.agent.requests == []


def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(get, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "line\nbreak-s3cret")

    result = get("--extended", "--bearer-env", "SHOP_TOKEN")

    assert result.exit_code == 2
    assert "s3cret" not in result.output


def test_without_a_token_and_without_a_terminal_it_ends_with_4(get):
    result = get("--extended")

    assert result.exit_code == 4
    assert "--bearer-env NAME" in result.stderr


def test_a_token_goes_to_another_site_only_where_that_is_named(get, shop, secret):
    shop.agent.card["supportedInterfaces"] = [
        {"url": "https://api.saas.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]

    refused = get("--extended", "--bearer-env", secret)
    named = get("--extended", "--bearer-env", secret, "--credential-host", "api.saas.example", "--timeout", "2")

    assert refused.exit_code == 4
    assert "in this command: --credential-host HOST" in refused.stderr
    # It may go there now; nobody is there.
    assert (named.exit_code in (3, 5), "api.saas.example" in named.stderr) == (True, True)
    assert SECRET not in refused.output + named.output


def test_a_card_file_has_no_host_that_a_token_could_be_bound_to(command, secret, tmp_path):
    path = tmp_path / "card.json"
    path.write_text("{}")

    assert command("get", path, "--bearer-env", secret).exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def test_a_terminal_is_asked_for_the_token_which_stays_unseen(shop):
    inner = [sys.executable, "-m", "a2a_discovery", "get", shop.url, *shop.flags, "--extended"]
    outer = f"import pty, sys; sys.exit(pty.spawn({inner!r}) >> 8)"

    with subprocess.Popen(
        [sys.executable, "-c", outer],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"},
    ) as running:
        seen = b""
        # The space is written when the terminal echoes no more, and what was typed before is thrown away.
        while not seen.endswith(b"(input is hidden): "):
            more = os.read(running.stdout.fileno(), 4096)
            assert more, seen
            seen += more
        running.stdin.write(SECRET.encode() + b"\n")
        running.stdin.flush()
        seen += running.stdout.read()
        running.stdin.close()

    assert running.returncode == 0
    assert b"Bearer token for localhost" in seen
    assert b"this is the extended card" in seen
    assert SECRET.encode() not in seen


def oauth(shop, name, **urls):
    """Let both cards ask for a token of the shop's own authorization server."""
    flow = {"tokenUrl": f"{shop.running.url}/token", "scopes": {}, **urls}
    for card in (shop.agent.card, shop.agent.extended):
        card["securitySchemes"] = {"login": {"oauth2SecurityScheme": {"flows": {name: flow}}}}
        card["securityRequirements"] = [{"schemes": {"login": {"list": []}}}]
    shop.agent.replies["/token"] = lambda request: Reply.json(
        {"access_token": SECRET, "token_type": "Bearer", "expires_in": 600}
    )


def test_a_client_gets_its_token_and_its_secret_is_never_shown(get, shop, monkeypatch):
    monkeypatch.setenv("SHOP_SECRET", "client-secret-1")
    oauth(shop, "clientCredentials")

    result = get("--extended", "--client-id", "robot", "--client-secret-env", "SHOP_SECRET")

    assert (result.exit_code, "this is the extended card" in result.stdout) == (0, True)
    assert "client-secret-1" not in result.output
    assert shop.agent.requests[-1].authorization == f"Bearer {SECRET}"


def test_without_a_secret_a_person_signs_in_on_another_device(get, shop):
    oauth(shop, "deviceCode", deviceAuthorizationUrl=f"{shop.running.url}/device")
    shop.agent.replies["/device"] = lambda request: Reply.json(
        {
            "device_code": "d-1",
            "user_code": "WDJB-MJHT",
            "verification_uri": f"{shop.running.url}/activate",
            "expires_in": 600,
            "interval": 1,
        }
    )

    result = get("--extended", "--client-id", "people")

    assert result.exit_code == 0
    assert f"open {shop.running.url}/activate and enter WDJB-MJHT" in result.stderr


@pytest.mark.parametrize("flags", [("--client-id", "robot"), ("--extended", "--client-secret-env", "SHOP_TOKEN")])
def test_a_client_without_what_it_needs_is_a_wrong_call(get, secret, flags):
    assert get(*flags).exit_code == 2
