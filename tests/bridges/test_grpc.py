"""gRPC: the extended card and a client over a judged address, with the credentials as metadata, over TLS alone."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from a2a_discovery import AuthError, BlockedError, Credentials, ExtendedCardError, FetchError, NetworkPolicy, UsageError
from a2a_discovery.testing import FakeAgent

grpc = pytest.importorskip("grpc")
pytest.importorskip("a2a")

TOKEN = "grpc-token"


def skills(agent):
    return [skill.id for skill in agent.card.skills]


async def said(client, text="hi"):
    from a2a.helpers import get_stream_response_text, new_text_message
    from a2a.types import Role, SendMessageRequest

    async with client:
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        return [get_stream_response_text(each) async for each in client.send_message(request)]


@pytest.mark.parametrize("form", ["{}:{}", "dns:///{}:{}", "https://{}:{}"])
@pytest.mark.parametrize(
    ("version", "method"),
    [("1.0", "/lf.a2a.v1.A2AService/GetExtendedAgentCard"), ("0.3", "/a2a.v1.A2AService/GetAgentCard")],
)
async def test_the_extended_card_comes_over_grpc(serve, discovery, version, method, form):
    here = await serve(version, form=form)
    agent = await discovery(network=here.network).discover(here.card_url)

    extended = await agent.upgrade(Credentials(bearer=TOKEN))

    assert (skills(agent), skills(extended)) == (["echo"], ["echo", "audit"])
    assert extended.interface.protocol_version == version
    [(called, metadata)] = here.calls
    assert called == method
    assert metadata["authorization"] == f"Bearer {TOKEN}"
    assert metadata["a2a-version"] == version


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_message_over_grpc_is_answered(serve, discovery, version, streaming):
    here = await serve(version)
    agent = await discovery(network=here.network).discover(here.card_url)
    agent = agent.with_credentials(Credentials(bearer=TOKEN))

    assert await said(await agent.connect(streaming=streaming)) == ["hi | -"]
    assert here.calls[-1][1]["authorization"] == f"Bearer {TOKEN}"
    assert here.calls[-1][1]["a2a-version"] == version


async def test_the_tenant_and_the_extensions_go_along(serve, discovery):
    here = await serve(tenant="acme")
    here.fake.card["capabilities"]["extensions"] = [{"uri": "https://ext.example/v1", "required": True}]
    d = discovery(network=here.network, extensions=("https://ext.example/v1",))
    agent = (await d.discover(here.card_url)).with_credentials(Credentials(bearer=TOKEN))

    assert await said(await agent.connect()) == ["hi | acme"]
    assert here.calls[-1][1]["a2a-extensions"] == "https://ext.example/v1"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_every_refusal_over_grpc_is_told_apart(serve, discovery, version):
    here = await serve(version, extended=False)
    agent = await discovery(network=here.network).discover(here.card_url)

    with pytest.raises(AuthError) as caught:
        await agent.upgrade(Credentials(bearer="wrong-token"))
    assert caught.value.code == "auth-required"
    assert "wrong-token" not in str(caught.value)

    with pytest.raises(ExtendedCardError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))
    assert caught.value.code == "not-configured"
    assert agent.interface.protocol_binding == "GRPC"


async def test_a_refused_token_is_renewed_once(serve, discovery):
    here = await serve()
    given = iter(["old-token", TOKEN, "old-token", TOKEN])
    agent = await discovery(network=here.network).discover(here.card_url)

    extended = await agent.upgrade(Credentials(auth=lambda: next(given)))
    assert await said(await extended.connect(streaming=False)) == ["hi | -"]

    assert [metadata["authorization"] for _, metadata in here.calls] == [
        "Bearer old-token",
        f"Bearer {TOKEN}",
        "Bearer old-token",
        f"Bearer {TOKEN}",
    ]


async def test_another_interface_is_asked_where_grpc_is_not_the_only_one(serve, discovery):
    here = await serve()
    rest = {"url": f"{here.card_url}/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
    here.fake.card["supportedInterfaces"].insert(0, rest)
    whole = here.fake.document()
    here.fake.extended = {**whole, "skills": []}
    here.fake.tokens = {TOKEN}
    agent = await discovery(network=here.network, bindings=("GRPC", "HTTP+JSON")).discover(here.card_url)

    extended = await agent.upgrade(Credentials(bearer=TOKEN))

    assert skills(extended) == []
    assert here.calls == []


async def test_a_target_without_tls_is_not_called(serve, discovery):
    here = await serve(form="http://{}:{}")
    agent = await discovery(network=here.network).discover(here.card_url)

    with pytest.raises(BlockedError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))

    assert caught.value.code == "scheme"
    assert here.calls == []


async def test_a_server_with_another_name_in_its_certificate_gets_nothing(serve, discovery):
    here = await serve()

    async def resolve(host, port):
        return ["127.0.0.1"]

    other = FakeAgent("shop.example", signers=[])
    async with other.serve(name="shop.example") as running:
        other.card = {**here.fake.card}
        other.card["supportedInterfaces"] = [
            {"url": f"shop.example:{here.port}", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
        ]
        network = replace(running.network, resolve=resolve)
        agent = await discovery(network=network).discover(running.url)

        with pytest.raises(FetchError) as caught:
            await agent.upgrade(Credentials(bearer=TOKEN))

    assert caught.value.code in ("tls", "connect")
    assert here.calls == []


async def test_a_name_that_leads_inside_is_blocked_before_anything_is_sent(serve, discovery):
    here = await serve()
    public = FakeAgent("shop.example", signers=[])
    public.card = {**here.fake.card}
    public.card["supportedInterfaces"] = [
        {"url": f"inside.shop.example:{here.port}", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    ]

    async def resolve(host, port):
        return ["127.0.0.1"]

    agent = await discovery(transport=public, network=NetworkPolicy(resolve=resolve)).discover("shop.example")
    with pytest.raises(BlockedError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))
    assert caught.value.code == "address"
    with pytest.raises(BlockedError):
        await agent.with_credentials(Credentials(bearer=TOKEN)).connect()
    assert here.calls == []


async def test_a_name_without_an_address_and_a_proxy_are_errors_of_ours(serve, discovery):
    here = await serve()
    public = FakeAgent("shop.example", signers=[])
    public.card = {**here.fake.card}
    public.card["supportedInterfaces"] = [
        {"url": "nowhere.shop.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    ]

    async def resolve(host, port):
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    agent = await discovery(transport=public, network=NetworkPolicy(resolve=resolve)).discover("shop.example")
    with pytest.raises(FetchError) as caught:
        await agent.connect()
    assert caught.value.code == "dns"

    proxied = NetworkPolicy(proxy="http://proxy.example:3128")
    agent = await discovery(transport=public, network=proxied).discover("shop.example")
    with pytest.raises(UsageError) as refused:
        await agent.connect()
    assert refused.value.code == "bad-config"


async def test_a_key_in_a_query_has_no_place_in_grpc(serve, discovery):
    here = await serve()
    scheme = {"apiKeySecurityScheme": {"location": "query", "name": "key"}}
    here.fake.card["securitySchemes"] = {"bearer": scheme}
    agent = await discovery(network=here.network).discover(here.card_url)

    with pytest.raises(AuthError) as caught:
        await agent.upgrade(Credentials(api_key="k-1"))

    assert caught.value.code == "no-credential"
    assert here.calls == []
