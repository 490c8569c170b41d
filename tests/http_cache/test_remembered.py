"""What locations proved before lives in the store's file: other processes know it, and nothing evicts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import Cache, Credentials, Discovery
from a2a_discovery._http import ledger
from a2a_discovery._http.shelf import Note
from a2a_discovery._http.sqlite import opened
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
