"""Eight workers that share one Redis, and miss everything at the same moment."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.table import Result, row

WORKERS = 8
AGENTS = 500
PORTS = 100
CONCURRENCY = 16
"""For each worker: eight of them share two cores here."""
PROGRAM = "redis-server"


@row
def fleet() -> Iterator[Result]:
    """Every worker discovers the same signed agents in the same order: how often each was really asked for."""
    what = f"{WORKERS} workers, {AGENTS} targets each, one Redis, all cold"
    if shutil.which(PROGRAM) is None:
        yield Result(what=what, ours=f"{PROGRAM} is not here", other="", ratio=None, aim="<= 1.02 requests", met=None)
        return
    from benchmarks.peer import peer

    with TemporaryDirectory() as directory, redis(directory) as url, peer(agents=AGENTS, ports=PORTS) as there:
        authority = Path(directory) / "ca.pem"
        authority.write_text(there.authority)
        told = {"redis": url, "bases": [there.base(number) for number in range(AGENTS)]}
        seconds = _run(told, authority)
        counts = there.counts()
    for kind, name in (("card", "agent-card.json"), ("keys", "jwks.json")):
        asked = counts.get(name, 0) / AGENTS
        yield Result(
            what=f"{what}: requests a target, {kind}",
            ours=f"{asked:.3f} in {max(seconds):.1f} s",
            other=f"{WORKERS}.000 each for itself",
            ratio=None,
            aim="<= 1.02",
            met=1.0 <= asked <= 1.02,
        )


@contextlib.contextmanager
def redis(directory: str) -> Iterator[str]:
    """A server of our own that keeps nothing on disk, for a block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", directory)
    process = subprocess.Popen([PROGRAM, *options], stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _run(told: dict[str, object], authority: Path) -> list[float]:
    """Start the workers, let them load, let them go together: the seconds that each took."""
    # Not ssl_context=: a context that a caller made means nothing to another process.
    environment = {**os.environ, "SSL_CERT_FILE": str(authority)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fleet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(WORKERS)
    ]
    for worker in workers:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(told) + "\n")
        worker.stdin.flush()
        assert worker.stdout.readline() == "ready\n"
    results = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate(timeout=300)
        assert worker.returncode == 0
        results.append(float(out))
    return results


# --- a worker


async def _work(url: str, bases: list[str]) -> float:
    import hishel  # noqa: F401  (loaded before the start, as in a worker that has run for a while)
    import joserfc.jws  # noqa: F401

    from a2a_discovery import Cache, Discovery, NetworkPolicy, Trust

    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    async with Discovery(network=NetworkPolicy.local(), cache=Cache.redis(url)) as discovery:
        async for outcome in discovery.discover_many(bases, concurrency=CONCURRENCY, per_host=CONCURRENCY):
            assert outcome.agent is not None, outcome.error
            assert outcome.agent.trust.level is Trust.SIGNED
    return time.perf_counter() - start


def main() -> None:
    told = json.loads(sys.stdin.readline())
    print(asyncio.run(_work(told["redis"], told["bases"])))


if __name__ == "__main__":
    main()
