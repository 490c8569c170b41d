"""The whole line through the shells, against a fake agent that behaves and misbehaves."""

from __future__ import annotations

import asyncio
import gc
import json
import pickle
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import a2a_discovery
from a2a_discovery import (
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
    NetworkPolicy,
    NotFoundError,
    SyncDiscovery,
    Trust,
    TrustError,
    TrustPolicy,
    UsageError,
    discover,
    discover_sync,
)
from a2a_discovery.testing import Clock, FakeAgent, FakeNetwork, Reply, Signer

CARD = "https://shop.example/.well-known/agent-card.json"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agent(clock: Clock) -> FakeAgent:
    return FakeAgent("shop.example", clock=clock)


@pytest.fixture
def open_discovery(agent: FakeAgent, clock: Clock) -> Any:
    def make(**options: Any) -> Discovery:
        return Discovery(**{"transport": agent, "clock": clock, **options})

    return make


async def test_one_line_gives_the_card_the_interface_and_who_vouches(agent: FakeAgent) -> None:
    found = await discover("shop.example", transport=agent)

    assert found.card.name == agent.card["name"]
    assert found.interface.url == agent.card["supportedInterfaces"][0]["url"]
    assert found.trust.level is Trust.SIGNED
    assert found.trust.authority == "shop.example"
    assert found.headers() == {"A2A-Version": "1.0"}
    assert found.document["signatures"]
    assert not found.extended
    assert found.source.url == CARD


async def test_an_unsigned_card_is_channel_and_refused_where_signatures_are_required(
    open_discovery: Any, agent: FakeAgent
) -> None:
    agent.signers = []
    assert (await open_discovery().discover("shop.example")).trust.level is Trust.CHANNEL

    with pytest.raises(TrustError) as caught:
        await open_discovery(trust=TrustPolicy(require=Trust.SIGNED)).discover("shop.example")
    assert caught.value.code == "unsigned"
    assert caught.value.report is not None


async def test_a_tampered_card_is_refused_and_does_not_replace_the_good_one(
    open_discovery: Any, agent: FakeAgent, clock: Clock
) -> None:
    async with open_discovery() as d:
        good = await d.discover("shop.example")
        tampered = agent.document()
        tampered["description"] = "Now with more evil"
        agent.replies["card"] = Reply.json(tampered, headers={"etag": '"evil"'})
        clock.advance(301)

        with pytest.raises(TrustError) as caught:
            await d.discover("shop.example")
        assert caught.value.code == "bad-signature"

        agent.replies.clear()
        again = await d.discover("shop.example")
        assert again.source.cache == "revalidated"
        assert again.card == good.card


async def test_the_source_tells_the_truth(open_discovery: Any, agent: FakeAgent, clock: Clock) -> None:
    async with open_discovery() as d:
        first = await d.discover("shop.example")
        start = clock()
        assert (first.source.cache, first.source.fetched_at, first.source.expires_at) == ("network", start, start + 300)
        assert first.source.etag

        clock.advance(10)
        second = await d.discover("shop.example")
        assert second.source.cache in ("fresh", "memory")
        assert second.source.fetched_at == start
        assert agent.count("card") == 1

        clock.advance(300)
        third = await d.discover("shop.example")
        assert third.source.cache == "revalidated"
        assert third.source.fetched_at == start + 310
        assert agent.count("card", status=304) == 1

        fourth = await d.discover("shop.example", refresh=True)
        assert fourth.source.cache == "revalidated"
        assert agent.count("card", status=304) == 2

        agent.card["version"] = "9.0.0"
        fifth = await d.discover("shop.example", refresh=True)
        assert fifth.source.cache == "network"
        assert fifth.card.version == "9.0.0"


async def test_a_rotated_key_is_found_without_more_than_one_extra_request(
    open_discovery: Any, agent: FakeAgent, clock: Clock
) -> None:
    async with open_discovery() as d:
        await d.discover("shop.example")
        agent.rotate_keys()
        clock.advance(120)
        agent.requests.clear()

        found = await d.discover("shop.example", refresh=True)

        assert found.trust.level is Trust.SIGNED
        assert [request.kind for request in agent.requests] == ["card", "keys"]


async def test_a_304_that_keeps_an_old_signature_is_asked_again_without_a_condition(
    open_discovery: Any, agent: FakeAgent, clock: Clock
) -> None:
    agent.etag = "unsigned"
    async with open_discovery() as d:
        await d.discover("shop.example")
        agent.rotate_keys()
        clock.advance(3601)
        agent.requests.clear()

        found = await d.discover("shop.example")

        assert found.trust.level is Trust.SIGNED
        cards = [request for request in agent.requests if request.kind == "card"]
        assert [request.status for request in cards] == [304, 200]
        assert "if-none-match" not in cards[1].headers
        assert agent.count("keys") == 1


async def test_what_was_signed_and_is_no_more_is_refused_until_it_is_forgotten(
    open_discovery: Any, agent: FakeAgent
) -> None:
    async with open_discovery() as d:
        await d.discover("shop.example")
        agent.signers = []

        with pytest.raises(TrustError) as caught:
            await d.discover(CARD, refresh=True)  # the same location, by another name
        assert caught.value.code == "downgraded"
        assert caught.value.report.refusal == "downgraded"

        d.forget("shop.example")
        assert (await d.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL


async def test_continuity_can_be_turned_off(open_discovery: Any, agent: FakeAgent) -> None:
    async with open_discovery(trust=TrustPolicy(continuity=False)) as d:
        await d.discover("shop.example")
        agent.signers = []

        assert (await d.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL


async def test_a_pinned_key_needs_no_key_request(open_discovery: Any, agent: FakeAgent) -> None:
    policy = TrustPolicy(require=Trust.PINNED, keys={"shop.example": agent.jwks})

    found = await open_discovery(trust=policy).discover("shop.example")

    assert found.trust.level is Trust.PINNED
    assert agent.count("keys") == 0


async def test_a_pinned_key_that_fails_is_a_bad_signature(open_discovery: Any, agent: FakeAgent) -> None:
    other = {**Signer().jwk, "kid": agent.jwks["keys"][0]["kid"]}
    agent.replies["keys"] = Reply.error(404)

    with pytest.raises(TrustError) as caught:
        await open_discovery(trust=TrustPolicy(keys={"shop.example": other})).discover("shop.example")

    assert caught.value.code == "bad-signature"


async def test_a_key_of_the_cards_own_site_is_not_enough_where_a_pinned_one_is_required(
    open_discovery: Any, agent: FakeAgent
) -> None:
    policy = TrustPolicy(require=Trust.PINNED, keys={"shop.example": Signer().jwk})

    with pytest.raises(TrustError) as caught:
        await open_discovery(trust=policy).discover("shop.example")

    assert caught.value.code == "untrusted-key-host"
    assert "TrustPolicy(keys=" in str(caught.value)


async def test_the_extended_card_is_verified_and_swapped_in_whole(clock: Clock) -> None:
    agent = FakeAgent("shop.example", extended=True, clock=clock)
    async with Discovery(transport=agent, clock=clock) as d:
        public = await d.discover("shop.example")

        found = await public.upgrade(Credentials(bearer="let-me-in"))

        assert found.extended
        assert not public.extended
        assert len(found.card.skills) == len(public.card.skills) + 1
        assert found.trust.level is Trust.SIGNED
        assert found.source.cache == "network"
        assert "let-me-in" not in repr(found) + str(found.trust) + repr(found.source)

        with pytest.raises(AuthError) as caught:
            await public.upgrade(Credentials(bearer="wrong"))
        assert caught.value.code == "auth-required"

        agent.strangers = "public"
        with pytest.raises(ExtendedCardError) as refused:
            await public.upgrade(Credentials(bearer="wrong"))
        assert refused.value.code == "not-upgraded"
        assert public.card.name


async def test_an_agent_is_usable_after_its_discovery_closed(clock: Clock) -> None:
    agent = FakeAgent("shop.example", extended=True, clock=clock)
    async with Discovery(transport=agent, clock=clock) as d:
        public = await d.discover("shop.example")

    assert (await public.upgrade(Credentials(bearer="let-me-in"))).extended
    assert (await public.refresh()).source.cache == "revalidated"


async def test_a_private_card_is_fetched_with_the_credentials_bound_to_its_host(agent: FakeAgent, clock: Clock) -> None:
    for status, kind in ((401, AuthError), (404, NotFoundError)):
        agent.private = status
        with pytest.raises(kind):
            await Discovery(transport=agent, clock=clock).discover("shop.example")

        bound = {"shop.example": Credentials(bearer="let-me-in"), "*.other.example": Credentials(bearer="other")}
        found = await Discovery(transport=agent, clock=clock, credentials=bound).discover("shop.example")
        assert found.card.name


async def test_credentials_for_one_host_never_reach_another(clock: Clock) -> None:
    shop, keys = FakeAgent("shop.example", clock=clock), FakeAgent("other.example", clock=clock)
    bound = {"shop.example": Credentials(bearer="tok")}
    async with Discovery(transport=FakeNetwork(shop, keys), clock=clock, credentials=bound) as d:
        await d.discover("shop.example")
        await d.discover("other.example")

    assert {request.authorization for request in shop.requests if request.kind == "card"} == {"Bearer tok"}
    assert all(request.authorization is None for request in keys.requests)


@pytest.mark.parametrize(
    ("reply", "kind", "code"),
    [
        (Reply.endless(), FetchError, "too-large"),
        (Reply.gzip_bomb(), FetchError, "too-large"),
        (Reply(body=b"[" * 10_000 + b"]" * 10_000), CardError, "not-json"),
        (Reply(body=b'{"name":"a","name":"b"}'), CardError, "not-json"),
        (Reply(body=b'{"name":"\xff"}'), CardError, "not-json"),
        (Reply(body=b'{"name":NaN}'), CardError, "not-json"),
        (Reply.html(content_type="application/json"), CardError, "not-json"),
        (Reply.json([]), CardError, "not-a-card"),
        (Reply.json({}), CardError, "invalid-card"),
        (Reply.json(None), CardError, "not-a-card"),
        (Reply.dropped(), FetchError, None),
        (Reply.dropped(b'{"name":'), FetchError, "protocol"),
        (Reply.redirect("https://evil.example/card.json"), FetchError, "redirect-refused"),
        (Reply.redirect("http://shop.example/card.json"), (FetchError, BlockedError), None),
        (Reply.redirect("https://169.254.169.254/latest"), BlockedError, "address"),
        (Reply.error(500), FetchError, "http-status"),
    ],
)
async def test_a_hostile_answer_is_one_of_our_errors_in_bounded_memory(
    open_discovery: Any, agent: FakeAgent, reply: Reply, kind: Any, code: str | None
) -> None:
    agent.replies["card"] = reply
    tracemalloc.start()
    try:
        with pytest.raises(kind) as caught:
            await open_discovery().discover("shop.example")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert code is None or caught.value.code == code
    assert caught.value.url is not None
    assert caught.value.step in ("fetch", "read")
    assert peak < 8 * 1024 * 1024  # the limit is 1 MiB; a bomb of 64 MiB stands behind it
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), copy.code, copy.url, str(copy)) == (
        type(caught.value),
        caught.value.code,
        caught.value.url,
        str(caught.value),
    )


async def test_a_card_of_its_own_limit_is_too_large_with_the_limit_in_the_message(open_discovery: Any) -> None:
    with pytest.raises(FetchError) as caught:
        await open_discovery(limits=Limits(card_bytes=100)).discover("shop.example")

    assert caught.value.code == "too-large"
    assert "100" in str(caught.value)


@pytest.mark.parametrize(
    "target", ["127.0.0.1:9", "localhost:9", "169.254.169.254", "10.0.0.1", "[::1]:9", "2130706433"]
)
async def test_private_targets_are_blocked_by_default_and_localhost_hints_at_local(target: str) -> None:
    with pytest.raises(BlockedError) as caught:
        await discover(target)

    assert caught.value.code in ("address", "host")
    if target.startswith("localhost"):
        assert "NetworkPolicy.local()" in str(caught.value)


async def test_plain_http_is_blocked_and_when_allowed_it_is_no_channel(agent: FakeAgent, clock: Clock) -> None:
    plain = FakeAgent("http://shop.example", clock=clock)
    with pytest.raises(BlockedError) as blocked:
        await Discovery(transport=plain, clock=clock).discover("http://shop.example")
    assert blocked.value.code == "scheme"

    plain.signers = []
    network = NetworkPolicy(allow_http=True)
    with pytest.raises(TrustError) as caught:
        await Discovery(transport=plain, clock=clock, network=network).discover("http://shop.example")
    assert caught.value.code == "no-channel"
    assert "require=Trust.NONE" in str(caught.value)

    policy = TrustPolicy(require=Trust.NONE)
    found = await Discovery(transport=plain, clock=clock, network=network, trust=policy).discover("http://shop.example")
    assert found.trust.level is Trust.NONE


async def test_a_card_file_and_a_mapping_are_read_without_any_request(agent: FakeAgent, tmp_path: Path) -> None:
    agent.signers = []
    file = tmp_path / "card.json"
    file.write_text(json.dumps(agent.document()))

    for target in (file, agent.document()):
        found = await discover(target, transport=agent)
        assert found.trust.level is Trust.CHANNEL
        assert found.trust.authority is None
        assert found.source.url is None
    assert agent.requests == []

    with pytest.raises(NotFoundError) as caught:
        await discover(tmp_path / "missing.json")
    assert caught.value.code == "no-card"
    with pytest.raises(FetchError):
        await discover(file, limits=Limits(card_bytes=10))


async def test_a_configured_name_is_what_it_was_configured_as_before_anything_else(agent: FakeAgent) -> None:
    async with Discovery(transport=agent, agents={"orders": CARD, "shop.example": "https://x.example/c.json"}) as d:
        assert (await d.discover("orders")).source.url == CARD
        assert agent.requests[0].path == "/.well-known/agent-card.json"
        with pytest.raises(DiscoveryError):
            await d.discover("shop.example")
        with pytest.raises(UsageError) as caught:
            await d.discover("order")
        assert "orders" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"bindings": ()},
        {"bindings": "JSONRPC"},
        {"versions": (1.0,)},
        {"extensions": "https://x"},
        {"credentials": Credentials(bearer="x")},
        {"credentials": {"*": Credentials(bearer="x")}},
        {"cache": "memory"},
    ],
)
def test_a_wrong_configuration_is_said_when_it_is_made(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        Discovery(**options)

    assert caught.value.code == "bad-config"


async def test_nobodys_edits_reach_those_who_share_an_agent(open_discovery: Any) -> None:
    async with open_discovery() as d:
        first, second = await d.discover("shop.example"), await d.discover("shop.example")
        first.document["skills"].clear()

        assert second.document["skills"]
        assert (await d.discover("shop.example")).document == second.document


# Event loops and threads


def test_bare_discover_works_in_any_number_of_event_loops_and_shares_one_memory(clock: Clock) -> None:
    agent = FakeAgent("loops.example", clock=clock)
    for _ in range(3):
        found = asyncio.run(discover("loops.example", transport=agent, clock=clock))
        assert found.card.name
    gc.collect()

    assert agent.count("card") == 1


def test_one_discovery_works_from_several_event_loops(agent: FakeAgent, clock: Clock) -> None:
    d = Discovery(transport=agent, clock=clock)

    async def entered() -> str:
        async with d:
            return (await d.discover("shop.example")).source.cache

    assert asyncio.run(entered()) == "network"
    assert asyncio.run(d.discover("shop.example")).card.name
    assert asyncio.run(entered()) in ("fresh", "memory")

    async def across() -> list[str]:
        async with d:

            def elsewhere() -> str:
                return asyncio.run(d.discover("shop.example", refresh=True)).card.name

            return [await asyncio.to_thread(elsewhere), (await d.discover("shop.example")).card.name]

    assert len(set(asyncio.run(across()))) == 1


def test_without_asyncio_the_same_answers_come(agent: FakeAgent, clock: Clock) -> None:
    with SyncDiscovery(transport=agent, clock=clock) as d:
        found = d.discover("shop.example")
        assert found.trust.level is Trust.SIGNED
        assert d.discover("shop.example").source.cache in ("fresh", "memory")
        with pytest.raises(UsageError):
            d.discover("a/b")
    d.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "a2a_discovery"]

    assert discover_sync("shop.example", transport=agent, clock=clock, cache=Cache.memory()).card.name


def test_a_sync_discovery_upgrades_too(clock: Clock) -> None:
    agent = FakeAgent("shop.example", extended=True, clock=clock)
    with SyncDiscovery(transport=agent, clock=clock) as d:
        public = d.discover("shop.example")

        assert d.run(public.upgrade(Credentials(bearer="let-me-in"))).extended


async def test_inside_a_running_loop_the_sync_call_works_too(agent: FakeAgent, clock: Clock) -> None:
    assert discover_sync("shop.example", transport=agent, clock=clock, cache=Cache.memory()).card.name


async def test_a_cancelled_call_ends_at_once_and_leaves_nothing_behind(agent: FakeAgent, clock: Clock) -> None:
    gate = agent.hold("card")
    async with Discovery(transport=agent, clock=clock) as d:
        call = asyncio.create_task(d.discover("shop.example"))
        await gate.arrived()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        gate.open()
        agent.replies.clear()

        assert (await d.discover("shop.example")).card.name


def test_the_version_is_the_one_of_the_distribution() -> None:
    from importlib.metadata import version

    assert a2a_discovery.__version__ == version("a2a_discovery")
