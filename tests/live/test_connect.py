"""From a bare domain to a reply: a message through `Agent.connect` is answered by a server of each SDK."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from a2a_discovery import AuthError, Credentials, Discovery, NetworkPolicy

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "authenticated.py"
BINDINGS = ("JSONRPC", "HTTP+JSON")


async def said(client, text="hi"):
    from a2a.helpers import get_stream_response_text, new_text_message
    from a2a.types import Role, SendMessageRequest

    async with client:
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        return [get_stream_response_text(each) async for each in client.send_message(request)]


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("authenticated", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ask


async def test_the_example_gets_its_answer_from_the_python_server(python_peer, tls, example):
    network = NetworkPolicy.local(ssl_context=tls)

    assert await example(python_peer["guarded"], "hi", python_peer.token, network=network) == ["hi | 1.0 - - | -"]


async def test_the_example_gets_its_answer_from_the_javascript_server(js_peer, tls, example):
    network = NetworkPolicy.local(ssl_context=tls)

    assert await example(js_peer["unsigned"], "hi", js_peer.token, network=network) == ["hi | tester"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_each_binding_of_the_python_server_answers(python_peer, discovery, binding, streaming):
    agent = await discovery(bindings=(binding,)).discover(python_peer["guarded"])
    agent = await agent.upgrade(Credentials(bearer=python_peer.token))

    assert await said(await agent.connect(streaming=streaming)) == ["hi | 1.0 - - | -"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(("variant", "version"), [("unsigned", "1.0"), ("compat-unsigned", "0.3")])
async def test_each_binding_of_the_javascript_server_answers(js_peer, discovery, binding, streaming, variant, version):
    agent = await discovery(bindings=(binding,), versions=(version,)).discover(js_peer[variant])
    agent = await agent.upgrade(Credentials(bearer=js_peer.token))

    assert agent.interface.protocol_version == version
    assert await said(await agent.connect(streaming=streaming)) == ["hi | tester"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_server_of_both_generations_answers_by_the_version_that_was_selected(python_peer, discovery, binding):
    agent = await discovery(versions=("0.3",), bindings=(binding,)).discover(python_peer["hybrid-unsigned"])

    assert await said(await agent.connect()) == ["hi | 0.3 - - | -"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_tenant_of_the_interface_is_in_every_call(python_peer, discovery, binding):
    agent = await discovery(bindings=(binding,)).discover(python_peer["tenant"])
    agent = await agent.upgrade(Credentials(bearer=python_peer.token))

    assert await said(await agent.connect()) == ["hi | 1.0 - - | acme"]


async def test_without_a_credential_the_server_refuses_and_with_one_no_extended_card_is_needed(python_peer, discovery):
    from a2a.client.errors import A2AClientError

    agent = await discovery().discover(python_peer["guarded"])
    with pytest.raises(A2AClientError, match="401"):
        await said(await agent.connect())

    known = agent.with_credentials(Credentials(bearer=python_peer.token))
    assert await said(await known.connect()) == ["hi | 1.0 - - | -"]
    known.logout()
    with pytest.raises(AuthError):
        await known.connect()


async def test_credentials_of_the_discovery_are_used_without_being_named_again(python_peer, tls):
    credentials = {"localhost": Credentials(bearer=python_peer.token)}
    async with Discovery(network=NetworkPolicy.local(ssl_context=tls), credentials=credentials) as d:
        agent = await d.discover(python_peer["guarded"])

        assert await said(await agent.connect()) == ["hi | 1.0 - - | -"]
        assert (await agent.upgrade()).extended
