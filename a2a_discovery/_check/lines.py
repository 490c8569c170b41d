"""Where the places of a document are in its text: line and column of JSON pointers, for editors and CI."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)


@dataclass(slots=True)
class _Level:
    """An object or list that is open."""

    pointer: str
    named: bool
    """It is an object, and its next text is a name."""
    index: int = 0
    name: str = ""

    def child(self) -> str:
        token = self.name.replace("~", "~0").replace("/", "~1") if self.named else str(self.index)
        return f"{self.pointer}/{token}"


def places(body: bytes, pointers: Collection[str]) -> Mapping[str, tuple[int, int]]:
    """Find the places of pointers in a JSON text.

    Args:
        body: the document, which `decode` can read.
        pointers: those that are wanted. One that is not there is found at the nearest place above it.

    Returns:
        Pointer → line and column, both from 1; of a member, where its name stands.
    """
    wanted = {above for pointer in pointers for above in _upwards(pointer)}
    if wanted <= {""}:
        return dict.fromkeys(pointers, (1, 1))
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    offsets = _offsets(text, wanted)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    nearest = {pointer: next((each for each in _upwards(pointer) if each in offsets), "") for pointer in pointers}
    return {pointer: _line(starts, offsets.get(head, 0)) for pointer, head in nearest.items()}


def _upwards(pointer: str) -> Iterator[str]:
    """The pointer and all above it."""
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def _offsets(text: str, wanted: Collection[str]) -> dict[str, int]:
    """The offsets of the wanted pointers, as far as they are there."""
    found: dict[str, int] = {}
    open_: list[_Level] = []
    name: tuple[str, int] | None = None
    expects_name = False
    for token in _TOKEN.finditer(text):
        mark = token[0]
        level = open_[-1] if open_ else None
        if mark == ",":
            if level is not None:
                level.index += 1
                expects_name = level.named
        elif mark == ":":
            expects_name = False
        elif mark in "}]":
            if open_:
                open_.pop()
            expects_name = False
        elif expects_name and mark[0] == '"':
            name = (_text(mark), token.start())
        else:
            pointer, start = "", token.start()
            if level is not None:
                if level.named and name is not None:
                    level.name, start = name
                pointer = level.child()
            if pointer in wanted:
                found.setdefault(pointer, start)
            if mark in "{[":
                open_.append(_Level(pointer, named=mark == "{"))
                expects_name = mark == "{"
    return found


def _text(token: str) -> str:
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token


def _line(starts: list[int], offset: int) -> tuple[int, int]:
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1
