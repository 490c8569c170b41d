"""Many agents at once, and many callers of one."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

from a2a_discovery import Cache, Discovery, NetworkPolicy
from benchmarks.peer import peer
from benchmarks.table import Result, row

AGENTS = 1_000
MANY = 10_000
CALLERS = 1_000
ROUNDS = 5
PORTS = 1_000
"""Each is an origin, with connections and a TLS handshake of its own."""


@row
def crowd() -> Iterator[Result]:
    """A thousand agents that nobody knows yet, 64 at a time."""
    with peer(agents=AGENTS, ports=PORTS) as there:
        runs: dict[str, list[dict[str, float]]] = {"bare": [], "memory": [], "sqlite": []}
        for _ in range(ROUNDS):
            for name, found in runs.items():
                found.append(_run(name, there.ports, AGENTS, there.authority))
        bare = statistics.median(each["seconds"] for each in runs["bare"])
        for name, aim in (("memory", 0.6), ("sqlite", 0.45)):
            seconds = statistics.median(each["seconds"] for each in runs[name])
            yield Result(
                what=f"{AGENTS} signed agents cold, 64 at a time, {name}: throughput",
                ours=f"{AGENTS / seconds:.0f}/s",
                other=f"{AGENTS / bare:.0f}/s",
                ratio=bare / seconds,
                aim=f">= {aim:g}",
                met=bare / seconds >= aim,
            )
        yield _peak(AGENTS, [each["peak"] for each in runs["memory"]], [each["peak"] for each in runs["bare"]], aim=25)


@row
def great_crowd() -> Iterator[Result]:
    """Ten thousand of them: what grows with their number."""
    with peer(agents=MANY, ports=PORTS) as there:
        ours, bare = (_run(name, there.ports, MANY, there.authority)["peak"] for name in ("memory", "bare"))
    yield _peak(MANY, [ours], [bare], aim=40)


def _peak(agents: int, ours: list[float], bare: list[float], *, aim: float) -> Result:
    most, least = statistics.median(ours), statistics.median(bare)
    return Result(
        what=f"{agents} signed agents cold: peak memory above the bare client",
        ours=f"{most:.0f} MB",
        other=f"{least:.0f} MB",
        ratio=None,
        aim=f"<= {aim:g} MB more: {most - least:.0f}",
        met=most - least <= aim,
    )


def _run(name: str, ports: tuple[int, ...], agents: int, authority: str) -> dict[str, float]:
    """The whole crowd in a process of its own: the seconds it took, and its peak memory in MB."""
    told = json.dumps({"ports": ports, "agents": agents, "authority": authority})
    command = [sys.executable, "-m", "benchmarks.crowd_client", name]
    done = subprocess.run(command, input=told, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@row
def callers() -> Iterator[Result]:
    """A thousand concurrent calls for one agent."""
    with peer() as there:
        asyncio.run(_call(there.origin(), NetworkPolicy.local(ssl_context=there.context())))
        counts = there.counts()
    cards, keys = counts.get("agent-card.json", 0), counts.get("jwks.json", 0)
    yield Result(
        what=f"{CALLERS} concurrent callers of one cold target",
        ours=f"{cards} card, {keys} keys",
        other="",
        ratio=None,
        aim="1 card, 1 keys",
        met=(cards, keys) == (1, 1),
    )


async def _call(target: str, network: NetworkPolicy) -> None:
    async with Discovery(network=network, cache=Cache.memory()) as discovery:
        await asyncio.gather(*(discovery.discover(target) for _ in range(CALLERS)))
