"""A SQLite file behind hishel's interface: one row an entry, one thread hop a call.

hishel's own storage neither heals a damaged file nor keeps its files private, and spreads an entry over rows and calls.
Here the file is 0600 in a directory of 0700, several processes may use it at once, and whatever goes wrong with it is
raised to `fetcher`, which counts it as a miss.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
import stat
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from hishel import Entry, Headers

from a2a_discovery._http import ledger
from a2a_discovery._http.shelf import Note
from a2a_discovery._http.store import Store, arrived, lists, size_of, unpacked, variant

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger("a2a_discovery")

P = ParamSpec("P")
T = TypeVar("T")

MAX_BYTES = 256 * 1024 * 1024
"""What the file holds before the least recently used entries go: fifty thousand cards."""
_BUSY = 2.0
"""Seconds to wait for another process's write. Ours take well under a millisecond."""
_TOUCHED = 3600.0
"""Seconds between two notes that an entry was used: the order of eviction needs no finer clock, and a read that
writes costs ten times as much."""
_WAL_BYTES = 4 * 1024 * 1024
"""The write-ahead log is cut back to this size."""
_EVICTED = 10
"""One in this many entries goes when room is short, so that it isn't short again at once."""

_APPLICATION = 0x61326164
"""``a2ad``: says in the file's header whose it is."""
_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))

# The version stands in the table's name: an older or newer release with the same file has a table of its own.
ENTRIES = "entries_1"
_SCHEMA = (
    f"""
    CREATE TABLE IF NOT EXISTS {ENTRIES} (
        id BLOB NOT NULL UNIQUE,
        key TEXT NOT NULL,
        variant TEXT NOT NULL,
        sent TEXT NOT NULL,
        head TEXT NOT NULL,
        at REAL NOT NULL,
        ttl REAL,
        used REAL NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (key, variant)
    )
    """,
    f"CREATE INDEX IF NOT EXISTS {ENTRIES}_used ON {ENTRIES} (used)",
    ledger.SCHEMA,
)
_READ = f"SELECT id, sent, head, body, used FROM {ENTRIES} WHERE key = ?"  # noqa: S608  (the table's name is ours)
_TOUCH = f"UPDATE {ENTRIES} SET used = ? WHERE id = ?"  # noqa: S608
_REMOVE = f"DELETE FROM {ENTRIES} WHERE id = ?"  # noqa: S608
_WRITE = f"""
INSERT INTO {ENTRIES} (id, key, variant, sent, head, body, at, ttl, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key, variant) DO UPDATE SET
    id = excluded.id, sent = excluded.sent, head = excluded.head, body = excluded.body, at = excluded.at,
    ttl = excluded.ttl, used = excluded.used
WHERE excluded.at >= {ENTRIES}.at
"""  # noqa: S608
_RENEW = f"UPDATE {ENTRIES} SET head = ?, at = ? WHERE id = ? AND at <= ?"  # noqa: S608
_EXPIRED = f"DELETE FROM {ENTRIES} WHERE at + ttl < ?"  # noqa: S608
_EVICT = f"""
DELETE FROM {ENTRIES} WHERE id IN (
    SELECT id FROM {ENTRIES} ORDER BY used LIMIT (SELECT count(*) / ? + 1 FROM {ENTRIES}))
"""  # noqa: S608
_FULLNESS = """
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""


class NotOurs(sqlite3.Error):
    """The file is a database of another program: it stays as it is, and nothing is stored."""


@dataclass(slots=True)
class _Opened:
    """A connection, bound to its thread."""

    connection: sqlite3.Connection
    inode: tuple[int, int]
    """Which file it is, whatever is at the path by now."""


class SqliteStore(Store):
    """Entries in a SQLite file. It may be used from several event loops; each call is one hop to its one thread.

    Args:
        path: the file; its directory is made where it is missing.
        clock: seconds since the epoch.
        max_bytes: what the file holds before the least recently used entries go.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time, max_bytes: int = MAX_BYTES) -> None:
        super().__init__()
        self.path = path
        self._clock = clock
        self._max_bytes = max_bytes
        self._thread: ThreadPoolExecutor | None = None
        self._process = 0
        self._opened: _Opened | None = None

    async def get_entries(self, key: str) -> list[Entry]:
        """The entries under a key.

        Raises:
            sqlite3.Error, OSError: the file can't be read.
        """
        return await self._hop(self._get, key)

    async def look_up(self, key: str, channel: str, location: str) -> tuple[list[Entry], bytes | None]:
        """The entries under a key, and what a location proved before.

        Raises:
            sqlite3.Error, OSError: the file can't be read.
        """
        return await self._hop(self._look_up, key, channel, location)

    async def replace(
        self,
        entry: Entry,
        body: bytes,
        key: str,
        *,
        ttl: float | None,
        old: Sequence[uuid.UUID],
        note: Note | None = None,
    ) -> None:
        """Write an entry, remove the ones it replaces, and remember its location, in one transaction.

        Raises:
            sqlite3.Error, OSError: nothing was changed.
        """
        await self._hop(self._replace, entry, body, key, ttl=ttl, old=tuple(old), note=note)

    async def update_headers(self, id: uuid.UUID, headers: Headers) -> None:  # noqa: A002  (hishel's word)
        """Renew an entry's header fields, if it is still there and no newer.

        Raises:
            sqlite3.Error, OSError: nothing was changed.
        """
        await self._hop(self._update, id, headers)

    async def remove_entry(self, id: uuid.UUID) -> None:  # noqa: A002
        """Remove an entry, if it is still there.

        Raises:
            sqlite3.Error, OSError: nothing was changed.
        """
        await self._hop(self._remove, id)

    async def recall(self, channel: str, location: str) -> bytes | None:
        """What a location proved before.

        Raises:
            sqlite3.Error, OSError: the file can't be read.
        """
        return await self._hop(ledger.recall, channel, location)

    async def remember(self, note: Note) -> None:
        """Remember what a location proved.

        Raises:
            sqlite3.Error, OSError: nothing was changed.
        """
        await self._hop(self._remember, note)

    def forget(self, channel: str, location: str) -> None:
        """Remember nothing of a location any more, here and now, on the calling thread.

        Raises:
            sqlite3.Error, OSError: it cannot be written.
        """
        with opened(self.path) as connection:
            if connection is not None:
                ledger.forget(connection, location, channel)

    async def close(self) -> None:
        """Close the file and end the thread. Used again, the store opens again."""
        thread, self._thread = self._thread, None
        if thread is None or self._process != os.getpid():
            return
        try:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(thread, self._close))
        except asyncio.CancelledError:
            thread.shutdown(wait=False)
            raise
        thread.shutdown()

    async def _hop(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._thread is None or self._process != os.getpid():
            # A forked child inherits neither the thread nor, by SQLite's rules, the right to use the connection.
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="a2a-discovery-cache")
            self._process, self._opened = os.getpid(), None
        done = asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._run(work, *args, **kwargs))
        return await done

    # What follows runs on the thread.

    def _run(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do one piece of work; where the file turns out to be damaged, once more with a new one."""
        try:
            return work(self._connection(), *args, **kwargs)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                raise  # busy, full, read-only, another program's: the file itself is whole
            inode = None if self._opened is None else self._opened.inode
            self._close()
            _move_aside(self.path, inode)
            reason = f"damaged ({error}): moved aside"
            log.warning("a2a.cache.failed", extra={"a2a.store": "sqlite", "a2a.reason": reason})
            return work(self._connection(), *args, **kwargs)

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = _open(self.path)
        return self._opened.connection

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.connection.close()

    def _get(self, connection: sqlite3.Connection, key: str) -> list[Entry]:
        now = self._clock()
        rows = connection.execute(_READ, (key,)).fetchall()
        due = [(now, row[0]) for row in rows if now - row[-1] >= _TOUCHED]
        if due:
            with suppress(sqlite3.OperationalError):  # busy or read-only: the answer is there all the same
                connection.executemany(_TOUCH, due)
        found = (unpacked(uuid.UUID(bytes=id_), *stored) for id_, *stored, _ in rows)
        return [entry for entry in found if entry is not None]

    def _look_up(
        self, connection: sqlite3.Connection, key: str, channel: str, location: str
    ) -> tuple[list[Entry], bytes | None]:
        return self._get(connection, key), ledger.recall(connection, channel, location)

    def _replace(
        self,
        connection: sqlite3.Connection,
        entry: Entry,
        body: bytes,
        key: str,
        *,
        ttl: float | None,
        old: Sequence[uuid.UUID],
        note: Note | None,
    ) -> None:
        now, request, response = self._clock(), entry.request, entry.response
        sent = json.dumps([request.method, request.url, lists(request.headers), response.status_code])
        head, size = json.dumps(lists(response.headers)), len(body) + size_of(request, response)
        row = (entry.id.bytes, key, variant(request, response), sent, head, body, arrived(response.headers), ttl, now)
        with _transaction(connection):
            connection.executemany(_REMOVE, [(each.bytes,) for each in old])
            if size <= self._max_bytes // 4:  # one answer must not push out a quarter of all others
                self._make_room(connection, now)
                connection.execute(_WRITE, row)
            if note is not None:
                ledger.remember(connection, note, now)

    def _update(self, connection: sqlite3.Connection, id_: uuid.UUID, headers: Headers) -> None:
        at = arrived(headers)
        connection.execute(_RENEW, (json.dumps(lists(headers)), at, id_.bytes, at))

    def _remove(self, connection: sqlite3.Connection, id_: uuid.UUID) -> None:
        connection.execute(_REMOVE, (id_.bytes,))

    def _remember(self, connection: sqlite3.Connection, note: Note) -> None:
        with _transaction(connection):
            ledger.remember(connection, note, self._clock())

    def _make_room(self, connection: sqlite3.Connection, now: float) -> None:
        if connection.execute(_FULLNESS).fetchone()[0] < self._max_bytes:
            return
        connection.execute(_EXPIRED, (now,))
        if connection.execute(_FULLNESS).fetchone()[0] >= self._max_bytes:
            connection.execute(_EVICT, (_EVICTED,))


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection | None]:
    """The file for the calling thread, for as long as the block runs; ``None`` where there is none yet.

    Raises:
        sqlite3.Error, OSError: it cannot be used.
    """
    if not path.exists():
        yield None
        return
    connection = _open(path).connection
    try:
        yield connection
    finally:
        connection.close()


def _open(path: Path) -> _Opened:
    _make_private(path)
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None)
    try:
        _prepare(connection)
        state = path.stat()
    except BaseException:
        connection.close()
        raise
    return _Opened(connection=connection, inode=(state.st_dev, state.st_ino))


def _make_private(path: Path) -> None:
    """Make the directory and the file for their owner alone; SQLite gives its side files the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            with suppress(OSError):
                path.chmod(0o600)


def _prepare(connection: sqlite3.Connection) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise NotOurs("the file is a database of another program")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(connection)
    # A crash of the machine may lose the last entries, never the file: this is a cache.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    if not {ENTRIES, ledger.TABLE} <= tables:
        with _transaction(connection):
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in _SCHEMA:
                connection.execute(statement)


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Readers then never wait for the writer. The switch itself does not wait for others, so it is tried again."""
    until = time.monotonic() + _BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _move_aside(path: Path, inode: tuple[int, int] | None) -> None:
    """Rename a damaged file, unless another process did it and a new one is there already."""
    with suppress(OSError):
        state = path.stat()
        if inode is not None and (state.st_dev, state.st_ino) != inode:
            return
        path.replace(path.with_name(path.name + ".damaged"))
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and the lock taken at once: one taken later, in the middle, does not wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled back by itself
            connection.execute("ROLLBACK")
        raise
