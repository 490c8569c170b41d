"""Reuse in the process: finished agents, and one piece of work for concurrent calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2a_discovery import (
    Cache,
    Credentials,
    Discovery,
    FetchError,
    Limits,
    NetworkPolicy,
    Trust,
    TrustError,
    TrustPolicy,
)
from a2a_discovery.testing import Clock, FakeAgent, Reply


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agent(clock: Clock) -> FakeAgent:
    return FakeAgent("shop.example", clock=clock)


async def test_a_warm_call_gives_the_same_agent_without_any_request(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        first, second = await d.discover("shop.example"), await d.discover("shop.example")

    assert first is second
    assert first.source.cache == "memory"
    assert len(agent.requests) == 2  # the card and its keys


async def test_an_agent_expires_at_the_earlier_of_its_cards_and_its_keys_expiry(agent: FakeAgent, clock: Clock) -> None:
    agent.headers["keys"]["cache-control"] = "max-age=100"
    async with Discovery(transport=agent, clock=clock) as d:
        found = await d.discover("shop.example")
        assert found.source.expires_at == clock() + 100

        clock.advance(99.9)
        assert (await d.discover("shop.example")).source.cache == "memory"
        clock.advance(0.1)
        assert (await d.discover("shop.example")).source.cache == "fresh"
        assert (agent.count("card"), agent.count("keys")) == (1, 2)


@pytest.mark.parametrize(
    "changed",
    [
        {"trust": TrustPolicy(require=Trust.SIGNED)},
        {"trust": TrustPolicy(check=lambda report: None)},
        {"trust": TrustPolicy(forms=("spec",))},
        {"network": NetworkPolicy(max_redirects=1)},
        {"bindings": ("HTTP+JSON",)},
        {"versions": ("1.0",)},
        {"extensions": ("https://x.example/e",)},
        {"strict": True},
        {"limits": Limits(depth=32)},
        {"credentials": {"other.example": Credentials(bearer="x")}},
        {"agents": {"x": "https://x.example"}},
    ],
)
async def test_a_verdict_made_under_one_configuration_is_never_reused_under_another(
    agent: FakeAgent, clock: Clock, changed: dict[str, Any]
) -> None:
    cache = Cache.memory()
    await Discovery(transport=agent, clock=clock, cache=cache).discover("shop.example")

    other = await Discovery(transport=agent, clock=clock, cache=cache, **changed).discover("shop.example")
    same = await Discovery(transport=agent, clock=clock, cache=cache).discover("shop.example")

    assert other.source.cache != "memory"
    assert same.source.cache == "memory"


async def test_a_stricter_policy_refuses_what_a_laxer_one_remembers(agent: FakeAgent, clock: Clock) -> None:
    agent.signers = []
    cache = Cache.memory()
    await Discovery(transport=agent, clock=clock, cache=cache).discover("shop.example")

    strict = Discovery(transport=agent, clock=clock, cache=cache, trust=TrustPolicy(require=Trust.SIGNED))
    with pytest.raises(TrustError):
        await strict.discover("shop.example")


async def test_each_memory_is_one_of_its_own_and_off_keeps_nothing(agent: FakeAgent, clock: Clock) -> None:
    for cache in (None, Cache.memory(), Cache.off()):
        await Discovery(transport=agent, clock=clock, cache=cache).discover("shop.example")
    assert agent.count("card") == 3

    off = Discovery(transport=agent, clock=clock, cache=Cache.off())
    await off.discover("shop.example")
    assert (await off.discover("shop.example")).source.cache == "network"


async def test_an_answer_that_must_not_be_stored_is_not_reused(agent: FakeAgent, clock: Clock) -> None:
    agent.headers["card"]["cache-control"] = "no-store"
    async with Discovery(transport=agent, clock=clock) as d:
        for _ in range(3):
            assert (await d.discover("shop.example")).source.cache == "network"

    assert agent.count("card") == 3


async def test_memory_is_bounded_by_bytes_and_drops_the_least_recently_used(clock: Clock) -> None:
    from a2a_discovery.testing import FakeNetwork

    agents = [FakeAgent(f"a{number}.example", signers=[], clock=clock) for number in range(8)]
    # An agent of about 700 bytes counts as 8,192 + 12 * 700, and half of this is for agents: three of them.
    limits = Limits(memory_bytes=120_000)
    async with Discovery(transport=FakeNetwork(*agents), clock=clock, limits=limits) as d:
        for agent in agents:
            await d.discover(agent.host)
        states = [(await d.discover(agent.host)).source.cache for agent in reversed(agents)]

    assert states[0] == "memory"
    assert states[-1] != "memory"
    assert 1 <= states.count("memory") <= 4


async def test_a_thousand_concurrent_callers_make_one_request_for_the_card_and_one_for_its_keys(
    agent: FakeAgent, clock: Clock
) -> None:
    gate = agent.hold("card")
    async with Discovery(transport=agent, clock=clock) as d:
        calls = [asyncio.create_task(d.discover("shop.example")) for _ in range(1000)]
        await gate.arrived()
        gate.open()
        found = await asyncio.gather(*calls)

    assert len({id(each) for each in found}) == 1
    assert (agent.count("card"), agent.count("keys")) == (1, 1)


async def test_bare_calls_share_one_request_too(agent: FakeAgent, clock: Clock) -> None:
    from a2a_discovery import discover

    cache = Cache.memory()
    await asyncio.gather(*(discover("shop.example", transport=agent, clock=clock, cache=cache) for _ in range(20)))

    assert agent.count("card") == 1


async def test_all_callers_get_the_error_each_its_own(agent: FakeAgent, clock: Clock) -> None:
    agent.replies["card"] = Reply.error(500)
    async with Discovery(transport=agent, clock=clock) as d:
        errors = await asyncio.gather(*(d.discover("shop.example") for _ in range(20)), return_exceptions=True)

    assert all(isinstance(error, FetchError) and error.status == 500 for error in errors)
    assert len({id(error) for error in errors}) == 20
    assert agent.count("card") == 1


async def test_a_cancelled_caller_cancels_nobody_else(agent: FakeAgent, clock: Clock) -> None:
    gate = agent.hold("card")
    async with Discovery(transport=agent, clock=clock) as d:
        leader, follower = (asyncio.create_task(d.discover("shop.example")) for _ in range(2))
        await gate.arrived()
        leader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader
        gate.open()

        assert (await follower).card.name
    assert agent.count("card") == 1


async def test_the_leader_of_bare_calls_may_go_while_others_wait(agent: FakeAgent, clock: Clock) -> None:
    from a2a_discovery import discover

    gate, cache = agent.hold("card"), Cache.memory()
    leader, follower = (
        asyncio.create_task(discover("shop.example", transport=agent, clock=clock, cache=cache)) for _ in range(2)
    )
    await gate.arrived()
    leader.cancel()
    gate.open()

    assert (await follower).card.name
    assert agent.count("card") == 1


async def test_forgetting_a_target_drops_its_finished_agent(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        d.forget("shop.example")

        assert (await d.discover("shop.example")).source.cache == "fresh"
