"""What the store's file holds, for whoever wants to look: entries without their bodies, and what is remembered."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from a2a_discovery._hosts import matches
from a2a_discovery._http import ledger
from a2a_discovery._http.fetcher import store_key
from a2a_discovery._http.freshness import RETAINED, Fields
from a2a_discovery._http.shelf import Note
from a2a_discovery._http.sqlite import ENTRIES, opened
from a2a_discovery._http.store import MARK
from a2a_discovery._trust.continuity import decode_past, location_of
from a2a_discovery._urls import host_of
from a2a_discovery.policy import Trust

_LIST = f"SELECT key, sent, head, at, ttl, used, length(body) FROM {ENTRIES}"  # noqa: S608  (the table's name is ours)
_ADDRESSES = f"SELECT id, sent, head FROM {ENTRIES}"  # noqa: S608
_REMOVE = f"DELETE FROM {ENTRIES} WHERE id = ?"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One stored answer. Times are seconds since the epoch."""

    key: str
    asked: str
    """The URL that was asked for."""
    url: str
    """The URL that answered."""
    headers: Fields
    at: float
    """When the origin last vouched for it."""
    fresh_until: float
    used: float
    """When it was last looked up, to the hour."""
    size: int
    """Bytes of the body."""
    trust: Trust | None = None
    """What its location is remembered to have proven; ``None`` for what is no card, or was never accepted as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a file holds."""

    entries: tuple[Stored, ...] = ()
    notes: tuple[Note, ...] = ()
    size: int = 0
    """Bytes of the file and of those beside it."""


def inventory(path: Path) -> Inventory:
    """Read what a store's file holds; nothing, where there is no file.

    Raises:
        sqlite3.Error, OSError: it cannot be read.
    """
    with opened(path) as connection:
        if connection is None:
            return Inventory()
        notes = tuple(ledger.notes(connection))
        found = (_stored(row) for row in connection.execute(_LIST))
        entries = [each for each in found if each is not None]
    beside = (path, path.with_name(path.name + "-wal"))
    return Inventory(
        entries=tuple(sorted(_with_trust(entries, notes), key=lambda each: each.asked)),
        notes=notes,
        size=sum(each.stat().st_size for each in beside if each.exists()),
    )


def clear(path: Path, pattern: str | None = None) -> int:
    """Remove entries; what locations proved before stays remembered.

    Args:
        path: the file.
        pattern: ``host`` or ``*.host``, of the URL that was asked for or of the one that answered; ``None``: all.

    Returns:
        How many.

    Raises:
        sqlite3.Error, OSError: it cannot be written.
    """
    with opened(path) as connection:
        if connection is None:
            return 0
        rows = connection.execute(_ADDRESSES).fetchall()
        chosen = [(id_,) for id_, sent, head in rows if pattern is None or _is_of(pattern, sent, head)]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_REMOVE, chosen)
        connection.execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # another process reads: the room is used again all the same
            connection.execute("VACUUM")
        return len(chosen)


def forget(path: Path, locations: Iterable[str]) -> int:
    """Remember nothing of locations any more, through whatever channel they were seen; how many records that were.

    Raises:
        sqlite3.Error, OSError: it cannot be written.
    """
    with opened(path) as connection:
        if connection is None:
            return 0
        return sum(ledger.forget(connection, each, None) for each in locations)


def _stored(row: tuple[Any, ...]) -> Stored | None:
    key, sent, head, at, ttl, used, size = row
    try:
        asked, headers = json.loads(sent)[1], json.loads(head)
        mark = json.loads(headers.pop(MARK)[0])
        return Stored(
            key=key,
            asked=asked,
            url=mark["url"],
            headers=headers,
            at=at,
            fresh_until=at + max((ttl or 0.0) - RETAINED, 0.0),
            used=used,
            size=size,
        )
    except (ValueError, TypeError, KeyError, IndexError):
        return None  # not as we wrote it


def _with_trust(entries: Sequence[Stored], notes: Sequence[Note]) -> Iterable[Stored]:
    levels = {
        (note.channel, note.location): past.level for note in notes if (past := decode_past(note.record)) is not None
    }
    channels = {channel for channel, _ in levels}
    for entry in entries:
        channel = next((each for each in channels if entry.key in _keys(entry.asked, each)), None)
        location = _location(entry.asked)
        yield entry if channel is None else replace(entry, trust=levels.get((channel, location)))


def _keys(url: str, channel: str) -> tuple[str, ...]:
    return tuple(store_key("GET", url, channel, local=local) for local in (False, True))


def _location(url: str) -> str:
    try:
        return location_of(url)
    except ValueError:
        return ""


def _is_of(pattern: str, sent: str, head: str) -> bool:
    entry = _stored(("", sent, head, 0.0, None, 0.0, 0))
    hosts = [host_of(url) for url in (entry.asked, entry.url)] if entry is not None else []
    return any(host is not None and matches(pattern, host) for host in hosts)
