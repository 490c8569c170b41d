"""What locations proved before, in a table of the store's file: not evicted with answers, nor cleared with them."""

from __future__ import annotations

import sqlite3

from a2a_discovery._http.shelf import Note
from a2a_discovery._trust.continuity import decode_past

TABLE = "remembered_1"
SCHEMA = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (
        channel TEXT NOT NULL,
        location TEXT NOT NULL,
        record BLOB NOT NULL,
        since REAL NOT NULL,
        changed REAL NOT NULL,
        PRIMARY KEY (channel, location)
    )
    """
_READ = f"SELECT record FROM {TABLE} WHERE channel = ? AND location = ?"  # noqa: S608  (the table's name is ours)
_WRITE = f"""
INSERT INTO {TABLE} (channel, location, record, since, changed) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (channel, location) DO UPDATE SET record = excluded.record, changed = excluded.changed
"""  # noqa: S608
_FORGET = f"DELETE FROM {TABLE} WHERE location = ? AND channel = coalesce(?, channel)"  # noqa: S608
_LIST = f"SELECT channel, location, record, since, changed FROM {TABLE} ORDER BY location, channel"  # noqa: S608


def recall(connection: sqlite3.Connection, channel: str, location: str) -> bytes | None:
    """The record of a location, or ``None``."""
    row = connection.execute(_READ, (channel, location)).fetchone()
    return None if row is None else bytes(row[0])


def remember(connection: sqlite3.Connection, note: Note, now: float) -> None:
    """Write a record in the place of its older self, inside the caller's transaction.

    Of two processes that looked at the same time, the one that saw more proven stays.
    """
    present = recall(connection, note.channel, note.location)
    if present == note.record:
        return
    before, after = decode_past(present), decode_past(note.record)
    if before is not None and after is not None and after.level < before.level:
        return
    connection.execute(_WRITE, (note.channel, note.location, note.record, now, now))


def forget(connection: sqlite3.Connection, location: str, channel: str | None) -> int:
    """Forget a location as seen through one channel, or through all; how many records that were."""
    return connection.execute(_FORGET, (location, channel)).rowcount


def notes(connection: sqlite3.Connection) -> list[Note]:
    """Everything remembered, by location."""
    return [
        Note(channel=channel, location=location, record=bytes(record), since=since, changed=changed)
        for channel, location, record, since, changed in connection.execute(_LIST)
    ]
