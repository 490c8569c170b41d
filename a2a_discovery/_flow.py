"""The line, whole: target ─▶ locate ─▶ fetch ─▶ read ─▶ verify ─▶ select ─▶ Agent ─▶ extend.

Pure generators: they yield what they want fetched and are sent the answers (`_effects`). Six steps, in this order:

1. **locate** the places where the card may be;
2. **fetch** them one after another, through the one guarded and cached place where bytes come in;
3. **read** the answer: strict JSON, the 1.0 shape, findings;
4. **verify** the signatures on the document as it was received, then judge the facts by the caller's policy;
5. **select** the first interface that the caller can speak;
6. **extend**, after authentication: the extended card, by the same steps 2 to 5 (`_upgrade.extend` calls them).

A card that fails in 3, 4 or 5 is never handed out, never kept, and never replaces a good one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_discovery._card.json import JSON, decode
from a2a_discovery._card.read import Reading, read_card
from a2a_discovery._catalog.entry import CatalogEntry
from a2a_discovery._effects import CacheState, Fetched, Flow, Keep, Recall
from a2a_discovery._entries import again, find_card, good_before
from a2a_discovery._finding import Finding
from a2a_discovery._hosts import is_loopback, same_site
from a2a_discovery._locate import Asking, Located, Place
from a2a_discovery._select import Origin, Selection, Speaks, select
from a2a_discovery._target import Base, Document, Domain, EntryOf, Handed
from a2a_discovery._trust.continuity import Past, decode_past, judge_continuity, location_of, remember, rolled_back
from a2a_discovery._trust.judge import judge
from a2a_discovery._trust.verify import Provenance, verify
from a2a_discovery._urls import host_of, split
from a2a_discovery.errors import CardError, DiscoveryError, TrustError
from a2a_discovery.policy import Limits, NetworkPolicy, TrustPolicy

if TYPE_CHECKING:
    from a2a_discovery._trust.report import TrustReport

# Verdicts that a newer copy of the card may overturn: some servers' ETags leave the signatures out.
_SIGNATURE_CODES = frozenset({"bad-signature", "unverifiable", "untrusted-key-host"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one discovery goes by; the arguments of `Discovery` that the pure core needs."""

    trust: TrustPolicy
    network: NetworkPolicy
    limits: Limits
    bindings: tuple[str, ...]
    versions: tuple[str, ...]
    extensions: tuple[str, ...]
    strict: bool
    replace_local_hosts: bool
    during: Callable[[str], AbstractContextManager[Any]] = nullcontext
    """Wraps the verifying, for whoever measures it."""

    @property
    def speaks(self) -> Speaks:
        """What selecting needs of them."""
        return Speaks(
            bindings=self.bindings,
            versions=self.versions,
            extensions=self.extensions,
            network=self.network,
            replace_local_hosts=self.replace_local_hosts,
            same_site=self.trust.same_site_interfaces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a card came from, and how fresh it is.

    Times are seconds since the epoch, by the clock of the `Discovery`.
    """

    requested: str
    """The target as the caller gave it."""
    url: str | None
    """The URL that answered, after redirects; ``None`` for a card that was handed over."""
    via: tuple[str, ...] = ()
    """The chain that led there: places tried, catalogs, redirects."""
    fetched_at: float
    """When the origin last vouched for it."""
    expires_at: float
    """When it, or a key set it rests on, stops being fresh."""
    etag: str | None = None
    cache_control: str | None = None
    """The field as it was sent."""
    cache: CacheState
    """``network``, ``revalidated`` (a 304), ``fresh`` (from the store), ``memory`` (this very agent), ``stale``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict: the facts about a card that a policy accepted, and the interface to call."""

    reading: Reading
    report: TrustReport
    selection: Selection
    findings: tuple[Finding, ...]
    record: bytes
    """What to remember of the location: its past and this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the line found: everything an `Agent` is made of."""

    reading: Reading
    report: TrustReport
    selection: Selection
    verdict: Judged = field(repr=False)
    """These three, as they were judged: without what is known of this answer alone."""
    source: Source
    provenance: Provenance
    location: str | None = None
    """What its past is remembered by; ``None`` for a card that was handed over."""
    extended: bool = False
    findings: tuple[Finding, ...] = ()
    size: int = 0
    """Bytes of the card as received."""
    digest: bytes = b""
    """SHA-256 of the answer that the card is, whole; empty for a card that was handed over or stood in a catalog."""
    no_store: bool = False
    """The server wants it nowhere kept, not even in this process."""
    stale_while_revalidate: float = 0.0
    """Seconds past its expiry that it may be handed out while it is looked at again (RFC 5861 section 3)."""


Known = Callable[[bytes], Found | None]


def discover(
    target: Domain | Document | Base | EntryOf | CatalogEntry | Handed,
    settings: Settings,
    *,
    requested: str,
    now: float,
    refresh: bool = False,
    auth_for: Callable[[str], Any] | None = None,
    principal: str | None = None,
    known: Known = lambda _: None,
) -> Flow[Found]:
    """Steps 1 to 5, for one target.

    Args:
        target: told apart by `read_target`.
        settings: what to go by.
        requested: the target as the caller gave it, for `Source`.
        now: seconds since the epoch.
        refresh: revalidate what is stored.
        auth_for: host → the credential bound to it.
        principal: names that credential.
        known: digest of an answer → what was found before in the same bytes, under these very settings.

    Raises:
        DiscoveryError: any of its kinds but `ExtendedCardError`.
    """
    if isinstance(target, Handed):
        return (yield from _accept(_handed(target, settings, now), settings, requested=requested, now=now))
    asking = Asking(
        limits=settings.limits,
        mode="refresh" if refresh else "use",
        local=settings.network.loopback,
        auth_for=auth_for,
        principal=principal,
    )
    located = yield from find_card(target, asking)  # (1) and (2): one place after another is asked
    try:
        return (yield from _accept(located, settings, requested=requested, now=now, known=known))  # (3) (4) (5)
    except DiscoveryError as error:
        second = yield from _second_chance(target, located, asking, error)
    try:
        return (yield from _accept(second, settings, requested=requested, now=now))
    except DiscoveryError as error:
        raise second.failure or error from None


def _second_chance(
    target: Domain | Document | Base | EntryOf | CatalogEntry, located: Located, asking: Asking, error: DiscoveryError
) -> Flow[Located]:
    """What may stand in for an answer that was not accepted; where nothing may, the error is raised."""
    if located.failure is not None:
        raise located.failure from error
    if isinstance(error, CardError) and not located.inline:
        good = yield from good_before(target, located, asking, error)
        if good is None:
            raise error
        return good
    if located.answer.cache == "network" or error.code not in _SIGNATURE_CODES:
        raise error
    # A stored copy whose signature no longer verifies: ask once more, without any condition, before refusing it.
    return (yield from again(located, asking))


def _handed(target: Handed, settings: Settings, now: float) -> Located:
    answer = Fetched(
        requested=target.shown,
        url="",
        status=200,
        headers={},
        body=target.body,
        channel="tls",
        fetched_at=now,
        expires_at=float("inf"),
    )
    try:
        document = decode(target.body, depth=settings.limits.depth)
    except DiscoveryError as error:
        raise error.at(step="read", url=target.shown) from None
    return Located(place=Place(url=target.shown), answer=answer, document=document)


def _accept(
    located: Located, settings: Settings, *, requested: str, now: float, known: Known = lambda _: None
) -> Flow[Found]:
    """Steps 3 to 5 for an answer, which is kept only when all of them passed."""
    answer, entry = located.answer, located.entry
    provenance = provenance_of(located, settings.network)
    digest = hashlib.sha256(answer.body).digest() if answer.url and not located.inline else b""
    before = known(digest) if digest and answer.cache != "stale" else None
    if before is not None and not still_holds(before, provenance, now):
        before = None
    reading = before.reading if before is not None else read(located.document, provenance.url, settings)  # (3)
    location = located.location or (location_of(answer.requested) if answer.url else None)
    try:
        recalled = None if location is None else Recall(location, answer)
        found = yield from judged(reading, provenance, settings, recall=recalled, now=now, before=before)  # (4) (5)
    except TrustError as error:
        if error.code == "other-publisher" and provenance.url is not None:
            error.hint = f'if that very card is meant: discover("{provenance.url}")'
        raise
    if answer.url:
        yield Keep(answer=answer, location=location, record=found.record)
    return Found(
        reading=found.reading,
        report=found.report,
        selection=found.selection,
        provenance=provenance,
        location=location,
        findings=(*found.findings, *located.findings),
        size=len(answer.body) if located.size is None else located.size,
        digest=digest,
        no_store="no-store" in answer.headers.get("cache-control", "").lower(),
        stale_while_revalidate=_stale_while_revalidate(answer, settings.limits),
        verdict=found,
        source=Source(
            requested=requested,
            url=answer.url or None,
            via=(
                *(attempt.url for attempt in located.attempts),
                *(entry.via if entry is not None else ()),
                *(answer.redirects if not located.inline else ()),
            ),
            fetched_at=answer.fetched_at or now,  # an entry made by hand came now
            expires_at=earlier(min(answer.expires_at, located.expires_at), found.report.expires_at),
            etag=answer.headers.get("etag"),
            cache_control=answer.headers.get("cache-control"),
            cache=answer.cache,
        ),
    )


def read(document: JSON, url: str | None, settings: Settings) -> Reading:
    try:
        return read_card(document, url=url, strict=settings.strict)
    except DiscoveryError as error:
        raise error.at(step="read", url=url) from None


def provenance_of(located: Located, network: NetworkPolicy) -> Provenance:
    """How a card came to us: what its channel says about it, before any signature."""
    answer = located.answer
    if not answer.url:
        return Provenance(
            authority=None,
            asked=None,
            channel=None,
            publisher=located.entry.publisher if located.entry is not None else None,
            local=network.loopback,
            loopback=network.loopback,
        )
    authority, asked = split(answer.url).host, split(answer.requested).host
    hops = [host for url in (*answer.redirects, answer.url) if (host := host_of(url))]
    return Provenance(
        authority=authority,
        asked=asked,
        channel=answer.channel,
        # What stands inside a catalog has no URL of its own that something could be relative to.
        url=None if located.inline else answer.url,
        inline=located.inline,
        publisher=located.entry.publisher if located.entry is not None else None,
        walked_from=located.walked_from,
        crossed_site=not all(same_site(hop, asked, local=network.loopback) for hop in hops),
        local=network.loopback,
        loopback=network.loopback and is_loopback(authority),
    )


def judged(
    reading: Reading,
    provenance: Provenance,
    settings: Settings,
    *,
    recall: Recall | None,
    now: float,
    extended: bool = False,
    before: Found | None = None,
) -> Flow[Judged]:
    """Steps 4 and 5: facts, then the policy's verdict, then the interface; or the facts and the interface that hold."""
    policy = settings.trust
    record: bytes | None = (yield recall) if recall is not None and policy.continuity else None
    if before is not None and record == before.verdict.record:
        # Nothing was proven here since that verdict, and what a verdict leaves behind always allows it.
        if _passes(before.report, provenance, policy, None):
            return before.verdict
        before = None
    past = decode_past(record)
    if before is not None and _passes(before.report, provenance, policy, past):
        return _verdict(reading, before.report, before.selection, past)
    with settings.during("a2a.verify"):
        verified = yield from verify(
            reading,
            provenance,
            policy=policy,
            limits=settings.limits,
            now=now,
            past=past,
            extended=extended,
            strict=settings.strict,
        )
        report, reading = verified.report, verified.reading
        judge(report, provenance, policy)
        judge_continuity(report, past, provenance, policy)
    origin = Origin(
        host=report.authority,
        local=settings.network.loopback and provenance.loopback,
        port=split(provenance.url).port if provenance.url else None,
    )
    try:
        selection = select(reading, settings.speaks, origin)
    except DiscoveryError as error:
        raise error.at(url=provenance.url) from None
    return _verdict(reading, report, selection, past)


def _verdict(reading: Reading, report: TrustReport, selection: Selection, past: Past | None) -> Judged:
    version = reading.card.version
    return Judged(
        reading=reading,
        report=report,
        selection=selection,
        record=remember(report, version, past).encode(),
        findings=(
            *reading.findings,
            *report.findings,
            *rolled_back(version, past),
            *selection.skipped,
            *selection.findings,
        ),
    )


def still_holds(before: Found, provenance: Provenance, now: float) -> bool:
    """Whether a verdict over the same bytes, under the same settings, may be used again.

    They must have come the same way, every key that verified them must still be fresh, and nothing may be open.
    """
    if before.provenance != provenance or not provenance.hosted:
        return False
    report = before.report
    if not report.signatures:
        return True
    # A signature that could not be checked may be good by now: its keys were not there, or not valid yet.
    settled = all(check.status in ("verified", "not-tried") for check in report.signatures)
    return settled and report.verified is not None and (report.expires_at is None or now < report.expires_at)


def _passes(report: TrustReport, provenance: Provenance, policy: TrustPolicy, past: Past | None) -> bool:
    """Whether known facts are still enough. Where they are not, they are gathered anew, and say why."""
    try:
        judge(report, provenance, policy)
        judge_continuity(report, past, provenance, policy)
    except TrustError:
        return False
    return True


def _stale_while_revalidate(answer: Fetched, limits: Limits) -> float:
    directives = answer.headers.get("cache-control", "").lower()
    found = re.search(r"(?:^|,)\s*stale-while-revalidate\s*=\s*\"?(\d{1,9})\b", directives)
    if found is None or re.search(r"must-revalidate|no-cache|no-store", directives):
        return 0.0
    return min(float(found[1]), limits.max_ttl)


def earlier(first: float, second: float | None) -> float:
    return first if second is None else min(first, second)
