"""The memory of one cache: bounded by bytes, the least recently used goes first."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._http.cache import Cache
from a2a_discovery._http.shelf import Record, Shelf
from a2a_discovery.policy import Limits


def record(size: int = 0, at: float = 0.0, value: Any = None) -> Record:
    return Record(id=uuid.uuid4(), at=at, size=size, value=value)


async def test_what_was_used_last_stays_when_room_is_short(open_desk: Any) -> None:
    urls = [f"https://shop.example/{name}" for name in "abc"]
    async with open_desk(Cache.memory(), limits=Limits(memory_bytes=50_000)) as desk:
        for url in urls:
            desk.origin.page(url, body=b"x" * 10_000, cache_control="max-age=60")
        await desk.get(urls[0])
        await desk.get(urls[1])
        await desk.get(urls[0])
        await desk.get(urls[2])

        states = [(await desk.get(url, keep=False)).cache for url in urls]

    assert states == ["fresh", "network", "fresh"]


async def test_an_answer_larger_than_the_memory_pushes_nothing_out(open_desk: Any) -> None:
    async with open_desk(Cache.memory(), limits=Limits(memory_bytes=40_000)) as desk:
        desk.origin.page("https://shop.example/small", cache_control="max-age=60")
        desk.origin.page("https://shop.example/huge", body=b"x" * 20_000, cache_control="max-age=60")
        await desk.get("https://shop.example/small")
        await desk.get("https://shop.example/huge")

        assert (await desk.get("https://shop.example/small", keep=False)).cache == "fresh"
        assert (await desk.get("https://shop.example/huge", keep=False)).cache == "network"


def test_an_older_answer_never_replaces_a_newer_one() -> None:
    shelf = Shelf()
    newer = record(at=2.0)
    shelf.put("key", "", newer, bound=10_000)

    shelf.put("key", "", record(at=1.0), bound=10_000)
    shelf.renew(Record(id=newer.id, at=1.0, size=0, value="older"))

    assert shelf.get("key") == [newer]


def test_what_is_gone_can_be_removed_and_renewed_without_effect() -> None:
    shelf = Shelf()
    shelf.remove(uuid.uuid4())
    shelf.renew(record())

    assert (len(shelf), shelf.size, shelf.find(uuid.uuid4())) == (0, 0, None)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "get", "remove", "renew"]), st.integers(0, 4), st.integers(0, 3000)),
        max_size=60,
    )
)
def test_the_shelf_knows_its_size_and_keeps_its_bound(steps: list[tuple[str, int, int]]) -> None:
    shelf = Shelf()
    known: list[Record] = []
    for number, (step, name, size) in enumerate(steps):
        if step == "put":
            known.append(record(size, at=float(number)))
            shelf.put(str(name), str(size % 2), known[-1], bound=12_000)
        elif step == "get":
            shelf.get(str(name))
        elif known:
            target = known[name % len(known)]
            if step == "remove":
                shelf.remove(target.id)
            else:
                shelf.renew(Record(id=target.id, at=float(number), size=min(size, target.size), value=None))
        held = [each for key in map(str, range(5)) for each in shelf.get(key)]
        assert shelf.size == sum(each.size + 2048 for each in held) <= 12_000
        assert len(shelf) == len(held)
        assert all(shelf.find(each.id) is each for each in held)


def test_several_threads_may_use_one_memory() -> None:
    shelf, failures = Shelf(), []

    def work(name: str) -> None:
        try:
            for number in range(500):
                shelf.put(name, "", record(100, at=float(number)), bound=4_000)
                for each in shelf.get(name):
                    shelf.remove(each.id)
        except Exception as error:  # noqa: BLE001  (whatever a race would raise)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(str(name),)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert shelf.size == len(shelf) == 0
