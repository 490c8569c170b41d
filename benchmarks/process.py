"""What a fresh process pays: the import, and the first call from a store on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peer import peer
from benchmarks.table import Result, against, row, typical

ROUNDS = 25

_MODEL = "from pydantic import BaseModel"
_BARE = "import sys; sys.modules['click'] = sys.modules['redis'] = None; "
"""Where click is installed, httpx loads its own command, and where redis is, hishel its storage for it. With this in
front, the machine is one where neither is."""

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
    ours, whole, other = _fresh(
        "import a2a_discovery", "from a2a_discovery import Discovery", f"import httpx; {_MODEL}", before=_BARE
    )
    yield against("import a2a_discovery, against httpx and pydantic", ours, other, aim=1.3)
    yield against("from a2a_discovery import Discovery, against the same", whole, other, aim=None)


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
        programs = (_DISCOVER, f"import httpx, hishel.httpx, joserfc.jws, joserfc.jwk; {_MODEL}")
        told = (str(store), target, "fresh")
        ours, other = _fresh(*programs, arguments=told)
        yield against("new process, warm SQLite, against the imports alone", ours, other, aim=1.6)
        ours, other = _fresh(*programs, arguments=told, before=_BARE)
        yield against("the same where neither click nor redis is installed", ours, other, aim=None)


def _fresh(*programs: str, arguments: tuple[str, ...] = (), before: str = "") -> list[float]:
    """The median of the seconds that each program takes in a process of its own, beyond a process that does nothing."""
    nothing, *taken = _each_in_turn("pass", *(before + program for program in programs), arguments=arguments)
    return [each - nothing for each in taken]


def _each_in_turn(*programs: str, arguments: tuple[str, ...]) -> list[float]:
    taken: list[list[float]] = [[] for _ in programs]
    for turn in range(ROUNDS + 2):
        for index, program in enumerate(programs):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program, *arguments], check=True)
            if turn > 1:
                taken[index].append(time.perf_counter() - start)
    return [typical(each, block=5) for each in taken]
