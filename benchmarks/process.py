"""What a fresh process pays: the import, and the first call from a store on disk."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peer import peer
from benchmarks.table import Result, against, row

ROUNDS = 25

_MODEL = "from pydantic import BaseModel"
_BARE = "import sys; sys.modules['click'] = sys.modules['redis'] = None; "
"""Optional libraries that are installed here and that neither side needs: httpx loads its own command where click is,
and hishel its Redis storage where redis is."""

_DISCOVER = """
import asyncio, sys
from a2a_discovery import Cache, Discovery, NetworkPolicy, Trust

async def main():
    async with Discovery(network=NetworkPolicy.local(), cache=Cache.sqlite(sys.argv[1])) as discovery:
        agent = await discovery.discover(sys.argv[2])
    assert agent.trust.level is Trust.SIGNED and agent.source.cache == sys.argv[3] and agent.card.name == "Shop 0"

asyncio.run(main())
"""


@row
def imports() -> Iterator[Result]:
    """The import alone."""
    base, ours, whole, other = _fresh(
        "pass", "import a2a_discovery", "from a2a_discovery import Discovery", f"import httpx; {_MODEL}"
    )
    yield against("import a2a_discovery, against httpx and pydantic", ours - base, other - base, aim=1.3)
    yield against("from a2a_discovery import Discovery, against the same", whole - base, other - base, aim=None)


@row
def new_process() -> Iterator[Result]:
    """A signed card out of a warm SQLite file, without network."""
    with TemporaryDirectory() as directory:
        store, authority = Path(directory) / "cache.sqlite", Path(directory) / "ca.pem"
        with peer(max_age=86_400) as there:
            authority.write_text(there.authority)
            target = there.origin()
            fill = (sys.executable, "-c", _DISCOVER, str(store), target, "network")
            # Not ssl_context=: a context that a caller made means nothing to another process.
            subprocess.run(fill, check=True, env={**os.environ, "SSL_CERT_FILE": str(authority)})
        base, ours, other = _fresh(
            "pass",
            _DISCOVER,
            f"import httpx, hishel.httpx, joserfc.jws, joserfc.jwk; {_MODEL}",
            arguments=(str(store), target, "fresh"),
        )
    yield against("new process, warm SQLite, against the imports alone", ours - base, other - base, aim=1.6)


def _fresh(*programs: str, arguments: tuple[str, ...] = ()) -> list[float]:
    """The median of the seconds that each program takes in a process of its own, all in turn."""
    taken: list[list[float]] = [[] for _ in programs]
    for turn in range(ROUNDS + 2):
        for index, program in enumerate(programs):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", _BARE + program, *arguments], check=True)
            if turn > 1:
                taken[index].append(time.perf_counter() - start)
    return [statistics.median(each) for each in taken]
