"""What locations proved before lives in the store's file: other processes know it, and nothing evicts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import Cache, Credentials, Discovery, Trust, TrustError
from a2a_discovery._http import ledger
from a2a_discovery._http.shelf import Note
from a2a_discovery._http.sqlite import SqliteStore, opened
from a2a_discovery._trust.continuity import Past
from a2a_discovery.testing import Clock, FakeAgent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent(clock=Clock())


def another_process(agent: FakeAgent, file: Path, **options: Any) -> Discovery:
    """A discovery that shares nothing with the others but the file."""
    return Discovery(transport=agent, clock=agent.clock, cache=Cache.sqlite(file), **options)


def remembered(file: Path) -> list[Note]:
    with opened(file) as connection:
        assert connection is not None
        return ledger.notes(connection)


async def seen(agent: FakeAgent, file: Path) -> None:
    async with another_process(agent, file) as d:
        await d.discover("shop.example")


async def test_a_card_that_stopped_being_signed_is_refused_in_the_next_process(agent: FakeAgent, file: Path) -> None:
    await seen(agent, file)
    agent.signers.clear()

    async with another_process(agent, file) as d:
        with pytest.raises(TrustError) as refused:
            await d.discover("shop.example", refresh=True)

    assert refused.value.code == "downgraded"


async def test_forgetting_reaches_other_processes(agent: FakeAgent, file: Path) -> None:
    async with another_process(agent, file) as one, another_process(agent, file) as other:
        await one.discover("shop.example")
        agent.signers.clear()
        other.forget("shop.example")

        assert (await one.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL


async def test_forgetting_where_there_is_no_file_makes_none(agent: FakeAgent, file: Path) -> None:
    another_process(agent, file).forget("shop.example")

    assert not file.exists()


async def test_it_is_written_with_the_answer_once_and_not_again(agent: FakeAgent, file: Path) -> None:
    await seen(agent, file)
    first = remembered(file)
    agent.clock.advance(1000)

    async with another_process(agent, file) as d:
        await d.discover("shop.example")

    assert [note.location for note in first] == ["https://shop.example"]
    assert remembered(file) == first


async def test_what_changes_keeps_its_first_date(agent: FakeAgent, file: Path) -> None:
    await seen(agent, file)
    began = agent.clock()
    agent.card["version"] = "1.1.0"
    agent.clock.advance(1000)

    async with another_process(agent, file) as d:
        await d.discover("shop.example")

    (note,) = remembered(file)
    assert (note.since, note.changed) == (began, began + 1000)
    assert b'"1.1.0"' in note.record


async def test_two_processes_at_once_keep_what_was_proven_more(file: Path) -> None:
    store = SqliteStore(file)
    more, less = (Past(level=level).encode() for level in (Trust.SIGNED, Trust.CHANNEL))
    await store.remember(Note(channel="c", location="https://shop.example", record=more))

    await store.remember(Note(channel="c", location="https://shop.example", record=less))

    assert await store.recall("c", "https://shop.example") == more
    assert await store.recall("other", "https://shop.example") is None
    await store.close()


async def test_a_renewed_copy_brings_what_its_location_proved_when_it_was_read(open_desk: Any, file: Path) -> None:
    url, location = "https://shop.example/card.json", "https://shop.example/card.json"
    async with open_desk(Cache.sqlite(file)) as desk:
        desk.origin.page(url, cache_control="max-age=60", etag='"1"')
        await desk.fetcher.keep(await desk.get(url, keep=False), location=location, record=b"proven")
        renewed = await desk.get(url, keep=False, mode="refresh")
        with opened(file) as connection:  # another process forgets it meanwhile
            assert connection is not None
            ledger.forget(connection, location, None)

        assert await desk.fetcher.recall(location, renewed) == b"proven"
        assert await desk.fetcher.recall("https://shop.example/other.json", renewed) is None
        assert await desk.fetcher.recall(location) is None
        await desk.fetcher.keep(renewed)
        assert await desk.fetcher.recall(location, renewed) is None  # whoever shared the request is told anew


async def test_eviction_leaves_it(agent: FakeAgent, file: Path) -> None:
    await seen(agent, file)
    with opened(file) as connection:
        assert connection is not None
        connection.execute("DELETE FROM entries_1")

    agent.signers.clear()
    async with another_process(agent, file) as d:
        with pytest.raises(TrustError, match="proves less than before"):
            await d.discover("shop.example")


async def test_where_the_file_takes_nothing_the_process_remembers(
    agent: FakeAgent, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with another_process(agent, tmp_path) as d:  # a directory is no file
        await d.discover("shop.example")
        agent.signers.clear()

        with pytest.raises(TrustError) as refused:
            await d.discover("shop.example", refresh=True)
        assert refused.value.code == "downgraded"

        d.forget("shop.example")
        assert (await d.discover("shop.example", refresh=True)).trust.level is Trust.CHANNEL
    assert {record.getMessage() for record in caplog.records} == {"a2a.cache.failed"}


async def test_an_extended_card_is_remembered_apart(agent: FakeAgent, file: Path) -> None:
    agent = FakeAgent(clock=Clock(), extended=True)
    async with another_process(agent, file) as d:
        found = await d.discover("shop.example")
        await found.upgrade(Credentials(bearer="let-me-in"))

    assert [note.location for note in remembered(file)] == ["https://shop.example", "https://shop.example#extended"]


async def test_a_file_of_the_release_before_gets_the_table(agent: FakeAgent, file: Path) -> None:
    await seen(agent, file)
    with opened(file) as connection:
        assert connection is not None
        connection.execute(f"DROP TABLE {ledger.TABLE}")

    await seen(agent, file)

    assert [note.location for note in remembered(file)] == ["https://shop.example"]
