"""The card as the official SDK's message, and what is said where the SDK is not there."""

from __future__ import annotations

import sys

import pytest

from a2a_discovery import Credentials, Discovery, InterfaceError, UsageError
from a2a_discovery.testing import FakeAgent

pytest.importorskip("a2a.client.client_factory")  # whole, before a test takes a part of it away


@pytest.fixture
def shop():
    return FakeAgent("shop.example", extended=True)


async def found(shop, **options):
    return await Discovery(transport=shop, **options).discover("shop.example")


async def test_the_message_says_what_the_card_says(shop):
    shop.card["capabilities"]["extensions"] = [{"uri": "https://e.example/1", "params": {"a": [1, {"b": None}]}}]
    shop.card["unknown"] = {"kept": "out"}
    agent = await found(shop)

    card = agent.as_a2a_card()

    assert (card.name, card.version) == (agent.card.name, agent.card.version)
    assert [(each.url, each.protocol_binding, each.protocol_version) for each in card.supported_interfaces] == [
        ("https://shop.example/a2a/v1", "JSONRPC", "1.0"),
        ("https://shop.example/a2a/rest", "HTTP+JSON", "1.0"),
    ]
    assert card.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert [list(each.schemes) for each in card.security_requirements] == [["bearer"]]
    assert card.capabilities.extended_agent_card
    assert card.capabilities.extensions[0].params["a"][1]["b"] is None
    assert len(agent.trust.signatures) == 1
    assert len(card.signatures) == 0


async def test_it_names_usable_interfaces_alone_and_the_selected_one_first(shop):
    shop.card["supportedInterfaces"] = [
        {"url": "https://10.0.0.8/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "https://shop.example/rest", "protocolBinding": "http+json", "protocolVersion": "1.0.1", "tenant": "t"},
    ]

    [interface] = (await found(shop)).as_a2a_card().supported_interfaces

    assert (interface.url, interface.protocol_binding, interface.protocol_version, interface.tenant) == (
        "https://shop.example/rest",
        "HTTP+JSON",
        "1.0",
        "t",
    )


async def test_a_card_with_several_flows_in_one_scheme_becomes_alternatives(shop):
    machine = {"tokenUrl": "https://shop.example/token", "scopes": {"r": "Read"}}
    person = {**machine, "authorizationUrl": "https://shop.example/authorize"}
    shop.card["securitySchemes"] = {
        "o": {"oauth2SecurityScheme": {"flows": {"clientCredentials": machine, "authorizationCode": person}}}
    }
    shop.card["securityRequirements"] = [{"schemes": {"o": {"list": ["r"]}}}]
    shop.signers = []

    card = (await found(shop)).as_a2a_card()

    flows = {name: each.oauth2_security_scheme.flows.WhichOneof("flow") for name, each in card.security_schemes.items()}
    assert flows == {"o": "authorization_code", "o#clientCredentials": "client_credentials"}
    assert [{name: list(each.list) for name, each in one.schemes.items()} for one in card.security_requirements] == [
        {"o": ["r"]},
        {"o#clientCredentials": ["r"]},
    ]


async def test_an_old_card_is_handed_over_too(shop):
    shop.card = {
        "name": "Old shop",
        "description": "Sells.",
        "url": "https://shop.example/a2a/v1",
        "version": "1.0.0",
        "protocolVersion": "0.3.0",
        "capabilities": {"stateTransitionHistory": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "S", "tags": [], "security": [{"b": []}]}],
        "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}, "dpop": {"type": "dpop"}},
        "security": [{"b": []}, {}],
    }
    shop.signers = []

    card = (await found(shop)).as_a2a_card()

    assert card.supported_interfaces[0].protocol_version == "0.3"
    assert card.security_schemes["b"].http_auth_security_scheme.scheme == "bearer"
    assert [list(each.schemes) for each in card.skills[0].security_requirements] == [["b"]]


@pytest.mark.parametrize("missing", ["a2a.types", "a2a.client.transports.jsonrpc"])
async def test_without_the_sdk_the_error_names_the_extra(shop, monkeypatch, missing):
    agent = (await found(shop)).with_credentials(Credentials(bearer="let-me-in"))
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError) as caught:
        await agent.connect()

    assert caught.value.code == "bad-config"
    assert 'pip install "a2a_discovery[a2a]"' in str(caught.value)
    if missing == "a2a.types":
        with pytest.raises(UsageError):
            agent.as_a2a_card()


async def test_a_binding_that_the_sdk_does_not_speak_is_no_usable_interface(shop):
    uri = "https://bindings.example/carrier-pigeon"
    shop.card["supportedInterfaces"] = [
        {"url": "https://shop.example/coop", "protocolBinding": uri, "protocolVersion": "1.0"}
    ]
    agent = await found(shop, bindings=(uri,))

    with pytest.raises(InterfaceError):
        await agent.connect()


async def test_a_client_of_an_old_interface_sends_extensions_under_both_names(shop):
    uri = "https://ext.example/v1"
    shop.signers = []
    shop.card["supportedInterfaces"] = [
        {"url": "https://shop.example/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}
    ]
    shop.card["capabilities"]["extensions"] = [{"uri": uri}]
    agent = (await found(shop, extensions=(uri,))).with_credentials(Credentials(bearer="let-me-in"))
    from a2a.client.errors import A2AClientError
    from a2a.types import GetTaskRequest

    async with await agent.connect() as client:
        with pytest.raises(A2AClientError):
            await client.get_task(GetTaskRequest(id="t-1"))

    sent = shop.requests[-1]
    assert (sent.path, sent.authorization) == ("/a2a/v1", "Bearer let-me-in")
    assert (sent.headers["a2a-version"], sent.headers["a2a-extensions"], sent.headers["x-a2a-extensions"]) == (
        "0.3",
        uri,
        uri,
    )
