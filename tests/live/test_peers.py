"""What the real servers send, seen by a bare client: the ground that the other live tests stand on."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import jcs
import pytest
from joserfc.jwk import ECKey
from joserfc.jws import JWSRegistry

CARD = "/.well-known/agent-card.json"


def without_empty(value: Any) -> Any:
    """What both SDKs sign: every empty string, list, object and null taken out, from the inside outwards."""
    if isinstance(value, dict):
        kept = {name: without_empty(member) for name, member in value.items()}
        return {name: member for name, member in kept.items() if member not in ("", [], {}, None)}
    if isinstance(value, list):
        return [member for member in map(without_empty, value) if member not in ("", [], {}, None)]
    return value


def from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def last_signature_verifies(client: httpx.Client, base: str, card: dict[str, Any]) -> bool:
    signature = card["signatures"][-1]
    header = json.loads(from_base64url(signature["protected"]))
    assert header["jku"] == f"{base}/.well-known/jwks.json"
    [key] = [key for key in client.get(header["jku"]).json()["keys"] if key["kid"] == header["kid"]]
    assert "d" not in key
    unsigned = {name: value for name, value in card.items() if name != "signatures"}
    payload = base64.urlsafe_b64encode(jcs.canonicalize(without_empty(unsigned))).rstrip(b"=")
    algorithm = JWSRegistry.algorithms[header["alg"]]
    return bool(
        algorithm.verify(
            signature["protected"].encode() + b"." + payload,
            from_base64url(signature["signature"]),
            ECKey.import_key(key),
        )
    )


def rpc(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}


@pytest.mark.parametrize("variant", ["plain", "max-age", "http", "rest-first", "guarded", "tenant", "growing"])
def test_the_python_peer_signs_in_the_sdk_form(python_peer, raw, variant):
    base = python_peer[variant]

    assert last_signature_verifies(raw, base, raw.get(base + CARD).json())


def test_the_python_peer_has_a_weak_etag_and_answers_304_to_it(python_peer, raw):
    first = raw.get(python_peer["plain"] + CARD)
    second = raw.get(python_peer["plain"] + CARD, headers={"If-None-Match": first.headers["etag"]})

    assert (first.status_code, second.status_code) == (200, 304)
    assert first.headers["etag"].startswith('W/"')
    assert second.content == b""
    assert "cache-control" not in first.headers


def test_the_python_peer_adds_a_signature_at_every_get_under_one_etag(python_peer, raw):
    first, second = (raw.get(python_peer["growing"] + CARD) for _ in range(2))

    assert len(second.json()["signatures"]) == len(first.json()["signatures"]) + 1
    assert second.headers["etag"] == first.headers["etag"]


def test_the_python_peer_spells_a_hybrid_card_in_both_dialects(python_peer, raw):
    card = raw.get(python_peer["hybrid"] + CARD).json()

    assert card["protocolVersion"] == "0.3"
    assert card["url"] == f"{python_peer['hybrid']}/rpc"
    assert [each["protocolVersion"] for each in card["supportedInterfaces"]] == ["1.0", "1.0", "0.3", "0.3"]
    assert card["securitySchemes"]["bearer"].keys() >= {"httpAuthSecurityScheme", "type"}


def test_the_guarded_python_peer_answers_401_to_strangers_on_both_bindings(python_peer, raw):
    base = python_peer["guarded"]
    version = {"A2A-Version": "1.0"}

    assert raw.get(base + CARD).status_code == 200
    assert raw.post(f"{base}/rpc", json=rpc("GetExtendedAgentCard"), headers=version).status_code == 401
    assert raw.get(f"{base}/rest/extendedAgentCard", headers=version).status_code == 401


def test_the_guarded_python_peer_gives_friends_one_more_skill_on_both_bindings(python_peer, raw):
    base = python_peer["guarded"]
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {python_peer.token}"}
    by_rpc = raw.post(f"{base}/rpc", json=rpc("GetExtendedAgentCard"), headers=headers).json()["result"]
    by_rest = raw.get(f"{base}/rest/extendedAgentCard", headers=headers).json()

    assert [skill["id"] for skill in by_rpc["skills"]] == ["echo", "audit"]
    assert by_rest == by_rpc
    assert last_signature_verifies(raw, base, by_rpc)


@pytest.mark.parametrize(("variant", "code"), [("no-extended", -32004), ("not-configured", -32007)])
@pytest.mark.parametrize("peer", ["python_peer", "js_peer"])
def test_the_peers_name_the_reason_where_there_is_no_extended_card(request, raw, peer, variant, code):
    running = request.getfixturevalue(peer)
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {running.token}"}

    answer = raw.post(f"{running[variant]}/rpc", json=rpc("GetExtendedAgentCard"), headers=headers)

    assert answer.json()["error"]["code"] == code


def test_the_python_peer_answers_the_legacy_methods_with_a_legacy_card(python_peer, raw):
    base = python_peer["hybrid-unsigned"]
    by_rpc = raw.post(f"{base}/rpc", json=rpc("agent/getAuthenticatedExtendedCard")).json()["result"]
    by_rest = raw.get(f"{base}/rest/v1/card").json()

    assert [skill["id"] for skill in by_rpc["skills"]] == ["echo", "audit"]
    assert "supportedInterfaces" not in by_rpc
    assert [skill["id"] for skill in by_rest["skills"]] == ["echo", "audit"]


def test_the_js_peer_puts_its_typed_schemes_on_the_wire(js_peer, raw):
    card = raw.get(js_peer["unsigned"] + CARD).json()

    assert card["securitySchemes"]["bearer"]["scheme"]["$case"] == "httpAuthSecurityScheme"
    assert card["securitySchemes"]["machine"]["scheme"]["value"]["flows"]["flow"]["$case"] == "clientCredentials"
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]


def test_the_js_peer_signs_in_the_sdk_form(js_peer, raw):
    base = js_peer["signed-open"]

    assert last_signature_verifies(raw, base, raw.get(base + CARD).json())


def test_the_js_peer_signs_every_answer_anew_so_its_etag_never_matches(js_peer, raw):
    first = raw.get(js_peer["signed"] + CARD)
    second = raw.get(js_peer["signed"] + CARD, headers={"If-None-Match": first.headers["etag"]})

    assert second.status_code == 200
    assert second.headers["etag"] != first.headers["etag"]
    assert second.headers["cache-control"] == "public, max-age=3600"


def test_the_js_peer_without_a_signer_answers_304(js_peer, raw):
    first = raw.get(js_peer["no-cache"] + CARD)
    second = raw.get(js_peer["no-cache"] + CARD, headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["cache-control"] == "no-cache"
    assert second.status_code == 304


def test_the_js_peer_in_compatibility_mode_goes_by_the_version_asked_for(js_peer, raw):
    legacy = raw.get(js_peer["compat"] + CARD)
    current = raw.get(js_peer["compat"] + CARD, headers={"A2A-Version": "1.0"})

    assert legacy.json()["protocolVersion"] == "0.3"
    assert "protocolVersion" not in current.json()
    assert legacy.headers["vary"] == current.headers["vary"] == "A2A-Version"


def test_the_js_peer_gives_strangers_the_public_card_with_200(js_peer, raw):
    base = js_peer["unsigned"]
    stranger = raw.get(f"{base}/rest/extendedAgentCard", headers={"A2A-Version": "1.0"})
    friend = raw.get(
        f"{base}/rest/extendedAgentCard",
        headers={"A2A-Version": "1.0", "Authorization": f"Bearer {js_peer.token}"},
    )

    assert (stranger.status_code, friend.status_code) == (200, 200)
    assert [skill["id"] for skill in stranger.json()["skills"]] == ["echo"]
    assert [skill["id"] for skill in friend.json()["skills"]] == ["echo", "audit"]
