"""A deterministic simulation: one publisher, many callers, virtual time, and faults in seeded order.

Each seed is one history of interleavings: answers take a random time, callers are cancelled, the publisher edits and
rotates, the origin fails, lies and takes its card back. After every call it is checked that nothing was handed out that
the publisher did not sign, that nothing older replaced anything newer, and that no request was made in vain.
"""

from __future__ import annotations

import asyncio
import json
import random
import selectors
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from a2a_discovery import Agent, Cache, Discovery, DiscoveryError, Limits, Trust, TrustPolicy
from a2a_discovery._http.lease import LIFETIME, NOTHING, PATIENCE, TICK
from a2a_discovery._http.memory import MemoryStore
from a2a_discovery._http.shelf import Shelf
from a2a_discovery.testing import FakeAgent, Reply

EPOCH = 1_800_000_000.0
SEEDS = 1000
FLEETS = 200
STEPS = 40


class VirtualSelector(selectors.BaseSelector):
    """Waiting costs nothing: the time that would have passed has passed."""

    def __init__(self) -> None:
        self.now = 0.0
        self._map: dict[Any, Any] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = selectors.SelectorKey(fileobj, getattr(fileobj, "fileno", lambda: fileobj)(), events, data)
        self._map[fileobj] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._map.pop(fileobj)

    def get_map(self) -> Any:
        return self._map

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits, and nothing will ever happen"
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = VirtualSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


class World:
    """The publisher and its network, and what a caller is checked against."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.random = random.Random(seed)
        self.loop = loop
        self.skipped = 0.0
        self.agent = FakeAgent("shop.example", clock=self.clock)
        self.agent.card["version"] = "1"
        self.signed = {"1": json.dumps(self.agent.card, sort_keys=True)}
        self.under_way: Counter[str] = Counter()
        self.seen = 0
        """The highest version that a finished call has shown."""
        self.in_vain: list[str] = []
        self.overlaps = 0
        self.lost = False
        """A store that failed may have lost the newest answer, and still hold the one before."""
        self.excused_until = -1.0
        """By the loop's clock: until then, nobody could know that another was asking."""
        self.slowness = 1.0
        self.net: httpx.AsyncBaseTransport = SlowTransport(self)

    def clock(self) -> float:
        return EPOCH + self.loop.time() + self.skipped

    def transport(self) -> httpx.AsyncBaseTransport:
        return SlowTransport(self)

    # what the world does to the callers

    def edit(self) -> None:
        version = str(int(self.agent.card["version"]) + 1)
        self.agent.card["version"] = version
        self.signed[version] = json.dumps(self.agent.card, sort_keys=True)

    def rotate(self) -> None:
        self.agent.rotate_keys(keep_old=False)

    def mend(self) -> None:
        self.agent.replies.clear()

    def fail(self) -> None:
        where = self.random.choice(("card", "keys"))
        self.agent.replies[where] = self.random.choice(
            (
                Reply.error(503),
                Reply.error(500),
                Reply.dropped(),
                Reply.html(),
                Reply.json({"odd": 1}),
                Reply.error(404),
            )
        )

    def lie(self) -> None:
        forged = self.agent.document()
        forged["version"] = "999"
        self.agent.replies["card"] = Reply.json(forged, headers={"etag": '"forged"'})

    def wait(self) -> None:
        self.skipped += self.random.choice((1.0, 30.0, 301.0, 3700.0, 90_000.0))


class SlowTransport(httpx.AsyncBaseTransport):
    """Answers take a random time on the way there and on the way back."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        world, url = self.world, str(request.url)
        world.under_way[url] += 1
        if world.under_way[url] > 1:
            world.overlaps += 1
            if world.loop.time() > world.excused_until:
                world.in_vain.append(url)
        try:
            await asyncio.sleep(world.random.random() * world.slowness)
            answer = await world.agent.handle_async_request(request)
            await asyncio.sleep(world.random.random() * world.slowness)
            return answer
        finally:
            world.under_way[url] -= 1


def check(world: World, found: Agent, floor: int) -> None:
    document = found.document
    document.pop("signatures")
    version = document["version"]
    assert found.trust.level is Trust.SIGNED
    assert json.dumps(document, sort_keys=True) == world.signed[version], "handed out what nobody signed"
    assert int(version) >= floor, "something older replaced something newer"
    world.seen = max(world.seen, int(version))


async def call(world: World, discovery: Discovery) -> None:
    floor, refresh = world.seen, world.random.random() < 0.3
    target = world.random.choice(("shop.example", "https://shop.example/.well-known/agent-card.json"))
    try:
        found = await discovery.discover(target, refresh=refresh)
    except DiscoveryError:
        return
    check(world, found, floor)


async def history(world: World) -> int:
    limits = Limits(refresh_ahead=world.random.choice((0.0, 60.0)))
    policy = TrustPolicy(require=Trust.SIGNED)
    callers: list[asyncio.Task[None]] = []
    async with Discovery(transport=world.transport(), clock=world.clock, limits=limits, trust=policy) as discovery:
        for _ in range(STEPS):
            act = world.random.choices(
                (world.edit, world.rotate, world.mend, world.fail, world.lie, world.wait, None), (3, 2, 6, 3, 2, 6, 18)
            )[0]
            if act is not None:
                act()
            else:
                callers += [asyncio.create_task(call(world, discovery)) for _ in range(world.random.randint(1, 4))]
            if callers and world.random.random() < 0.2:
                world.random.choice(callers).cancel()
            await asyncio.sleep(world.random.random() * 2)
        results = await asyncio.gather(*callers, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        # Afterwards all is well again, and everybody can see it.
        world.mend()
        world.skipped += 100_000.0
        last = await discovery.discover("shop.example", refresh=True)
        assert last.card.version == world.agent.card["version"]
    return len(callers)


@pytest.mark.parametrize("block", range(10))
def test_whatever_the_order_nothing_false_and_nothing_older_is_handed_out(block: int) -> None:
    calls = 0
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        loop = VirtualLoop()
        world = World(seed, loop)
        try:
            calls += loop.run_until_complete(history(world))
            pending = asyncio.all_tasks(loop)
            assert not pending, f"seed {seed} left {pending}"
            assert not world.in_vain, f"seed {seed} asked twice at once: {world.in_vain[:3]}"
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        finally:
            loop.close()
    assert calls > SEEDS  # the histories did something


# A fleet: several workers, one store


class FleetStore(MemoryStore):
    """What a fleet shares. Every call takes a while; leases get lost, holders die, and at times all of it fails."""

    def __init__(self, world: World) -> None:
        super().__init__(Shelf(), bound=1 << 24)
        self.world = world
        self.leases: dict[str, tuple[str, float]] = {}
        self.known: dict[str, None] = {}
        self.fails = False

    async def _arrive(self) -> None:
        await asyncio.sleep(self.world.random.random() * 0.01)
        if self.fails:
            raise ConnectionError("no route to the store")

    def _holder(self, key: str) -> str | None:
        token, until = self.leases.get(key, (None, 0.0))
        return token if self.world.loop.time() < until else None

    def _excuse(self, seconds: float) -> None:
        now = self.world.loop.time()
        self.world.excused_until = max(self.world.excused_until, now + seconds + 2 * self.world.slowness + 1.0)

    async def get_entries(self, key: str) -> list[Any]:
        await self._arrive()
        return await super().get_entries(key)

    async def replace(self, *args: Any, **options: Any) -> None:
        await self._arrive()
        await super().replace(*args, **options)

    async def take(self, key: str, token: str, seconds: float) -> str | None:
        await self._arrive()
        self.known[key] = None
        holder = self._holder(key)
        if holder is None:
            self.leases[key] = (token, self.world.loop.time() + seconds)
        return holder

    async def holders(self, keys: Sequence[str]) -> list[str | None]:
        await self._arrive()
        return [self._holder(key) for key in keys]

    async def extend(self, tokens: Mapping[str, str], seconds: float) -> None:
        await self._arrive()
        for key, token in tokens.items():
            if self._holder(key) == token:
                self.leases[key] = (token, self.world.loop.time() + seconds)

    async def free(self, key: str, token: str, seconds: float | None) -> None:
        await self._arrive()
        if self._holder(key) == token:
            del self.leases[key]
            if seconds is not None:
                self.leases[key] = (NOTHING, self.world.loop.time() + seconds)
                self._excuse(seconds)

    # what happens to it

    def lose(self) -> None:
        self.leases.clear()
        self._excuse(0.0)

    def fail(self) -> None:
        self.fails, self.world.lost = not self.fails, True
        self.world.excused_until = float("inf") if self.fails else self.world.loop.time()
        self._excuse(LIFETIME)

    def die(self) -> None:
        """A worker that is none of ours took a turn and died."""
        for key in self.known:
            if self._holder(key) is None:
                self.leases[key] = (f"dead {key}", self.world.loop.time() + LIFETIME)


class Worker:
    """One process of the fleet, and what it has shown."""

    def __init__(self, world: World, discovery: Discovery) -> None:
        self.world = world
        self.discovery = discovery
        self.seen = 0

    async def call(self) -> None:
        world, floor, began = self.world, self.seen, self.world.loop.time()
        try:
            found = await self.discovery.discover("shop.example", refresh=world.random.random() < 0.2)
        except DiscoveryError:
            return
        finally:
            # the turns of two fetches and the fetches themselves, for each of those that came before it
            assert world.loop.time() - began < 12 * (PATIENCE + 4.0), "somebody waited for the dead"
        # Where two asked at once, which of their answers is the newer one nobody can know.
        check(world, found, 0 if world.overlaps or world.lost else floor)
        self.seen = max(self.seen, int(found.document["version"]))


async def fleet_history(world: World, store: FleetStore) -> Counter[str]:
    seen: Counter[str] = Counter()
    calls: list[asyncio.Task[None]] = []
    async with AsyncExitStack() as stack:
        fleet = [
            Worker(world, await stack.enter_async_context(worker_of(world, store)))
            for _ in range(world.random.randint(2, 4))
        ]
        calm = world.random.random() < 0.5
        acts = (
            world.edit,
            world.rotate,
            world.mend,
            world.fail,
            world.lie,
            world.wait,
            store.lose,
            store.fail,
            store.die,
        )
        for _ in range(STEPS):
            weights = (4, 1, 1, 0, 0, 8, 0, 0, 2, 18) if calm else (3, 2, 6, 2, 1, 8, 1, 1, 2, 18)
            act = world.random.choices((*acts, None), weights)[0]
            if act is not None:
                act()
            else:
                calls += [asyncio.create_task(worker.call()) for worker in fleet if world.random.random() < 0.8]
            if calls and world.random.random() < 0.15:
                world.random.choice(calls).cancel()
            await asyncio.sleep(world.random.random())
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        world.mend()
        if store.fails:
            store.fail()
        world.skipped += 100_000.0
        await asyncio.sleep(LIFETIME)
        before = len(world.agent.requests)
        last = await asyncio.gather(*(worker.discovery.discover("shop.example") for worker in fleet))
        assert {found.card.version for found in last} == {world.agent.card["version"]}
        seen.update(found.source.cache for found in last)
        seen["requests"] = len(world.agent.requests) - before
    assert {holder for holder, until in store.leases.values() if until > world.loop.time()} <= {NOTHING}
    return seen


def worker_of(world: World, store: FleetStore) -> Discovery:
    policy = TrustPolicy(require=Trust.SIGNED)
    return Discovery(transport=world.net, clock=world.clock, trust=policy, cache=Cache.storage(store))


@pytest.mark.parametrize("block", range(4))
def test_in_a_fleet_nothing_false_and_nothing_older_is_handed_out_and_one_asks_for_all(block: int) -> None:
    total: Counter[str] = Counter()
    for seed in range(block * FLEETS // 4, (block + 1) * FLEETS // 4):
        loop = VirtualLoop()
        world = World(seed, loop)
        world.slowness = 0.2
        try:
            total += loop.run_until_complete(fleet_history(world, FleetStore(world)))
            total["strict"] += not (world.overlaps or world.lost)
            assert not asyncio.all_tasks(loop), f"seed {seed} left {asyncio.all_tasks(loop)}"
            assert not world.in_vain, f"seed {seed} asked twice at once: {world.in_vain[:3]}"
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        finally:
            loop.close()
    assert total["fresh"] > total["network"] + total["revalidated"]  # one of each fleet asked at the end
    assert total["strict"] > 10


@pytest.mark.parametrize("dead", [False, True])
def test_a_dead_worker_delays_the_others_by_no_more_than_its_lease(dead: bool) -> None:
    loop = VirtualLoop()
    world = World(1, loop)
    world.slowness = 0.2
    store = FleetStore(world)

    async def together() -> float:
        async with worker_of(world, store) as one, worker_of(world, store) as other:
            await one.discover("shop.example")
            await asyncio.sleep(1.0)  # its turns are given back
            world.skipped += 100_000.0
            if dead:
                store.die()
            began = loop.time()
            await asyncio.gather(one.discover("shop.example"), other.discover("shop.example"))
            return loop.time() - began

    try:
        taken = loop.run_until_complete(together())
    finally:
        loop.close()

    slowest = 4 * world.slowness + 1.0  # there and back, for the card and for its keys, and the store
    assert (taken > LIFETIME) is dead
    assert taken < slowest + (2 * (LIFETIME + TICK) if dead else 0.0)
    assert world.overlaps == 0
