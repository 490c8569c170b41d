"""A large catalog's bytes to its document, an element of a top-level array at a time.

A hundred thousand entries must not be in memory at once, and one odd entry must not cost the others. So the document
is gone through twice: first its whole grammar is checked and its small members are read, then each array is decoded
again while somebody iterates it. What `decode` refuses in a whole document spoils only its own element here.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from a2a_discovery._card.json import DECODER, RefusedError, decode
from a2a_discovery._catalog.entry import JSON, LISTS, Bad, Rows
from a2a_discovery.errors import CardError

_WINDOW = 1 << 18
"""Bytes that are turned into text at a time: a few hundred entries."""
ROWS = 1_000_000
"""Elements of one array. A row of a real catalog takes 60 bytes at least; 64 MiB of ``{}`` would take minutes."""
LONGEST = 4 * 1024 * 1024
"""Characters of one row, or of a member that is no list of rows: four times the largest card. Small arrays take
twenty times their text in memory, and 64 MiB of them took three gigabytes."""
_STARTS = frozenset('{["')
_LAZY = frozenset(("entries", *LISTS))
_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
# Possessive, since a text of megabytes would be remembered character by character.
_BRACKETS = re.compile(r'[^"\[\]{}]*+(?:("[^"\\]*+(?:\\.[^"\\]*+)*+")|([\[{])|([\]}]))', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Scan = Callable[[str, int], tuple[Any, int]]
# Only to find where a value ends: Python refuses to read very long numbers, so none is read.
_plain: Scan = json.JSONDecoder(parse_int=len, parse_float=len).raw_decode
_strict: Scan = DECODER.raw_decode


def read_document(body: bytes, *, depth: int) -> JSON:
    """Read a JSON document whose long arrays are decoded only while they are iterated.

    Args:
        body: the bytes as received.
        depth: most levels of arrays and objects inside each other.

    Returns:
        What `decode` would give, with `Rows` in place of an array that is the root, or ``entries`` or one of `LISTS` in
        it.

    Raises:
        CardError: ``not-json``: the grammar is broken somewhere, or a member that is no array is not fit to be read.
    """
    text = _Text(body)
    start = text.peek()
    if start == "[":
        return _array(text, body, depth)
    if start != "{":
        return decode(body, depth=depth)
    document = _object(text, body, depth)
    text.end()
    return document


def _object(text: _Text, body: bytes, depth: int) -> dict[str, JSON]:
    document: dict[str, JSON] = {}
    text.take("{")
    while text.peek() != "}" or document:
        if text.peek() != '"':
            raise text.fault("a member name was expected")
        name = text.value(_strict)
        text.take(":")
        if name in document:
            raise text.fault("a member stands twice in the root object")
        lazy = name in _LAZY and text.peek() == "["
        document[name] = _array(text, body, depth, root=False) if lazy else _member(text, depth)
        if text.peek() == "}":
            break
        text.take(",")
    text.take("}")
    return document


def _member(text: _Text, depth: int) -> JSON:
    try:
        value = text.value(_strict)
    except RefusedError as exc:
        raise text.fault(f"it has {exc}") from None
    except RecursionError:
        raise text.fault("it nests too deep") from None
    if deeper(value, depth - 1) or half_a_pair(value):
        raise text.fault(f"it nests deeper than {depth} levels, or holds half a surrogate pair")
    return value


def _array(text: _Text, body: bytes, depth: int, *, root: bool = True) -> Rows:
    """Check the grammar of an array, and remember where it starts."""
    start = text.offset
    pairs = _SURROGATE.search(body) is not None
    if any(number >= ROWS for number, _ in enumerate(_elements(text, _plain))):
        raise CardError("not-a-catalog", f"the document lists more than {ROWS:,} things", step="read")
    if root:
        text.end()
    limit = depth - (1 if root else 2)

    def read() -> Iterator[Any]:
        return _judged(_Text(body, start), limit, pairs)

    return Rows(read)


def _judged(text: _Text, limit: int, pairs: bool) -> Iterator[Any]:
    for value in _elements(text, _strict, limit):
        yield Bad("it has half a surrogate pair, which no text holds") if pairs and half_a_pair(value) else value


def _elements(text: _Text, scan: Scan, limit: int | None = None) -> Iterator[Any]:
    """Each element of the array that begins here; `Bad` for one that nests deeper than the limit, or is refused."""
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        yield from text.run(scan, limit)
        try:
            value = text.value(scan)
        except RefusedError as exc:
            text.value(_plain)
            value = Bad(f"it has {exc}")
        except RecursionError:
            text.skip()
            value = Bad("it nests too deep")
        else:
            if limit is not None and text.nests_deeper(value, limit):
                value = Bad("it nests too deep")
        yield value
        if not text.comma():
            break
    text.take("]")


class _Text:
    """The text of a document, a window at a time."""

    def __init__(self, body: bytes, start: int | None = None) -> None:
        if start is None:
            start = len(_BOM) if body.startswith(_BOM) else 0
        self._body = body
        self._next = start
        self._base = start
        """The byte at which the window begins."""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._whole = False
        self._text = ""
        self._from = self._at = 0

    @property
    def offset(self) -> int:
        """The byte that is read next."""
        return self._base + len(self._text[: self._at].encode("utf-8"))

    def peek(self) -> str:
        """The next character that is no space, or ``""`` at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, character: str) -> None:
        """Go past a character, which must be there."""
        if self.peek() != character:
            raise self.fault(f"{character} was expected")
        self._at += 1

    def comma(self) -> bool:
        """Go past a comma, where there is one."""
        if self._text[self._at : self._at + 1] != "," and self.peek() != ",":
            return False
        self._at += 1
        return True

    def nests_deeper(self, value: object, limit: int) -> bool:
        """Whether the last value nests deeper than that."""
        opened = self._text.count("{", self._from, self._at) + self._text.count("[", self._from, self._at)
        return opened > limit and deeper(value, limit)

    def run(self, scan: Scan, limit: int | None) -> list[Any]:
        """The next values of an array, each with its comma, as far as nothing about them is odd.

        This is only a shorter way: who takes the next value by itself finds what is odd, or where the window ends.
        """
        self.peek()
        text, at, found = self._text, self._at, []
        stop = at + _WINDOW if len(text) - at <= LONGEST else at
        try:
            while at < stop:
                value, end = scan(text, at)
                if text.startswith(", ", end):  # as most writers do
                    following = end + 2
                else:
                    comma = _COMMA.match(text, end)
                    if comma is None:
                        break
                    following = comma.end()
                opened = 0 if limit is None else text.count("{", at, end) + text.count("[", at, end)
                if limit is not None and opened > limit and deeper(value, limit):
                    break
                found.append(value)
                at = following
        except (json.JSONDecodeError, RefusedError, RecursionError):
            pass
        self._at = at
        return found

    def value(self, scan: Scan) -> Any:
        """The next value."""
        if self._text[self._at : self._at + 1] not in _STARTS:
            self.peek()
        while True:
            try:
                value, end = scan(self._text, self._at)
            except json.JSONDecodeError as exc:
                self._check_length(len(self._text))
                if not self._more():
                    raise self.fault(exc.msg.partition(":")[0].removesuffix(" at").lower(), exc.pos) from None
            else:
                self._check_length(end)
                if end < len(self._text) or not self._more():  # a number may go on in the next window
                    self._from, self._at = self._at, end
                    return value

    def _check_length(self, end: int, past: int = 0) -> None:
        if past + end - self._at > LONGEST:
            message = f"one thing in the document is longer than {LONGEST:,} characters"
            raise CardError("not-a-catalog", message, step="read")

    def skip(self) -> None:
        """Go past a value that nests too deep for the scanner."""
        depth = past = 0
        while True:
            found = _BRACKETS.match(self._text, self._at)
            if found is None:
                self._check_length(len(self._text), past)
                if not self._more():
                    raise self.fault("it ends inside an array or object")
                continue
            self._check_length(found.end(), past)
            past += found.end() - self._at
            self._at = found.end()
            depth += 1 if found[2] else -1 if found[3] else 0
            if depth == 0:
                return

    def end(self) -> None:
        """Nothing but space may follow."""
        if self.peek():
            raise self.fault("there is more after the document")

    def fault(self, what: str, at: int | None = None) -> CardError:
        """The error for something that is not JSON here."""
        place = self._base + len(self._text[: self._at if at is None else at].encode("utf-8", "replace"))
        return CardError("not-json", f"the document is not JSON: {what}, at byte {place}", step="read")

    def _more(self) -> bool:
        if self._whole:
            return False
        # Doubled while one value does not fit, so that a long one is not tried over and over.
        chunk = self._body[self._next : self._next + max(_WINDOW, 2 * (len(self._text) - self._at))]
        self._next += len(chunk)
        self._whole = self._next >= len(self._body)
        self._base += len(self._text[: self._at].encode("utf-8"))
        try:
            self._text = self._text[self._at :] + self._decoder.decode(chunk, self._whole)
        except UnicodeDecodeError:
            raise self.fault("it is not UTF-8 near here") from None
        self._at = 0
        return True


def deeper(value: object, limit: int) -> bool:
    """Whether arrays and objects nest deeper than that."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def half_a_pair(value: object) -> bool:
    """Whether a text in it holds half a surrogate pair."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            try:
                each.encode("utf-8")
            except UnicodeEncodeError:
                return True
        elif isinstance(each, list):
            left += each
        elif isinstance(each, dict):
            left += each
            left += each.values()
    return False


def read_text(text: str, *, depth: int) -> Any:
    """A document that stands as a text inside another one.

    Raises:
        CardError: ``not-json``.
    """
    try:
        body = text.encode("utf-8")
    except UnicodeEncodeError:
        raise CardError("not-json", "the document is not JSON: half a surrogate pair", step="read") from None
    return decode(body, depth=depth)
