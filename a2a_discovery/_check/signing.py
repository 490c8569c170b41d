"""Where the bytes that the SDKs sign are not those of the specification (A2A section 8.4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from a2a_discovery._card.notes import Path
from a2a_discovery._check.subject import Subject
from a2a_discovery._trust.canonical import view

_SECURITY = ("securitySchemes", "securityRequirements")
_MOST = 10
"""Places that are named: filling in one mends them all or none."""


def check_signing(subject: Subject) -> None:
    """Compare the canonical form of the specification with that of the SDKs."""
    try:
        literal, pruned = view(subject.document, "spec"), view(subject.document, "sdk")
    except ValueError:
        return
    signed = bool(subject.document.get("signatures"))
    for count, path in enumerate(_missing(literal.covered, pruned.covered, ())):
        if count == _MOST:
            return
        if any(name in path for name in _SECURITY):
            code, message = (
                "unsigned-security",
                "the SDKs delete this before they sign: their signatures don't cover it",
            )
        else:
            code, message = "signs-differently", "the specification signs this, and the SDKs delete it before they sign"
        subject.say_in_document(code, message, path, severity="warning" if signed else "advice")


def _missing(literal: Any, pruned: Any, path: Path) -> Iterator[Path]:
    """The places of the one that are not in the other; the highest of each."""
    if isinstance(literal, Mapping) and isinstance(pruned, Mapping):
        for name, value in literal.items():
            if name not in pruned:
                yield (*path, name)
            elif value != pruned[name]:
                yield from _missing(value, pruned[name], (*path, name))
        return
    if isinstance(literal, list) and isinstance(pruned, list) and len(literal) == len(pruned):
        for index, (value, other) in enumerate(zip(literal, pruned, strict=True)):
            if value != other:
                yield from _missing(value, other, (*path, index))
        return
    yield path
