"""Verdicts that are used again: for the same bytes, under the same policy, while their keys are fresh, and only then.

A verdict that was used again shows in the card: it is the very object that was read before.
"""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import Agent, Cache, Discovery, Trust, TrustError, TrustPolicy
from a2a_discovery.testing import Clock, FakeAgent, FakeNetwork, Reply, Signer

TARGET = "shop.example"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agent(clock: Clock) -> FakeAgent:
    agent = FakeAgent(TARGET, clock=clock)
    agent.headers["card"]["cache-control"] = "max-age=60"
    agent.headers["keys"]["cache-control"] = "max-age=600"
    return agent


def reused(first: Agent, second: Agent) -> bool:
    return first.card is second.card and first.document == second.document


@pytest.mark.parametrize("cache", [Cache.memory, Cache.sqlite], ids=["memory", "sqlite"])
async def test_a_304_uses_the_verdict_again(agent: FakeAgent, clock: Clock, cache: Any, tmp_path: Any) -> None:
    made = cache() if cache == Cache.memory else cache(tmp_path / "cache.sqlite")
    async with Discovery(transport=agent, clock=clock, cache=made) as d:
        first = await d.discover(TARGET)
        clock.advance(61)
        second = await d.discover(TARGET)

    assert reused(first, second)
    assert second.source.cache == "revalidated"
    assert second.source.fetched_at == clock()
    assert second.trust == first.trust
    assert second.trust.level is Trust.SIGNED
    assert (agent.count("card", status=304), agent.count("keys")) == (1, 1)


async def test_a_200_with_the_same_bytes_uses_it_too(agent: FakeAgent, clock: Clock) -> None:
    agent.headers["card"]["etag"] = None
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        assert reused(first, second := await d.discover(TARGET, refresh=True))

    assert second.source.cache == "network"


async def test_a_fresh_entry_uses_it_for_another_spelling_of_the_target(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        first, second = await d.discover(TARGET), await d.discover(f"https://{TARGET}")

    assert reused(first, second)
    assert second.source.cache == "fresh"
    assert second.source.requested == f"https://{TARGET}"


async def test_the_same_bytes_from_another_host_are_judged_for_that_host(clock: Clock) -> None:
    mine, theirs = FakeAgent(TARGET, clock=clock), FakeAgent("other.example", clock=clock)
    theirs.replies["card"] = Reply.json(mine.document(), headers={"cache-control": "max-age=60"})
    async with Discovery(transport=FakeNetwork(mine, theirs), clock=clock) as d:
        await d.discover(TARGET)
        with pytest.raises(TrustError) as caught:
            await d.discover("other.example")

    assert caught.value.code == "untrusted-key-host"


async def test_what_was_forgotten_is_judged_anew(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        d.forget(TARGET)
        assert not reused(first, await d.discover(TARGET))


async def test_other_bytes_are_judged_anew(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        agent.card["description"] = "Something else."
        second = await d.discover(TARGET, refresh=True)

    assert not reused(first, second)
    assert second.card.description == "Something else."


async def test_bytes_that_were_tampered_with_are_refused_though_the_card_was_good(
    agent: FakeAgent, clock: Clock
) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover(TARGET)
        agent.replies["card"] = Reply.json({**agent.document(), "name": "Shoq"})
        with pytest.raises(TrustError) as caught:
            await d.discover(TARGET, refresh=True)

    assert caught.value.code == "bad-signature"


async def test_another_policy_judges_for_itself(agent: FakeAgent, clock: Clock) -> None:
    cache, pins = Cache.memory(), {TARGET: agent.jwks}
    async with Discovery(transport=agent, clock=clock, cache=cache) as d:
        first = await d.discover(TARGET)
    async with Discovery(transport=agent, clock=clock, cache=cache, trust=TrustPolicy(require=Trust.PINNED)) as d:
        with pytest.raises(TrustError):
            await d.discover(TARGET)
    async with Discovery(transport=agent, clock=clock, cache=cache, trust=TrustPolicy(keys=pins)) as d:
        pinned = await d.discover(TARGET)

    assert not reused(first, pinned)
    assert pinned.trust.level is Trust.PINNED


async def test_a_verdict_ends_with_its_key_set(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        clock.advance(600)
        second = await d.discover(TARGET)

    assert not reused(first, second)
    assert agent.count("keys") == 2


async def test_a_key_that_is_gone_by_then_verifies_nothing(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover(TARGET)
        agent.replies["keys"] = Reply.json({"keys": []})
        clock.advance(599)
        await d.discover(TARGET)
        clock.advance(1)
        with pytest.raises(TrustError) as caught:
            await d.discover(TARGET, refresh=True)

    assert caught.value.code == "unverifiable"


async def test_a_verdict_ends_with_its_key(agent: FakeAgent, clock: Clock) -> None:
    key = {**agent.jwks["keys"][0], "exp": clock() + 100}
    agent.replies["keys"] = Reply.json({"keys": [key]}, headers={"cache-control": "max-age=600"})
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        clock.advance(99)
        assert reused(first, await d.discover(TARGET))
        clock.advance(1)
        with pytest.raises(TrustError) as caught:
            await d.discover(TARGET)

    assert caught.value.code == "unverifiable"
    assert caught.value.report.signatures[0].status == "key-not-usable"


async def test_a_pinned_key_ends_it_as_well(agent: FakeAgent, clock: Clock) -> None:
    pinned = {**agent.jwks["keys"][0], "exp": clock() + 100}
    trust = TrustPolicy(keys={TARGET: pinned}, require=Trust.PINNED)
    async with Discovery(transport=agent, clock=clock, trust=trust) as d:
        first = await d.discover(TARGET)
        assert first.trust.expires_at == clock() + 100
        clock.advance(99)
        assert reused(first, await d.discover(TARGET))
        clock.advance(1)
        with pytest.raises(TrustError):
            await d.discover(TARGET)


async def test_a_signature_that_could_not_be_checked_is_tried_again(agent: FakeAgent, clock: Clock) -> None:
    agent.fail("keys", 404, times=1)
    async with Discovery(transport=agent, clock=clock, trust=TrustPolicy(unverifiable="accept")) as d:
        first = await d.discover(TARGET)
        clock.advance(60)
        second = await d.discover(TARGET, refresh=True)

    assert (first.trust.level, second.trust.level) == (Trust.CHANNEL, Trust.SIGNED)


async def test_the_past_of_the_location_is_compared_all_the_same(agent: FakeAgent, clock: Clock) -> None:
    cache, signers = Cache.memory(), list(agent.signers)
    agent.signers.clear()
    async with (
        Discovery(transport=agent, clock=clock, cache=cache) as one,
        Discovery(transport=agent, clock=clock, cache=cache, versions=("1.0",)) as other,
    ):
        await one.discover(TARGET)
        agent.signers += signers
        assert (await other.discover(TARGET, refresh=True)).trust.level is Trust.SIGNED
        agent.signers.clear()
        with pytest.raises(TrustError) as caught:
            await one.discover(TARGET, refresh=True)

    assert caught.value.code == "downgraded"


async def test_a_rollback_is_told_again_with_each_304(agent: FakeAgent, clock: Clock) -> None:
    agent.card["version"] = "2.0.0"
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover(TARGET)
        agent.card["version"] = "1.0.0"
        clock.advance(61)
        seen = [await d.discover(TARGET)]
        for _ in range(2):
            clock.advance(61)
            seen.append(await d.discover(TARGET))

    assert [each.source.cache for each in seen] == ["network", "revalidated", "revalidated"]
    assert [[each.code for each in found.findings].count("rolled-back") for found in seen] == [1, 1, 1]


async def test_the_callers_own_check_is_asked_each_time(agent: FakeAgent, clock: Clock) -> None:
    answers: list[str | None] = [None, None, "it is on a list by now", "it is on a list by now"]
    trust = TrustPolicy(check=lambda _report: answers.pop(0))
    async with Discovery(transport=agent, clock=clock, trust=trust) as d:
        first = await d.discover(TARGET)
        assert reused(first, await d.discover(TARGET, refresh=True))
        with pytest.raises(TrustError) as caught:
            await d.discover(TARGET, refresh=True)

    assert caught.value.code == "refused"


async def test_a_redirect_that_was_not_there_before_is_judged_anew(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        agent.replies["/moved.json"] = Reply.json(agent.document())
        agent.replies["card"] = Reply.redirect("/moved.json")
        second = await d.discover(TARGET, refresh=True)

    assert not reused(first, second)
    assert second.source.url == "https://shop.example/moved.json"


async def test_what_must_not_be_stored_is_not_kept_for_its_verdict_either(agent: FakeAgent, clock: Clock) -> None:
    agent.headers["card"]["cache-control"] = "no-store"
    cache = Cache.memory()
    async with Discovery(transport=agent, clock=clock, cache=cache) as d:
        first = await d.discover(TARGET)
        assert not reused(first, await d.discover(TARGET))
        assert len(cache.agents) == 0


async def test_without_a_cache_every_card_is_judged(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock, cache=Cache.off()) as d:
        assert not reused(await d.discover(TARGET), await d.discover(TARGET))


async def test_a_card_that_is_never_fresh_is_judged_once(agent: FakeAgent, clock: Clock) -> None:
    agent.headers["card"]["cache-control"] = "no-cache"
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        second = await d.discover(TARGET)

    assert reused(first, second)
    assert agent.count("card", status=304) == 1


async def test_two_signers_and_one_verified_is_a_settled_verdict(clock: Clock) -> None:
    agent = FakeAgent(TARGET, clock=clock, signers=[Signer(), Signer()])
    async with Discovery(transport=agent, clock=clock) as d:
        first = await d.discover(TARGET)
        assert [check.status for check in first.trust.signatures] == ["verified", "not-tried"]
        assert reused(first, await d.discover(TARGET, refresh=True))
