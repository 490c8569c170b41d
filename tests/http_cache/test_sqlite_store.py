"""The SQLite file: private, shared by processes, healed when damaged, and never a reason to fail."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from hishel import Entry, Headers, Request, Response

from a2a_discovery._http.cache import Cache
from a2a_discovery._http.sqlite import SqliteStore
from a2a_discovery._http.store import Body, arrived

URL = "https://shop.example/.well-known/agent-card.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers" / "cache.sqlite"


def entry(body: bytes = b"{}", *, at: float = 0.0, vary: str | None = None) -> tuple[Entry, bytes]:
    fields = {"a2a-discovery-copy": f'{{"at": {at}}}'} | ({} if vary is None else {"vary": vary})
    request = Request("GET", URL, Headers({"accept": "x"}))
    return Entry(id=uuid.uuid4(), request=request, response=Response(200, Headers(fields))), body


async def put(store: SqliteStore, key: str, body: bytes = b"{}", **options: Any) -> Entry:
    made, data = entry(body, **options)
    await store.replace(made, data, key, ttl=60.0, old=())
    return made


async def bodies(store: SqliteStore, key: str) -> list[bytes]:
    found = []
    for each in await store.get_entries(key):
        assert isinstance(each.response.stream, Body)
        found.append(each.response.stream.data)
    return found


def records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "a2a_discovery"]


async def test_the_next_process_finds_what_this_one_kept(path: Path) -> None:
    store = SqliteStore(path)
    made = await put(store, "key", b"\x00body\xff")
    await store.close()

    again = SqliteStore(path)
    (found,) = await again.get_entries("key")
    await again.close()

    assert (found.id, found.request, found.response.headers) == (made.id, made.request, made.response.headers)
    assert isinstance(found.response.stream, Body)
    assert found.response.stream.data == b"\x00body\xff"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
async def test_the_file_and_its_side_files_are_their_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(path)
        await put(store, "key")
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes == {"cache.sqlite": 0o600, "cache.sqlite-wal": 0o600, "cache.sqlite-shm": 0o600}


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
async def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    store = SqliteStore(path)
    await put(store, "key")
    await store.close()
    path.chmod(0o644)

    await store.get_entries("key")
    await store.close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_closing_ends_the_thread_and_using_the_store_again_opens_it(path: Path) -> None:
    def threads() -> list[str]:
        return [each.name for each in threading.enumerate() if each.name.startswith("a2a-discovery-cache")]

    store = SqliteStore(path)
    await put(store, "key")
    assert len(threads()) == 1
    await store.close()
    await store.close()
    assert threads() == []

    assert await bodies(store, "key") == [b"{}"]
    await store.close()
    assert threads() == []


def test_a_store_works_on_one_event_loop_after_another_and_on_two_at_once(path: Path) -> None:
    store = SqliteStore(path)
    asyncio.run(put(store, "key"))
    asyncio.run(put(store, "other"))
    results: list[list[bytes]] = []
    threads = [threading.Thread(target=lambda: results.append(asyncio.run(bodies(store, "key")))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(store.close())

    assert results == [[b"{}"]] * 4


async def test_an_entry_replaces_the_one_of_its_variant_and_the_ones_it_is_told_to(path: Path) -> None:
    store = SqliteStore(path)
    first = await put(store, "key", b"1", at=1.0)
    await put(store, "key", b"varied", at=1.0, vary="accept")
    await put(store, "key", b"2", at=2.0)
    two = sorted(await bodies(store, "key"))
    made, data = entry(b"3", at=3.0)
    await store.replace(made, data, "key", ttl=60.0, old=[each.id for each in await store.get_entries("key")])
    after = await bodies(store, "key")
    await store.remove_entry(first.id)
    await store.close()

    assert (two, after) == ([b"2", b"varied"], [b"3"])


async def test_an_older_answer_never_replaces_a_newer_one(path: Path) -> None:
    store = SqliteStore(path)
    newer = await put(store, "key", b"newer", at=2.0)

    await put(store, "key", b"older", at=1.0)
    await store.update_headers(newer.id, Headers({"a2a-discovery-copy": '{"at": 1.0}', "x": "older"}))
    (found,) = await store.get_entries("key")
    await store.close()

    assert (found.id, "x" in found.response.headers) == (newer.id, False)


async def test_renewed_header_fields_leave_the_body_alone(path: Path) -> None:
    store = SqliteStore(path)
    made = await put(store, "key", b"body", at=1.0)

    await store.update_headers(made.id, Headers({"a2a-discovery-copy": '{"at": 2.0}', "etag": '"2"'}))
    await store.update_headers(uuid.uuid4(), Headers({"etag": '"gone"'}))
    (found,) = await store.get_entries("key")
    await store.close()

    assert (found.response.headers["etag"], arrived(found.response.headers)) == ('"2"', 2.0)
    assert isinstance(found.response.stream, Body)
    assert found.response.stream.data == b"body"


async def test_the_least_recently_used_goes_when_the_file_is_full(path: Path) -> None:
    now = [0.0]
    store = SqliteStore(path, clock=lambda: now[0], max_bytes=400_000)
    await put(store, "used", b"x" * 20_000, at=1e9)
    for number in range(60):
        now[0] += 4_000.0  # used is noted once an hour
        await bodies(store, "used")
        await put(store, f"key {number}", os.urandom(20_000), at=1e9)
    kept = [number for number in range(60) if await bodies(store, f"key {number}")]
    used = await bodies(store, "used")
    size = path.stat().st_size
    await store.close()

    assert used
    assert kept
    assert kept == list(range(kept[0], 60))
    assert size < 800_000


async def test_what_is_past_its_time_goes_before_what_is_not(path: Path) -> None:
    now = [0.0]
    store = SqliteStore(path, clock=lambda: now[0], max_bytes=400_000)
    await put(store, "good", b"x" * 20_000, at=1e9)
    for number in range(20):
        now[0] += 1.0
        await put(store, f"old {number}", os.urandom(20_000), at=now[0])
        now[0] += 3_600.0
    found = await bodies(store, "good"), await bodies(store, "old 0")
    await store.close()

    assert found == ([b"x" * 20_000], [])


async def test_one_answer_as_large_as_a_quarter_of_the_file_is_not_stored(path: Path) -> None:
    store = SqliteStore(path, max_bytes=100_000)
    await put(store, "small")
    await put(store, "large", b"x" * 25_001)

    assert (await bodies(store, "small"), await bodies(store, "large")) == ([b"{}"], [])
    await store.close()


async def test_a_row_that_we_did_not_write_so_is_as_if_it_were_not_there(path: Path) -> None:
    store = SqliteStore(path)
    await put(store, "key")
    with sqlite3.connect(path) as other:
        other.execute("UPDATE entries_1 SET head = '[1'")
    other.close()

    assert await bodies(store, "key") == []
    await store.close()


@pytest.mark.parametrize(
    "damage", [b"not a database at all, by any means" * 100, b"SQLite format 3\x00" + b"\xff" * 8_000]
)
async def test_a_damaged_file_is_moved_aside_and_a_new_one_made(
    open_desk: Any, path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(damage)
    async with open_desk(Cache.sqlite(path)) as desk:
        desk.origin.page(cache_control="max-age=60")

        states = [(await desk.get()).cache for _ in range(2)]

    assert states == ["network", "fresh"]
    assert path.with_name("cache.sqlite.damaged").read_bytes() == damage
    assert [record.message for record in records(caplog)] == ["a2a.cache.failed"]


async def test_a_file_damaged_while_it_is_open_heals_too(open_desk: Any, path: Path) -> None:
    async with open_desk(Cache.sqlite(path)) as desk:
        for number in range(200):
            url = f"https://shop.example/{number}"
            desk.origin.page(url, body=os.urandom(2_000), cache_control="max-age=60")
            await desk.get(url)
        await desk.fetcher.aclose()  # what the log holds goes into the file
        with path.open("r+b") as file:
            file.seek(4_096)
            file.write(b"\xff" * (path.stat().st_size - 8_192))

        for url in ("https://shop.example/1", "https://shop.example/199"):
            await desk.get(url)
            assert (await desk.get(url)).cache == "fresh"


async def test_a_file_that_another_process_healed_is_not_moved_aside_again(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    for number in range(100):
        await put(store, f"key {number}", os.urandom(2_000))
    await store.close()
    await store.get_entries("key 0")  # it holds the file open
    aside = path.with_name("moved by the other")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    await put(other, "new", b"healed")
    with aside.open("r+b") as damaged:
        damaged.seek(4_096)
        damaged.write(b"\xff" * (aside.stat().st_size - 4_096))

    for number in range(100):
        await store.get_entries(f"key {number}")
    found = await bodies(store, "new")
    await store.close()
    await other.close()

    assert found == [b"healed"]
    assert not path.with_name("cache.sqlite.damaged").exists()


async def test_another_programs_database_stays_as_it_is(
    open_desk: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE accounts (name TEXT)")
    theirs.close()
    before = path.read_bytes()
    async with open_desk(Cache.sqlite(path)) as desk:
        desk.origin.page(cache_control="max-age=60")

        states = [(await desk.get()).cache for _ in range(2)]

    assert states == ["network", "network"]
    assert path.read_bytes() == before
    # reading fails, and writing, and both again
    assert [record.message for record in records(caplog) if record.levelno == logging.WARNING] == ["a2a.cache.failed"]


async def test_a_store_that_fails_is_said_once_until_it_works_again(
    open_desk: Any, plain_storage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    failing = [True]
    works = plain_storage.get_entries

    async def get_entries(key: str) -> Any:
        if failing[0]:
            raise ConnectionError("no route to the store")
        return await works(key)

    plain_storage.get_entries = get_entries
    async with open_desk(Cache.storage(plain_storage)) as desk:
        desk.origin.page(cache_control="max-age=60")
        counts = []
        for fails in (True, True, False, True):
            failing[0] = fails
            await desk.get()
            counts.append(len(records(caplog)))

    assert counts == [1, 1, 1, 2]
    record = records(caplog)[0]
    assert (record.message, record.levelname) == ("a2a.cache.failed", "WARNING")
    assert vars(record)["a2a.reason"] == "ConnectionError: no route to the store"


async def test_a_storage_that_was_handed_in_stays_open(open_desk: Any, plain_storage: Any) -> None:
    async with open_desk(Cache.storage(plain_storage)) as desk:
        await desk.get()

    assert plain_storage.closed is False


PRELUDE = """
import asyncio, logging, sys, httpx
from a2a_discovery._effects import Fetch
from a2a_discovery._http.cache import Cache
from a2a_discovery._http.fetcher import Fetcher
from a2a_discovery.policy import Limits, NetworkPolicy

logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)

def answer(request):
    return httpx.Response(200, headers={"cache-control": "max-age=60"}, content=b"x" * 5000)

async def twice(cache):
    fetcher = Fetcher(network=NetworkPolicy(), limits=Limits(), cache=cache, transport=httpx.MockTransport(answer))
    for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2):
        fetched = await fetcher.fetch(Fetch(url="https://shop.example/card.json", kind="card", limit=10_000))
        await fetcher.keep(fetched)
        print(fetched.status, fetched.cache)
    await fetcher.aclose()
"""


def run(script: str, *arguments: str, **options: Any) -> list[str]:
    command = [sys.executable, "-W", "error", "-c", PRELUDE + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE stands for a full disk")
def test_a_full_disk_is_a_miss_and_one_warning(path: Path) -> None:
    store = SqliteStore(path)
    asyncio.run(put(store, "key"))
    asyncio.run(store.close())
    script = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
asyncio.run(twice(Cache.sqlite(sys.argv[1])))
"""
    lines = run(script, str(path), "3")

    assert [line for line in lines if line.startswith("200")] == ["200 network"] * 3
    assert [line for line in lines if not line.startswith("200")] == ["WARNING a2a.cache.failed"]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("existing", [True, False])
def test_a_directory_that_cannot_be_written_is_a_miss_and_a_warning(path: Path, existing: bool) -> None:
    path.parent.mkdir(parents=True)
    if existing:
        store = SqliteStore(path)
        asyncio.run(put(store, "key"))
        asyncio.run(store.close())
    path.parent.chmod(0o555)
    script = """
import os, sqlite3, a2a_discovery._http.exchange, a2a_discovery._http.sqlite
if os.getuid() == 0:  # the modules are loaded: the interpreter may be out of reach from now on
    os.setgid(65534); os.setuid(65534)
asyncio.run(twice(Cache.sqlite(sys.argv[1])))
"""
    for parent in path.parents[1:4]:
        if parent.stat().st_uid == os.getuid() and parent.name.startswith(("pytest-", "test_")):
            parent.chmod(0o755)
    try:
        lines = run(script, str(path))
    finally:
        path.parent.chmod(0o755)

    assert [line for line in lines if line.startswith("200")] == ["200 network"] * 2
    assert [line for line in lines if not line.startswith("200")] == ["WARNING a2a.cache.failed"]


def test_without_a_home_the_memory_is_used_and_the_log_says_so() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")}

    lines = run("asyncio.run(twice(Cache.sqlite()))", env=env)

    assert lines == ["WARNING a2a.cache.no_home", "200 network", "200 fresh"]


def test_the_file_is_made_in_the_users_cache_directory(tmp_path: Path) -> None:
    run("asyncio.run(twice(Cache.sqlite()))", env=os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)})

    assert [each.name for each in tmp_path.rglob("cache.sqlite")] == ["cache.sqlite"]


WRITERS = """
async def many(cache):
    def answer(request):
        return httpx.Response(200, headers={"cache-control": "max-age=60"}, content=str(request.url).encode() * 50)

    fetcher = Fetcher(network=NetworkPolicy(), limits=Limits(), cache=cache, transport=httpx.MockTransport(answer))
    for number in range(100):
        url = f"https://shop.example/{number % 20}"
        fetched = await fetcher.fetch(Fetch(url=url, kind="card", limit=10_000))
        assert fetched.body == url.encode() * 50, fetched
        await fetcher.keep(fetched)
    await fetcher.aclose()

asyncio.run(many(Cache.sqlite(sys.argv[1])))
"""


def test_several_processes_use_one_file_at_once_from_its_first_moment(path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", PRELUDE + WRITERS, str(path)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(4)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]

    assert outputs == [""] * 4
    assert [process.returncode for process in processes] == [0] * 4
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_opens_the_file_itself(path: Path) -> None:
    script = """
import os
from a2a_discovery._http.sqlite import SqliteStore
from pathlib import Path
store = SqliteStore(Path(sys.argv[1]))
print(asyncio.run(store.get_entries("key")))
if os.fork() == 0:
    asyncio.run(asyncio.wait_for(store.close(), 10))
    print(asyncio.run(asyncio.wait_for(store.get_entries("key"), 10)), flush=True)
    asyncio.run(store.close())
    os._exit(0)
os.wait()
asyncio.run(store.close())
"""
    assert sorted(run(script, str(path))) == ["[]"] * 2


def test_open_files_do_not_grow(path: Path) -> None:
    async def use() -> None:
        store = SqliteStore(path)
        await put(store, "key")
        await store.close()

    def count() -> int:
        return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else resource.RLIMIT_NOFILE

    asyncio.run(use())
    before = count()
    for _ in range(20):
        asyncio.run(use())

    assert count() == before
