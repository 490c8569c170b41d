"""What is being checked, and the findings on it: bounded, each at its place in the document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Path
from a2a_discovery._check.codes import CODES, explained
from a2a_discovery._finding import Finding, Severity, pointer

MOST = 200
"""Findings of one card. A person reads ten; a list of a million is an attack."""
MOST_OF_A_CODE = 25
"""Findings of one code: a card with a thousand skills without tags has other faults that should be seen too."""
_LONGEST = 512
"""Characters of a pointer: a member's name may be a megabyte long, and its parent is place enough then."""
_ORDER: tuple[Severity, ...] = ("error", "warning", "advice")


@dataclass(slots=True, kw_only=True)
class Subject:
    """One card while it is checked."""

    document: Mapping[str, JSON]
    """As received."""
    value: Mapping[str, JSON]
    """The same in the 1.0 shape."""
    origins: Mapping[str, str]
    """Pointer in `value` → pointer in `document`, for what moved."""
    legacy: bool
    url: str | None
    """The URL that answered with it."""
    strict: bool
    found: list[Finding] = field(default_factory=list)
    left_out: int = 0
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _counts: Counter[str] = field(default_factory=Counter)

    def take(self, findings: Iterable[Finding]) -> None:
        """Add what others found."""
        for finding in findings:
            self._put(explained(finding))

    def say(self, code: str, message: str, *tokens: str | int, severity: Severity | None = None, fix: str = "") -> None:
        """Note it at a place in the value."""
        self._note(code, message, self.at(tokens), severity, fix)

    def say_in_document(
        self, code: str, message: str, path: Path, *, severity: Severity | None = None, fix: str = ""
    ) -> None:
        """Note it at a place in the document."""
        self._note(code, message, bounded(path), severity, fix)

    def noted(self, *tokens: str | int) -> bool:
        """Whether something has been noted at a place in the value."""
        at = self.at(tokens)
        return any(pointer == at for _, pointer in self._seen)

    def at(self, path: Path) -> str:
        """The place in the document that a place in the value came from."""
        whole = bounded(path)
        head = whole
        while head not in self.origins:
            if not head:
                return whole
            head = head.rpartition("/")[0]
        return self.origins[head] + whole[len(head) :]

    def _note(self, code: str, message: str, at: str, severity: Severity | None, fix: str) -> None:
        about = CODES[code]
        if severity is None:
            severity = "error" if about.must and self.strict else about.severity
        fix = fix or about.fix
        self._put(Finding(code=code, severity=severity, pointer=at, message=message, fix=fix, section=about.section))

    def _put(self, finding: Finding) -> None:
        name = finding.code, finding.pointer
        if name in self._seen:
            return
        if self._counts[finding.code] >= MOST_OF_A_CODE or len(self._seen) >= MOST:
            self.left_out += 1
            return
        self._counts[finding.code] += 1
        self._seen.add(name)
        self.found.append(finding)


def worst_first(findings: Iterable[Finding], left_out: int = 0) -> tuple[Finding, ...]:
    """Errors, warnings, advice; within each, in the order they were found."""
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.severity))
    if len(ordered) > MOST:
        left_out += len(ordered) - MOST + 1
        ordered = ordered[: MOST - 1]
    if not left_out:
        return tuple(ordered)
    message = f"{left_out} further findings are not listed"
    more = Finding(code="more-findings", severity="advice", pointer="", message=message)
    return (*(each for each in ordered if each.code != "more-findings"), explained(more))


def bounded(path: Path) -> str:
    """The pointer of a place, or of the nearest one above it whose pointer is short enough to be read."""
    whole = pointer(*path)
    while len(whole) > _LONGEST:
        path = path[:-1]
        whole = pointer(*path)
    return whole


def members(value: JSON) -> Mapping[str, JSON]:
    """The members of an object; none where it is no object."""
    return value if isinstance(value, dict) else {}


def objects(value: JSON) -> Iterator[tuple[int, Mapping[str, JSON]]]:
    """The objects in a list, each with its place."""
    for index, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, dict):
            yield index, each


def texts(value: JSON) -> Iterator[tuple[int, str]]:
    """The texts in a list, each with its place."""
    for index, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, str):
            yield index, each


def text(value: JSON) -> str:
    """A text; empty where it is none."""
    return value if isinstance(value, str) else ""
