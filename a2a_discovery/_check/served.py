"""A card as it is served: where it is, how it is answered, its keys, and the endpoints that it names. Pure.

The requests, all of them through the guard, none with credentials:

1. the walk to the card, as `discover` goes it;
2. together: the same request once more; the same with the current ETag; the same with ``A2A-Version: 0.3``; and, for a
   card at one of the well-known names, the other name;
3. the keys that its signatures name, each place once;
4. for each interface that speaks JSONRPC or HTTP+JSON: the call for the extended card. It changes nothing, and both an
   endpoint and its authentication show by the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from a2a_discovery._card.json import JSON
from a2a_discovery._card.read import Reading, read_card
from a2a_discovery._check.card import check_card, check_document, subject_of
from a2a_discovery._check.endpoints import probe
from a2a_discovery._check.headers import check_answer, check_condition, check_older, check_second, content, lifetime
from a2a_discovery._check.keys import check_keys
from a2a_discovery._check.subject import Subject, objects, text, worst_first
from a2a_discovery._effects import Fetch, Fetched, Flow
from a2a_discovery._entries import find_card
from a2a_discovery._finding import Finding
from a2a_discovery._flow import provenance_of
from a2a_discovery._locate import OLD_WELL_KNOWN, WELL_KNOWN, Asking, Located
from a2a_discovery._trust.verify import Provenance, verify
from a2a_discovery._urls import split
from a2a_discovery.errors import CardError, DiscoveryError
from a2a_discovery.policy import Limits, NetworkPolicy, TrustPolicy

if TYPE_CHECKING:
    from a2a_discovery._trust.report import TrustReport


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """What a check goes by."""

    network: NetworkPolicy
    trust: TrustPolicy
    limits: Limits
    now: float
    """Seconds since the epoch."""
    strict: bool = False
    probe: bool = True
    """Call the interfaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check found out."""

    body: bytes
    """The document, as received."""
    findings: tuple[Finding, ...]
    url: str | None = None
    """Where it was, after redirects; ``None`` for a file."""
    document: Mapping[str, JSON]
    """The card as received; empty where it is no object."""
    value: Mapping[str, JSON]
    """The same in the 1.0 shape, as far as it is one."""
    report: TrustReport | None = None
    """Who vouches for it; ``None`` where it cannot be read as a card."""
    lifetime: int | None = None
    """Seconds that it may be kept."""
    etag: bool = False
    confirmed: bool = False
    """A request with a condition was answered 304."""
    asked: tuple[str, ...] = ()
    """The places that were asked and had no card."""


def check_served(target: Any, how: How) -> Flow[Checked]:
    """Find a card and check it as it is served.

    Args:
        target: told apart by `read_target`.
        how: what to go by.

    Raises:
        NotFoundError, FetchError, BlockedError, AuthError, CardError, UsageError: there is no card to check.
    """
    local = how.network.loopback
    located: Located = yield from find_card(target, Asking(limits=how.limits, mode="unconditional", local=local))
    answer = located.answer
    base = None if located.inline else answer.url
    subject = subject_of(located.document, url=base, strict=how.strict)
    confirmed = False
    if not located.inline:
        check_answer(subject, answer)
        confirmed = yield from _ask_again(subject, located, how)
    reading = _read(located.document, base, how)
    provenance = provenance_of(located, how.network)
    report = None
    if reading is not None:
        report = yield from _verified(reading, provenance, how)
        subject.take(report.findings)
        yield from check_keys(subject, report, provenance, limits=how.limits, now=how.now)
        if how.probe:
            yield from probe(subject, reading, provenance, how.network, how.limits)
    own = (
        check_document(located.document, url=None, strict=how.strict)
        if located.inline
        else check_card(answer.body, url=base, strict=how.strict)
    )
    return Checked(
        body=b"" if located.inline else answer.body,
        findings=worst_first(_unique((*own, *subject.found)), subject.left_out),
        url=answer.url,
        document=subject.document,
        value=subject.value,
        report=report,
        lifetime=None if located.inline else lifetime(answer),
        etag=not located.inline and bool(answer.headers.get("etag")),
        confirmed=confirmed,
        asked=tuple(map(str, located.attempts)),
    )


def check_file(body: bytes, how: How) -> Flow[Checked]:
    """Check the bytes of a card that nobody serves; only keys are asked for, where it is signed."""
    findings = check_card(body, strict=how.strict)
    document = _decoded(body, how.limits)
    subject = subject_of(document, url=None, strict=how.strict)
    reading = _read(document, None, how)
    report = None
    if reading is not None:
        local = how.network.loopback
        report = yield from _verified(
            reading, Provenance(authority=None, asked=None, channel=None, local=local, loopback=local), how
        )
        findings = worst_first(_unique((*findings, *report.findings)))
    return Checked(body=body, findings=findings, document=subject.document, value=subject.value, report=report)


def _decoded(body: bytes, limits: Limits) -> JSON:
    from a2a_discovery._card.json import decode

    try:
        return decode(body, depth=limits.depth) if len(body) <= limits.card_bytes else None
    except CardError:
        return None


def _read(document: JSON, url: str | None, how: How) -> Reading | None:
    try:
        return read_card(document, url=url, strict=how.strict)
    except CardError:
        return None


def _verified(reading: Reading, provenance: Provenance, how: How) -> Flow[TrustReport]:
    verified = yield from verify(
        reading, provenance, policy=how.trust, limits=how.limits, now=how.now, strict=how.strict
    )
    return verified.report


def _ask_again(subject: Subject, located: Located, how: How) -> Flow[bool]:
    """The same place in other ways: whether a condition is honoured."""
    answer = located.answer
    again = Fetch(
        url=located.place.url,
        kind="card",
        limit=how.limits.card_bytes,
        local=how.network.loopback,
        mode="unconditional",
    )
    older = replace(again, headers=(("A2A-Version", "0.3"),))
    other = _other_place(answer)
    asked = [again, older, *([replace(again, url=other)] if other is not None else [])]
    second, third, *rest = yield tuple(asked)
    steady = check_second(subject, answer, second)
    check_older(subject, answer, third)
    if other is not None:
        _check_place(subject, located, rest[0])
    if not steady:
        return False
    condition = (("If-None-Match", answer.headers["etag"]),)
    (conditional,) = yield (replace(again, url=answer.url, headers=condition),)
    return check_condition(subject, conditional)


def _other_place(answer: Fetched) -> str | None:
    for here, there in ((WELL_KNOWN, OLD_WELL_KNOWN), (OLD_WELL_KNOWN, WELL_KNOWN)):
        parts = split(answer.url)
        if parts.path.endswith(here) and not parts.query:
            return f"{parts.origin}{parts.path.removesuffix(here)}{there}"
    return None


def _check_place(subject: Subject, located: Located, other: Fetched | DiscoveryError) -> None:
    if isinstance(other, DiscoveryError):
        return
    old = split(located.answer.url).path.endswith(OLD_WELL_KNOWN)
    card = content(other.body) if other.status == 200 else None
    if card is None:
        if old:
            subject.say("old-path-only", "the card is at the name that 0.2 had, and not where clients of today ask")
        elif other.status in (404, 410) and _speaks_older(subject):
            subject.say("old-path-missing", "the card offers an interface of 0.x, and its old place has no card")
        return
    if not _same_agent(subject, card):
        subject.say("old-path-different", "the two well-known places have cards of different endpoints or versions")


def _speaks_older(subject: Subject) -> bool:
    listed = objects(subject.value.get("supportedInterfaces"))
    return any(text(entry.get("protocolVersion")).startswith("0.") for _, entry in listed)


def _same_agent(subject: Subject, card: Mapping[str, JSON]) -> bool:
    """Whether a card of perhaps another generation names the same endpoints and version."""
    other = subject_of(dict(card), url=subject.url, strict=False)
    mine, theirs = _endpoints(subject.value), _endpoints(other.value)
    alike = not mine.isdisjoint(theirs) and (mine <= theirs or theirs <= mine)
    return alike and subject.value.get("version") == other.value.get("version")


def _endpoints(value: Mapping[str, JSON]) -> set[str]:
    return {text(entry.get("url")) for _, entry in objects(value.get("supportedInterfaces"))}


def _unique(findings: tuple[Finding, ...]) -> list[Finding]:
    """One finding for each code and place, the first."""
    seen: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.code, finding.pointer), finding)
    return list(seen.values())
