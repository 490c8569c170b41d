"""Continuity: a card must not come to prove less than it did before (trust on first use). Pure.

What is remembered of a location is who vouched, how far, through which ``jku`` hosts and keys, and the highest
``version``. A later card of that location is refused as ``downgraded`` where

1. it is unsigned, or no signature verifies any more;
2. it verifies only at a lower level, while the caller's policy still pins keys for its host; or
3. it verifies only through a ``jku`` host that was never seen there, with a key that was never seen there.

A new key at a seen ``jku`` host is a rotation, and fine. Not done here: refusing an older ``version``, which is a
finding, since publishers do roll back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from a2a_discovery._finding import Finding
from a2a_discovery._hosts import best_match
from a2a_discovery._trust.places import Provenance
from a2a_discovery._trust.report import SignatureCheck, TrustReport
from a2a_discovery._urls import host_of, split
from a2a_discovery.errors import TrustError
from a2a_discovery.policy import Trust, TrustPolicy

# A publisher that rotates monthly fills these in years; a hostile one must not fill our store.
_KEPT_HOSTS, _KEPT_KEYS = 8, 32
_WELL_KNOWN = re.compile(r"/\.well-known/agent(?:-card)?\.json\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is remembered of one location."""

    authority: str | None = None
    level: Trust = Trust.NONE
    jku_hosts: tuple[str, ...] = ()
    thumbprints: tuple[str, ...] = ()
    """RFC 7638 thumbprints of the keys that verified."""
    version: str | None = None
    """The highest seen."""

    def encode(self) -> bytes:
        """The record as it is stored."""
        # Not `asdict`, which copies each value deeply: this is written at every revalidation.
        record = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(record, sort_keys=True).encode()


def decode_past(record: bytes | None) -> Past | None:
    """A stored record, or ``None`` where there is none or it is damaged."""
    if record is None:
        return None
    try:
        value = json.loads(record)
        return Past(
            authority=value["authority"],
            level=Trust(value["level"]),
            jku_hosts=tuple(map(str, value["jku_hosts"])),
            thumbprints=tuple(map(str, value["thumbprints"])),
            version=value["version"],
        )
    except (ValueError, TypeError, KeyError):
        return None


def location_of(url: str) -> str:
    """The location that a card's continuity belongs to: the well-known names of one base count as one."""
    parts = split(url)
    path = _WELL_KNOWN.sub("", parts.path).rstrip("/")
    return f"{parts.origin}{path}{'?' + parts.query if parts.query else ''}"


def familiar(check: SignatureCheck, past: Past | None) -> bool:
    """Whether a verified signature continues the past: one that does ends the search for more."""
    if past is None or past.level < Trust.SIGNED or check.key_source == "pinned":
        return True
    return check.thumbprint in past.thumbprints or _jku_host(check) in past.jku_hosts


def compare(report: TrustReport, past: Past | None, policy: TrustPolicy, hosts: Iterable[str]) -> str | None:
    """Why a card is a downgrade of its past, or ``None``.

    Args:
        report: the facts about the card now.
        past: what is remembered of its location.
        policy: the caller's; without ``continuity`` nothing is compared.
        hosts: the card's authority, and the host asked for.
    """
    if past is None or not policy.continuity or past.level < Trust.SIGNED:
        return None
    if report.level < Trust.SIGNED:
        return "its signatures verified before, and none does now"
    if report.level < past.level and best_match(policy.keys, hosts) is not None:
        return "it verified with a pinned key before, and none of the pinned keys verifies it now"
    if not any(familiar(check, past) for check in _vouching(report)):
        return "it is signed with a key, and through a key host, that were never seen at this location"
    return None


def judge_continuity(report: TrustReport, past: Past | None, provenance: Provenance, policy: TrustPolicy) -> None:
    """Refuse a card that proves less than this location did before.

    Raises:
        TrustError: ``downgraded``, with the report.
    """
    # Of a card with no host of its own, the caller's patterns match the hosts of the interfaces.
    own = (provenance.authority, provenance.asked) if provenance.hosted else report.hosts
    hosts = [host for host in own if host is not None]
    reason = None if policy.unsafe_reason is not None else compare(report, past, policy, hosts)
    if reason is None:
        return
    raise TrustError(
        "downgraded",
        f"the card proves less than before: {reason}",
        step="verify",
        hint="if the publisher confirms the change: Discovery.forget(target), then ask again",
        report=replace(report, refusal="downgraded"),
    )


def rolled_back(version: str, past: Past | None) -> tuple[Finding, ...]:
    """The finding of a ``version`` below the highest one seen."""
    if past is None or past.version is None or not _below(version, past.version):
        return ()
    return (
        Finding(
            code="rolled-back",
            severity="warning",
            pointer="/version",
            message="the card's version is below one that this location served before",
        ),
    )


def remember(report: TrustReport, version: str, past: Past | None) -> Past:
    """What is remembered once a card was accepted."""
    past = past if past is not None else Past()
    past = replace(past, level=max(past.level, report.level))
    if report.level >= Trust.SIGNED:
        verified = _vouching(report)
        past = replace(
            past,
            jku_hosts=_newest(past.jku_hosts, (_jku_host(check) for check in verified), _KEPT_HOSTS),
            thumbprints=_newest(past.thumbprints, (check.thumbprint for check in verified), _KEPT_KEYS),
        )
    highest = version if past.version is None or _below(past.version, version) else past.version
    return replace(past, authority=report.authority, version=highest[:64])


def _vouching(report: TrustReport) -> list[SignatureCheck]:
    """The signatures that raise a level: one over something else than the interfaces continues nothing."""
    return [check for check in report.signatures if check.status == "verified" and check.interfaces_covered]


def _jku_host(check: SignatureCheck) -> str | None:
    return host_of(check.jku) if check.jku is not None and check.key_source != "pinned" else None


def _newest(known: tuple[str, ...], more: Iterable[str | None], most: int) -> tuple[str, ...]:
    added = [each for each in dict.fromkeys(more) if each is not None and each not in known]
    return (*known, *added)[-most:]


def _below(first: str, second: str) -> bool:
    """Whether one version is below another, where both are dotted numbers; free text has no order."""
    numbers = [re.match(r"v?(\d{1,9}(?:\.\d{1,9}){0,3})(?:[-+].*)?\Z", each) for each in (first, second)]
    if numbers[0] is None or numbers[1] is None:
        return False
    one, two = ([int(part) for part in each[1].split(".")] for each in numbers if each)
    return one + [0] * (4 - len(one)) < two + [0] * (4 - len(two))
