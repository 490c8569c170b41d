"""Who vouches for a card: every signature checked on the document as it was received (A2A section 8.4.3).

The workflow, cited below by its numbers:

1. Take the entries of ``signatures``; no more than ``Limits.signatures`` are looked at.
2. Read the *protected* header of each by the rules of RFC 7515.
3. Find the keys, the strongest ground first: (a) those the caller pinned, which need no request; (b) those at a place
   the caller listed; (c) those the card's own site publishes. Each JWK Set is fetched once, an unknown kid buys one
   fetch more, and no more than ``Limits.key_fetches`` are made.
4. Write the card in the canonical forms, each when it is first needed.
5. Verify. The first success over the interfaces that continues the past of this location ends the work, except for
   kids that the policy requires.
6. See what the signed bytes leave open, by reading them as a card of their own.
7. Name the level and the authority.

Not done here: whether that is enough, which is the policy's to say (`judge`). Nothing here raises for what a stranger
sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from a2a_discovery._card.read import Reading
from a2a_discovery._effects import Flow
from a2a_discovery._finding import Finding
from a2a_discovery._hosts import same_site
from a2a_discovery._trust import keys as jwk
from a2a_discovery._trust.canonical import Forms, Payload
from a2a_discovery._trust.continuity import Past, familiar
from a2a_discovery._trust.coverage import Coverage, compare
from a2a_discovery._trust.jws import Entry, read_entry
from a2a_discovery._trust.keysets import KeysAt, load
from a2a_discovery._trust.places import Ground, Place, Provenance, interface_host
from a2a_discovery._trust.report import KeySource, MatchedForm, SignatureCheck, TrustReport
from a2a_discovery.policy import Limits, Trust, TrustPolicy

__all__ = ["Provenance", "Verified", "verify"]

VERIFICATIONS = 512
"""Most signature operations for one card: 64 signatures, 2 keys each, 4 forms; at worst about half a second. Reading
a key that turns out to be none counts as one."""
HASHED = 128 * 1024
"""Bytes whose hashing counts as one operation more: a card of a megabyte costs ten of them each time."""
KEYS_TRIED = 8
"""Most keys tried for one signature: a kid names one, a rotation two."""

_RANK = {"verified": 6, "bad-signature": 5, "key-not-usable": 4, "untrusted-key-host": 3, "no-key": 2, "not-tried": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The facts, and the card they are about."""

    report: TrustReport
    reading: Reading
    """The reading to hand out: for a proven card with no host of its own, the card as the signed bytes say it."""


@dataclass(kw_only=True)
class _Work:
    """The signatures of one card while they are being checked."""

    reading: Reading
    provenance: Provenance
    policy: TrustPolicy
    now: float
    past: Past | None = None
    checks: dict[int, SignatureCheck] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    coverages: dict[MatchedForm, Coverage] = field(default_factory=dict)
    loaded: dict[str, KeysAt] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    used: dict[int, KeysAt] = field(default_factory=dict)
    until: list[float] = field(default_factory=list)
    """When each key that verified something ceases to be valid, where it says so."""
    budget: int = VERIFICATIONS

    def __post_init__(self) -> None:
        self.forms = Forms(self.reading.document, self.policy.forms)

    def wanted(self) -> list[Entry]:
        """The entries still worth trying (5)."""
        if not self.checks:
            return self.entries
        done = [check for check in self.checks.values() if check.status == "verified"]
        missing = set(self.policy.required_kids) - {check.kid for check in done}
        carried = any(check.interfaces_covered and familiar(check, self.past) for check in done)
        verified = {check.index for check in done}
        return [
            entry for entry in self.entries if entry.index not in verified and (not carried or entry.kid in missing)
        ]

    def put(self, check: SignatureCheck) -> None:
        """Keep what says most about a signature; of equals, the later."""
        before = self.checks.get(check.index)
        if before is None or _RANK[check.status] >= _RANK[before.status]:
            self.checks[check.index] = check

    def tried(self, entry: Entry, keys: Sequence[jwk.Jwk], source: KeySource) -> SignatureCheck:
        """What the keys that the entry's kid selects say to it."""
        selected = jwk.with_kid(keys, entry.kid)
        known = entry.kid is None or any(key.get("kid") == entry.kid for key in selected)
        unusable: dict[str, None] = {}
        tried = 0
        for key in sorted(selected, key=lambda key: key.get("kid") != entry.kid):
            reason = jwk.unfit(key, entry.alg, self.now)
            if reason is not None:
                unusable[reason] = None
                continue
            if tried == KEYS_TRIED:
                break
            if self.budget <= 0:
                return entry.check("not-tried", "checking it is more work than one card may ask for")
            reason = jwk.broken(key, self.now)
            if reason is not None:
                self.budget -= 1
                unusable[reason] = None
                continue
            tried += 1
            payload = self._match(entry, key)
            if payload is not None:
                self.until += jwk.valid_until(key)
                return entry.check(
                    "verified",
                    key_source=source,
                    thumbprint=jwk.thumbprint(key),
                    form=payload.form,
                    interfaces_covered=self._coverage(payload).interfaces,
                )
        if tried:
            der = jwk.is_der(entry.alg, entry.signature)
            return entry.check("bad-signature", _DER if der else _NO_MATCH, key_source=source)
        if known and unusable:
            return entry.check("key-not-usable", "; ".join(list(unusable)[:3]), key_source=source)
        reason = f"none of the {len(keys)} keys has its kid" if keys else "there is no key"
        return entry.check("no-key", reason, key_source=source)

    def _match(self, entry: Entry, key: jwk.Jwk) -> Payload | None:
        thumbprint = jwk.thumbprint(key) or ""
        for payload in self.forms.payloads(_usual_form.get(thumbprint)):  # (4)
            self.budget -= 1 + len(payload.encoded) // HASHED
            if jwk.verifies(key, entry.alg, entry.protected + payload.encoded, entry.signature):  # (5)
                _remember_form(thumbprint, payload.form)
                return payload
        return None

    def _coverage(self, payload: Payload) -> Coverage:
        if payload.form not in self.coverages:
            self.coverages[payload.form] = compare(  # (6)
                self.reading, payload, url=self.provenance.url, hand_out=not self.provenance.hosted
            )
        return self.coverages[payload.form]


_usual_form: dict[str, MatchedForm] = {}
"""Thumbprint of a key → the form it signed last. Only a guess at where to begin, so no harm where it is wrong."""
_USUAL_FORMS = 1024


def _remember_form(thumbprint: str, form: MatchedForm) -> None:
    if len(_usual_form) >= _USUAL_FORMS:
        _usual_form.clear()
    _usual_form[thumbprint] = form


_DER = "it is an ASN.1 DER signature, and JWS wants the two numbers side by side (RFC 7518 section 3.4)"
_NO_MATCH = "the key did not make it over any canonical form of this card that the policy accepts"


def verify(
    reading: Reading,
    provenance: Provenance,
    *,
    policy: TrustPolicy,
    limits: Limits,
    now: float,
    past: Past | None = None,
    extended: bool = False,
    strict: bool = False,
) -> Flow[Verified]:
    """Check the signatures of a card, as facts.

    Args:
        reading: the card; its ``document`` is what is verified.
        provenance: how it came.
        policy: which keys, algorithms and forms count.
        limits: how much of it is looked at.
        now: seconds since the epoch.
        past: what this location proved before: a signature that continues it is looked for.
        extended: it is an extended card, which keeps the public card's authority.
        strict: refuse a ``typ`` other than JOSE and JWT.
    """
    work = _Work(reading=reading, provenance=provenance, policy=policy, now=now, past=past)
    _take(work, limits, strict=strict)  # (1) (2)
    if work.entries:
        ground = Ground(provenance=provenance, policy=policy, interface_hosts=_interface_hosts(reading))
        _try_pinned(work, ground.pinned())  # (3a)
        _find_places(work, ground)
        for listed in (True, False):  # (3b) (3c)
            yield from _try_places(work, listed=listed, limits=limits)
        yield from _try_again(work, limits=limits)
    for entry in work.entries:
        if entry.index not in work.checks:
            work.put(entry.check("not-tried", "another signature was enough"))
    return _conclude(work, extended=extended)


def _take(work: _Work, limits: Limits, *, strict: bool) -> None:
    signatures = work.reading.document.get("signatures")
    if signatures is None:
        return
    if not isinstance(signatures, list):
        work.put(SignatureCheck(index=0, status="malformed", reason="signatures is no list"))
        return
    for index, entry in enumerate(signatures):
        if index >= limits.signatures:
            reason = f"only {limits.signatures} signatures are looked at"
            work.checks[index] = SignatureCheck(index=index, status="not-tried", reason=reason)
            continue
        read = read_entry(index, entry, algorithms=work.policy.algorithms, strict=strict)
        if isinstance(read, Entry):
            work.entries.append(read)
        else:
            work.checks[index] = read


def _interface_hosts(reading: Reading) -> tuple[str | None, ...]:
    interfaces = reading.value.get("supportedInterfaces")
    return tuple(
        interface_host(str(interface.get("url"))) if isinstance(interface, dict) else None
        for interface in (interfaces if isinstance(interfaces, list) else ())
    )


def _try_pinned(work: _Work, pinned: Sequence[jwk.Jwk]) -> None:
    for entry in work.wanted() if pinned else ():
        # Another success may have made the rest superfluous.
        if entry in work.wanted():
            check = work.tried(entry, pinned, "pinned")
            if check.status != "no-key":  # its jku may still name one
                work.put(check)


def _find_places(work: _Work, ground: Ground) -> None:
    for entry in work.wanted():
        if entry.jku is None:
            work.put(entry.check("no-key", "no key of the caller fits it, and its protected header has no jku"))
        elif entry.kid is None:
            work.put(entry.check("no-key", "it has no kid, so only a key of the caller could verify it"))
        else:
            place = ground.place(entry.jku)
            if isinstance(place, Place):
                work.places[entry.index] = place
            else:
                work.put(entry.check("untrusted-key-host", place))


def _try_places(work: _Work, *, listed: bool, limits: Limits) -> Flow[None]:
    entries = [
        entry
        for entry in work.wanted()
        if entry.index in work.places and (work.places[entry.index].source == "listed-jku") == listed
    ]
    places = {work.places[entry.index].url: work.places[entry.index] for entry in entries}
    room = limits.key_fetches - len(work.loaded)
    found = yield from load(list(places.values())[:room], work.provenance, limits=limits, now=work.now)
    work.loaded.update(found)
    for entry in entries:
        if entry not in work.wanted():
            continue
        loaded = work.loaded.get(work.places[entry.index].url)
        if loaded is None:
            reason = f"no more than {limits.key_fetches} JWK Sets are fetched for one card"
            work.put(entry.check("not-tried", reason))
        else:
            _try_loaded(work, entry, loaded)


def _try_loaded(work: _Work, entry: Entry, loaded: KeysAt) -> None:
    source = loaded.place.source
    if not loaded.trusted:
        work.put(entry.check("untrusted-key-host", loaded.problem, key_source=source))
    elif loaded.keys is None:
        work.put(entry.check("no-key", loaded.problem, key_source=source))
    else:
        check = work.tried(entry, loaded.keys, source)
        work.put(check)
        if check.status == "verified":
            work.used[entry.index] = loaded


def _try_again(work: _Work, *, limits: Limits) -> Flow[None]:
    """One more fetch of each set that came from the cache and does not know a kid: its publisher may have rotated."""
    placed = [entry for entry in work.wanted() if entry.index in work.places]
    entries = [entry for entry in placed if _may_have_rotated(work, entry, limits)]
    places = {work.places[entry.index].url: work.places[entry.index] for entry in entries}
    room = list(places.values())[: limits.key_fetches]
    found = yield from load(room, work.provenance, limits=limits, now=work.now, mode="refresh")
    for entry in entries:
        loaded = found.get(work.places[entry.index].url)
        # A refresh that failed says nothing new about the key.
        if loaded is not None and loaded.keys is not None and entry in work.wanted():
            _try_loaded(work, entry, loaded)


def _may_have_rotated(work: _Work, entry: Entry, limits: Limits) -> bool:
    loaded = work.loaded.get(work.places[entry.index].url)
    if loaded is None or loaded.keys is None or loaded.answer is None:
        return False
    answer = loaded.answer
    if answer.cache in ("network", "revalidated") or work.now - answer.fetched_at < limits.key_cooldown:
        return False
    return not any(key.get("kid") == entry.kid for key in loaded.keys)


# --- (7)


def _conclude(work: _Work, *, extended: bool) -> Verified:
    provenance = work.provenance
    checks = tuple(work.checks[index] for index in sorted(work.checks))
    facts = TrustReport(level=Trust.NONE, authority=None, signatures=checks)
    carrier = facts.verified
    coverage = None if carrier is None or carrier.form is None else work.coverages[carrier.form]
    proven = carrier is not None and bool(carrier.interfaces_covered)
    level = Trust.NONE if provenance.channel == "plain" else Trust.CHANNEL
    if carrier is not None and proven:
        level = Trust.PINNED if carrier.key_source in ("pinned", "listed-jku") else Trust.SIGNED
    authority, reading = (provenance.proven if extended else None) or provenance.authority, work.reading
    if proven and not provenance.hosted and not extended:
        authority = next(iter(_interface_hosts(work.reading)), None)
        reading = (coverage and coverage.second) or reading
    elsewhere = provenance.other_publisher or _is_elsewhere(authority, provenance)
    uncovered = () if coverage is None else coverage.uncovered
    report = replace(
        facts,
        level=min(level, Trust.CHANNEL) if elsewhere else level,
        authority=authority,
        hosts=_hosts(work),
        uncovered=uncovered,
        other_publisher=elsewhere,
        expires_at=min(
            (*(each.answer.expires_at for each in work.used.values() if each.answer), *work.until), default=None
        ),
        findings=tuple(_findings(work, checks, uncovered, proven=proven, elsewhere=elsewhere)),
    )
    return Verified(report=report, reading=reading)


def _hosts(work: _Work) -> tuple[str, ...]:
    if work.provenance.hosted:
        return (work.provenance.authority or "",)
    return tuple(dict.fromkeys(host for host in _interface_hosts(work.reading) if host is not None))


def _is_elsewhere(authority: str | None, provenance: Provenance) -> bool:
    """Whether the card is of somebody else than whose name it was asked for under."""
    start, publisher = provenance.walked_from, provenance.publisher
    if start is not None and (authority is None or not same_site(start, authority, local=provenance.local)):
        return True
    if publisher is None:
        return False
    return authority is None or (authority != publisher and not authority.endswith("." + publisher))


def _findings(
    work: _Work, checks: Sequence[SignatureCheck], uncovered: Sequence[str], *, proven: bool, elsewhere: bool
) -> Iterator[Finding]:
    if elsewhere:
        yield _finding("other-publisher", "", "the card is not of the publisher it was asked for under")
    verified = {check.index for check in checks if check.status == "verified"}
    if checks and not verified:
        reason = "; ".join(dict.fromkeys(check.reason for check in checks[:5] if check.reason))
        yield _finding("unverified-signature", "/signatures", f"no signature could be verified: {reason}")
    for entry in work.entries:
        if entry.odd_typ and entry.index in verified:
            place = f"/signatures/{entry.index}/protected"
            yield _finding("odd-typ", place, "the typ of a verified signature is neither JOSE nor JWT", "advice")
    if verified and not proven:
        place = work.reading.origin("/supportedInterfaces")
        yield _finding("uncovered-interfaces", place, "a signature verified, yet it does not cover the interfaces")
    if proven and not work.provenance.hosted:
        for place in uncovered:
            yield _finding("uncovered", place, "it is not in what was signed, so it was left out")


def _finding(code: str, place: str, message: str, severity: Any = "warning") -> Finding:
    return Finding(code=code, severity=severity, pointer=place, message=message)
