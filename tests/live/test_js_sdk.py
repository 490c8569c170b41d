"""The line against a server of the JavaScript SDK, over real sockets."""

from __future__ import annotations

import pytest

from a2a_discovery import Credentials, ExtendedCardError, Trust, TrustError, TrustPolicy

BINDINGS = ("JSONRPC", "HTTP+JSON")


def skills(agent):
    return [skill.id for skill in agent.card.skills]


async def test_typed_schemes_are_read_as_what_they_mean(js_peer, discovery):
    agent = await discovery().discover(js_peer["unsigned"])
    schemes = agent.card.security_schemes

    assert schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert schemes["key"].api_key_security_scheme.name == "X-Key"
    flow = schemes["machine"].oauth2_security_scheme.flows.client_credentials
    assert (flow.token_url, flow.scopes) == ("https://login.example/token", {"read": "Read"})
    assert [list(requirement.schemes) for requirement in agent.card.security_requirements] == [["bearer"]]


async def test_the_document_keeps_the_typed_spelling(js_peer, discovery):
    agent = await discovery().discover(js_peer["unsigned"])

    assert agent.document["securitySchemes"]["bearer"]["scheme"]["$case"] == "httpAuthSecurityScheme"
    assert any(finding.pointer.startswith("/securitySchemes/bearer") for finding in agent.findings)


async def test_a_signed_card_without_schemes_verifies_by_the_letter_of_the_specification(js_peer, discovery):
    agent = await discovery(trust=TrustPolicy(require=Trust.SIGNED)).discover(js_peer["signed-open"])

    assert agent.trust.level is Trust.SIGNED
    assert agent.trust.verified.kid == "js-peer-1"
    assert agent.trust.verified.form == "spec"


async def test_a_signed_card_with_schemes_verifies_and_its_schemes_are_uncovered(js_peer, discovery):
    agent = await discovery().discover(js_peer["signed"])

    assert agent.trust.level is Trust.SIGNED
    assert agent.trust.verified.form == "sdk"
    assert any(pointer.startswith("/securitySchemes") for pointer in agent.trust.uncovered)
    assert agent.interface.url == f"{js_peer['signed']}/rpc"


async def test_a_server_that_signs_every_answer_is_read_anew_at_a_refresh(js_peer, discovery):
    d = discovery()
    first = await d.discover(js_peer["signed"])

    again = await d.discover(js_peer["signed"], refresh=True)

    assert again.source.cache == "network"
    assert again.source.etag != first.source.etag
    assert again.trust.level is Trust.SIGNED


async def test_a_server_without_a_signer_answers_304(js_peer, discovery):
    d = discovery()
    await d.discover(js_peer["unsigned"])

    kept = await d.discover(js_peer["unsigned"])
    again = await d.discover(js_peer["unsigned"], refresh=True)

    assert kept.source.cache == "memory"
    assert again.source.cache == "revalidated"


async def test_a_card_that_says_no_cache_is_revalidated_at_every_call(js_peer, discovery):
    d = discovery()
    await d.discover(js_peer["no-cache"])

    again = await d.discover(js_peer["no-cache"])

    assert again.source.cache == "revalidated"


async def test_the_compatibility_mode_gives_us_the_current_card(js_peer, discovery):
    agent = await discovery().discover(js_peer["compat"])

    assert "protocolVersion" not in agent.document
    assert (agent.interface.protocol_binding, agent.interface.protocol_version) == ("JSONRPC", "1.0")
    assert agent.trust.level is Trust.SIGNED


@pytest.mark.parametrize("target", ["http://", ""])
async def test_plain_http_on_loopback_is_read_too(js_peer, discovery, target):
    agent = await discovery().discover(target + js_peer["http"].removeprefix("http://"))

    assert agent.interface.url == f"{js_peer['http']}/rpc"
    assert agent.trust.level is Trust.CHANNEL


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_friend_gets_the_extended_card(js_peer, discovery, binding):
    agent = await discovery(bindings=(binding,)).discover(js_peer["unsigned"])

    extended = await agent.upgrade(Credentials(bearer=js_peer.token))

    assert (skills(extended), extended.extended) == (["echo", "audit"], True)
    assert extended.interface.protocol_binding == binding
    assert extended.trust.level is Trust.CHANNEL


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_signed_extended_card_without_schemes_is_verified(js_peer, discovery, binding):
    agent = await discovery(bindings=(binding,)).discover(js_peer["signed-open"])

    extended = await agent.upgrade(Credentials(bearer=js_peer.token))

    assert skills(extended) == ["echo", "audit"]
    assert extended.trust.level is Trust.SIGNED


@pytest.mark.parametrize("binding", BINDINGS)
async def test_an_extended_card_whose_signature_leaves_the_schemes_out_is_refused(js_peer, discovery, binding):
    """The SDK signs its typed card, whose schemes it then cannot read, and serves the card with them."""
    agent = await discovery(bindings=(binding,)).discover(js_peer["signed"])

    with pytest.raises(TrustError) as refused:
        await agent.upgrade(Credentials(bearer=js_peer.token))

    assert refused.value.code == "bad-signature"
    assert skills(agent) == ["echo"]


@pytest.mark.parametrize("variant", ["unsigned", "signed-open", "compat-unsigned"])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_stranger_is_told_that_nothing_was_upgraded(js_peer, discovery, variant, binding):
    agent = await discovery(bindings=(binding,)).discover(js_peer[variant])

    with pytest.raises(ExtendedCardError) as refused:
        await agent.upgrade(Credentials(bearer="not-the-token"))

    assert refused.value.code == "not-upgraded"


@pytest.mark.parametrize(("variant", "code"), [("no-extended", "not-declared"), ("not-configured", "not-configured")])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_where_there_is_no_extended_card_the_error_says_why(js_peer, discovery, variant, code, binding):
    agent = await discovery(bindings=(binding,)).discover(js_peer[variant])

    with pytest.raises(ExtendedCardError) as refused:
        await agent.upgrade(Credentials(bearer=js_peer.token))

    assert refused.value.code == code


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_legacy_methods_give_an_extended_card_too(js_peer, discovery, binding):
    agent = await discovery(versions=("0.3",), bindings=(binding,)).discover(js_peer["compat-unsigned"])

    extended = await agent.upgrade(Credentials(bearer=js_peer.token))

    assert agent.interface.protocol_version == "0.3"
    assert skills(extended) == ["echo", "audit"]
