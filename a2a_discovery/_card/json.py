"""Bytes to a JSON document, strictly: what two readers could understand differently is no document (RFC 8259, I-JSON).

Refused: anything but UTF-8, a second member of one name, ``NaN`` and ``Infinity``, numbers that a double cannot hold,
lone surrogates, and nesting beyond the limit. One leading byte order mark is tolerated.
"""

from __future__ import annotations

import json
import math
import re
from typing import Never, TypeAlias

from a2a_discovery.errors import CardError

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""What `decode` gives."""

_BOM = b"\xef\xbb\xbf"
_OTHERS = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_TEXT_WITH_BRACKETS = re.compile(rb'"[^"]*"?')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")(?P<colon>[ \t\n\r]*:)?|(?P<number>-?[0-9][0-9.eE+-]*)'
    r"|(?P<constant>-?Infinity|NaN)|[\[\]{}]",
    re.DOTALL,
)
_MAX_DIGITS = 308
"""The largest double has 309 digits, and every number of up to 308 is below it."""
_LOCATED = 1024 * 1024
"""Characters that are searched for the place of a fault; that search is slow, and a larger document goes without."""


class RefusedError(Exception):
    """A fault that the parser's own grammar lets pass."""


def decode(body: bytes, *, depth: int) -> JSON:
    """Read a JSON document.

    Args:
        body: the bytes as received.
        depth: most levels of arrays and objects inside each other.

    Raises:
        CardError: ``not-json``. The message says where, and quotes nothing.
    """
    body = body.removeprefix(_BOM)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise _not_json(f"it is not UTF-8 at byte {exc.start}") from None
    if _too_deep(body, depth):
        raise _not_json(f"it nests deeper than {depth} levels")
    try:
        document: JSON = DECODER.decode(text)
    except RefusedError as exc:
        raise _refused(str(exc), text) from None
    except json.JSONDecodeError as exc:
        raise _malformed(exc, body) from None
    except RecursionError:
        raise _not_json("it nests too deep") from None
    if _SURROGATE.search(body) and _lone_surrogate(document):
        raise _refused("half a surrogate pair, which no text holds", text)
    return document


def _members(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise RefusedError("a member that stands twice in one object")
    return members


def _integer(digits: str) -> int:
    # checked by length first: Python refuses to read very long numbers, and reading long ones is quadratic
    if len(digits) > _MAX_DIGITS:
        raise RefusedError("a number that is too large")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise RefusedError("a number that is too large")
    return number


def _constant(_name: str) -> Never:
    raise RefusedError("NaN or Infinity, which JSON does not have")


_TEXT = frozenset((str,))


def is_texts(value: object) -> bool:
    """Whether it is a list of text and of nothing else, told at the speed of C: most lists of a card are."""
    return type(value) is list and _TEXT.issuperset(map(type, value))


DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_int=_integer, parse_float=_float, parse_constant=_constant)
"""It raises `RefusedError`, or `json.JSONDecodeError`; who uses it alone bounds depth and surrogates himself."""


def _too_deep(body: bytes, depth: int) -> bool:
    """Whether brackets nest deeper than that, found without recursion.

    Each pass takes away the innermost pairs, so the passes count the levels.
    """
    if body.count(b"[") + body.count(b"{") <= depth:
        return False
    left = _brackets(body)
    for _ in range(depth):
        inner = left.replace(b"[]", b"")
        if len(inner) == len(left):
            # Nothing, or brackets that don't match: the parser will say so, yet it must not be sent down for that.
            return _longest_run(left) > depth
        left = inner
    return bool(left)


def _brackets(body: bytes) -> bytes:
    """The brackets that stand outside of text, all as square ones. A loop over bytes would cost more than parsing."""
    if b"\\" in body:
        body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # two quotes side by side change nothing about what stands inside of text, so most text goes away here
    left = body.translate(_ONE_KIND, _OTHERS).replace(b'""', b"")
    return _TEXT_WITH_BRACKETS.sub(b"", left) if b'"' in left else left


def _longest_run(brackets: bytes) -> int:
    return max(map(len, re.findall(rb"\[+", brackets)), default=0)


def _lone_surrogate(document: JSON) -> bool:
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, str):
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                return True
        elif isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += value
            left += value.values()
    return False


def _malformed(exc: json.JSONDecodeError, body: bytes) -> CardError:
    start = body.lstrip()[:1]
    if not start:
        return _not_json("it is empty")
    if start == b"<":
        return _not_json("it is an HTML or XML page", hint="ask for the URL of the JSON document itself")
    what = exc.msg.partition(":")[0].removesuffix(" at").lower()
    return _not_json(f"{what} at line {exc.lineno}, column {exc.colno}")


def _refused(what: str, text: str) -> CardError:
    place = _place(text) if len(text) <= _LOCATED else None
    if place is None:
        return _not_json(f"it has {what}")
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    return _not_json(f"it has {what}, at line {line}, column {column}")


def _place(text: str) -> int | None:
    """The offset of the first fault that the grammar lets pass."""
    names: list[set[str] | None] = []
    for token in _TOKEN.finditer(text):
        if token["text"] is not None:
            value = str(json.loads(token["text"], strict=False))
            if _lone_surrogate(value):
                return token.start()
            seen = names[-1] if names and token["colon"] else None
            if seen is not None and value in seen:
                return token.start()
            if seen is not None:
                seen.add(value)
        elif token["constant"] is not None or (token["number"] is not None and _unreadable(token["number"])):
            return token.start()
        elif token[0] in "{[":
            names.append(set() if token[0] == "{" else None)
        elif token[0] in "}]" and names:
            names.pop()
    return None


def _unreadable(number: str) -> bool:
    try:
        (_integer if number.removeprefix("-").isdigit() else _float)(number)
    except RefusedError:
        return True
    except ValueError:
        return False
    return False


def _not_json(what: str, *, hint: str | None = None) -> CardError:
    return CardError("not-json", f"the document is not JSON: {what}", step="read", hint=hint)
