"""An outage costs nothing for a day: the last good card stands in, marked, and never hides what must be seen."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import Cache, Discovery, DiscoveryError, TrustError
from a2a_discovery.testing import Clock, FakeAgent, Reply

DAY = 86_400.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agent(clock: Clock) -> FakeAgent:
    return FakeAgent("shop.example", clock=clock)


@pytest.fixture
async def warmed(agent: FakeAgent, clock: Clock) -> Any:
    """A discovery that has seen the good card, which has now expired; its keys are still fresh."""
    agent.headers["keys"]["cache-control"] = "max-age=3600"
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        clock.advance(301)
        yield d


OUTAGES = [
    Reply.error(500),
    Reply.error(503),
    Reply.error(429),
    Reply.dropped(),
    Reply.dropped(b'{"name":'),
    Reply.endless(),
    Reply.html(content_type="application/json"),
    Reply.html(),
    Reply.json({"message": "maintenance"}),
    Reply.json({}),
    Reply.json([]),
    Reply(body=b"\xff\xfe"),
]


@pytest.mark.parametrize("outage", OUTAGES)
async def test_the_last_good_card_stands_in_for_an_outage_marked_stale(
    warmed: Discovery, agent: FakeAgent, outage: Reply
) -> None:
    agent.replies["card"] = outage

    found = await warmed.discover("shop.example")

    assert found.source.cache == "stale"
    assert found.card.name == agent.card["name"]
    assert found.trust.level.name == "SIGNED"


@pytest.mark.parametrize(
    "said",
    [
        Reply.error(401),
        Reply.error(403),
        Reply.error(404),
        Reply.error(405),
        Reply.error(410),
        Reply.error(400),
        Reply.redirect("https://evil.example/card"),
        Reply.redirect("https://10.0.0.1/card"),
    ],
)
async def test_what_the_origin_says_on_purpose_is_never_hidden(
    warmed: Discovery, agent: FakeAgent, said: Reply
) -> None:
    agent.replies["card"] = said

    with pytest.raises(DiscoveryError):
        await warmed.discover("shop.example")


async def test_a_failed_signature_is_never_hidden(warmed: Discovery, agent: FakeAgent) -> None:
    tampered = agent.document()
    tampered["name"] = "Evil"
    agent.replies["card"] = Reply.json(tampered, headers={"etag": '"x"'})

    with pytest.raises(TrustError) as caught:
        await warmed.discover("shop.example")

    assert caught.value.code == "bad-signature"


async def test_a_card_without_a_usable_interface_is_never_hidden(warmed: Discovery, agent: FakeAgent) -> None:
    agent.card["supportedInterfaces"] = [
        {"url": "https://shop.example/g", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    ]

    with pytest.raises(DiscoveryError) as caught:
        await warmed.discover("shop.example")

    assert caught.value.code == "no-usable-interface"


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410])
async def test_after_the_origin_took_the_card_back_there_is_no_copy_left(
    warmed: Discovery, agent: FakeAgent, status: int
) -> None:
    agent.replies["card"] = Reply.error(status)
    with pytest.raises(DiscoveryError):
        await warmed.discover("shop.example")

    agent.replies["card"] = Reply.error(503)
    with pytest.raises(DiscoveryError) as caught:
        await warmed.discover("shop.example", refresh=True)
    assert caught.value.code == "http-status"


async def test_a_copy_serves_for_a_day_past_its_expiry_and_no_longer(agent: FakeAgent, clock: Clock) -> None:
    agent.signers = []
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        agent.replies["card"] = Reply.error(503)

        clock.advance(300 + DAY - 1)
        assert (await d.discover("shop.example")).source.cache == "stale"
        clock.advance(2)
        with pytest.raises(DiscoveryError) as caught:
            await d.discover("shop.example", refresh=True)
        assert caught.value.code == "http-status"


async def test_a_copy_is_verified_again_with_keys_that_outlive_an_outage_of_their_own(
    agent: FakeAgent, clock: Clock
) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        agent.replies |= {"card": Reply.error(503), "keys": Reply.error(503)}
        clock.advance(3600 * 6)

        found = await d.discover("shop.example")

        assert (found.source.cache, found.trust.level.name) == ("stale", "SIGNED")


async def test_a_copy_whose_key_was_revoked_does_not_stand_in(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        agent.rotate_keys()
        agent.replies["card"] = Reply.error(503)
        clock.advance(3601)

        with pytest.raises(DiscoveryError) as caught:
            await d.discover("shop.example")

        assert caught.value.code == "http-status"  # the outage, not the copy's failure


async def test_good_then_better_then_junk_ends_with_the_better(agent: FakeAgent, clock: Clock) -> None:
    agent.signers = []
    async with Discovery(transport=agent, clock=clock) as d:
        for version in ("1.0.0", "2.0.0"):
            agent.card["version"] = version
            await d.discover("shop.example", refresh=True)
        agent.replies["card"] = Reply.json({"junk": True})
        clock.advance(301)

        assert (await d.discover("shop.example")).card.version == "2.0.0"


async def test_a_new_process_finds_the_copy_in_the_file(agent: FakeAgent, clock: Clock, tmp_path: Any) -> None:
    cache = tmp_path / "cache.sqlite"
    async with Discovery(transport=agent, clock=clock, cache=Cache.sqlite(cache)) as d:
        await d.discover("shop.example")
    agent.replies["card"] = Reply.error(503)
    agent.replies["keys"] = Reply.error(503)
    clock.advance(3000)

    # A transport of another make would be another channel: this one is the same object, and the memory is new.
    async with Discovery(transport=agent, clock=clock, cache=Cache.sqlite(cache)) as d:
        assert (await d.discover("shop.example")).source.cache == "stale"


async def test_with_the_cache_off_nothing_stands_in(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock, cache=Cache.off()) as d:
        await d.discover("shop.example")
        agent.replies["card"] = Reply.error(503)

        with pytest.raises(DiscoveryError):
            await d.discover("shop.example")


async def test_after_another_processes_newer_copy_stood_in_the_older_agent_of_this_one_does_not_come_back(
    agent: FakeAgent, clock: Clock, tmp_path: Any
) -> None:
    file = tmp_path / "cache.sqlite"
    async with (
        Discovery(transport=agent, clock=clock, cache=Cache.sqlite(file)) as one,
        Discovery(transport=agent, clock=clock, cache=Cache.sqlite(file)) as other,
    ):
        await one.discover("shop.example")
        clock.advance(10)
        agent.card["version"] = "2.0.0"
        await other.discover("shop.example", refresh=True)
        agent.replies["card"] = Reply.error(503)
        assert (await one.discover("shop.example")).card.version == "1.0.0"  # fresh still

        stale = await one.discover("shop.example", refresh=True)
        after = await one.discover("shop.example")

    assert (stale.source.cache, stale.card.version) == ("stale", "2.0.0")
    assert after.card.version == "2.0.0"
