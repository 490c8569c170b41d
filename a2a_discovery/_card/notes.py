"""Notes taken while a card is read: findings, the worst first, and never more than a bounded number."""

from __future__ import annotations

from a2a_discovery._finding import Finding, Severity, pointer

Path = tuple[str | int, ...]
"""Reference tokens from the root of a document."""

MOST = 200
"""Findings of one card. A person reads ten; a list of a million is an attack."""
_LONGEST = 512
"""Characters of a pointer: a member's name may be a megabyte long, and its parent is place enough then."""
_ORDER: tuple[Severity, ...] = ("error", "warning", "advice")


class Notes:
    """Findings as they come up.

    Args:
        strict: what needs a repair is an error.
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._found: dict[Severity, list[Finding]] = {severity: [] for severity in _ORDER}
        self._left_out = 0
        self.fatal = False
        """An error was noted that leaves no card."""

    def error(self, code: str, at: Path, message: str) -> None:
        """It cannot be read as a card."""
        self.fatal = True
        self.add(code, "error", at, message)

    def repair(self, code: str, at: Path, message: str) -> None:
        """It is wrong and has one meaning all the same; where nothing is repaired it cannot be read."""
        if self._strict:
            self.error(code, at, message)
        else:
            self.add(code, "warning", at, message)

    def warning(self, code: str, at: Path, message: str) -> None:
        """It is odd, and whoever relies on it should know."""
        self.add(code, "warning", at, message)

    def advice(self, code: str, at: Path, message: str) -> None:
        """It does no harm."""
        self.add(code, "advice", at, message)

    def add(self, code: str, severity: Severity, at: Path, message: str) -> None:
        """Note it, without a judgement on whether the card can be read."""
        found = self._found[severity]
        if len(found) >= MOST:
            self._left_out += 1
            return
        found.append(Finding(code=code, severity=severity, pointer=pointer(*shortened(at)), message=message))

    def findings(self) -> tuple[Finding, ...]:
        """What was noted, worst first, then in the order of reading."""
        found = [finding for severity in _ORDER for finding in self._found[severity]]
        more = len(found) + self._left_out - MOST
        if more <= 0:
            return tuple(found)
        message = f"{more + 1} further findings are not listed"
        return (*found[: MOST - 1], Finding(code="more-findings", severity="advice", pointer="", message=message))


def fits(at: Path) -> bool:
    """Whether a path makes a pointer of a length that is worth having."""
    return sum(len(token) if type(token) is str else 8 for token in at) <= _LONGEST


def shortened(at: Path) -> Path:
    """The path, or the deepest place above it whose pointer is of a length that is worth having."""
    if fits(at):
        return at
    return shortened(at[:-1])
