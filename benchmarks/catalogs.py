"""Listing a large catalog, from its bytes to the last of its entries."""

from __future__ import annotations

import asyncio
import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from a2a_discovery import Discovery
from benchmarks.table import Result, against, alternate, row

ENTRIES = 100_000
TIMES = 5


def entry(number: int) -> dict[str, object]:
    """A row of 250 bytes, as published catalogs have them."""
    return {
        "identifier": f"urn:air:host{number}.example:a2a:agent-{number}",
        "displayName": f"Agent number {number}",
        "type": "application/a2a-agent-card+json",
        "url": f"https://host{number}.example/.well-known/agent-card.json",
        "version": f"1.0.{number}",
        "tags": ["orders", "shop"],
    }


@row
def list_catalog() -> Iterator[Result]:
    """A catalog of 100,000 entries."""
    body = json.dumps({"specVersion": "1.0", "entries": [entry(number) for number in range(ENTRIES)]}).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "catalog.json")
        path.write_bytes(body)

        async def drain() -> int:
            return len([None async for _ in Discovery().catalog(path)])

        def ours() -> None:
            assert asyncio.run(drain()) == ENTRIES

        def other() -> None:
            json.loads(body)

        listing, plain = alternate(ours, other, times=TIMES, warm_up=1)
        yield against("list a catalog of 100,000 entries, against json.loads", listing, plain, aim=6)

        tracemalloc.start()
        ours()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    ratio = peak / len(body)
    yield Result(
        what="memory while it is listed, against the document",
        ours=f"{peak / 1e6:.0f} MB",
        other=f"{len(body) / 1e6:.0f} MB",
        ratio=ratio,
        aim="<= 3",
        met=ratio <= 3,
    )
