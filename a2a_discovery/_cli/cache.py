"""``a2a-discover cache``: what the store's file holds, without the words of any card."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from a2a_discovery import DiscoveryError, UsageError
from a2a_discovery._cli.flags import OUTPUT, flag
from a2a_discovery._cli.show import duration, fail
from a2a_discovery._cli.text import Row, as_json, clean, show
from a2a_discovery._hosts import check_pattern
from a2a_discovery._http.cache import default_path
from a2a_discovery._urls import host_of

if TYPE_CHECKING:
    from a2a_discovery._http.inventory import Inventory, Stored

Json = Annotated[bool, flag("--json", "JSON in place of the text.", OUTPUT)]
Host = Annotated[str | None, typer.Argument(metavar="[HOST]", help="Of this host alone, or of *.host.")]

cache_app = typer.Typer(help="Look at what is kept on this machine, and clear it.", no_args_is_help=True)


@cache_app.command()
def info(*, json: Json = False) -> None:
    """The file, how large it is, and how many entries it holds."""
    with told(as_data=json):
        path = cache_file()
        found = _inventory(path)
        if json:
            tell(_info(path, found))
        else:
            show(Console(highlight=False), _info_rows(path, found))


@cache_app.command("list")
def list_entries(*, json: Json = False) -> None:
    """Each entry: whose, how old, how long fresh, what vouches for it, and how it is asked about again."""
    with told(as_data=json):
        found, now = _inventory(cache_file()), time.time()
        if json:
            tell([_entry(each) for each in found.entries])
        else:
            show(Console(highlight=False), (_entry_row(each, now) for each in found.entries))


@cache_app.command()
def clear(host: Host = None, *, json: Json = False) -> None:
    """Remove all entries, or those of one host. What was proven before stays remembered: trust forget is for that."""
    from a2a_discovery._http import inventory

    with told(as_data=json):
        path, pattern = cache_file(), None if host is None else check_pattern(host)
        with usable(path):
            count = inventory.clear(path, pattern)
        if json:
            tell({"cleared": count})
        else:
            show(Console(highlight=False), [Row("cleared", _count(count, "entry", "entries"))])


def cache_file() -> Path:
    """The file that the command keeps answers in.

    Raises:
        UsageError: ``bad-config``, where there is no home directory.
    """
    path = default_path()
    if path is None:
        raise UsageError("bad-config", "there is no home directory, so nothing is kept on disk", hint="set HOME")
    return path


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """Say what is wrong with the file in our own words.

    Raises:
        UsageError: ``bad-config``.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        hint = "move it away: a new one is made when something is next kept"
        raise UsageError("bad-config", f"{path} cannot be used: {error}"[:300], hint=hint) from None


@contextlib.contextmanager
def told(*, as_data: bool) -> Iterator[None]:
    """Print an error and end with its exit code."""
    try:
        yield
    except DiscoveryError as error:
        raise typer.Exit(int(fail(error, as_data=as_data))) from None


def tell(value: Any) -> None:
    """Print data."""
    print(as_json(value, sys.stdout.encoding))


def _inventory(path: Path) -> Inventory:
    from a2a_discovery._http import inventory

    with usable(path):
        return inventory.inventory(path)


def _info(path: Path, found: Inventory) -> dict[str, Any]:
    return {
        "file": str(path),
        "bytes": found.size,
        "entries": len(found.entries),
        "entry_bytes": sum(each.size for each in found.entries),
        "remembered": len(found.notes),
        "hosts": dict(_hosts(found).most_common()),
    }


def _info_rows(path: Path, found: Inventory) -> Iterator[Row]:
    yield Row("file", clean(path, 400))
    yield Row("size", size(found.size))
    yield Row("entries", f"{len(found.entries)} with {size(sum(each.size for each in found.entries))}", "bold")
    yield Row("remembered", _count(len(found.notes), "location", "locations") + ": see a2a-discover trust list")
    for index, (host, count) in enumerate(_hosts(found).most_common(10)):
        yield Row("" if index else "hosts", f"{count} of {clean(host, 100)}")


def _hosts(found: Inventory) -> Counter[str]:
    return Counter(host_of(each.asked) or "?" for each in found.entries)


def _entry(entry: Stored) -> dict[str, Any]:
    return {
        "url": entry.asked,
        "answered_by": entry.url,
        "stored_at": entry.at,
        "fresh_until": entry.fresh_until,
        "used_at": entry.used,
        "bytes": entry.size,
        "trust": None if entry.trust is None else entry.trust.name,
        "etag": _field(entry, "etag"),
        "last_modified": _field(entry, "last-modified"),
        "cache_control": _field(entry, "cache-control"),
    }


def _field(entry: Stored, name: str) -> str | None:
    lines = entry.headers.get(name)
    return ", ".join(lines) if lines else None


def _entry_row(entry: Stored, now: float) -> Row:
    left = entry.fresh_until - now
    validators = [
        f"{shown} {clean(value, 60)}"
        for shown, name in (("ETag", "etag"), ("Last-Modified", "last-modified"))
        if (value := _field(entry, name)) is not None
    ]
    facts = [
        clean(entry.asked, 300) + ("" if entry.url == entry.asked else f" (answered by {clean(entry.url, 300)})"),
        f"{duration(max(now - entry.at, 0))} old",
        f"fresh for {duration(left)}" if left > 0 else "asked about again when next needed",
        size(entry.size),
        *(validators or ["no validator"]),
    ]
    return Row("-" if entry.trust is None else entry.trust.name, "; ".join(facts), "" if left > 0 else "dim")


def size(count: int) -> str:
    """Bytes, for a person."""
    return f"{count} B" if count < 1000 else f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"


def day(moment: float) -> str:
    """A date, in UTC, for a person."""
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%Y-%m-%d")


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
