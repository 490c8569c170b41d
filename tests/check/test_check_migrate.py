"""The 1.0 card of a card of 0.x: valid by the SDK's own definition, nothing lost in silence, and the same again."""

from __future__ import annotations

import copy
import json

import pytest
from a2a.types import AgentCard
from google.protobuf.json_format import MessageToDict, ParseDict

from a2a_discovery import check_card
from a2a_discovery._card.read import read_card
from a2a_discovery._check.migrate import migrate
from a2a_discovery.errors import CardError

LEGACY = {
    "protocolVersion": "0.3.0",
    "name": "Ferry ticket desk",
    "description": "Sells ferry tickets and answers questions about crossings.",
    "version": "2.1.0",
    "url": "https://ferry.example/rpc",
    "preferredTransport": "JSONRPC",
    "additionalInterfaces": [
        {"url": "https://ferry.example/rpc", "transport": "JSONRPC"},
        {"url": "https://ferry.example/rest", "transport": "HTTP+JSON"},
    ],
    "capabilities": {"streaming": True, "stateTransitionHistory": True},
    "supportsAuthenticatedExtendedCard": False,
    "securitySchemes": {
        "login": {
            "type": "oauth2",
            "description": "Sign in",
            "flows": {
                "clientCredentials": {"tokenUrl": "https://login.ferry.example/t", "scopes": {"buy": "Buy"}},
                "authorizationCode": {
                    "authorizationUrl": "https://login.ferry.example/a",
                    "tokenUrl": "https://login.ferry.example/t",
                    "scopes": {"buy": "Buy"},
                },
            },
        },
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    },
    "security": [{"login": ["buy"], "key": []}, {"key": []}],
    "defaultInputModes": ["text", "text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [
        {"id": "s", "name": "Sell", "description": "Sells a ticket.", "tags": ["t"], "security": [{"login": ["buy"]}]}
    ],
    "signatures": [{"protected": "e30", "signature": "c2ln"}],
    "x-vendor": {"a": 1},
}


def parsed(card):
    """The card by the definition of A2A 1.0, strictly: an unknown member or a second flow is an error."""
    return ParseDict(copy.deepcopy(card), AgentCard(), ignore_unknown_fields=False)


def test_a_0_3_card_becomes_this():
    migrated = migrate(LEGACY)

    flow = {"tokenUrl": "https://login.ferry.example/t", "scopes": {"buy": "Buy"}}
    code = {"authorizationCode": {"authorizationUrl": "https://login.ferry.example/a", **flow}}
    requirement = {"list": ["buy"]}
    assert migrated.card == {
        "name": "Ferry ticket desk",
        "description": "Sells ferry tickets and answers questions about crossings.",
        "supportedInterfaces": [
            {"url": "https://ferry.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": "https://ferry.example/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
        ],
        "version": "2.1.0",
        "capabilities": {"streaming": True, "extendedAgentCard": False},
        "securitySchemes": {
            "login": {"oauth2SecurityScheme": {"description": "Sign in", "flows": code}},
            "login#clientCredentials": {
                "oauth2SecurityScheme": {"description": "Sign in", "flows": {"clientCredentials": flow}}
            },
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        },
        "securityRequirements": [
            {"schemes": {"login": requirement, "key": {"list": []}}},
            {"schemes": {"login#clientCredentials": requirement, "key": {"list": []}}},
            {"schemes": {"key": {"list": []}}},
        ],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {
                "id": "s",
                "name": "Sell",
                "description": "Sells a ticket.",
                "tags": ["t"],
                "securityRequirements": [
                    {"schemes": {"login": requirement}},
                    {"schemes": {"login#clientCredentials": requirement}},
                ],
            }
        ],
    }
    assert {each.pointer for each in migrated.lost} == {
        "/capabilities/stateTransitionHistory",
        "/signatures",
        "/x-vendor",
    }
    assert (migrated.changed, migrated.legacy) == (True, True)
    parsed(migrated.card)


def test_the_old_card_is_left_alone():
    before = copy.deepcopy(LEGACY)

    migrate(LEGACY)

    assert before == LEGACY


def test_members_are_in_the_order_of_the_definition():
    names = list(migrate(LEGACY).card)

    assert names[:4] == ["name", "description", "supportedInterfaces", "version"]


def test_unknown_members_stay_where_that_is_wanted():
    migrated = migrate(LEGACY, keep_unknown=True)

    assert migrated.card["x-vendor"] == {"a": 1}
    assert "/x-vendor" not in {each.pointer for each in migrated.lost}


def test_a_name_that_is_taken_is_not_used_twice():
    card = copy.deepcopy(LEGACY)
    card["securitySchemes"]["login#clientCredentials"] = {"type": "http", "scheme": "Bearer"}

    schemes = migrate(card).card["securitySchemes"]

    assert set(schemes) == {"login", "login#clientCredentials", "login#clientCredentials-2", "key"}
    assert "httpAuthSecurityScheme" in schemes["login#clientCredentials"]


def test_two_divided_schemes_in_one_requirement_make_every_combination():
    card = copy.deepcopy(LEGACY)
    card["securitySchemes"]["other"] = card["securitySchemes"]["login"]
    card["security"] = [{"login": ["buy"], "other": ["buy"]}]

    requirements = migrate(card).card["securityRequirements"]

    assert [sorted(each["schemes"]) for each in requirements] == [
        ["login", "other"],
        ["login", "other#clientCredentials"],
        ["login#clientCredentials", "other"],
        ["login#clientCredentials", "other#clientCredentials"],
    ]


@pytest.mark.parametrize(
    ("scheme", "pointer"),
    [
        ({"type": "dpop"}, "/securitySchemes/odd"),
        ({"type": "apiKey", "name": "X"}, "/securitySchemes/odd"),
        ({"type": "oauth2", "flows": {}}, "/securitySchemes/odd"),
        ({"type": "oauth2", "flows": {"clientCredentials": {"scopes": {}}}}, "/securitySchemes/odd"),
    ],
)
def test_a_scheme_that_nobody_could_use_is_told_and_left_out(scheme, pointer):
    migrated = migrate({**LEGACY, "securitySchemes": {"odd": scheme}, "security": []})

    assert "securitySchemes" not in migrated.card
    assert pointer in {each.pointer for each in migrated.lost}
    parsed(migrated.card)


def test_a_card_of_1_0_is_the_very_same(clean):
    migrated = migrate(clean)

    assert migrated.card == clean
    assert json.dumps(migrated.card) == json.dumps(clean)
    assert (migrated.changed, migrated.lost) == (False, ())


def test_a_hybrid_that_serves_both_generations_is_left_as_it_is(clean):
    hybrid = {**clean, "url": "https://ferry.example/rpc", "preferredTransport": "JSONRPC", "protocolVersion": "0.3"}

    assert migrate(hybrid).changed is False


def test_several_flows_in_a_card_of_1_0_are_divided_too(clean):
    clean["securitySchemes"]["login"]["oauth2SecurityScheme"]["flows"]["clientCredentials"] = {
        "tokenUrl": "https://login.ferry.example/token",
        "scopes": {"buy": "Buy tickets"},
    }
    clean["signatures"] = [{"protected": "e30", "signature": "c2ln"}]

    migrated = migrate(clean)

    assert check_card(migrated.card) == ()
    assert [each.pointer for each in migrated.lost] == ["/signatures"]
    parsed(migrated.card)


def test_what_is_no_card_is_an_error():
    with pytest.raises(CardError):
        migrate({"openapi": "3.1.0", "name": "x"})
    with pytest.raises(CardError):
        migrate({"name": "x", "url": "https://a.example"})


def test_every_published_card_that_can_be_read_comes_out_valid_and_stays_so(samples):
    upgraded = 0
    for card in samples:
        try:
            before = read_card(card, url=None).card
        except CardError:
            continue
        migrated = migrate(card)
        if migrated.legacy:
            upgraded += 1
            message = parsed(migrated.card)
            assert "supported_interfaces" in MessageToDict(message, preserving_proto_field_name=True)
        after = read_card(migrated.card, url=None).card
        assert after.name == before.name
        assert after.supported_interfaces == before.supported_interfaces
        assert [each.id for each in after.skills] == [each.id for each in before.skills]
        again = migrate(migrated.card)
        assert (again.changed, again.card) == (False, migrated.card)
    assert upgraded >= 20
