"""Whether a signature covers a part of a card, by the members that A2A 1.0 reads of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from a2a_discovery._card.read import Reading
from a2a_discovery._finding import pointer
from a2a_discovery._trust.presence import MESSAGES

_Path = tuple[str | int, ...]


def is_covered(reading: Reading, uncovered: Collection[str], message: str, *place: str | int) -> bool:
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
        value = value[token]
    return not any(
        each == used or used.startswith(f"{each}/") or (whole and each.startswith(f"{used}/"))
        for path, whole in _used(value, message, place)
        for used in (reading.origin(pointer(*path)),)
        for each in uncovered
    )


def _used(value: dict[str, Any], message: str, place: _Path) -> Iterator[tuple[_Path, bool]]:
    """Places that are read, and whether all that is below them is."""
    yield place, False
    for name, field in MESSAGES[message].items():
        if name not in value:
            continue
        member, here = value[name], (*place, name)
        parts: list[tuple[_Path, Any]] | None = None
        if field.shape == "message":
            parts = [(here, member)]
        elif field.message is not None and isinstance(member, dict):
            parts = [((*here, key), part) for key, part in member.items()]
        elif field.message is not None and isinstance(member, list):
            parts = [((*here, index), part) for index, part in enumerate(member)]
        yield here, parts is None
        for path, part in parts or ():
            if isinstance(part, dict) and field.message is not None:
                yield from _used(part, field.message, path)
            else:
                yield path, True
