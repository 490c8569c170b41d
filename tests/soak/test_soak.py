"""Many mixed calls over real sockets: hits, expiries, errors, cancellations. Afterwards nothing is left behind.

``A2A_SOAK_CALLS=100000`` for the long run, whose figures stand in docs/performance.md.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import Cache, Discovery, DiscoveryError, Limits, discover
from a2a_discovery.testing import Clock, FakeAgent, FakeNetwork, Reply, Running

CALLS = int(os.environ.get("A2A_SOAK_CALLS", "4000"))
AGENTS = 20
TOGETHER = 16
"""Callers at a time."""
MISSING = 25
"""Places at each agent where nothing is. The 4,096 misses that a cache remembers, of 1.3 kB, would fill up till the
end."""
GROWTH = 8.0
"""MB by which the process may grow in the second half. It is what the allocator's own caches were seen to move by;
100,000 calls that leak 1 kB each are 50 MB."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc shows")

FAULTS = (
    Reply.error(503),
    Reply.error(404),
    Reply.dropped(),
    Reply.dropped(b'{"name":'),
    Reply.html(),
    Reply.json({"odd": 1}),
    Reply.endless(),
)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def memory() -> float:
    """MB in use."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Soak:
    """The agents, and what is done to them and asked of them, in the order of one seed."""

    agents: list[FakeAgent]
    running: Running
    clock: Clock
    random: random.Random = field(default_factory=lambda: random.Random(1))
    seen: Counter[str] = field(default_factory=Counter)
    most_files: int = 0

    def url(self, agent: FakeAgent) -> str:
        return f"https://{agent.host}:{self.running.port}"

    def stir(self) -> None:
        """Something happens to the world."""
        agent = self.random.choice(self.agents)
        for each in self.agents:
            each.requests.clear()
        what = self.random.random()
        if what < 0.35:
            self.clock.advance(self.random.choice((1.0, 61.0, 301.0, 301.0, 90_000.0)))
        elif what < 0.55:
            agent.replies["card"] = self.random.choice(FAULTS)
        elif what < 0.80:
            for each in self.agents:
                each.replies.clear()
        elif what < 0.95:
            agent.card["version"] = str(self.random.randrange(1000))
        else:
            agent.rotate_keys(keep_old=False)

    async def call(self, discovery: Discovery) -> None:
        """One caller: he takes what he gets, and some lose their patience."""
        agent, kind = self.random.choice(self.agents), self.random.random()
        options = {"network": self.running.network, "clock": self.clock, "cache": discovery._cache}
        if kind < 0.05:  # a call without a block opens and closes all it needs
            work = discover(self.url(agent), **options)
        elif kind < 0.10:  # a place that no agent has
            work = discovery.discover(f"{self.url(agent)}/{self.random.randrange(MISSING)}/card.json")
        else:
            work = discovery.discover(self.url(agent), refresh=kind < 0.2)
        task = asyncio.ensure_future(work)
        if self.random.random() < 0.1:
            for _ in range(self.random.randrange(30)):
                await asyncio.sleep(0)
            task.cancel()
        try:
            self.seen[(await task).source.cache] += 1
        except DiscoveryError as error:
            self.seen[error.code] += 1
        except asyncio.CancelledError:
            self.seen["cancelled"] += 1

    async def run(self, discovery: Discovery, calls: int) -> None:
        for start in range(0, calls, TOGETHER):
            self.stir()
            await asyncio.gather(*(self.call(discovery) for _ in range(min(TOGETHER, calls - start))))
            self.most_files = max(self.most_files, open_files())


@asynccontextmanager
async def soaked() -> AsyncIterator[Soak]:
    clock = Clock()
    agents = [FakeAgent(f"a{number}.example", clock=clock) for number in range(AGENTS)]
    async with FakeNetwork(*agents).serve() as running:
        yield Soak(agents=agents, running=running, clock=clock)


async def settled(number: int) -> int:
    """Open files, once what was closed is: a TLS connection says goodbye in the loop's next turns."""
    for _ in range(1000):
        if open_files() <= number and len(asyncio.all_tasks()) == 1:
            break
        await asyncio.sleep(0)
    return open_files()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_many_mixed_calls_leave_nothing_behind(kind: str, tmp_path: Path, caplog: Any) -> None:
    caplog.set_level("CRITICAL")  # pytest would keep every record, and that grows
    calls = CALLS // 2  # in each kind of store
    # Small enough to be full early: what grows later is a leak.
    limits = Limits(memory_bytes=1024 * 1024)
    cache = Cache.memory() if kind == "memory" else Cache.sqlite(tmp_path / "cache.sqlite")

    def discovery(soak: Soak) -> Discovery:
        return Discovery(network=soak.running.network, clock=soak.clock, cache=cache, limits=limits)

    async with soaked() as soak:
        async with discovery(soak) as d:
            await soak.run(d, calls // 2)
        quiet, files = memory(), await settled(0)
        async with discovery(soak) as d:
            await soak.run(d, calls - calls // 2)
        grown, left = memory() - quiet, await settled(files)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        serving = {task for task in tasks if "_Connection.run" in repr(task)}

    figures = (
        f"{calls} calls, {grown:+.1f} MB in the second half, {files} then {left} files open, {soak.most_files} at most"
    )
    print(f"\n{kind}: {figures}; {dict(sorted(soak.seen.items()))}")  # noqa: T201  (for docs/performance.md)
    assert tasks == serving  # the server's own
    assert left <= files
    assert soak.most_files < files + 2 * 64  # both ends of what is kept alive and under way
    assert grown < GROWTH
    assert soak.seen.total() == calls
    assert {"network", "revalidated", "memory", "stale", "cancelled", "no-card"} <= soak.seen.keys()
    assert not asyncio.all_tasks() - {asyncio.current_task()}
