"""Workers that share a store and miss at the same moment make one request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest

from a2a_discovery import Discovery, TrustPolicy
from a2a_discovery._effects import Fetch
from a2a_discovery._http.cache import Cache
from a2a_discovery._http.lease import HELD, LIFETIME, QUIET
from a2a_discovery._http.redis import LEASES
from a2a_discovery.errors import DiscoveryError, FetchError, TrustError
from a2a_discovery.testing import Clock, FakeAgent, Reply

URL = "https://shop.example/.well-known/agent-card.json"
FETCH = Fetch(url=URL, kind="card", limit=1000)


class Origin(httpx.AsyncBaseTransport):
    """Answers each request when it is told to, in the order they came."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[asyncio.Future[httpx.Response]] = asyncio.Queue()
        self.count = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        answer: asyncio.Future[httpx.Response] = asyncio.get_running_loop().create_future()
        self.arrived.put_nowait(answer)
        return await answer

    async def answer(self, status: int = 200, *, cache_control: str = "max-age=60", body: bytes = b"{}") -> None:
        """Answer the first request that is not answered yet."""
        (await self.arrived.get()).set_result(
            httpx.Response(status, headers={"cache-control": cache_control}, content=body)
        )


@pytest.fixture
def origin_of_all() -> Origin:
    return Origin()


@pytest.fixture(params=["in this process", "redis"])
def shared(request: pytest.FixtureRequest, common_storage: Any) -> Callable[[], Cache]:
    """A worker's cache: each is one of its own, over the store of all."""
    if request.param == "redis":
        url = request.getfixturevalue("redis_url")
        return lambda: Cache.redis(url)
    return lambda: Cache.storage(common_storage)


@pytest.fixture
async def workers(
    open_desk: Any, shared: Callable[[], Cache], origin_of_all: Origin, clock: Any
) -> AsyncIterator[list[Any]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_desk(shared(), transport=origin_of_all)) for _ in range(3)]


async def waits(task: asyncio.Task[Any]) -> bool:
    """Whether it still waits after several looks at the store."""
    done, _ = await asyncio.wait([task], timeout=0.15)
    return not done


async def test_one_asks_and_the_others_read_what_it_kept(workers: list[Any], origin_of_all: Origin) -> None:
    first = asyncio.create_task(workers[0].fetcher.fetch(FETCH))
    await origin_of_all.answer(body=b"card")
    got = await first
    others = [asyncio.create_task(worker.fetcher.fetch(FETCH)) for worker in workers[1:]]
    assert all([await waits(each) for each in others])  # the verdict is not in yet

    await workers[0].fetcher.keep(got)
    answers = await asyncio.gather(*others)

    assert {(each.cache, each.body) for each in answers} == {("fresh", b"card")}
    assert origin_of_all.count == 1


async def test_what_expired_is_revalidated_by_one(workers: list[Any], origin_of_all: Origin, clock: Any) -> None:
    tasks = [asyncio.create_task(worker.get()) for worker in workers]
    await origin_of_all.answer()
    await asyncio.gather(*tasks)
    clock.advance(61)

    tasks = [asyncio.create_task(worker.get()) for worker in workers]
    await origin_of_all.answer()
    states = sorted([(await task).cache for task in tasks])

    assert states == ["fresh", "fresh", "network"]
    assert origin_of_all.count == 2


@pytest.mark.parametrize("status", [404, 500, 200])
async def test_where_nothing_is_kept_the_others_ask_at_once_and_together(
    workers: list[Any], origin_of_all: Origin, status: int
) -> None:
    first = asyncio.create_task(workers[0].fetcher.fetch(FETCH))
    lead = await origin_of_all.arrived.get()
    others = [asyncio.create_task(worker.fetcher.fetch(FETCH)) for worker in workers[1:]]
    assert all([await waits(each) for each in others])
    lead.set_result(httpx.Response(status, content=b"{}", headers={"cache-control": "max-age=60"}))
    answer = await first
    lease = workers[0].fetcher.lease_of(answer)
    assert (lease is not None) is (status == 200)
    workers[0].fetcher.release([] if lease is None else [lease], missed=True)  # the flow refused it, and ended

    both = [await origin_of_all.arrived.get() for _ in others]
    for each in both:
        each.set_result(httpx.Response(status, content=b"{}"))

    assert [(await each).status for each in others] == [status] * 2


async def test_a_failure_is_nobodys_but_the_one_who_asked(workers: list[Any], origin_of_all: Origin) -> None:
    first = asyncio.create_task(workers[0].fetcher.fetch(FETCH))
    lead = await origin_of_all.arrived.get()
    second = asyncio.create_task(workers[1].fetcher.fetch(FETCH))
    assert await waits(second)
    lead.set_exception(httpx.ReadError("broken"))
    await origin_of_all.answer()

    assert (await second).status == 200
    with pytest.raises(FetchError):
        await first


async def test_what_must_not_be_stored_is_not_queued_for(workers: list[Any], origin_of_all: Origin) -> None:
    tasks = [asyncio.create_task(worker.get()) for worker in workers]
    await origin_of_all.answer(cache_control="no-store")
    both = [await origin_of_all.arrived.get() for _ in workers[1:]]
    for each in both:
        each.set_result(httpx.Response(200, content=b"{}"))

    assert [(await task).cache for task in tasks] == ["network"] * 3


async def test_when_the_one_who_asks_is_cancelled_one_other_takes_over(
    workers: list[Any], origin_of_all: Origin
) -> None:
    first = asyncio.create_task(workers[0].get())
    await origin_of_all.arrived.get()
    others = [asyncio.create_task(worker.get()) for worker in workers[1:]]
    assert all([await waits(each) for each in others])
    first.cancel()
    await origin_of_all.answer()

    assert sorted([(await each).cache for each in others]) == ["fresh", "network"]
    assert origin_of_all.count == 2


async def test_when_the_one_who_asks_is_dead_one_other_takes_over_once_its_time_is_over(
    workers: list[Any], origin_of_all: Origin, lapse: Any
) -> None:
    dead = asyncio.create_task(workers[0].get())
    await origin_of_all.arrived.get()
    others = [asyncio.create_task(worker.get()) for worker in workers[1:]]
    assert all([await waits(each) for each in others])
    await lapse(workers[0])
    await origin_of_all.answer()

    assert sorted([(await each).cache for each in others]) == ["fresh", "network"]
    assert origin_of_all.count == 2
    dead.cancel()


@pytest.fixture
def lapse(common_storage: Any, request: pytest.FixtureRequest) -> Any:
    """Let the time of a worker's leases be over, without waiting for it."""

    async def over(worker: Any) -> None:
        await common_storage.lapse()
        if "redis" in request.node.name:
            from redis.asyncio import Redis

            key = worker.fetcher._key(FETCH)
            async with Redis.from_url(request.getfixturevalue("redis_url")) as client:
                left = await client.pttl(f"{LEASES}:{key}")
                assert 0 < left <= LIFETIME * 1000
                await client.delete(f"{LEASES}:{key}")

    return over


async def test_a_living_holder_keeps_its_turn_and_one_that_is_never_given_back_ends(
    workers: list[Any], origin_of_all: Origin, common_storage: Any, request: pytest.FixtureRequest
) -> None:
    first = asyncio.create_task(workers[0].fetcher.fetch(FETCH))
    await origin_of_all.arrived.get()
    leases, key = workers[0].fetcher._keeper.leases, workers[0].fetcher._key(FETCH)
    token = leases._held[key].token

    async def extended() -> None:
        leases._extend()
        await asyncio.gather(*leases._tasks)

    if "redis" in request.node.name:
        from redis.asyncio import Redis

        async with Redis.from_url(request.getfixturevalue("redis_url")) as client:
            await client.pexpire(f"{LEASES}:{key}", 500)
            await extended()
            assert 500 < await client.pttl(f"{LEASES}:{key}") <= LIFETIME * 1000
            await client.set(f"{LEASES}:{key}", "another's", px=500)
            await extended()
            assert await client.pttl(f"{LEASES}:{key}") <= 500
    else:
        await extended()
        assert common_storage.extended == {key: token}
        common_storage.extended.clear()
        leases._held[key] = replace(leases._held[key], since=asyncio.get_running_loop().time() - HELD)
        await extended()
        assert common_storage.extended == {}
    first.cancel()


async def test_nobody_waits_longer_than_he_has_patience(
    workers: list[Any], origin_of_all: Origin, common_storage: Any
) -> None:
    from a2a_discovery._http.lease import Leases

    leases = workers[0].fetcher._keeper.leases
    assert isinstance(leases, Leases)
    first = asyncio.create_task(workers[1].fetcher.fetch(FETCH))
    await origin_of_all.arrived.get()
    now = asyncio.get_running_loop().time()

    turn = await leases.turn(workers[0].fetcher._key(FETCH), until=now + 0.05)

    assert turn == (None, False)
    assert set(common_storage.lasting.values()) <= {LIFETIME}
    first.cancel()


async def test_closing_gives_the_turn_back(open_desk: Any, shared: Callable[[], Cache], origin_of_all: Origin) -> None:
    async with (
        open_desk(shared(), transport=origin_of_all) as one,
        open_desk(shared(), transport=origin_of_all) as other,
    ):
        task = asyncio.create_task(one.fetcher.fetch(FETCH))
        await origin_of_all.answer()
        await task
        second = asyncio.create_task(other.get())
        assert await waits(second)
        await one.fetcher.aclose()
        await origin_of_all.answer()
        assert (await second).cache == "network"


async def test_one_process_does_not_wait_for_itself(workers: list[Any], origin_of_all: Origin) -> None:
    one, other = workers[0].fetcher, Fetch(url=URL, kind="keys", limit=1000)
    card = asyncio.create_task(one.fetch(FETCH))
    await origin_of_all.answer()
    await card

    keys = asyncio.create_task(one.fetch(other))
    await origin_of_all.answer()

    assert (await keys).cache == "network"


async def test_who_asks_for_several_at_once_waits_for_nobody(workers: list[Any], origin_of_all: Origin) -> None:
    first = asyncio.create_task(workers[0].fetcher.fetch(FETCH))
    await origin_of_all.arrived.get()
    second = asyncio.create_task(workers[1].fetcher.fetch(FETCH, alone=False))
    await origin_of_all.answer()

    assert (await second).cache == "network"
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first


async def test_who_wants_a_new_look_waits_for_his_turn_and_asks(workers: list[Any], origin_of_all: Origin) -> None:
    first = asyncio.create_task(workers[0].get())
    lead = await origin_of_all.arrived.get()
    second = asyncio.create_task(workers[1].get(mode="refresh"))
    assert await waits(second)
    lead.set_result(httpx.Response(200, headers={"cache-control": "max-age=60"}, content=b"{}"))
    await origin_of_all.answer()

    assert (await second).cache == (await first).cache == "network"


async def test_an_answer_for_one_caller_alone_takes_no_turn(workers: list[Any], origin_of_all: Origin) -> None:
    mine = Fetch(url=URL, kind="card", limit=1000, principal="ann")
    tasks = [asyncio.create_task(worker.fetcher.fetch(mine)) for worker in workers]
    for _ in tasks:
        await origin_of_all.answer()

    assert [workers[0].fetcher.lease_of(await task) for task in tasks] == [None] * 3


# The whole line


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent("shop.example", clock=Clock())


async def test_workers_that_discover_at_once_ask_for_one_card_and_one_set_of_keys(
    agent: FakeAgent, shared: Callable[[], Cache]
) -> None:
    gate = agent.hold("card")
    async with AsyncExitStack() as stack:
        fleet = [
            await stack.enter_async_context(Discovery(transport=agent, clock=agent.clock, cache=shared()))
            for _ in range(5)
        ]
        calls = [asyncio.create_task(each.discover("shop.example")) for each in fleet]
        await gate.arrived()
        gate.open()
        found = await asyncio.gather(*calls)

    assert sorted(each.source.cache for each in found) == ["fresh"] * 4 + ["network"]
    assert {each.trust.level.name for each in found} == {"SIGNED"}
    assert (agent.count("card"), agent.count("keys")) == (1, 1)


async def test_bare_calls_without_a_block_share_too(agent: FakeAgent, shared: Callable[[], Cache]) -> None:
    calls = [Discovery(transport=agent, clock=agent.clock, cache=shared()).discover("shop.example") for _ in range(4)]
    await asyncio.gather(*calls)

    assert (agent.count("card"), agent.count("keys")) == (1, 1)


async def test_a_card_that_one_policy_refuses_is_asked_for_by_the_others_at_once(
    agent: FakeAgent, shared: Callable[[], Cache]
) -> None:
    refusing = TrustPolicy(check=lambda report: "not today")
    gate = agent.hold("card")
    async with (
        Discovery(transport=agent, clock=agent.clock, cache=shared(), trust=refusing) as one,
        Discovery(transport=agent, clock=agent.clock, cache=shared()) as other,
    ):
        first = asyncio.create_task(one.discover("shop.example"))
        await gate.arrived()
        second = asyncio.create_task(other.discover("shop.example"))
        assert await waits(second)
        gate.open()

        assert (await second).source.cache == "network"
        with pytest.raises(TrustError):
            await first
    assert (agent.count("card"), agent.count("keys")) == (2, 1)


async def test_every_turn_is_given_back_when_its_call_ends(agent: FakeAgent, common_storage: Any) -> None:
    async with Discovery(transport=agent, clock=agent.clock, cache=Cache.storage(common_storage)) as d:
        await d.discover("shop.example")
        agent.replies["card"] = Reply.json({"odd": 1})
        with pytest.raises(DiscoveryError):
            await d.discover("https://shop.example/.well-known/agent-card.json?other", refresh=True)
        gate = agent.hold("card")
        call = asyncio.create_task(d.discover("shop.example", refresh=True))
        await gate.arrived()
        assert any(holder != "-" for holder in common_storage.leases.values())
        call.cancel()
        await asyncio.wait([call])

    assert set(common_storage.leases.values()) <= {"-"}
    assert QUIET < LIFETIME


async def test_where_leases_fail_everybody_asks_and_the_log_says_it_once(
    agent: FakeAgent, common_storage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def take(key: str, token: str, seconds: float) -> str | None:
        raise ConnectionError("no route to the store")

    common_storage.take = take
    calls = [
        Discovery(transport=agent, clock=agent.clock, cache=cache).discover("shop.example")
        for cache in [Cache.storage(common_storage)] * 2
    ]
    await asyncio.gather(*calls)

    warned = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warned == ["a2a.cache.failed"]
