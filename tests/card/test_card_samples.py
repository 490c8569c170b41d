"""The specification's own sample cards, cards of the kinds that templates publish, and cards that SDKs signed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from a2a_discovery._card.read import looks_like, read_card
from a2a_discovery.errors import CardError

DATA = Path(__file__).parent.parent / "data"
KINDS = sorted((DATA / "seeds_like").glob("*.json"))
SIGNED = sorted((DATA / "vectors").glob("*.json"))


def test_the_sample_of_0_3_is_read_as_by_hand(read, published, told):
    sample = published("samples/a2a-0.3-sample-card.json")

    reading = read(sample, strict=True)

    card = reading.card
    base = "https://georoute-agent.example.com/a2a"
    assert [(each.url, each.protocol_binding, each.protocol_version) for each in card.supported_interfaces] == [
        (f"{base}/v1", "JSONRPC", "0.3"),
        (f"{base}/grpc", "GRPC", "0.3"),
        (f"{base}/json", "HTTP+JSON", "0.3"),
    ]
    assert card.capabilities.extended_agent_card is True
    assert (card.capabilities.streaming, card.capabilities.push_notifications) == (True, True)
    google = card.security_schemes["google"].open_id_connect_security_scheme
    assert google.open_id_connect_url == "https://accounts.google.com/.well-known/openid-configuration"
    assert [dict(each.schemes)["google"].list for each in card.security_requirements] == [
        ("openid", "profile", "email")
    ]
    assert card.provider.organization == "Example Geo Services Inc."
    assert [skill.id for skill in card.skills] == ["route-optimizer-traffic", "custom-map-generator"]
    assert card.skills[1].output_modes == ("image/png", "image/jpeg", "application/json", "text/html")
    assert len(card.signatures) == 1
    assert told(reading) == {("old-version", "/protocolVersion")}
    assert reading.value["signatures"] == sample["signatures"]
    assert reading.value["capabilities"]["stateTransitionHistory"] is False
    moved = {"url", "preferredTransport", "additionalInterfaces", "protocolVersion", "security"}
    assert reading.value.keys() == (
        sample.keys() - moved - {"supportsAuthenticatedExtendedCard"} | {"supportedInterfaces", "securityRequirements"}
    )
    assert reading.origin("/supportedInterfaces/1/url") == "/additionalInterfaces/1/url"
    assert reading.origin("/securityRequirements/0/schemes/google/list/2") == "/security/0/google/2"


def test_the_sample_of_1_0_is_read_as_by_hand(read, published):
    sample = published("samples/a2a-1.0-sample-card.json")

    reading = read(sample, strict=True)

    card = reading.card
    assert reading.value == sample
    assert reading.findings == ()
    assert card.name == "GeoSpatial Route Planner Agent"
    assert [each.protocol_binding for each in card.supported_interfaces] == ["JSONRPC", "GRPC", "HTTP+JSON"]
    assert {each.protocol_version for each in card.supported_interfaces} == {"1.0"}
    assert card.capabilities.extended_agent_card is True
    assert card.security_schemes["google"].kind == "open_id_connect_security_scheme"
    assert card.security_requirements[0].schemes["google"].list == ("openid", "profile", "email")
    assert card.skills[0].tags == ("maps", "routing", "navigation", "directions", "traffic")


def test_the_stale_sample_of_1_0_0_says_the_same(read, published):
    sample = published("samples/a2a-1.0-sample-card.json")
    stale = sample | {"security": [{"google": ["openid", "profile", "email"]}]}
    del stale["securityRequirements"]

    assert read(stale).value == sample


def test_the_draft_sample_names_its_versions_once(read, published):
    sample = published("samples/a2a-1.0-sample-card.json")
    draft = json.loads(json.dumps(sample)) | {"protocolVersions": ["1.0"]}
    for each in draft["supportedInterfaces"]:
        del each["protocolVersion"]

    assert read(draft).card.supported_interfaces == read(sample).card.supported_interfaces


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.stem)
def test_the_kinds_of_cards_that_templates_publish_are_read(path, read, published, told):
    document = published(f"seeds_like/{path.name}")

    reading = read(document)

    if "security" in document:
        assert told(reading) == {("legacy-security", "/security")}
        [wanted] = document["security"]
        [requirement] = reading.card.security_requirements
        assert {name: list(each.list) for name, each in requirement.schemes.items()} == wanted
        assert all(reading.card.security_schemes[name].kind for name in wanted)
    else:
        assert told(reading) == set()
        assert reading.card.security_requirements == ()
    assert reading.card.supported_interfaces[0].protocol_version == "1.0"


def test_there_are_six_kinds():
    assert len(KINDS) == 6


@pytest.mark.parametrize("path", SIGNED, ids=lambda path: path.stem)
def test_a_card_that_an_sdk_signed_is_read(path, read):
    vector = json.loads(path.read_text("utf-8"))

    reading = read(json.loads(vector["body"]))

    assert reading.card.name == vector["card"]["name"]
    assert reading.card.signatures


@pytest.mark.parametrize(
    ("document", "likeness", "pointer"),
    [
        (None, "other", ""),
        ([], "other", ""),
        ("a card", "other", ""),
        (5, "other", ""),
        (True, "other", ""),
        ({"message": "Not Found"}, "other", "/message"),
        ({"error": {"code": 404}}, "other", "/error"),
        ({"detail": "Not Found"}, "other", "/detail"),
        ({"name": "NotFoundError", "message": "nothing here", "code": 404}, "other", "/message"),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": -32600}}, "other", "/jsonrpc"),
        ({"timestamp": 1, "path": "/x"}, "other", ""),
        ({"openapi": "3.1.0", "info": {}}, "other", "/openapi"),
        ({"specVersion": "1.0", "entries": []}, "catalog", "/entries"),
        ({"ucp": {"version": "2026-08-25"}}, "profile", "/ucp"),
        ({"name": "x", "type": "mcp-server", "capabilities": []}, "other", "/type"),
    ],
)
def test_another_kind_of_document_is_no_card(document, likeness, pointer):
    assert looks_like(document) == likeness
    with pytest.raises(CardError) as refusal:
        read_card(document, url=None)

    assert refusal.value.code in ("not-a-card", "invalid-card")
    if refusal.value.code == "not-a-card":
        [finding] = refusal.value.findings
        assert (finding.code, finding.pointer) == ("not-an-agent-card", pointer)


def test_a_card_that_names_its_schema_is_one_with_gaps():
    with pytest.raises(CardError) as refusal:
        read_card({"$schema": "https://schemas.example/a2a/agent-card.json", "name": "n", "skills": []}, url=None)

    assert refusal.value.code == "invalid-card"


@pytest.mark.parametrize(
    ("document", "likeness"),
    [
        ({"supportedInterfaces": []}, "card"),
        ({"supported_interfaces": []}, "card"),
        ({"name": "a", "url": "https://a.example", "skills": []}, "card"),
        ({"capabilities": {}, "$schema": "https://a.example/card.schema.json", "url": "https://a.example"}, "card"),
        ({"name": "orders-api", "version": "1.2.0", "description": "An API"}, "other"),
        ({"url": "https://a.example"}, "other"),
        ({}, "other"),
        ({"entries": [], "supportedInterfaces": []}, "card"),
    ],
)
def test_what_a_document_looks_like(document, likeness):
    assert looks_like(document) == likeness


def test_a_card_through_a_form_that_drops_empty_values_reads_as_before(v1):
    v1 |= {"description": "", "skills": [], "capabilities": {}, "defaultInputModes": []}
    v1["securitySchemes"] = {
        "o": {
            "oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://id.example", "scopes": {}}}}
        }
    }
    dropped = {name: value for name, value in v1.items() if value not in ("", [], {})}
    dropped["securitySchemes"] = {
        "o": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://id.example"}}}}
    }

    first = read_card(v1, url=None, required_empty=True)
    second = read_card(dropped, url=None, required_empty=True)

    assert second.value == first.value == v1
    with pytest.raises(CardError):
        read_card(dropped, url=None)
    with pytest.raises(CardError):
        read_card({"name": "no interface"}, url=None, required_empty=True)
