"""What strangers wrote, made fit for a terminal, and rows of a label and a text.

A card's name may hold escape sequences that recolour, overwrite or retitle the terminal, bidirectional overrides that
reorder what stands beside it, and line breaks that fake a row of ours. Nothing of a card is printed but by `clean`.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

LABEL = 12
"""Columns of a label and the space behind it."""

_SPACES = "\t\n\v\f\r\x85\u2028\u2029"
# Controls, formats (bidirectional overrides, zero widths, tags), lone surrogates, private use, separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def clean(text: object, limit: int = 200) -> str:
    """One line of visible characters: line breaks are spaces, other controls show as ``\N{REPLACEMENT CHARACTER}``.

    Args:
        text: anything; its ``str`` is shown.
        limit: characters that are kept.
    """
    # Cut before the loop: a megabyte of description must not cost a second.
    raw = str(text)[: 4 * limit]
    seen = "".join(
        " " if each in _SPACES else "\N{REPLACEMENT CHARACTER}" if unicodedata.category(each) in _UNSEEN else each
        for each in raw
    )
    line = " ".join(seen.split())
    return line if len(line) <= limit and len(str(text)) <= 4 * limit else line[: limit - 1] + "…"


def as_json(value: Any, encoding: str | None) -> str:
    """A JSON text, indented, in which nothing acts on a terminal.

    Args:
        value: plain data.
        encoding: of the stream it is for: what that cannot say is written as an escape.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # Such characters only stand inside strings, where their escape means the same.
    text = "".join(_escape(each) if each != "\n" and unicodedata.category(each) in _UNSEEN else each for each in text)
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(value, allow_nan=False, indent=2)
    return text


def _escape(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


@dataclass(frozen=True, slots=True)
class Row:
    """A label and what it says; a further line of the same label has none."""

    label: str
    text: str
    style: str = ""


def rows(label: str, texts: Iterable[object], *, style: str = "", limit: int = 300, most: int = 20) -> list[Row]:
    """Rows of one label for several texts, each cleaned; those past ``most`` are only counted."""
    lines = [clean(text, limit) for text in texts]
    shown = lines[:most] + ([f"... and {len(lines) - most} more: --json shows all"] if len(lines) > most else [])
    return [Row("" if index else label, line, style) for index, line in enumerate(shown)]


def show(console: Console, lines: Iterable[Row]) -> None:
    """Print rows: wrapped with a hanging indent on a terminal, one line each in a pipe."""
    for row in lines:
        parts = [Text(row.text)]
        if console.is_terminal:
            parts = list(parts[0].wrap(console, max(console.width - LABEL - 1, 20)))
        for index, part in enumerate(parts or [Text()]):
            part.rstrip()
            label = Text(("" if index else row.label).ljust(LABEL), style="dim")
            console.print(Text.assemble(label, Text(part.plain, style=row.style)), soft_wrap=True)
