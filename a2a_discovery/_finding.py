"""A finding: one thing that is odd, was repaired, or is wrong, at its place in the document."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

# A member's name may be anything the publisher likes, a sentence to whoever reads the message too.
_PLAIN = re.compile(r"[A-Za-z0-9_.$~-]{0,40}\Z")

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was repaired, is odd, or is wrong.

    The codes are hyphenated words (``missing-required``, ``null-required``, ``version-assumed``, ...). The message is
    for a person and quotes no card text.
    """

    code: str
    severity: Severity
    pointer: str
    """An RFC 6901 JSON pointer into the document as received; ``""`` is the whole document."""
    message: str
    fix: str = ""
    """What to write instead, where that is known; ``""`` else. `check_card` fills it in."""
    section: str = ""
    """The section of A2A 1.0, or the RFC, that the rule is in; ``""`` where it is no rule but good sense."""

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.message} [{self.code}]"

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data; ``fix`` and ``section`` only where they say something."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("fix", "section")}


def pointer(*tokens: str | int) -> str:
    """Join reference tokens to a JSON pointer, escaped as RFC 6901 section 3 asks."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def shown(place: str) -> str:
    """A pointer as it may stand in an error's message: names that are no plain words are left out."""
    return "/".join(token if _PLAIN.match(token) else "*" for token in place.split("/")) or "the document"
