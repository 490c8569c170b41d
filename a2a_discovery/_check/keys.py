"""The keys that a card's signatures name: whether they can be had, and are what they should be (A2A section 8.4.3)."""

from __future__ import annotations

from a2a_discovery._card.notes import Path
from a2a_discovery._check.subject import Subject, objects
from a2a_discovery._effects import Fetch, Fetched, Flow
from a2a_discovery._trust.jws import Entry, read_entry
from a2a_discovery._trust.keys import Jwk, read_set, why_not
from a2a_discovery._trust.report import TrustReport
from a2a_discovery._trust.verify import Provenance
from a2a_discovery.errors import DiscoveryError
from a2a_discovery.policy import ALGORITHMS, Limits

_MOST = 4
"""Places that are asked: a card needs one, and a rotation two."""
_PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "k")


def check_keys(
    subject: Subject, report: TrustReport, provenance: Provenance, *, limits: Limits, now: float
) -> Flow[None]:
    """Ask for each JWK Set that a signature names, and judge what comes.

    Args:
        subject: the card.
        report: what verifying found; the sets it fetched are not asked for again.
        provenance: how the card came.
        limits: how much is read.
        now: seconds since the epoch.
    """
    named: dict[str, list[Entry]] = {}
    listed = list(objects(subject.document.get("signatures")))[: limits.signatures]
    for index, signature in listed:
        entry = read_entry(index, dict(signature), algorithms=ALGORITHMS)
        if isinstance(entry, Entry) and entry.jku is not None and (entry.jku in named or len(named) < _MOST):
            named.setdefault(entry.jku, []).append(entry)
    if not named:
        return
    answers = yield tuple(
        Fetch(url=url, kind="keys", limit=limits.keys_bytes, local=provenance.loopback) for url in named
    )
    good = {check.index for check in report.signatures if check.status == "verified"}
    for entries, answer in zip(named.values(), answers, strict=True):
        at = ("signatures", entries[0].index, "protected")
        keys = _had(subject, at, answer, limits)
        for entry in entries:
            if keys and entry.index not in good:
                _judge(subject, entry, keys, now)


def _had(subject: Subject, at: Path, answer: Fetched | DiscoveryError, limits: Limits) -> tuple[Jwk, ...]:
    """The keys that a place gave; none where it did not."""
    if isinstance(answer, DiscoveryError):
        subject.say_in_document("keys-unreachable", f"its keys could not be fetched [{answer.code}]", at)
        return ()
    if answer.status != 200:
        subject.say_in_document("keys-unreachable", f"the place of its keys answered {answer.status}", at)
        return ()
    read = read_set(answer.body, limits.depth)
    if read.problem or not read.keys:
        subject.say_in_document("keys-malformed", read.problem or "the JWK Set has no key", at)
    if any(name in key for key in read.keys for name in _PRIVATE):
        subject.say_in_document("private-key-published", "the JWK Set holds the private part of a key", at)
    return read.keys


def _judge(subject: Subject, entry: Entry, keys: tuple[Jwk, ...], now: float) -> None:
    at = ("signatures", entry.index, "protected")
    mine = [key for key in keys if key.get("kid") in (entry.kid, None)]
    if not mine:
        subject.say_in_document("key-missing", "the JWK Set has no key of the kid that it names", at)
    elif all(why_not(key, entry.alg, now) is not None for key in mine):
        subject.say_in_document("keys-malformed", "the key that it names cannot be used for its algorithm", at)
