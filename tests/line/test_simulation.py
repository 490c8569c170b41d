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
from typing import Any

import httpx
import pytest

from a2a_discovery import Agent, Discovery, DiscoveryError, Limits, Trust, TrustPolicy
from a2a_discovery.testing import FakeAgent, Reply

EPOCH = 1_800_000_000.0
SEEDS = 1000
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
            world.in_vain.append(url)
        try:
            await asyncio.sleep(world.random.random())
            answer = await world.agent.handle_async_request(request)
            await asyncio.sleep(world.random.random())
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
