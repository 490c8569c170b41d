"""Secrets are found, by form and by name, and no finding repeats one."""

from __future__ import annotations

import json

import pytest

from a2a_discovery import check_card

# In pieces, so that no scanner takes this file for a leak.
KEY = "AK" + "IA" + "ABCDEFGHIJKLMNOP"
SECRETS = [
    KEY,
    "gh" + "p_" + "0123456789abcdefghij0123456789abcdef",
    "github" + "_pat_" + "11AAAAAAA0123456789abcdef",
    "xox" + "b-" + "123456789012-abcdefghij",
    "sk" + "-proj-" + "abcdefghijklmnopqrstuvwx0123",
    "sk_" + "live_" + "abcdefghij0123456789",
    "AI" + "za" + "SyA0123456789abcdefghijklmnopqrstu",
    "glp" + "at-" + "abcdefghij0123456789",
    "-----BEGIN EC PRIVATE" + " KEY-----\nMHcCAQEE",
    "ey" + "JhbGciOiJIUzI1NiJ9" + ".ey" + "JzdWIiOiIxIn0" + ".c2lnbmF0dXJl",
    "Bearer " + "0123456789abcdef0123456789abcdef",
]
BY_NAME = [
    ("api_key", "f3a91c77d2e04b"),
    ("clientSecret", "correct-horse-battery"),
    ("password", "hunter22222"),
    ("access-token", "0a1b2c3d4e5f"),
    ("credentials", "user:hunter2!"),
]
IN_URLS = [
    ("https://api.ferry.example/v1?api_key=f3a91c77d2e04b", "f3a91c77d2e04b"),
    ("https://user:hunter2@ferry.example/hook", "hunter2"),
    ("https://ferry.example/cb?a=1&access_token=f3a91c77d2", "f3a91c77d2"),
]


def shown(card, **options):
    findings = check_card(card, **options)
    return findings, json.dumps([each.as_dict() for each in findings]) + "".join(map(str, findings))


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
@pytest.mark.parametrize("place", ["/description", "/skills/0/examples", "/x-deploy/note", "/capabilities/extensions"])
def test_a_secret_is_found_by_its_form_wherever_it_stands(secret, place, put):
    said = f"Use {secret} to call."
    value = {"/skills/0/examples": [said], "/capabilities/extensions": [{"uri": "urn:x:v1", "params": {"a": [said]}}]}

    findings, text = shown(put(place, value.get(place, said)))

    [finding] = [each for each in findings if each.code == "secret-in-card"]
    assert finding.severity == "error"
    assert finding.pointer.startswith(place)
    assert secret not in text
    assert json.dumps(secret)[1:-1] not in text


@pytest.mark.parametrize(("name", "secret"), BY_NAME)
def test_a_secret_is_found_by_the_name_it_stands_under(name, secret, put):
    findings, text = shown(put("/x-config", {name: secret}))

    assert [each.pointer for each in findings if each.code == "secret-in-card"] == [f"/x-config/{name}"]
    assert secret not in text


@pytest.mark.parametrize(("url", "secret"), IN_URLS)
def test_a_secret_in_a_url_is_found(url, secret, put):
    findings, text = shown(put("/documentationUrl", url))

    assert [each.pointer for each in findings if each.code == "secret-in-card"] == ["/documentationUrl"]
    assert secret not in text


def test_a_secret_that_is_the_name_of_a_member_is_not_told_by_a_pointer(put):
    findings, text = shown(put("/x-keys", {KEY: {"deep": None, "er": [1]}, "plain": 1}))
    unknown, _ = shown(put(f"/{KEY}", 1))

    assert [each.pointer for each in findings if each.code == "secret-in-card"] == ["/x-keys"]
    assert KEY not in text
    assert KEY not in str(unknown)
    assert {each.pointer for each in unknown} == {""}


def test_the_private_part_of_a_key_is_found(put):
    key = {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "d": "c2VjcmV0"}

    findings, text = shown(put("/capabilities/extensions", [{"uri": "urn:x:v1", "params": {"key": key}}]))

    assert [each.pointer for each in findings] == ["/capabilities/extensions/0/params/key"]
    assert "c2VjcmV0" not in text


def test_the_credentials_of_a_0_1_card_are_found(put, told):
    card = put("/authentication", {"schemes": ["apiKey"], "credentials": "k-5d41402abc4b2a76"})

    assert told(card)["secret-in-card @ /authentication/credentials"] == "error"


NO_SECRETS = [
    ("/description", "Send your API key as a bearer token; get a password at https://ferry.example/login?next=token."),
    ("/x-config", {"api_key": "YOUR_KEY_HERE", "password": "<password>", "token": "${TOKEN}", "secret": "changeme"}),
    ("/x-config", {"apiKey": "X-API-Key", "token": "Authorization header", "password": "", "jwt": "required"}),
    ("/x-config", {"tokenUrl": "https://login.ferry.example/token", "token": "https://login.ferry.example/0123"}),
    ("/x-config", {"password": {"type": "string", "minLength": 8}, "api_key": None, "secret": True, "token": 12345678}),
    ("/documentationUrl", "https://ferry.example/docs?key=YOUR_KEY_GOES_HERE&token={token}"),
    ("/documentationUrl", "https://ferry.example/@desk/profile:public"),
    ("/skills/0/examples", ["sk-learn pipelines", "eyJust kidding", "AKIA is a prefix", "risk-assessment-2026"]),
    ("/capabilities/extensions", [{"uri": "urn:x:v1", "params": {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}}]),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value"), NO_SECRETS, ids=range(len(NO_SECRETS)))
def test_what_only_speaks_of_secrets_is_none(place, value, put):
    assert "secret-in-card" not in {each.code for each in check_card(put(place, value))}


def test_a_scope_called_token_is_described_not_leaked(put):
    scopes = {"token": "issue-1234567", "password": "hunter2222222"}
    card = put("/securitySchemes/login/oauth2SecurityScheme/flows/authorizationCode/scopes", {**scopes, "buy": "Buy"})

    assert check_card(card) == ()


def test_no_published_card_of_the_corpus_is_said_to_hold_a_secret(published):
    for name, body in published.items():
        assert "secret-in-card" not in {each.code for each in check_card(body)}, name
