"""``a2a-discover crawl``: many agents, what became of each in a file, and a report of them all."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from a2a_discovery import Discovery, Outcome, Trust, UsageError
from a2a_discovery._cli.cache import tell, told
from a2a_discovery._cli.flags import (
    NETWORK,
    OUTPUT,
    AllowHttp,
    AllowPrivate,
    Ca,
    Config,
    Level,
    Local,
    NoCache,
    Proxy,
    Refresh,
    Require,
    Strict,
    Timeout,
    Verbose,
    flag,
    option,
)
from a2a_discovery._cli.get import log_to_stderr
from a2a_discovery._cli.options import Flags, discovery_arguments, read_place
from a2a_discovery._cli.records import Journal, name_of, record_of
from a2a_discovery._cli.text import Row, clean, show

if TYPE_CHECKING:
    from rich.progress import Progress

INTERRUPTED = 130
"""What a shell calls a command that Ctrl-C ended."""
_PASSING = ("dns", "connect", "tls", "timeout", "http-status", "protocol", "auth-required", "forbidden")
"""Outcomes that ``--retry`` tries again: the network's and the server's, not the card's."""

Targets = Annotated[
    str,
    typer.Argument(
        metavar="TARGETS",
        help="A file with one target a line, - for standard input, or a catalog: its domain, URL or file.",
    ),
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, max=1000, help="At a time.", rich_help_panel=NETWORK)
]
PerHost = Annotated[
    int, typer.Option("--per-host", metavar="N", min=1, help="At a time of one host.", rich_help_panel=NETWORK)
]
Jsonl = Annotated[
    Path | None,
    option("--jsonl", "FILE", "One JSON object a line; what it holds already is not asked again.", OUTPUT),
]
Html = Annotated[Path | None, option("--html", "FILE", "A report: one page that needs no network.", OUTPUT)]
Cards = Annotated[bool, flag("--cards", "The cards too, in the file of --jsonl.", OUTPUT)]
Retry = Annotated[bool, flag("--retry", "Ask again where the network or the server failed before.", OUTPUT)]
AsJson = Annotated[bool, flag("--json", "The summary as one JSON object.", OUTPUT)]


def crawl(
    *,
    targets: Targets,
    concurrency: Concurrency = 64,
    per_host: PerHost = 8,
    jsonl: Jsonl = None,
    html: Html = None,
    cards: Cards = False,
    retry: Retry = False,
    local: Local = False,
    allow_private: AllowPrivate = False,
    allow_http: AllowHttp = False,
    timeout: Timeout = None,
    ca: Ca = None,
    proxy: Proxy = None,
    no_cache: NoCache = False,
    refresh: Refresh = False,
    require: Require = Level.CHANNEL,
    config: Config = None,
    strict: Strict = False,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Discover many agents: those of a list or of a catalog. Interrupted, it goes on where it was."""
    log_to_stderr(verbose=verbose)
    flags = Flags(
        target=targets,
        local=local,
        allow_private=allow_private,
        allow_http=allow_http,
        timeout=timeout,
        ca=ca,
        proxy=proxy,
        cache=not no_cache,
        refresh=refresh,
        require=Trust[require.name],
        config=config,
        strict=strict,
        json=json,
    )
    work = Crawl(flags=flags, concurrency=concurrency, per_host=per_host, html=html, cards=cards)
    with told(as_data=json), Journal(jsonl) if jsonl is not None else nullcontext() as journal:
        work.run(journal, retry=retry)
    if work.interrupted:
        raise typer.Exit(INTERRUPTED)


@dataclass(kw_only=True)
class Crawl:
    """One crawl, while it runs."""

    flags: Flags
    concurrency: int
    per_host: int
    html: Path | None
    cards: bool
    seen: set[str] = field(default_factory=set)
    records: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Those that a report is made of."""
    outcomes: Counter[str] = field(default_factory=Counter)
    trust: Counter[str] = field(default_factory=Counter)
    before: int = 0
    """Targets that the file held already."""
    asked: int = 0
    interrupted: bool = False

    def run(self, journal: Journal | None, *, retry: bool) -> None:
        """Crawl, and say what came of it.

        Raises:
            DiscoveryError: the targets cannot be had; what becomes of each of them is no error.
        """
        if self.html is not None:
            _check_writable(self.html)
        source = _Source(self.flags)
        for record in journal.records() if journal is not None else ():
            self._held(record, retry=retry)
        began = time.monotonic()
        try:
            with _progress() as bar:
                asyncio.run(self._crawl(source, journal, _Bar(bar, self, source)))
        except KeyboardInterrupt:
            self.interrupted = True
        seconds = time.monotonic() - began
        if self.html is not None:
            from a2a_discovery._cli.report import write_report

            write_report(self.html, list(self.records.values()), title=self.flags.target)
        if self.flags.json:
            tell(self._summary(seconds))
        else:
            show(Console(highlight=False), self._rows(seconds, journal))

    def _held(self, record: Mapping[str, Any], *, retry: bool) -> None:
        name = record["target"]
        if self.html is not None:
            self.records[name] = record  # of several, the last is what counts
        if retry and record["outcome"] in _PASSING:
            self.seen.discard(name)
        elif name not in self.seen:
            self.seen.add(name)
        self.before = len(self.seen)

    async def _crawl(self, source: _Source, journal: Journal | None, bar: _Bar) -> None:
        async with Discovery(**source.arguments) as discovery:
            outcomes = discovery.discover_many(
                self._new(source.targets(discovery)),
                concurrency=self.concurrency,
                per_host=self.per_host,
                refresh=self.flags.refresh,
            )
            async with aclosing(outcomes):  # type: ignore[type-var]
                async for outcome in outcomes:
                    self._take(outcome, journal)
                    bar.advance()

    async def _new(self, targets: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for target in targets:
            name = name_of(target)
            if name not in self.seen:
                self.seen.add(name)
                self.asked += 1
                yield target

    def _take(self, outcome: Outcome, journal: Journal | None) -> None:
        record = record_of(outcome, cards=self.cards)
        if journal is not None:
            journal.add(record)
        if self.html is not None:
            self.records[record["target"]] = record
        self.outcomes[record["outcome"]] += 1
        if outcome.agent is not None:
            self.trust[outcome.agent.trust.level.name] += 1

    def _summary(self, seconds: float) -> dict[str, Any]:
        return {
            "crawled": self.outcomes.total(),
            "held_before": self.before,
            "interrupted": self.interrupted,
            "seconds": round(seconds, 3),
            "outcomes": dict(self.outcomes.most_common()),
            "trust": {level.name: self.trust[level.name] for level in Trust},
        }

    def _rows(self, seconds: float, journal: Journal | None) -> Iterator[Row]:
        held = f"; {self.before} more were in {clean(journal.path, 200)} already" if journal and self.before else ""
        yield Row("crawled", f"{_targets(self.outcomes.total())} in {seconds:.1f} s{held}", "bold")
        yield Row("outcomes", _counts(self.outcomes.most_common()))
        if self.trust:
            yield Row("trust", _counts((level.name, self.trust[level.name]) for level in reversed(Trust)))
        for path in (journal.path if journal else None, self.html):
            if path is not None:
                yield Row("wrote", clean(path, 300))
        if self.interrupted:
            more = "the same command goes on from there" if journal else "--jsonl FILE would let it go on from there"
            yield Row("interrupted", more, "yellow")


def _targets(count: int) -> str:
    return f"{count} target" if count == 1 else f"{count} targets"


def _counts(counts: Iterable[tuple[str, int]]) -> str:
    return "; ".join(f"{clean(name, 40)} {count}" for name, count in counts if count) or "none"


def _check_writable(path: Path) -> None:
    try:
        path.open("ab").close()
    except OSError as error:
        raise UsageError("bad-config", f"{path} cannot be written: {(error.strerror or '').lower()}") from None


class _Source:
    """Where the targets come from: the lines of a file, or the entries of a catalog.

    Raises:
        UsageError: ``bad-config``, ``bad-target``.
    """

    def __init__(self, flags: Flags) -> None:
        self.arguments = discovery_arguments(flags)
        self._flags = flags
        self._catalog: str | Path | None = None
        self._lines: list[str] = []
        text = sys.stdin.read() if flags.target == "-" else _text_of(flags.target)
        if text is None:
            self._catalog = read_place(flags, self.arguments["agents"])
        elif text.lstrip()[:1] in ("{", "["):
            self._catalog = Path(flags.target)
        else:
            self._lines = list(dict.fromkeys(_lines(text)))

    @property
    def total(self) -> int | None:
        """How many there are, where that is known before."""
        return None if self._catalog is not None else len(self._lines)

    async def targets(self, discovery: Discovery) -> AsyncIterator[Any]:
        """The targets, one after another."""
        if self._catalog is None:
            for line in self._lines:
                yield line
            return
        async for entry in discovery.catalog(self._catalog, refresh=self._flags.refresh):
            yield entry


def _text_of(target: str) -> str | None:
    """The text of a file that was named; ``None`` where the target names no file."""
    path = Path(target)
    if "://" in target or not path.is_file():
        return None
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not UTF-8").lower()
        raise UsageError("bad-config", f"{target} cannot be read: {reason}") from None


def _lines(text: str) -> Iterator[str]:
    """One target a line; what follows a ``#`` that begins a word is a comment."""
    for line in text.splitlines():
        target = line.split(" #")[0].split("\t#")[0].strip()
        if target and not target.startswith("#"):
            yield target


def _progress() -> Progress | nullcontext[None]:
    """A bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        return nullcontext()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counts = TextColumn("{task.fields[counts]}", markup=False)
    return Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), counts, console=console, transient=True)


class _Bar:
    """What is known so far, on a terminal."""

    def __init__(self, progress: Progress | None, crawl: Crawl, source: _Source) -> None:
        self._progress = progress
        self._crawl = crawl
        if progress is not None:
            # Those held before are done; of a catalog's number nobody knows before its end.
            self._task = progress.add_task("", total=source.total, completed=crawl.before, counts="")

    def advance(self) -> None:
        if self._progress is None:
            return
        crawl = self._crawl
        counts = _counts((*crawl.trust.most_common(), *((n, c) for n, c in crawl.outcomes.items() if n != "agent")))
        self._progress.update(self._task, advance=1, counts=counts[:120])
