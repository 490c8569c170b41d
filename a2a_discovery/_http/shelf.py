"""What one `Cache.memory()` holds: the least recently used goes first, counted in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from a2a_discovery._http.backoff import Misses

_OVERHEAD = 2048
"""Bytes that a record costs beside its body and header fields: the objects around them and the indexes; 1,900 were
measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One stored answer, whatever the store made of it."""

    id: UUID
    at: float
    """When the origin last vouched for it: an older one never replaces a newer one."""
    size: int
    """Bytes of body and header fields."""
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What one location proved, as seen through one channel."""

    channel: str
    """`fingerprint`: another proxy or authority may show another world."""
    location: str
    record: bytes
    since: float = 0.0
    """Seconds since the epoch, when it was first seen."""
    changed: float = 0.0
    """And when what it proves last changed."""

    @property
    def name(self) -> tuple[str, str]:
        """What this process keeps it by."""
        return name_of_note(self.channel, self.location)


def name_of_note(channel: str, location: str) -> tuple[str, str]:
    """What this process keeps the note on a location by; thousands of them have one and the same channel."""
    return channel, location


class Shelf:
    """Records by key and variant. Any thread may use it: several event loops share one memory.

    It loads no library, so that a `Cache` can be made, and never used, for nothing.
    """

    __slots__ = ("_keys", "_lock", "_places", "_records", "misses", "remembered", "size")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: OrderedDict[tuple[str, str], Record] = OrderedDict()
        self._keys: dict[str, set[str]] = {}
        self._places: dict[UUID, tuple[str, str]] = {}
        self.size = 0
        self.misses = Misses()
        # What locations proved before: small, and not evicted with answers.
        self.remembered: dict[tuple[str, str], bytes] = {}

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> list[Record]:
        """The records under a key; reading makes them the most recently used."""
        with self._lock:
            places = [(key, variant) for variant in self._keys.get(key, ())]
            for place in places:
                self._records.move_to_end(place)
            return [self._records[place] for place in places]

    def put(self, key: str, variant: str, record: Record, *, bound: int) -> None:
        """Put a record in the place of its variant's older one, and make room: ``bound`` bytes in all."""
        with self._lock:
            place = (key, variant)
            present = self._records.get(place)
            if present is not None:
                if present.at > record.at:
                    return
                self._drop(place)
            if record.size + _OVERHEAD > bound:
                return  # it would push out all others and then itself
            self._records[place] = record
            self._keys.setdefault(key, set()).add(variant)
            self._places[record.id] = place
            self.size += record.size + _OVERHEAD
            while self.size > bound and self._records:
                self._drop(next(iter(self._records)))

    def find(self, id_: UUID) -> Record | None:
        """The record of that name, if it is still there."""
        with self._lock:
            place = self._places.get(id_)
            return None if place is None else self._records[place]

    def renew(self, record: Record) -> None:
        """Put a record in the place of the one with the same name, if that is still there and no newer."""
        with self._lock:
            place = self._places.get(record.id)
            if place is not None and self._records[place].at <= record.at:
                self.size += record.size - self._records[place].size
                self._records[place] = record

    def remove(self, id_: UUID) -> None:
        """Remove a record by its name; that it is gone already is no error."""
        with self._lock:
            place = self._places.get(id_)
            if place is not None:
                self._drop(place)

    def _drop(self, place: tuple[str, str]) -> None:
        record = self._records.pop(place)
        self.size -= record.size + _OVERHEAD
        del self._places[record.id]
        variants = self._keys[place[0]]
        variants.discard(place[1])
        if not variants:
            del self._keys[place[0]]
