"""Many agents at once, and many callers of one."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from a2a_discovery import Cache, Discovery, NetworkPolicy
from benchmarks.peer import Peer, peer
from benchmarks.table import Result, row

AGENTS = 1_000
MANY = 10_000
"""Agents of `great_crowd` and `crawl`; fewer with ``--agents``."""
CALLERS = 1_000
ROUNDS = 5
CONCURRENCY = 64
"""As in the process of `_run`, which nothing is imported from: it makes a part of what is installed unimportable."""
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


@row
def crawl() -> Iterator[Result]:
    """The command over ten thousand of them, each with its record in a file."""
    with peer(agents=MANY, ports=PORTS) as there:
        # Once each: a run of minutes evens out what disturbs it.
        bare = _run("bare", there.ports, MANY, there.authority)["seconds"]
        runs = (("--no-cache", _crawl(there, "--no-cache"), 0.6), ("SQLite", _crawl(there), 0.45))
    for name, seconds, aim in runs:
        yield Result(
            what=f"a2a-discover crawl --jsonl of {MANY} signed agents, {name}: throughput",
            ours=f"{MANY / seconds:.0f}/s",
            other=f"{MANY / bare:.0f}/s",
            ratio=bare / seconds,
            aim=f">= {aim:g}",
            met=bare / seconds >= aim,
        )


def _crawl(there: Peer, *options: str) -> float:
    """The seconds that the command takes, as it says itself: without its start, as the bare client's."""
    with TemporaryDirectory() as directory:
        targets, authority, found = (Path(directory) / name for name in ("targets.txt", "ca.pem", "found.jsonl"))
        targets.write_text("".join(f"{there.base(number)}\n" for number in range(MANY)))
        authority.write_text(there.authority)
        command = [sys.executable, "-m", "a2a_discovery", "crawl", str(targets), "--local", "--ca", str(authority)]
        command += ["--jsonl", str(found), "--concurrency", str(CONCURRENCY), "--per-host", str(CONCURRENCY)]
        done = subprocess.run(
            [*command, "--json", *options],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "XDG_CACHE_HOME": directory},
        )
        summary = json.loads(done.stdout)
        with found.open("rb") as records:
            told = sum(1 for _ in records)
        assert summary["trust"]["SIGNED"] == told == MANY, summary
    seconds: float = summary["seconds"]
    return seconds


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
