"""Whether a signature covers a part of a card, by the members that A2A 1.0 reads of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from a2a_discovery._card.read import Reading
from a2a_discovery._finding import pointer
from a2a_discovery._trust.presence import MESSAGES

_Path = tuple[str | int, ...]


class Uncovered:
    """The pointers that a report calls uncovered, for many questions: card and signature may be full of them."""

    def __init__(self, pointers: Collection[str]) -> None:
        self._all = frozenset(pointers)
        self._sorted = sorted(self._all)

    def holds(self, place: str) -> bool:
        """Whether one of them is this place, or above it."""
        while place not in self._all:
            if not place:
                return False
            place = place.rpartition("/")[0]
        return True

    def is_below(self, place: str) -> bool:
        """Whether one of them is below this place."""
        first = bisect_left(self._sorted, f"{place}/")
        return first < len(self._sorted) and self._sorted[first].startswith(f"{place}/")


def is_covered(reading: Reading, uncovered: Uncovered | Collection[str], message: str, *place: str | int) -> bool:
    """Whether what the report calls uncovered leaves all that is read of one message alone.

    Members that A2A 1.0 does not know are read by nobody, so they take nothing away: a server that also speaks 0.3
    writes the older members of a scheme beside the newer ones, and signs the newer alone.

    Args:
        reading: the card.
        uncovered: pointers in its document, as the report has them.
        message: the name of the message in A2A 1.0.
        place: where the message stands in the card's value.
    """
    value: Any = reading.value
    for token in place:
        value = value.get(token, {}) if isinstance(value, dict) else value[token]  # what was left out is nowhere
    places = uncovered if isinstance(uncovered, Uncovered) else Uncovered(uncovered)
    return not any(
        places.holds(used) or (whole and places.is_below(used))
        for path, whole in _used(value, message, place)
        for used in (reading.origin(pointer(*path)),)
    )


def _used(value: dict[str, Any], message: str, place: _Path) -> Iterator[tuple[_Path, bool]]:
    """Places that are read, and whether all that is below them is."""
    yield place, False
    for name, field in MESSAGES[message].items():
        if name not in value:
            continue
        member, here = value[name], (*place, name)
        yield here, field.message is None
        if field.message is None:
            continue
        # In a reading's value, all that stands where a message is wanted is an object: the rest was left out.
        parts: Iterable[tuple[_Path, Any]] = [(here, member)]
        if field.shape == "map":
            parts = (((*here, key), part) for key, part in member.items())
        elif field.shape == "list":
            parts = (((*here, index), part) for index, part in enumerate(member))
        for path, part in parts:
            yield from _used(part, field.message, path)
