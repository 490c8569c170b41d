"""The fake agent's signatures, checked by joserfc, RFC 8785 and the Python SDK: none of our own verifying is used."""

import base64
import json

import jcs
import jwt
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from joserfc import jwk, jws

from a2a_discovery.testing import FakeAgent, Signer

KEYS = "https://shop.example/.well-known/jwks.json"
ALGORITHMS = ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "Ed25519"]


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def protected(entry):
    raw = entry["protected"]
    return json.loads(base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4)))


def verified(entry, payload, keys, alg):
    """What joserfc says of one entry over a payload."""
    key = next(each for each in keys["keys"] if each["kid"] == protected(entry)["kid"])
    token = f"{entry['protected']}.{b64(payload)}.{entry['signature']}"
    return jws.deserialize_compact(token, jwk.import_key(key), algorithms=[alg]).payload == payload


def sdk_accepts(document, keys, alg):
    """What the Python SDK's own verifier says of a card."""
    by_kid = {each["kid"]: jwt.PyJWK(each) for each in keys["keys"]}
    verify = create_signature_verifier(lambda kid, jku: by_kid[kid], [alg])
    try:
        verify(parse_agent_card(document))
    except InvalidSignaturesError:
        return False
    return True


@pytest.mark.parametrize("alg", ALGORITHMS)
def test_the_received_form_is_the_json_without_signatures_in_rfc_8785(alg):
    agent = FakeAgent(signers=[Signer(alg=alg, form="received")])
    document = agent.document()
    (entry,) = document.pop("signatures")

    assert verified(entry, jcs.canonicalize(document), agent.jwks, alg)


@pytest.mark.parametrize(
    "alg", ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"]
)
def test_the_sdk_form_verifies_in_the_python_sdk(alg):
    agent = FakeAgent(signers=[Signer(alg=alg, form="sdk")], extended=True)
    document = agent.document()

    assert sdk_accepts(document, agent.jwks, alg)
    assert not sdk_accepts({**document, "name": "Another"}, agent.jwks, alg)


def test_the_spec_form_of_the_specifications_own_example():
    # Section 8.4.1: `description` and `skills` are REQUIRED and stay, `extensions` is an empty default and goes.
    card = {
        "name": "Example Agent",
        "description": "",
        "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
        "skills": [],
    }
    payload = (
        b'{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent",'
        b'"skills":[]}'
    )
    agent = FakeAgent(card=card)
    document = agent.document()

    assert verified(document["signatures"][0], payload, agent.jwks, "ES256")
    assert {name: value for name, value in document.items() if name != "signatures"} == card


def test_a_signature_names_its_key_its_type_and_where_the_key_is():
    agent = FakeAgent(signers=[Signer(kid="first")])

    assert protected(agent.document()["signatures"][0]) == {
        "alg": "ES256",
        "typ": "JOSE",
        "kid": "first",
        "jku": "https://shop.example/.well-known/jwks.json",
    }


@pytest.mark.parametrize(
    ("jku", "written"),
    [(None, None), ("/keys", "https://shop.example/keys"), ("https://keys.example/k", "https://keys.example/k")],
)
def test_a_jku_is_none_a_path_or_a_url(jku, written):
    agent = FakeAgent(signers=[Signer(jku=jku)])

    assert protected(agent.document()["signatures"][0]).get("jku") == written


async def test_the_jwk_set_is_served_where_the_jku_says(get):
    agent = FakeAgent(signers=[Signer(jku="/keys")])

    assert (await get(agent, "https://shop.example/keys")).json() == agent.jwks
    assert agent.count("keys") == 1


def test_the_protected_header_may_be_anything():
    signer = Signer(header={"crit": ["b64"], "typ": None, "alg": "none", "pad": "x" * 2000}, unprotected={"kid": "y"})
    agent = FakeAgent(signers=[signer])
    entry = agent.document()["signatures"][0]

    assert protected(entry)["crit"] == ["b64"]
    assert protected(entry)["alg"] == "none"
    assert "typ" not in protected(entry)
    assert entry["header"] == {"kid": "y"}


async def test_the_jwk_set_is_published_and_holds_nothing_private(get):
    agent = FakeAgent(signers=[Signer(), Signer(alg="RS256"), Signer(alg="Ed25519")])
    answer = await get(agent, KEYS)

    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "max-age=300"
    assert [each["kty"] for each in answer.json()["keys"]] == ["EC", "RSA", "OKP"]
    assert all({"d", "p", "q"}.isdisjoint(each) for each in answer.json()["keys"])
    assert (await get(agent, KEYS, if_none_match=answer.headers["etag"])).status_code == 304


async def test_a_key_can_be_unpublished_and_odd_ones_be_added(get):
    agent = FakeAgent(signers=[Signer(published=False)])
    agent.extra_keys.append({"kty": "unheard-of"})
    agent.headers["keys"] = {"content-type": "text/html"}
    answer = await get(agent, KEYS)

    assert answer.json() == {"keys": [{"kty": "unheard-of"}]}
    assert answer.headers["content-type"] == "text/html"


def test_several_signatures_stand_side_by_side_after_those_of_the_card_itself():
    card = {"name": "Shop", "signatures": [{"protected": "e30", "signature": ""}]}
    agent = FakeAgent(card=card, signers=[Signer(kid="a"), Signer(kid="b", form="sdk", alg="RS256")])
    document = agent.document()

    assert [protected(entry).get("kid") for entry in document["signatures"]] == [None, "a", "b"]


async def test_rotated_keys_replace_the_old_ones_in_card_and_jwk_set(get):
    agent = FakeAgent(signers=[Signer(form="sdk")])
    before, old = agent.document(), agent.jwks
    agent.rotate_keys()
    after, new = (await get(agent)).json(), (await get(agent, KEYS)).json()

    assert {each["kid"] for each in old["keys"]}.isdisjoint(each["kid"] for each in new["keys"])
    assert before["signatures"] != after["signatures"]
    assert sdk_accepts(after, new, "ES256")


def test_a_rotation_can_keep_the_old_key_beside_the_new_one():
    agent = FakeAgent(signers=[Signer(form="sdk")])
    old = agent.jwks["keys"]
    agent.rotate_keys(keep_old=True)
    document = agent.document()

    assert agent.jwks["keys"][0] == old[0]
    assert len(document["signatures"]) == len(agent.jwks["keys"]) == 2
    for entry in document["signatures"]:
        assert sdk_accepts({**document, "signatures": [entry]}, agent.jwks, "ES256")


def test_one_card_is_signed_once():
    agent = FakeAgent()

    assert agent.document() == agent.document()
    agent.sign_each_answer = True
    assert agent.document() != agent.document()  # ECDSA is randomized


def test_a_document_is_a_copy_to_tamper_with():
    agent = FakeAgent()
    agent.document()["name"] = "Mallory"

    assert agent.document()["name"] == agent.card["name"] == "Shop"


def test_an_algorithm_that_nobody_makes_keys_for_says_which_there_are():
    with pytest.raises(ValueError, match="ES256"):
        Signer(alg="HS256")


def test_a_key_can_be_given():
    key = jwk.generate_key("EC", "P-256")
    agent = FakeAgent(signers=[Signer(key=key, kid="mine")])

    assert agent.jwks["keys"][0]["x"] == key.as_dict(private=False)["x"]


def test_an_unsigned_agent_has_no_signatures_member():
    assert "signatures" not in FakeAgent(signers=()).document()
