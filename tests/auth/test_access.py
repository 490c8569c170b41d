"""Where credentials go, what they bring, and how long that lasts: on what every server received."""

from __future__ import annotations

import asyncio
import base64
import logging
import pickle
from typing import Any

import httpx
import pytest

from a2a_discovery import (
    Agent,
    AuthError,
    BlockedError,
    Cache,
    CardError,
    Credentials,
    Discovery,
    DiscoveryError,
    ExtendedCardError,
    FetchError,
    Limits,
    TrustError,
    TrustPolicy,
    UsageError,
)
from a2a_discovery.testing import FakeAgent, FakeNetwork, Reply, Signer

TOKEN = "shop-token"
KEY = "key-of-the-shop"
RPC = "/a2a/v1"


def shown(agent: FakeAgent) -> list[str | None]:
    """The Authorization of every request for an extended card."""
    return [each.authorization for each in agent.requests if each.kind == "extended"]


def asks_for(shop: FakeAgent, *schemes: dict[str, Any], together: bool = False) -> None:
    """Let the cards want these schemes: one of them, or all together."""
    named = {f"s{index}": scheme for index, scheme in enumerate(schemes)}
    wanted = [{"schemes": {each: {} for each in named}}] if together else [{"schemes": {each: {}}} for each in named]
    for card in (shop.card, shop.extended):
        assert card is not None
        card["securitySchemes"], card["securityRequirements"] = named, wanted


def interfaces(shop: FakeAgent, *urls: str) -> None:
    for card in (shop.card, shop.extended):
        assert card is not None
        card["supportedInterfaces"] = [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"} for url in urls
        ]


BEARER = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
BASIC = {"httpAuthSecurityScheme": {"scheme": "basic"}}
MTLS: dict[str, Any] = {"mtlsSecurityScheme": {}}


def key_in(location: str) -> dict[str, Any]:
    return {"apiKeySecurityScheme": {"location": location, "name": "x-shop-key"}}


# Every kind of credential arrives where its scheme wants it.


@pytest.mark.parametrize(
    ("credentials", "schemes", "arrived"),
    [
        (Credentials(bearer=TOKEN), (BEARER,), lambda r: r.authorization == f"Bearer {TOKEN}"),
        (
            Credentials(basic=("us", "pa:ss")),
            (BASIC,),
            lambda r: r.authorization == "Basic " + base64.b64encode(b"us:pa:ss").decode(),
        ),
        (Credentials(api_key=KEY), (key_in("header"),), lambda r: r.headers.get("x-shop-key") == KEY),
        (Credentials(api_key=KEY), (key_in("query"),), lambda r: r.query == f"x-shop-key={KEY}"),
        (Credentials(api_key=KEY), (key_in("cookie"),), lambda r: r.headers.get("cookie") == f"x-shop-key={KEY}"),
        (
            Credentials(auth=httpx.BasicAuth("us", "pass")),
            (MTLS,),
            lambda r: r.authorization == "Basic " + base64.b64encode(b"us:pass").decode(),
        ),
        (Credentials(auth=lambda: TOKEN), (BASIC,), lambda r: r.authorization == f"Bearer {TOKEN}"),
        (
            Credentials(auth=lambda: Credentials(api_key=KEY)),
            (BEARER, key_in("header")),
            lambda r: r.headers.get("x-shop-key") == KEY and r.authorization is None,
        ),
        (
            Credentials(schemes={"s1": Credentials(api_key=KEY)}),
            (BEARER, key_in("header")),
            lambda r: r.headers.get("x-shop-key") == KEY,
        ),
    ],
)
async def test_each_kind_of_credential_arrives_in_its_place(discovery, shop, credentials, schemes, arrived) -> None:
    asks_for(shop, *schemes)
    shop.admits = lambda request: 200 if arrived(request) else 401

    agent = await (await discovery().discover("shop.example")).upgrade(credentials)

    assert agent.extended
    # and the calls that follow carry the same
    async with httpx.AsyncClient(transport=agent.transport()) as client:
        await client.post(agent.interface.url, json={"method": "SendMessage"})
    assert arrived(shop.requests[-1])


async def test_an_asynchronous_function_is_asked_each_time(discovery, shop) -> None:
    given = []

    async def token() -> str:
        given.append(TOKEN)
        return TOKEN

    agent = await (await discovery().discover("shop.example")).upgrade(Credentials(auth=token))
    await agent.refresh()

    assert given == [TOKEN, TOKEN]


async def test_a_function_is_asked_once_more_after_a_401_and_its_same_answer_is_not_sent_again(discovery, shop) -> None:
    given = iter(["old-token", TOKEN, "wrong-1", "wrong-1"])
    agent = await discovery().discover("shop.example")

    credentials = Credentials(auth=lambda: next(given))
    assert (await agent.upgrade(credentials)).extended
    with pytest.raises(AuthError) as caught:
        await (await agent.upgrade(credentials)).refresh()

    assert caught.value.code == "auth-required"
    assert shown(shop) == ["Bearer old-token", f"Bearer {TOKEN}", "Bearer wrong-1"]


@pytest.mark.parametrize("returned", [None, 7, "", "two words", "line\nbreak", Credentials(auth=lambda: "x")])
async def test_a_function_that_returns_no_credential_is_no_credential(discovery, shop, returned) -> None:
    agent = await discovery().discover("shop.example")

    with pytest.raises(AuthError) as caught:
        await agent.upgrade(Credentials(auth=lambda: returned))

    assert caught.value.code == "no-credential"
    assert "line" not in str(caught.value)
    assert shown(shop) == []


async def test_what_a_function_raises_is_not_repeated(discovery, shop) -> None:
    def fail() -> str:
        raise RuntimeError("the vault says s3cret")

    agent = await discovery().discover("shop.example")

    with pytest.raises(AuthError) as caught:
        await agent.upgrade(Credentials(auth=fail))

    assert caught.value.code == "no-credential"
    assert "s3cret" not in str(caught.value)


async def test_requirements_are_alternatives_and_each_is_met_whole(discovery, shop) -> None:
    asks_for(shop, BEARER, key_in("header"), together=True)
    agent = await discovery().discover("shop.example")

    with pytest.raises(AuthError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))
    assert caught.value.code == "no-credential"
    assert "HTTP bearer and an API key" in str(caught.value)
    assert shown(shop) == []

    await agent.upgrade(Credentials(bearer=TOKEN, api_key=KEY))
    assert shop.requests[-1].headers["x-shop-key"] == KEY
    assert shop.requests[-1].authorization == f"Bearer {TOKEN}"


async def test_a_client_certificate_counts_where_the_caller_gave_a_tls_context(network, shop, tls_context) -> None:
    from a2a_discovery import NetworkPolicy

    asks_for(shop, MTLS)
    shop.admits = lambda request: 200
    plain = await Discovery(transport=network).discover("shop.example")
    with pytest.raises(AuthError) as caught:
        await plain.upgrade(Credentials())
    assert "ssl_context" in str(caught.value)

    held = await Discovery(transport=network, network=NetworkPolicy(ssl_context=tls_context)).discover("shop.example")
    assert (await held.upgrade(Credentials())).extended
    assert shown(shop) == [None]


async def test_a_certificate_is_taken_only_where_nothing_else_fits(network, shop, tls_context) -> None:
    from a2a_discovery import NetworkPolicy

    asks_for(shop, MTLS, BEARER)
    agent = await Discovery(transport=network, network=NetworkPolicy(ssl_context=tls_context)).discover("shop.example")

    await agent.upgrade(Credentials(bearer=TOKEN))

    assert shown(shop) == [f"Bearer {TOKEN}"]


# Where they go.


async def test_credentials_of_a_discovery_serve_the_private_card_and_the_upgrade_of_that_host(discovery, shop) -> None:
    for status in (401, 404):
        shop.private = status
        with pytest.raises(DiscoveryError) as caught:
            await discovery().discover("shop.example")
        assert caught.value.code == ("auth-required" if status == 401 else "no-card")
        assert "bind credentials to the host" in str(caught.value)

        d = discovery(credentials={"shop.example": Credentials(bearer=TOKEN)})
        agent = await (await d.discover("shop.example")).upgrade()

        assert agent.extended
        assert agent.auth is not None


async def test_a_call_without_credentials_for_this_host_says_so(discovery, shop) -> None:
    agent = await discovery(credentials={"other.example": Credentials(bearer="other-token")}).discover("shop.example")

    with pytest.raises(AuthError) as caught:
        await agent.upgrade()

    assert caught.value.code == "no-credential"
    assert all(each.authorization is None for each in shop.requests)


async def test_an_interfaces_host_chooses_no_credential(discovery, shop, network) -> None:
    interfaces(shop, "https://api.saas.example/a2a/v1")
    d = discovery(credentials={"api.saas.example": Credentials(bearer=TOKEN)})
    agent = await d.discover("shop.example")

    with pytest.raises(AuthError) as caught:
        await agent.upgrade()

    assert caught.value.code == "no-credential"
    assert all(each.authorization is None for host in network.agents for each in host.requests)


@pytest.mark.parametrize("place", ["mapping", "argument"])
async def test_an_endpoint_on_another_site_is_refused_before_any_request_and_allowed_where_listed(
    discovery, shop, network, receipts, place
) -> None:
    interfaces(shop, "https://api.saas.example/a2a/v1")
    saas = network.agents[2]
    bound = {"shop.example": Credentials(bearer=TOKEN)} if place == "mapping" else None
    agent = await discovery(credentials=bound).discover("shop.example")
    given = None if place == "mapping" else Credentials(bearer=TOKEN)

    with pytest.raises(AuthError) as caught:
        await agent.upgrade(given)
    assert caught.value.code == "no-credential"
    assert "api.saas.example" in str(caught.value)
    assert "shop.example" in str(caught.value)
    assert 'Credentials(bearer=..., hosts=("api.saas.example",))' in caught.value.hint
    assert saas.requests == []

    saas.extended = shop.extended
    receipts.listed.add("api.saas.example")
    upgraded = await agent.upgrade(Credentials(bearer=TOKEN, hosts=("api.saas.example",)))
    assert upgraded.extended
    assert shown(saas) == [f"Bearer {TOKEN}"]
    assert upgraded.trust.authority == "shop.example"


async def test_a_redirect_of_the_extended_endpoint_to_another_origin_carries_nothing_on(
    discovery, shop, network, evil
) -> None:
    sibling = network.agents[3]
    rest = "/a2a/rest/extendedAgentCard"
    for target in ("https://api.shop.example" + rest, "https://evil.example" + rest):
        shop.replies[rest] = Reply.redirect(target)
        agent = await discovery(bindings=("HTTP+JSON",)).discover("shop.example")
        with pytest.raises((FetchError, AuthError)):
            await agent.upgrade(Credentials(bearer=TOKEN))
    shop.replies[RPC] = Reply.redirect("https://evil.example/a2a/v1", status=307)
    agent = await discovery(bindings=("JSONRPC",)).discover("shop.example")
    with pytest.raises(FetchError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))

    assert caught.value.code == "redirect-refused"
    assert [each.authorization for each in sibling.requests] == [None]
    assert evil.requests == []


@pytest.mark.parametrize("location", ["header", "cookie", "query"])
async def test_a_clients_own_redirects_carry_no_key_to_another_site(discovery, shop, evil, location) -> None:
    asks_for(shop, key_in(location))
    shop.admits = lambda request: 200
    shop.replies["/elsewhere"] = Reply.redirect("https://evil.example/a2a/v1", status=307)
    agent = await (await discovery().discover("shop.example")).upgrade(Credentials(api_key=KEY))

    clients = [
        httpx.AsyncClient(transport=agent.transport(), follow_redirects=True),
        httpx.AsyncClient(transport=agent.transport(), auth=agent.auth, follow_redirects=True),
    ]
    for client in clients:
        async with client:
            await client.post("https://shop.example/elsewhere", json={})

    assert len(evil.requests) == 2
    assert KEY in str([(each.url, each.headers) for each in shop.requests])
    assert KEY not in str([(each.url, each.headers) for each in evil.requests])


async def test_the_guard_holds_for_a_clients_own_requests_too(discovery, shop) -> None:
    agent = (await discovery().discover("shop.example")).with_credentials(Credentials(bearer=TOKEN))
    shop.replies["/inside"] = Reply.redirect("https://169.254.169.254/latest/meta-data/", status=307)

    async with httpx.AsyncClient(transport=agent.transport(), follow_redirects=True) as client:
        for url in ("http://shop.example/", "https://127.0.0.1/", "https://10.0.0.8/", "https://shop.example/inside"):
            with pytest.raises(BlockedError):
                await client.get(url)

    assert [each.path for each in shop.requests[1:]] == ["/inside"]


async def test_credentials_never_go_over_plain_http_to_an_agent_on_https(network, shop) -> None:
    from a2a_discovery import NetworkPolicy

    plain = FakeAgent("http://shop.example", signers=[])
    both = FakeNetwork(*network.agents, plain)
    d = Discovery(transport=both, network=NetworkPolicy(allow_http=True))
    agent = (await d.discover("https://shop.example")).with_credentials(Credentials(bearer=TOKEN))

    async with httpx.AsyncClient(transport=agent.transport()) as client:
        await client.get("http://shop.example/a2a/v1")
        await client.get("https://shop.example/a2a/v1")

    assert plain.requests[-1].authorization is None
    assert shop.requests[-1].authorization == f"Bearer {TOKEN}"


async def test_a_handed_over_card_has_no_site_of_its_own(discovery, shop) -> None:
    card = shop.document()
    d = discovery(credentials={"shop.example": Credentials(bearer=TOKEN)})
    agent = await d.discover(card)

    with pytest.raises(AuthError):
        await agent.upgrade()
    with pytest.raises(AuthError):
        await agent.upgrade(Credentials(bearer=TOKEN))
    assert shop.requests == []

    assert (await agent.upgrade(Credentials(bearer=TOKEN, hosts=("shop.example",)))).extended


# What an extended card may be.


async def test_an_extended_card_whose_signature_fails_is_not_swapped_in(discovery, network, shop) -> None:
    shop.signers = [Signer()]
    agent = await discovery().discover("shop.example")
    assert shop.extended is not None
    forged = shop.document(extended=True)
    forged["skills"] = [*forged["skills"], {**forged["skills"][0], "id": "forged"}]
    shop.fail("extended", Reply.json({"jsonrpc": "2.0", "id": 1, "result": forged}))

    with pytest.raises(TrustError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))

    assert caught.value.code == "bad-signature"
    assert not agent.extended
    assert agent.interface.url == "https://shop.example/a2a/v1"


@pytest.mark.parametrize(
    "changed",
    [
        {
            "supportedInterfaces": [
                {"url": "https://evil.example/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ]
        },
        {"provider": {"organization": "Evil", "url": "https://evil.example"}},
    ],
)
async def test_an_unsigned_extended_card_that_moved_is_a_mismatch(discovery, shop, evil, changed) -> None:
    shop.card["provider"] = {"organization": "Shop", "url": "https://shop.example"}
    assert shop.extended is not None
    shop.extended |= {"provider": shop.card["provider"], **changed}
    agent = await discovery().discover("shop.example")

    with pytest.raises(ExtendedCardError) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))

    assert caught.value.code == "mismatch"
    assert evil.requests == []


async def test_after_a_signed_move_the_token_still_goes_to_the_public_cards_site_alone(discovery, shop, evil) -> None:
    shop.signers = [Signer()]
    assert shop.extended is not None
    shop.extended["supportedInterfaces"] = [
        {"url": "https://evil.example/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]

    agent = await (await discovery().discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    assert agent.interface.url == "https://evil.example/a2a/v1"
    with pytest.raises(AuthError) as caught:
        _ = agent.auth
    assert caught.value.code == "no-credential"
    with pytest.raises(AuthError):
        agent.transport()
    assert evil.requests == []


@pytest.mark.parametrize(
    ("prepare", "kind", "code"),
    [
        (lambda shop: shop.card["capabilities"].clear(), ExtendedCardError, "not-declared"),
        (lambda shop: setattr(shop, "extended", None), ExtendedCardError, "not-configured"),
        (lambda shop: setattr(shop, "strangers", "public"), ExtendedCardError, "not-upgraded"),
        (lambda shop: shop.tokens.clear(), AuthError, "auth-required"),
        (lambda shop: shop.weak_tokens.add(TOKEN), AuthError, "forbidden"),
        (lambda shop: shop.fail("extended", 404), ExtendedCardError, "unsupported"),
        (lambda shop: shop.fail("extended", 500), FetchError, "http-status"),
        (lambda shop: shop.fail("extended", Reply.html()), CardError, "not-json"),
        (
            lambda shop: shop.fail("extended", Reply.json({"error": {"code": -32009, "message": "no"}})),
            ExtendedCardError,
            "unsupported",
        ),
        (
            lambda shop: shop.fail("extended", Reply.json({"error": {"code": -32603, "message": "no"}})),
            FetchError,
            "protocol",
        ),
    ],
)
async def test_every_failure_leaves_the_public_agent_usable(discovery, shop, prepare, kind, code) -> None:
    prepare(shop)
    if code == "not-upgraded":
        shop.tokens.clear()
    agent = await discovery().discover("shop.example")

    with pytest.raises(kind) as caught:
        await agent.upgrade(Credentials(bearer=TOKEN))

    assert caught.value.code == code
    assert TOKEN not in f"{caught.value} {caught.value!r} {pickle.loads(pickle.dumps(caught.value))!r}"
    assert (agent.extended, agent.interface.url) == (False, "https://shop.example/a2a/v1")
    assert agent.headers() == {"A2A-Version": "1.0"}


# How long it lasts.


async def test_an_extended_card_is_kept_for_its_credentials_and_comes_from_memory(discovery, shop) -> None:
    d = discovery()
    public = await d.discover("shop.example")

    first = await public.upgrade(Credentials(bearer=TOKEN))
    again = await (await d.discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    assert (first.source.cache, again.source.cache) == ("network", "memory")
    assert again.card == first.card
    assert shop.count("extended") == 1


@pytest.mark.parametrize("headers", [{"cache-control": "no-store"}, {"cache-control": "max-age=0"}])
async def test_what_may_not_be_kept_is_asked_for_again(discovery, shop, headers) -> None:
    shop.headers["extended"] = headers
    public = await discovery().discover("shop.example")

    await public.upgrade(Credentials(bearer=TOKEN))
    await public.upgrade(Credentials(bearer=TOKEN))

    assert shop.count("extended") == 2


async def test_without_a_cache_nothing_is_kept(discovery, shop) -> None:
    public = await discovery(cache=Cache.off()).discover("shop.example")

    await public.upgrade(Credentials(bearer=TOKEN))
    await public.upgrade(Credentials(bearer=TOKEN))

    assert shop.count("extended") == 2


async def test_memory_is_bounded_and_the_least_recently_used_goes_first(discovery, shop) -> None:
    shop.tokens = {"token-1", "token-2", "token-3"}
    public = await discovery(limits=Limits(memory_bytes=40_000)).discover("shop.example")
    agents = {number: await public.upgrade(Credentials(bearer=f"token-{number}")) for number in (1, 2, 3)}
    assert sum(8_192 + 12 * agent.found.size for agent in agents.values()) > 40_000  # two of them fit

    assert (await public.upgrade(Credentials(bearer="token-3"))).source.cache == "memory"
    assert (await public.upgrade(Credentials(bearer="token-1"))).source.cache == "network"


async def test_who_logs_out_while_the_card_is_on_its_way_gets_none(discovery, shop) -> None:
    gate = shop.hold("extended")
    d = discovery()
    known = (await d.discover("shop.example")).with_credentials(Credentials(bearer=TOKEN))
    asking = asyncio.create_task(known.upgrade())
    await gate.arrived()

    public = known.logout()
    gate.open()

    with pytest.raises(AuthError):
        await asking
    assert (await public.upgrade(Credentials(bearer=TOKEN))).source.cache == "network"


async def test_a_private_card_is_fetched_with_what_a_function_returns(discovery, shop) -> None:
    shop.private = 401
    asked: list[str] = []

    async def token() -> str:
        asked.append(TOKEN)
        return TOKEN

    agent = await discovery(credentials={"*.example": Credentials(auth=token)}).discover("shop.example")

    assert agent.card.name == "Shop"
    assert (await agent.upgrade()).extended
    assert len(asked) == 2


async def test_it_ends_with_its_own_freshness_or_the_public_cards(discovery, shop, clock) -> None:
    shop.headers["card"]["cache-control"] = "max-age=100"
    shop.headers["extended"] = {"cache-control": "max-age=60"}
    d = discovery()
    public = await d.discover("shop.example")
    await public.upgrade(Credentials(bearer=TOKEN))
    clock.advance(59)
    await public.upgrade(Credentials(bearer=TOKEN))
    assert shop.count("extended") == 1

    clock.advance(2)
    shop.headers["extended"] = {"cache-control": "max-age=3600"}
    await public.upgrade(Credentials(bearer=TOKEN))
    assert shop.count("extended") == 2
    clock.advance(40)  # past what the public card is good for
    await (await d.discover("shop.example")).upgrade(Credentials(bearer=TOKEN))
    assert shop.count("extended") == 3


async def test_a_new_version_of_the_public_card_ends_it(discovery, shop) -> None:
    d = discovery()
    await (await d.discover("shop.example")).upgrade(Credentials(bearer=TOKEN))
    shop.card["version"] = "2.0.0"

    agent = await (await d.discover("shop.example", refresh=True)).upgrade(Credentials(bearer=TOKEN))

    assert agent.source.cache == "network"
    assert shop.count("extended") == 2


async def test_a_new_discovery_knows_nothing_of_it(discovery, shop) -> None:
    for _ in range(2):
        await (await discovery().discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    assert shop.count("extended") == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_of_any_call_drops_it(discovery, shop, status) -> None:
    shop.replies["/tasks"] = Reply.error(status)
    agent = await (await discovery().discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    async with httpx.AsyncClient(transport=agent.transport()) as client:
        await client.get("https://shop.example/tasks")
    again = await agent.upgrade(Credentials(bearer=TOKEN))

    assert again.source.cache == "network"


async def test_refresh_keeps_the_level_of_access_and_a_refusal_drops_it(discovery, shop) -> None:
    d = discovery()
    public = await d.discover("shop.example")
    agent = await public.upgrade(Credentials(bearer=TOKEN))
    assert shop.extended is not None
    shop.extended["skills"] = shop.extended["skills"][1:]

    again = await agent.refresh()
    assert again.extended
    assert again.card.skills != agent.card.skills
    assert not (await public.refresh()).extended

    shop.tokens.clear()
    with pytest.raises(AuthError) as caught:
        await again.refresh()
    assert caught.value.code == "auth-required"
    with pytest.raises(AuthError):
        await public.upgrade(Credentials(bearer=TOKEN))  # no longer in memory either


async def test_logout_forgets_the_card_and_gives_the_public_agent_back(discovery, shop) -> None:
    d = discovery()
    agent = await (await d.discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    public = agent.logout()

    assert not public.extended
    for call in (agent.upgrade, agent.refresh):
        with pytest.raises(AuthError) as caught:
            await call()
        assert caught.value.code == "no-credential"
    again = await public.upgrade(Credentials(bearer=TOKEN))
    assert (again.source.cache, shop.count("extended")) == ("network", 2)


async def test_two_users_at_once_get_each_their_own(discovery, shop) -> None:
    shop.tokens = {"token-of-ann", "token-of-bob"}
    whole = shop.document(extended=True)

    def answer(request: Any) -> Reply | None:
        name = (request.authorization or "").removeprefix("Bearer token-of-")
        skill = {**whole["skills"][0], "id": f"for-{name}"}
        body = {"jsonrpc": "2.0", "id": 1, "result": {**whole, "skills": [skill]}}
        return Reply.json(body) if name in ("ann", "bob") else None

    shop.replies["extended"] = answer
    public = await discovery().discover("shop.example")

    async def upgraded(name: str) -> tuple[str, Agent]:
        return name, await public.upgrade(Credentials(bearer=f"token-of-{name}"))

    for name, agent in await asyncio.gather(*(upgraded(name) for name in ["ann", "bob"] * 10)):
        assert [skill.id for skill in agent.card.skills] == [f"for-{name}"]
        assert agent.auth is not None
    assert sorted(shown(shop)) == ["Bearer token-of-ann", "Bearer token-of-bob"]


async def test_tenants_are_kept_apart(discovery, shop) -> None:
    d = discovery()
    for tenant in ("acme", "umbrella"):
        for card in (shop.card, shop.extended):
            assert card is not None
            for each in card["supportedInterfaces"]:
                each["tenant"] = tenant
        await (await d.discover("shop.example", refresh=True)).upgrade(Credentials(bearer=TOKEN))

    assert [each.json()["params"] for each in shop.requests if each.kind == "extended"] == [
        {"tenant": "acme"},
        {"tenant": "umbrella"},
    ]


async def test_an_agent_outlives_its_discovery(network, shop) -> None:
    async with Discovery(transport=network) as d:
        public = await d.discover("shop.example")
    agent = await public.upgrade(Credentials(bearer=TOKEN))

    assert (await agent.refresh()).extended


# Old agents.


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        ("0.2.5", [("GET", "/a2a/agent/authenticatedExtendedCard")]),
        (None, [("GET", "/a2a/agent/authenticatedExtendedCard")]),
        ("0.2.6", [("POST", "agent/authenticatedExtendedCard"), ("GET", "/a2a/agent/authenticatedExtendedCard")]),
        ("0.3.0", [("POST", "agent/getAuthenticatedExtendedCard")]),
    ],
)
async def test_an_old_agent_is_asked_as_its_version_says(discovery, network, shop, version, asked) -> None:
    old = {
        "name": "Old shop",
        "description": "Sells.",
        "url": "https://shop.example/a2a/v1",
        "version": "1.0.0",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
        "supportsAuthenticatedExtendedCard": True,
        "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}},
        "security": [{"b": []}],
        **({"protocolVersion": version} if version else {}),
    }
    shop.card = old
    shop.extended = {**old, "skills": [{"id": "refund", "name": "R", "description": "R", "tags": ["r"]}]}
    if version == "0.2.6":
        shop.replies[RPC] = Reply.json({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}})

    agent = await (await discovery().discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    assert [skill.id for skill in agent.card.skills] == ["refund"]
    calls = [each for each in shop.requests if each.authorization]
    assert [(each.method, each.json()["method"] if each.body else each.path) for each in calls] == asked
    assert all(each.headers["a2a-version"] == "0.3" for each in calls)


async def test_claimed_extensions_are_named_in_every_call_and_by_their_old_name_too(discovery, shop) -> None:
    uri = "https://ext.example/v1"
    for card in (shop.card, shop.extended):
        assert card is not None
        card["capabilities"]["extensions"] = [{"uri": uri, "required": True}]
    agent = await (await discovery(extensions=(uri,)).discover("shop.example")).upgrade(Credentials(bearer=TOKEN))

    assert shop.requests[-1].headers["a2a-extensions"] == uri
    assert agent.headers() == {"A2A-Version": "1.0", "A2A-Extensions": uri}


# Secrets stay where they are.


async def test_a_key_in_the_query_is_in_no_log_and_no_error(discovery, shop, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    asks_for(shop, key_in("query"))
    shop.admits = lambda request: 200 if KEY in request.query else 401
    agent = await (await discovery().discover("shop.example")).upgrade(Credentials(api_key=KEY))
    async with httpx.AsyncClient(transport=agent.transport()) as client:
        answer = await client.post(agent.interface.url, json={})
    shop.fail("extended", 500)
    with pytest.raises(FetchError) as caught:
        await agent.refresh()

    assert KEY in shop.requests[-1].query
    assert KEY not in caplog.text
    assert KEY not in f"{answer!r} {answer.url} {answer.request.url} {agent!r} {agent.source} {agent.findings}"
    assert KEY not in f"{caught.value} {caught.value.url} {vars(caught.value)}"


@pytest.mark.parametrize("wrong", [None, "token", {"bearer": "x"}])
async def test_what_is_no_credentials_is_bad_config(discovery, wrong) -> None:
    agent = await discovery().discover("shop.example")

    with pytest.raises(UsageError):
        agent.with_credentials(wrong)


async def test_uncovered_requirements_are_not_followed_where_signatures_are_required(discovery, network, shop) -> None:
    from a2a_discovery import Trust

    shop.signers = [Signer()]
    d = discovery(trust=TrustPolicy(require=Trust.SIGNED))
    agent = await d.discover("shop.example")

    assert (await agent.upgrade(Credentials(bearer=TOKEN))).extended


async def test_an_extended_card_that_one_policy_accepted_is_not_handed_out_under_another() -> None:
    shop = FakeAgent("shop.example", extended=True, token=TOKEN)
    (signer,) = shop.signers
    pinned = {"require": "PINNED", "keys": {"shop.example": signer.jwk}}
    names = {"easy": "shop.example", "strict": {"target": "shop.example", "trust": pinned}}
    shop.sign_extended = False
    async with Discovery(transport=shop, agents=names) as d:
        await (await d.discover("easy")).upgrade(Credentials(bearer=TOKEN))
        strict = await d.discover("strict")
        with pytest.raises(TrustError) as refused:
            await strict.upgrade(Credentials(bearer=TOKEN))

    assert refused.value.code == "unsigned"
