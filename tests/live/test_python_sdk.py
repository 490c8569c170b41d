"""The line against a server of the Python SDK, over real sockets."""

from __future__ import annotations

import pytest

from a2a_discovery import (
    AuthError,
    BlockedError,
    Credentials,
    ExtendedCardError,
    FetchError,
    NetworkPolicy,
    Trust,
    TrustError,
    TrustPolicy,
    discover,
    discover_sync,
)

CARD = "/.well-known/agent-card.json"
JWKS = "/.well-known/jwks.json"
BINDINGS = ("JSONRPC", "HTTP+JSON")


def seen(client, base):
    """The path and status of every answer that this variant gave so far."""
    return client.get(f"{base}/.well-known/seen").json()


def skills(agent):
    return [skill.id for skill in agent.card.skills]


async def test_a_signed_card_is_vouched_for_by_the_key_of_its_own_site(python_peer, discovery):
    base = python_peer["plain"]

    agent = await discovery().discover(base)

    assert agent.card.name == "Python peer · señal"
    assert (agent.interface.url, agent.interface.protocol_binding) == (f"{base}/rpc", "JSONRPC")
    assert agent.headers()["A2A-Version"] == "1.0"
    assert agent.trust.level is Trust.SIGNED
    assert agent.trust.authority == "localhost"
    assert agent.trust.verified.kid == "python-peer-1"
    assert agent.trust.verified.key_source == "same-site-jku"
    assert agent.trust.verified.form == "sdk"


async def test_what_the_sdk_form_leaves_out_is_named_uncovered(python_peer, discovery):
    agent = await discovery().discover(python_peer["plain"])

    # the requirement {"schemes": {"bearer": {}}} has no scopes: the SDK signs nothing of it
    assert any(pointer.startswith("/securityRequirements") for pointer in agent.trust.uncovered)
    assert not any(pointer.startswith("/supportedInterfaces") for pointer in agent.trust.uncovered)


async def test_the_source_says_which_answer_it_was(python_peer, discovery, raw):
    agent = await discovery().discover(python_peer["plain"])

    assert agent.source.url == python_peer["plain"] + CARD
    assert agent.source.etag == raw.get(agent.source.url).headers["etag"]
    assert agent.source.cache == "network"
    assert agent.document == raw.get(agent.source.url).json()


async def test_a_refresh_is_answered_with_304_and_the_keys_are_not_asked_for_again(python_peer, discovery, raw):
    d = discovery()
    before = len(seen(raw, python_peer["plain"]))
    first = await d.discover(python_peer["plain"])

    again = await d.discover(python_peer["plain"], refresh=True)

    assert (first.source.cache, again.source.cache) == ("network", "revalidated")
    assert seen(raw, python_peer["plain"])[before:] == [[CARD, 200], [JWKS, 200], [CARD, 304]]
    assert again.card == first.card
    assert again.trust.level is Trust.SIGNED


async def test_a_card_with_max_age_is_not_asked_for_again_until_a_refresh(python_peer, discovery, raw):
    d = discovery()
    before = len(seen(raw, python_peer["max-age"]))
    first = await d.discover(python_peer["max-age"])

    again = await d.discover(python_peer["max-age"])
    asked = seen(raw, python_peer["max-age"])[before:]
    refreshed = await d.discover(python_peer["max-age"], refresh=True)

    assert asked == [[CARD, 200], [JWKS, 200]]
    assert again.source.cache == "memory"
    assert again.source.fetched_at == first.source.fetched_at
    assert refreshed.source.cache == "revalidated"


async def test_a_card_that_grows_a_signature_at_every_get_stays_signed(python_peer, discovery):
    d = discovery()

    first = await d.discover(python_peer["growing"])
    again = await d.discover(python_peer["growing"], refresh=True)

    assert first.trust.level is again.trust.level is Trust.SIGNED
    assert again.source.cache == "revalidated"


async def test_an_unsigned_card_is_as_good_as_its_channel(python_peer, discovery):
    agent = await discovery().discover(python_peer["unsigned"])

    assert agent.trust.level is Trust.CHANNEL
    assert agent.trust.signatures == ()


async def test_an_unsigned_card_is_refused_where_a_signature_is_required(python_peer, discovery):
    with pytest.raises(TrustError) as refused:
        await discovery(trust=TrustPolicy(require=Trust.SIGNED)).discover(python_peer["unsigned"])

    assert refused.value.code == "unsigned"


async def test_a_pinned_key_carries_the_highest_level(python_peer, discovery, raw):
    base = python_peer["plain"]
    keys = raw.get(f"{base}/.well-known/jwks.json").json()

    agent = await discovery(trust=TrustPolicy(require=Trust.PINNED, keys={"localhost": keys})).discover(base)

    assert agent.trust.level is Trust.PINNED
    assert agent.trust.verified.key_source == "pinned"


async def test_another_servers_key_of_the_same_name_does_not_verify(python_peer, discovery, raw):
    keys = raw.get(f"{python_peer['unsigned']}/.well-known/jwks.json").json()
    policy = TrustPolicy(require=Trust.PINNED, keys={"localhost": keys})

    with pytest.raises(TrustError) as refused:
        await discovery(trust=policy).discover(python_peer["plain"])

    assert refused.value.report.level < Trust.PINNED


async def test_a_hybrid_card_is_signed_and_its_first_usable_interface_chosen(python_peer, discovery):
    agent = await discovery().discover(python_peer["hybrid"])

    assert agent.interface.protocol_version == "1.0"
    assert [(each.protocol_binding, each.protocol_version) for each in agent.alternatives] == [
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
    ]
    assert agent.trust.level is Trust.SIGNED


async def test_a_caller_that_speaks_only_03_gets_the_03_interface_of_a_hybrid_card(python_peer, discovery):
    agent = await discovery(versions=("0.3",)).discover(python_peer["hybrid"])

    assert (agent.interface.protocol_binding, agent.interface.protocol_version) == ("JSONRPC", "0.3")
    assert len(agent.skipped) == 2


async def test_the_order_of_the_card_decides_between_bindings(python_peer, discovery):
    base = python_peer["rest-first"]

    agent = await discovery().discover(base)
    picky = await discovery(bindings=("JSONRPC",)).discover(base)

    assert (agent.interface.url, agent.interface.protocol_binding) == (f"{base}/rest", "HTTP+JSON")
    assert (picky.interface.url, picky.interface.protocol_binding) == (f"{base}/rpc", "JSONRPC")
    assert len(picky.skipped) == 1


@pytest.mark.parametrize("place", [CARD, "/rpc"])
async def test_the_card_is_found_from_its_own_url_and_from_an_endpoint(python_peer, discovery, place):
    base = python_peer["plain"]

    agent = await discovery().discover(base + place)

    assert agent.source.url == base + CARD
    assert agent.trust.level is Trust.SIGNED


async def test_loopback_by_its_address_is_the_same_site_as_localhost(python_peer, discovery):
    target = python_peer["plain"].replace("localhost", "127.0.0.1")

    agent = await discovery().discover(target)

    assert agent.trust.authority == "127.0.0.1"
    assert agent.trust.level is Trust.SIGNED


@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_plain_http_on_loopback_is_enough_for_development(python_peer, discovery, scheme):
    base = python_peer["http"]

    agent = await discovery().discover(scheme + base.removeprefix("http://"))

    assert agent.interface.url == f"{base}/rpc"
    assert agent.trust.level is Trust.SIGNED


@pytest.mark.parametrize("variant", ["plain", "http"])
async def test_loopback_is_blocked_where_nobody_allowed_it(python_peer, discovery, tls, variant):
    with pytest.raises(BlockedError) as blocked:
        await discovery(network=NetworkPolicy(ssl_context=tls)).discover(python_peer[variant])

    assert blocked.value.code == "address"
    assert "NetworkPolicy.local()" in str(blocked.value.hint)


async def test_a_certificate_of_an_unknown_authority_is_a_tls_error(python_peer, discovery):
    with pytest.raises(FetchError) as failed:
        await discovery(network=NetworkPolicy.local()).discover(python_peer["plain"])

    assert failed.value.code == "tls"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_extended_card_replaces_the_public_one_and_is_signed_too(python_peer, discovery, binding):
    agent = await discovery(bindings=(binding,)).discover(python_peer["guarded"])

    extended = await agent.upgrade(Credentials(bearer=python_peer.token))

    assert (skills(agent), agent.extended) == (["echo"], False)
    assert (skills(extended), extended.extended) == (["echo", "audit"], True)
    assert extended.interface.protocol_binding == binding
    assert extended.trust.level is Trust.SIGNED
    assert extended.trust.authority == "localhost"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_extended_card_of_a_tenant_is_asked_for_by_its_tenant(python_peer, discovery, binding):
    agent = await discovery(bindings=(binding,)).discover(python_peer["tenant"])

    extended = await agent.upgrade(Credentials(bearer=python_peer.token))

    assert agent.interface.tenant == "acme"
    assert skills(extended) == ["echo", "audit"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_wrong_token_is_auth_required(python_peer, discovery, binding):
    agent = await discovery(bindings=(binding,)).discover(python_peer["guarded"])

    with pytest.raises(AuthError) as refused:
        await agent.upgrade(Credentials(bearer="not-the-token"))

    assert (refused.value.code, refused.value.status) == ("auth-required", 401)
    assert "not-the-token" not in str(refused.value)


@pytest.mark.parametrize(("variant", "code"), [("no-extended", "not-declared"), ("not-configured", "not-configured")])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_where_there_is_no_extended_card_the_error_says_why(python_peer, discovery, variant, code, binding):
    agent = await discovery(bindings=(binding,)).discover(python_peer[variant])

    with pytest.raises(ExtendedCardError) as refused:
        await agent.upgrade(Credentials(bearer=python_peer.token))

    assert refused.value.code == code


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_legacy_methods_give_an_extended_card_too(python_peer, discovery, binding):
    agent = await discovery(versions=("0.3",), bindings=(binding,)).discover(python_peer["hybrid-unsigned"])

    extended = await agent.upgrade(Credentials(bearer=python_peer.token))

    assert agent.interface.protocol_version == "0.3"
    assert skills(extended) == ["echo", "audit"]


async def test_a_bare_call_needs_no_discovery(python_peer, tls):
    agent = await discover(python_peer["plain"], network=NetworkPolicy.local(ssl_context=tls))

    assert agent.trust.level is Trust.SIGNED


async def test_the_same_without_asyncio_inside_a_running_loop(python_peer, tls):
    agent = discover_sync(python_peer["plain"], network=NetworkPolicy.local(ssl_context=tls))

    assert agent.trust.level is Trust.SIGNED
