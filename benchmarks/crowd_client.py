"""One side of the crowd, as a process: it loads nothing of the other side, so that memory can be compared."""

from __future__ import annotations

import asyncio
import json
import resource
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CONCURRENCY = 64

# Installed here, and needed by neither side: httpx would load its own command, and hishel its Redis storage.
sys.modules["click"] = sys.modules["redis"] = None  # type: ignore[assignment]


async def _all(bases: Iterable[str], one: Callable[[str], Awaitable[object]]) -> None:
    left = iter(bases)

    async def work() -> None:
        for base in left:
            await one(base)

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))


def _bare(bases: Iterable[str], context: ssl.SSLContext) -> Coroutine[Any, Any, None]:
    import httpx

    from benchmarks.bare import discover

    async def run() -> None:
        async with httpx.AsyncClient(verify=context) as client:
            await _all(bases, lambda base: discover(client, base + "/.well-known/agent-card.json"))

    return run()


def _ours(bases: Iterable[str], context: ssl.SSLContext, store: Path | None) -> Coroutine[Any, Any, None]:
    from a2a_discovery import Cache, Discovery, NetworkPolicy

    cache = Cache.memory() if store is None else Cache.sqlite(store)

    async def run() -> None:
        async with Discovery(network=NetworkPolicy.local(ssl_context=context), cache=cache) as discovery:
            await _all(bases, discovery.discover)

    return run()


def _peak() -> float:
    """The most memory this process ever had, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Not ru_maxrss: on Linux a process inherits that from the one that started it.
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def main() -> None:
    told = json.load(sys.stdin)
    ports, context = told["ports"], ssl.create_default_context(cadata=told["authority"])
    bases = [f"https://localhost:{ports[number % len(ports)]}/a/{number}" for number in range(told["agents"])]
    with TemporaryDirectory() as directory:
        if sys.argv[1] == "bare":
            work = _bare(bases, context)
        else:
            work = _ours(bases, context, Path(directory) / "cache.sqlite" if sys.argv[1] == "sqlite" else None)
        start = time.perf_counter()
        asyncio.run(work)
        print(json.dumps({"seconds": time.perf_counter() - start, "peak": _peak()}))


if __name__ == "__main__":
    main()
