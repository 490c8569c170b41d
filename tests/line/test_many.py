"""Many targets at once, one target over time, and what the operator is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from a2a_discovery import Discovery, FetchError, Limits, Outcome, UsageError
from a2a_discovery.testing import Clock, FakeAgent, FakeNetwork, Reply


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fleet(count: int, clock: Clock) -> list[FakeAgent]:
    return [FakeAgent(f"a{number}.example", signers=[], clock=clock) for number in range(count)]


async def test_results_come_for_every_target_and_a_bad_one_stops_nobody(clock: Clock) -> None:
    agents = fleet(5, clock)
    agents[2].replies["card"] = Reply.error(500)
    targets = [*(agent.host for agent in agents), "a/b", None, agents[0].card]
    async with Discovery(transport=FakeNetwork(*agents), clock=clock) as d:
        outcomes = [outcome async for outcome in d.discover_many(targets, concurrency=3)]

    assert all(isinstance(each, Outcome) and (each.agent is None) != (each.error is None) for each in outcomes)
    by_target = {str(each.target): each for each in outcomes}
    assert len(outcomes) == len(by_target) == len(targets)
    assert isinstance(by_target["a2.example"].error, FetchError)
    assert isinstance(by_target["a/b"].error, UsageError)
    assert isinstance(by_target["None"].error, UsageError)
    assert by_target["a4.example"].agent.source.url.startswith("https://a4.example/")


async def test_no_more_than_so_many_are_under_way_and_none_is_begun_before_its_turn(clock: Clock) -> None:
    agents = fleet(20, clock)
    gates = [agent.hold("card") for agent in agents]
    begun = 0

    def targets() -> Iterator[str]:
        nonlocal begun
        for agent in agents:
            begun += 1
            yield agent.host

    async with Discovery(transport=FakeNetwork(*agents), clock=clock) as d:
        outcomes = d.discover_many(targets(), concurrency=4)
        first = asyncio.ensure_future(anext(outcomes))
        await asyncio.gather(*(gate.arrived() for gate in gates[:4]))
        assert sum(bool(agent.requests) for agent in agents) == 4
        assert begun <= 5  # the one that waits for a place is read already
        for gate in gates:
            gate.open()
        await first
        assert begun <= 6
        rest = [outcome async for outcome in outcomes]

    assert len(rest) == 19


async def test_a_slow_taker_slows_the_work_down(clock: Clock) -> None:
    agents = fleet(50, clock)
    async with Discovery(transport=FakeNetwork(*agents), clock=clock) as d:
        outcomes = d.discover_many((agent.host for agent in agents), concurrency=4)
        await anext(outcomes)
        for _ in range(200):
            await asyncio.sleep(0)  # as much time as the work could want
        assert sum(bool(agent.requests) for agent in agents) <= 5

        await outcomes.aclose()
    assert sum(bool(agent.requests) for agent in agents) <= 5


async def test_one_host_is_not_flooded(clock: Clock) -> None:
    agent = FakeAgent("shop.example", signers=[], clock=clock)
    gate = agent.hold("card")
    agent.card_paths |= {f"/{number}/card" for number in range(20)}
    agent.replies |= {f"/{number}/card": gate for number in range(20)}
    targets = [f"https://shop.example/{number}/card" for number in range(20)]
    async with Discovery(transport=agent, clock=clock) as d:
        work = asyncio.ensure_future(_collect(d.discover_many(targets, concurrency=20, per_host=3)))
        await gate.arrived(3)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(agent.requests) == 3
        gate.open()

        assert len(await work) == 20


async def _collect(outcomes: Any) -> list[Outcome]:
    return [outcome async for outcome in outcomes]


async def test_targets_may_come_from_an_async_iterator_and_results_do_not_wait_for_it(clock: Clock) -> None:
    agents = fleet(2, clock)
    more = asyncio.Event()

    async def targets() -> AsyncIterator[str]:
        yield agents[0].host
        await more.wait()
        yield agents[1].host

    outcomes = Discovery(transport=FakeNetwork(*agents), clock=clock).discover_many(targets())

    assert (await anext(outcomes)).target == "a0.example"
    more.set()
    assert [outcome.target async for outcome in outcomes] == ["a1.example"]


async def test_what_the_callers_iterator_raises_reaches_the_caller(clock: Clock) -> None:
    def targets() -> Iterator[str]:
        yield "a0.example"
        raise RuntimeError("mine")

    (agent,) = fleet(1, clock)
    with pytest.raises(RuntimeError, match="mine"):
        await _collect(Discovery(transport=agent, clock=clock).discover_many(targets()))


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"per_host": 0}])
def test_no_concurrency_is_bad_config(options: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Discovery().discover_many([], **options)


class SleepingClock(Clock):
    """A clock whose sleep passes the time at once, and runs what the test wants to happen meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.meanwhile: list[Any] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()


async def test_a_watch_yields_when_the_card_changes_and_asks_at_expiry_alone() -> None:
    clock = SleepingClock()
    agent = FakeAgent("shop.example", signers=[], clock=clock)
    clock.meanwhile = [lambda: None, lambda: None, lambda: agent.card.update(version="2.0.0")]
    async with Discovery(transport=agent, clock=clock) as d:
        watch = d.watch("shop.example")
        first, second = await anext(watch), await anext(watch)
        await watch.aclose()

    assert [first.card.version, second.card.version] == ["1.0.0", "2.0.0"]
    assert clock.slept == [300.0, 300.0, 300.0]
    assert [request.status for request in agent.requests] == [200, 304, 304, 200]


async def test_a_watch_sees_a_change_of_trust_alone() -> None:
    clock = SleepingClock()
    agent = FakeAgent("shop.example", clock=clock)
    clock.meanwhile = [agent.rotate_keys]
    async with Discovery(transport=agent, clock=clock) as d:
        watch = d.watch("shop.example")
        first, second = await anext(watch), await anext(watch)
        await watch.aclose()

    assert first.trust.verified.kid != second.trust.verified.kid


async def test_a_watch_of_an_answer_without_a_lifetime_is_no_poll() -> None:
    clock = SleepingClock()
    agent = FakeAgent("shop.example", signers=[], clock=clock)
    agent.headers["card"]["cache-control"] = "no-store"
    clock.meanwhile = [lambda: None, lambda: agent.card.update(version="2.0.0")]
    async with Discovery(transport=agent, clock=clock) as d:
        watch = d.watch("shop.example")
        await anext(watch), await anext(watch)
        await watch.aclose()

    assert min(clock.slept) == 60.0


# Looked at again behind


@pytest.fixture
def agent(clock: Clock) -> FakeAgent:
    return FakeAgent("shop.example", signers=[], clock=clock)


async def settle(agent: FakeAgent, count: int) -> None:
    """Let the loop run until so many card requests were answered."""
    for _ in range(10_000):
        if agent.count("card") >= count:
            break
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)


async def test_near_expiry_a_warm_caller_is_answered_at_once_while_one_request_runs_behind(
    agent: FakeAgent, clock: Clock
) -> None:
    async with Discovery(transport=agent, clock=clock, limits=Limits(refresh_ahead=60)) as d:
        await d.discover("shop.example")
        clock.advance(239)
        assert (await d.discover("shop.example")).source.cache == "memory"
        assert agent.count("card") == 1

        clock.advance(2)
        for _ in range(5):
            assert (await d.discover("shop.example")).source.cache == "memory"
        await settle(agent, 2)
        assert agent.count("card", status=304) == 1

        clock.advance(100)
        assert (await d.discover("shop.example")).source.cache == "memory"
        assert agent.count("card") == 2


async def test_where_the_server_allows_it_an_expired_agent_is_handed_out_stale_while_it_is_revalidated(
    agent: FakeAgent, clock: Clock
) -> None:
    agent.headers["card"]["cache-control"] = "max-age=60, stale-while-revalidate=30"
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        clock.advance(80)
        assert (await d.discover("shop.example")).source.cache == "stale"
        await settle(agent, 2)
        assert (await d.discover("shop.example")).source.cache == "memory"

        clock.advance(91)
        assert (await d.discover("shop.example")).source.cache == "revalidated"
        assert agent.count("card") == 3


async def test_after_a_failure_behind_the_next_caller_sees_it_himself(agent: FakeAgent, clock: Clock) -> None:
    agent.headers["card"]["cache-control"] = "max-age=60, stale-while-revalidate=30"
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        agent.replies["card"] = Reply.error(403)
        clock.advance(80)
        assert (await d.discover("shop.example")).source.cache == "stale"
        await settle(agent, 2)

        with pytest.raises(Exception, match="refused"):
            await d.discover("shop.example")


async def test_closing_stops_what_runs_behind(agent: FakeAgent, clock: Clock) -> None:
    async with Discovery(transport=agent, clock=clock, limits=Limits(refresh_ahead=60)) as d:
        await d.discover("shop.example")
        gate = agent.hold("card")
        clock.advance(250)
        await d.discover("shop.example")
        await gate.arrived()
    # leaving the block cancelled it; a task left pending would be a warning, and warnings are errors


# What the operator is told


async def test_log_events_name_what_happened_and_hold_no_card_text(
    agent: FakeAgent, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    agent.card["description"] = "PRIVATE-TEXT"
    caplog.set_level(logging.DEBUG, logger="a2a_discovery")
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("shop.example")
        await d.discover("shop.example")
        agent.replies["card"] = Reply.error(404)
        with pytest.raises(Exception, match="no Agent Card"):
            await d.discover("shop.example", refresh=True)

    events = [(record.getMessage(), getattr(record, "a2a.cache", None)) for record in caplog.records]
    assert ("a2a.discovered", "network") in events
    assert ("a2a.discovered", "memory") in events
    (failure,) = [record for record in caplog.records if record.getMessage() == "a2a.failed"]
    assert getattr(failure, "a2a.code") == "no-card"
    assert getattr(failure, "a2a.target") == "shop.example"
    assert "PRIVATE-TEXT" not in str([vars(record) for record in caplog.records])
