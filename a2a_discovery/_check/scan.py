"""One walk over a document: its texts, and what stands out in it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Path
from a2a_discovery._card.shapes import SHAPES

SAFE = 2**53 - 1
"""The largest integer up to which a double holds each (RFC 8785 section 3.2.2.3)."""


@dataclass(slots=True)
class Scan:
    """What a walk over a document saw."""

    texts: list[tuple[Path, str, str]] = field(default_factory=list)
    """Place of the holder, name of the member (that of the list for an element), text."""
    indexes: dict[int, int] = field(default_factory=dict)
    """Number of a text in `texts` → its place in a list."""
    numbers: list[Path] = field(default_factory=list)
    """Integers that doubles round."""
    private_keys: list[Path] = field(default_factory=list)
    """The private part of a JWK."""
    names: set[str] = field(default_factory=set)
    """The names of all members."""
    long_names: list[tuple[Path, str]] = field(default_factory=list)
    """Long names of members that A2A does not know, and where."""
    empty: bool = False
    """Some member or element is empty or null."""
    whole: str = ""
    """All texts in a row: what is not in here is in none of them."""
    lower: str = ""
    """The same in lower case."""
    _lowered: list[str] = field(default_factory=list)

    def lowered(self) -> list[str]:
        """Each text in lower case."""
        if not self._lowered:
            self._lowered = [text.lower() for _, _, text in self.texts]
        return self._lowered

    def holding(self, signs: Iterable[str], *, lower: bool = False) -> set[int]:
        """The numbers of the texts that hold one of these, which are lower case where ``lower`` is asked for."""
        there = [sign for sign in signs if sign in (self.lower if lower else self.whole)]
        if not there:
            return set()
        texts = self.lowered() if lower else [text for _, _, text in self.texts]
        # One sign after the other, since few of them are there at all.
        return {number for sign in there for number, text in enumerate(texts) if sign in text}

    def place(self, number: int) -> Path:
        """Where a text stands."""
        holder, name, _ = self.texts[number]
        return (*holder, name, self.indexes[number]) if number in self.indexes else (*holder, name)


_KNOWN = frozenset(name for shape in SHAPES.values() for name in (*shape.members, *shape.older))
_SHORT = 16
"""Characters below which a name is too short to hold a secret."""


def scan(document: JSON) -> Scan:
    """Walk over a document whose depth is bounded (`decode` sees to that). What signatures hold is no text."""
    seen = Scan()
    if isinstance(document, dict) and "signatures" in document:
        document = {name: value for name, value in document.items() if name != "signatures"}
    _walk(document, (), seen)
    seen.whole = " ".join([text for _, _, text in seen.texts])
    seen.lower = seen.whole.lower()
    return seen


def _walk(node: JSON, path: Path, seen: Scan) -> None:
    if isinstance(node, dict):
        seen.names.update(node)
        for name, value in node.items():
            if len(name) >= _SHORT and name not in _KNOWN:
                seen.long_names.append((path, name))
            if type(value) is str:
                seen.texts.append((path, name, value))
                seen.empty = seen.empty or not value
            else:
                _see(value, (*path, name), seen)
        if "kty" in node and (isinstance(node.get("d"), str) or (node["kty"] == "oct" and "k" in node)):
            seen.private_keys.append(path)
    elif isinstance(node, list):
        holder, last = path[:-1], str(path[-1]) if path else ""
        for index, value in enumerate(node):
            if type(value) is str:
                seen.indexes[len(seen.texts)] = index
                seen.texts.append((holder, last, value))
                seen.empty = seen.empty or not value
            else:
                _see(value, (*path, index), seen)


def _see(value: JSON, at: Path, seen: Scan) -> None:
    if isinstance(value, (dict, list)):
        if value:
            _walk(value, at, seen)
        else:
            seen.empty = True
    elif value is None:
        seen.empty = True
    elif isinstance(value, int) and not -SAFE <= value <= SAFE:
        seen.numbers.append(at)


@functools.lru_cache(maxsize=2048)
def plain(name: str) -> str:
    """The name of a member without case and separators."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
