"""The table: its rows, how two pieces of work are compared, and how it is printed.

Times on a shared machine mean little; ratios of two things measured alternately, in one run, mean something. So every
comparison alternates call by call, and reduces both sides in the same way (`typical`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the table."""

    what: str
    ours: str
    other: str
    ratio: float | None
    aim: str
    met: bool | None
    """``None``: there is no aim, the line only tells."""

    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        mark = {True: "", False: " (missed)", None: ""}[self.met]
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return self.what, self.ours, self.other, ratio, self.aim + mark


HEAD = ("what", "ours", "the other", "ratio", "aim")

Row = Callable[[], Iterable[Result]]
ROWS: dict[str, Row] = {}


def row(function: Row) -> Row:
    """Put a function's results into the table, under the function's name."""
    ROWS[function.__name__.replace("_", "-")] = function
    return function


def against(what: str, ours: float, other: float, *, aim: float | None) -> Result:
    """A line about two durations, in seconds, ours to be at most ``aim`` times the other."""
    ratio = ours / other
    return Result(
        what=what,
        ours=spent(ours),
        other=spent(other),
        ratio=ratio,
        aim="" if aim is None else f"<= {aim:g}",
        met=None if aim is None else ratio <= aim,
    )


def spent(seconds: float) -> str:
    """A duration for a person."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def typical(taken: Sequence[float], *, block: int = 10) -> float:
    """What a work takes when nothing disturbs it, in seconds: the median over blocks of the least in each block.

    Whatever else the machine does adds to some turns and takes away from none. The least of all would be luck.
    """
    return statistics.median(min(taken[start : start + block]) for start in range(0, len(taken), block))


def alternate(*works: Callable[[], object], times: int, warm_up: int = 3) -> list[float]:
    """Do each work in turn, ``times`` times: the typical duration of each, in seconds."""
    for work in works:
        for _ in range(warm_up):
            work()
    taken: list[list[float]] = [[] for _ in works]
    for turn in range(times):
        for index in _order(len(works), turn):
            start = time.perf_counter()
            works[index]()
            taken[index].append(time.perf_counter() - start)
    return [typical(each) for each in taken]


async def alternate_async(*works: Callable[[int], Awaitable[object]], times: int, warm_up: int = 3) -> list[float]:
    """The same for coroutines; each is told the number of its call, so that it can ask for something new."""
    taken: list[list[float]] = [[] for _ in works]
    for turn in range(-warm_up, times):
        for index in _order(len(works), turn):
            start = time.perf_counter()
            await works[index](turn + warm_up)
            if turn >= 0:
                taken[index].append(time.perf_counter() - start)
    return [typical(each) for each in taken]


def _order(count: int, turn: int) -> Iterator[int]:
    # Who comes first has the colder caches, so they take turns at that too.
    return iter(range(count)) if turn % 2 == 0 else iter(range(count - 1, -1, -1))


def printed(results: Iterable[Result], *, markdown: bool = False) -> str:
    """The table as text."""
    lines: list[Any] = [HEAD, *(each.cells() for each in results)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(HEAD))]
    rule = tuple("-" * width for width in widths)
    lines.insert(1, rule)
    edge, gap = ("| ", " | ") if markdown else ("", "  ")
    rows = [edge + gap.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(f"{each} |" if markdown else each.rstrip() for each in rows)
