"""The fake agent's extended card, asked for by the Python SDK's own client transports and by raw httpx."""

import asyncio
import json

import httpx
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import A2AClientError
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.client.transports.rest import RestTransport
from a2a.types import GetExtendedAgentCardRequest
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    MethodNotFoundError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery.testing import FakeAgent, Request

RPC = "https://shop.example/a2a/v1"
REST = "https://shop.example/a2a/rest"
FRIEND = {"authorization": "Bearer let-me-in", "a2a-version": "1.0"}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "GetExtendedAgentCard", "params": {}}
OLD_CALL = {"jsonrpc": "2.0", "id": 7, "method": "agent/getAuthenticatedExtendedCard"}
V03 = {
    "name": "Old shop",
    "url": "https://shop.example/a2a/v1",
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
    "additionalInterfaces": [{"url": "https://shop.example/rest", "transport": "HTTP+JSON"}],
    "supportsAuthenticatedExtendedCard": True,
}


@pytest.fixture
def agent():
    return FakeAgent(extended=True)


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def call(request, client):
    """Ask for the extended card with the SDK's client."""

    async def ask(agent, headers, *, tenant=""):
        card = parse_agent_card(FakeAgent(extended=True).document())
        assert card.capabilities.extended_agent_card  # else the SDK would not ask
        asking = await client(agent, headers=headers)
        sdk = JsonRpcTransport(asking, card, RPC) if request.param == "JSONRPC" else RestTransport(asking, card, REST)
        return await sdk.get_extended_agent_card(GetExtendedAgentCardRequest(tenant=tenant))

    return ask


async def test_the_extended_card_is_given_to_the_one_with_the_token(agent, call):
    card = await call(agent, FRIEND)

    assert [skill.id for skill in card.skills] == ["orders", "refunds"]
    assert len(card.signatures) == 1
    assert agent.count("extended", status=200) == 1
    assert agent.requests[0].authorization == "Bearer let-me-in"


async def test_a_stranger_is_told_how_to_authenticate(agent, client):
    asking = await client(agent)
    for answer in (
        await asking.post(RPC, json=CALL, headers={"a2a-version": "1.0"}),
        await asking.get(f"{REST}/extendedAgentCard", headers={"authorization": "Bearer wrong"}),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer ")


async def test_a_token_without_the_right_is_403(agent, call):
    agent.weak_tokens.add("clerk")

    with pytest.raises(A2AClientError, match="403"):
        await call(agent, {**FRIEND, "authorization": "Bearer clerk"})


async def test_a_token_can_be_revoked(agent, call):
    await call(agent, FRIEND)
    agent.tokens.clear()

    with pytest.raises(A2AClientError, match="401"):
        await call(agent, FRIEND)


async def test_strangers_can_be_given_the_public_card_as_from_the_js_sdk(agent, call):
    agent.strangers = "public"
    card = await call(agent, {"a2a-version": "1.0"})

    assert [skill.id for skill in card.skills] == ["orders"]


async def test_another_way_of_authenticating_is_a_function(agent, call):
    agent.admits = lambda request: 200 if request.headers.get("x-api-key") == "k" else 401

    assert len((await call(agent, {"a2a-version": "1.0", "x-api-key": "k"})).skills) == 2


@pytest.mark.parametrize("version", [None, "", "0.3", "2.0"])
async def test_a_version_that_is_not_served_is_refused(agent, call, version):
    headers = {**FRIEND, "a2a-version": version} if version is not None else {"authorization": "Bearer let-me-in"}

    with pytest.raises(VersionNotSupportedError):
        await call(agent, headers)


async def test_an_extended_card_that_is_not_declared_is_unsupported(agent, call):
    del agent.card["capabilities"]["extendedAgentCard"]

    with pytest.raises(UnsupportedOperationError):
        await call(agent, FRIEND)


async def test_an_extended_card_that_is_declared_and_missing_is_not_configured(agent, call):
    agent.extended = None

    with pytest.raises(ExtendedAgentCardNotConfiguredError):
        await call(agent, FRIEND)


async def test_an_unknown_tenant_is_refused_and_the_declared_one_is_served(agent, call):
    with pytest.raises((InvalidParamsError, MethodNotFoundError)):  # the SDK's words for -32602 and for 404
        await call(agent, FRIEND, tenant="acme")

    for interface in agent.card["supportedInterfaces"]:
        interface["tenant"] = "acme"
    assert len((await call(agent, FRIEND, tenant="acme")).skills) == 2


async def test_the_tenant_stands_in_the_path_of_http_json(agent, client):
    agent.card["supportedInterfaces"][1]["tenant"] = "acme corp"
    asking = await client(agent, headers=FRIEND)

    answer = await asking.get(f"{REST}/acme%20corp/extendedAgentCard")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/a2a+json"


async def test_json_rpc_answers_under_the_id_of_the_call(agent, client):
    answer = await (await client(agent, headers=FRIEND)).post(RPC, json=CALL)

    assert answer.json().keys() == {"jsonrpc", "id", "result"}
    assert answer.json()["id"] == 7
    assert answer.json()["result"]["name"] == "Shop"


async def test_errors_have_the_shapes_of_section_9_5_and_11_6(agent, client):
    agent.extended = None
    asking = await client(agent, headers=FRIEND)
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "domain": "a2a-protocol.org",
    }

    rpc = await asking.post(RPC, json=CALL)
    rest = await asking.get(f"{REST}/extendedAgentCard")

    assert (rpc.status_code, rpc.json()["error"]["code"], rpc.json()["error"]["data"]) == (200, -32007, [info])
    assert (rest.status_code, rest.json()["error"]["code"]) == (400, 400)
    assert rest.json()["error"]["status"] == "FAILED_PRECONDITION"
    assert rest.json()["error"]["details"] == [info]


async def test_the_extended_card_can_be_unsigned_and_have_headers_of_its_own(agent, client):
    agent.sign_extended = False
    agent.headers["extended"] = {"cache-control": "no-store", "content-type": "application/json"}
    answer = await (await client(agent, headers=FRIEND)).get(f"{REST}/extendedAgentCard")

    assert "signatures" not in answer.json()
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"


async def test_an_extended_card_of_ones_own_is_served_as_it_is(client):
    agent = FakeAgent(extended={"name": "For friends"}, signers=())
    answer = await (await client(agent, headers=FRIEND)).get(f"{REST}/extendedAgentCard")

    assert answer.json() == {"name": "For friends"}
    assert agent.card["capabilities"]["extendedAgentCard"] is True


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("POST", "https://shop.example/a2a/v1", OLD_CALL),  # 0.3, JSON-RPC
        ("GET", "https://shop.example/rest/v1/card", None),  # 0.3, HTTP+JSON
        ("GET", "https://shop.example/a2a/agent/authenticatedExtendedCard", None),  # 0.2.1 to 0.2.6
    ],
)
async def test_an_old_card_is_asked_in_the_words_of_its_version(client, method, url, body):
    agent = FakeAgent(card=V03, extended={**V03, "name": "For friends"}, signers=())
    asking = await client(agent, headers={"authorization": "Bearer let-me-in"})

    answer = (await asking.request(method, url, json=body)).json()

    assert answer.get("result", answer)["name"] == "For friends"
    assert agent.count("extended") == 1


async def test_new_words_are_refused_by_an_old_agent_and_old_ones_by_a_new_agent(agent, client):
    old = await client(FakeAgent(card=V03, extended=V03, signers=()), headers=FRIEND)
    new = await client(agent, headers=FRIEND)

    assert (await old.post(RPC, json=CALL)).json()["error"]["code"] == -32009
    assert (await new.post(RPC, json=OLD_CALL)).json()["error"]["code"] == -32601


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"method":"SendMessage"}'])
async def test_anything_else_at_the_interface_is_404(agent, client, body):
    answer = await (await client(agent)).post(RPC, content=body)

    assert answer.status_code == 404
    assert agent.count("extended") == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_card_can_be_asked_for_its_extended_card(value):
    # whatever a test puts into a card, the fake answers with a status
    for card in (
        {"supportedInterfaces": value},
        {"url": value},
        {"additionalInterfaces": [value]},
        {"capabilities": value},
    ):
        agent = FakeAgent(card=card, signers=())
        request = Request(method="POST", url=RPC, body=json.dumps(CALL).encode(), headers=FRIEND)

        assert asyncio.run(agent.answer(request)).status in (200, 404)


async def test_an_interface_url_that_is_none_does_not_stop_the_others(agent, client):
    agent.card["supportedInterfaces"].insert(0, {"url": "http://[", "protocolBinding": "HTTP+JSON"})
    answer = await (await client(agent, headers=FRIEND)).get(f"{REST}/extendedAgentCard")

    assert answer.status_code == httpx.codes.OK
