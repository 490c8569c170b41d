"""Five questions about a card, answered from what a check found: there, complete, signed, cacheable, discreet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from a2a_discovery._card.json import JSON
from a2a_discovery._check.codes import CODES
from a2a_discovery._check.served import Checked
from a2a_discovery._check.subject import objects, text
from a2a_discovery._finding import Finding
from a2a_discovery._trust.report import TrustReport

Verdict = Literal["good", "fair", "bad", "unknown"]

QUESTIONS = (
    "is the card there?",
    "is it complete, and which versions do its interfaces speak?",
    "is one signature good, and whose?",
    "do the headers let it be cached?",
    "does it show what it shouldn't?",
)

_GAPS = frozenset(("missing-required", "null-required", "empty-required", "wrong-type", "version-assumed"))
_NO_ENDPOINT = frozenset(
    ("placeholder-url", "invalid-url", "unroutable-host", "loopback-url", "private-address", "credentials-in-url")
)
_SHOWN = frozenset(
    (
        *("secret-in-card", "credentials-in-url", "private-address", "internal-host", "loopback-url"),
        *("members-only-skill", "extended-open", "extended-undeclared", "private-key-published", "invisible-text"),
        "text-for-a-model",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One of the five."""

    question: str
    verdict: Verdict
    said: str
    """For a person; it may hold the card's own words."""


def answers(checked: Checked) -> tuple[Answer, ...]:
    """The five answers, in their order."""
    found = (_there(checked), _complete(checked), _signed(checked), _cacheable(checked), _discreet(checked))
    return tuple(
        Answer(question=question, verdict=verdict, said=said)
        for question, (verdict, said) in zip(QUESTIONS, found, strict=True)
    )


def _there(checked: Checked) -> tuple[Verdict, str]:
    if checked.url is None:
        return "good", f"yes, a file of {len(checked.body)} bytes"
    tried = f"; {len(checked.asked)} other places were asked before" if checked.asked else ""
    odd = _codes(checked.findings) & {"old-path-only", "plain-http", "media-type", "redirected"}
    return ("fair" if odd else "good"), f"yes, at {checked.url}{tried}"


def _complete(checked: Checked) -> tuple[Verdict, str]:
    broken = [each for each in checked.findings if each.severity == "error" and _is_of_the_card(each)]
    spoken = ", ".join(_spoken(checked)) or "it has no interface"
    if broken:
        return "bad", f"no, {_count(len(broken), 'error')}; {spoken}"
    gaps = [each for each in checked.findings if each.code in _GAPS]
    if gaps:
        return "fair", f"readers have to repair it in {_count(len(gaps), 'place')}; {spoken}"
    return "good", f"yes; {spoken}"


def _spoken(checked: Checked) -> Iterator[str]:
    for index, entry in objects(checked.value.get("supportedInterfaces")):
        if index == 8:
            yield "..."
            return
        name = f"{text(entry.get('protocolBinding')) or '?'} {text(entry.get('protocolVersion')) or '?'}"
        yield f"{name} (nobody can call it)" if _is_dead(checked, entry) else name


def _is_dead(checked: Checked, entry: Mapping[str, JSON]) -> bool:
    """Whether some finding takes this endpoint out: they are at the place its URL stands in the document."""
    dead = {each.pointer for each in checked.findings if each.code in _NO_ENDPOINT}
    return any(_at(dict(checked.document), pointer) == entry.get("url") for pointer in dead)


def _at(document: JSON, pointer: str) -> JSON:
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return document


def _signed(checked: Checked) -> tuple[Verdict, str]:
    report = checked.report
    if report is None:
        return "unknown", "it cannot be read as a card"
    if not report.signatures:
        who = f"whoever runs {report.authority} vouches for it, by TLS alone" if report.authority else "nobody vouches"
        return "fair", f"no, it is not signed: {who}"
    check = report.verified
    if check is None:
        reasons = "; ".join(dict.fromkeys(each.reason or each.status for each in report.signatures[:4]))
        return ("unknown" if _is_only_unknown(report) else "bad"), f"none could be verified: {reasons}"
    covered = "" if not report.uncovered else f"; {_count(len(report.uncovered), 'place')} not covered"
    return "good", f"yes: {check}{covered}"


def _is_only_unknown(report: TrustReport) -> bool:
    return all(each.status in ("no-key", "not-tried") for each in report.signatures)


def _cacheable(checked: Checked) -> tuple[Verdict, str]:
    if checked.url is None:
        return "unknown", "a file has no headers"
    odd = _codes(checked.findings) & {
        "etag-unstable",
        "etag-blind",
        "etag-ignored",
        "vary-missing",
        "version-unchanged",
    }
    lasts = f"for {checked.lifetime} s" if checked.lifetime else "for no time that it says"
    tag = "; its ETag confirms a copy" if checked.confirmed else "; its ETag confirms no copy" if checked.etag else ""
    if checked.lifetime and checked.confirmed and not odd:
        return "good", f"yes, {lasts}{tag}"
    return ("fair" if checked.lifetime or checked.etag else "bad"), f"{lasts}{tag or '; it has no ETag'}"


def _discreet(checked: Checked) -> tuple[Verdict, str]:
    shown = [each for each in checked.findings if each.code in _SHOWN]
    if not shown:
        return "good", "no, nothing that this check knows of"
    worst: Verdict = "bad" if any(each.severity == "error" for each in shown) else "fair"
    return worst, f"yes: {', '.join(sorted(_codes(tuple(shown))))}"


def _codes(findings: tuple[Finding, ...]) -> set[str]:
    return {each.code for each in findings}


def _is_of_the_card(finding: Finding) -> bool:
    code = CODES.get(finding.code)
    return code is None or code.group in ("specification", "interoperability") or finding.code in _NO_ENDPOINT


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
