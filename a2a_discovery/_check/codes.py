"""Every finding code of the package: its group, how bad it is, what it means, what to write instead, its section.

A test compares this registry with the source both ways, and ``docs/findings.md`` with what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from a2a_discovery._check import codes_card, codes_line, codes_sense
from a2a_discovery._finding import Finding, Severity

Group = Literal["specification", "interoperability", "sense", "serving", "trust", "selection", "catalog"]

GROUPS: Mapping[Group, str] = {
    "specification": "What A2A 1.0 and the RFCs it rests on ask of a card.",
    "interoperability": "What the SDKs and servers of 2026 trip over, or understand in different ways.",
    "sense": "What no rule forbids and no publisher wants: secrets, private addresses, texts that help nobody.",
    "serving": "How a card is served: headers, the old place, keys, and the endpoints it names.",
    "trust": "Who vouches for a card, and for how much of it.",
    "selection": "Why an interface cannot be used by this caller.",
    "catalog": "What is wrong with a catalog, a registry's answer, or the way from there to a card.",
}
"""The groups, in the order of the page, and what each is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What a code stands for."""

    group: Group
    severity: Severity
    """How bad it usually is; a finding may be worse where it leaves no readable card."""
    must: bool = False
    """It breaks a MUST, which a tolerant reader repairs or ignores: ``strict`` makes it an error."""
    title: str
    text: str
    """One paragraph: what it means, and what comes of it."""
    fix: str = ""
    section: str = ""


_SEVERITIES: Mapping[str, tuple[Severity, bool]] = {
    "error": ("error", False),
    "must": ("warning", True),
    "warning": ("warning", False),
    "advice": ("advice", False),
}
Table = Mapping[str, tuple[str, str, str, str, str]]
"""Code → severity (``must``: a warning that strictness makes an error), title, text, fix, section."""


def _read(group: Group, table: Table) -> dict[str, Code]:
    made = {}
    for code, (severity, title, text, fix, section) in table.items():
        level, must = _SEVERITIES[severity]
        made[code] = Code(group=group, severity=level, must=must, title=title, text=text, fix=fix, section=section)
    return made


CODES: Mapping[str, Code] = {
    **_read("specification", codes_card.SPECIFICATION),
    **_read("interoperability", codes_card.INTEROPERABILITY),
    **_read("sense", codes_sense.SENSE),
    **_read("serving", codes_sense.SERVING),
    **_read("trust", codes_line.TRUST),
    **_read("selection", codes_line.SELECTION),
    **_read("catalog", codes_line.CATALOG),
}


def explained(finding: Finding) -> Finding:
    """The finding with what to write instead and its section, where it doesn't say so itself."""
    code = CODES.get(finding.code)
    if code is None or (finding.fix and finding.section):
        return finding
    return Finding(
        code=finding.code,
        severity=finding.severity,
        pointer=finding.pointer,
        message=finding.message,
        fix=finding.fix or code.fix,
        section=finding.section or code.section,
    )


def heading(section: str) -> str:
    """A section as it is shown: ``A2A 5.7``, or that of an RFC as it is."""
    return section if section.startswith("RFC ") else f"A2A {section}"
