"""The verdict: facts and a policy in, nothing or a `TrustError` out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from a2a_discovery._trust.places import Provenance
from a2a_discovery._trust.report import SignatureCheck, TrustReport, shown
from a2a_discovery._urls import split
from a2a_discovery.errors import TrustError
from a2a_discovery.policy import Check, Trust, TrustPolicy

Refusal = tuple[str, str, str | None]
"""Code, message, hint."""


def judge(report: TrustReport, provenance: Provenance, policy: TrustPolicy) -> None:
    """Refuse a card that proves less than the policy asks for.

    Args:
        report: the facts.
        provenance: how the card came.
        policy: what it must prove.

    Raises:
        TrustError: with the report, whose ``refusal`` is the code, and a finished line that would accept the card.
    """
    if policy.unsafe_reason is not None:
        return
    refusal = next(_refusals(report, provenance, policy), None)
    if refusal is None:
        return
    code, message, hint = refusal
    raise TrustError(code, message, step="verify", hint=hint, report=replace(report, refusal=code))


def _refusals(report: TrustReport, provenance: Provenance, policy: TrustPolicy) -> Iterator[Refusal]:
    """What stands against the card, the plainest first."""
    if report.other_publisher and policy.require > Trust.CHANNEL:
        message = f"the card comes from {report.authority}, which is not the publisher it was asked for under"
        yield "other-publisher", message, "ask for that card by its own URL"
    verified = [check for check in report.signatures if check.status == "verified"]
    if report.signatures and not verified:
        yield from _unverified(report, provenance, policy)
    elif not report.signatures:
        yield from _unsigned(report, policy)
    elif not any(check.interfaces_covered for check in verified):
        yield from _uncovered(report, provenance, policy)
    if report.level < policy.require:
        yield _too_low(report, policy)
    missing = [kid for kid in policy.required_kids if not _vouches(kid, verified)]
    if missing:
        message = f"no verified signature of the card has the required kid {shown(missing[0])}"
        yield ("unverifiable" if report.signatures else "unsigned"), message, None
    if policy.check is not None:
        yield from _checked(report, policy.check)


def _vouches(kid: str, verified: list[SignatureCheck]) -> bool:
    return any(check.kid == kid and check.interfaces_covered for check in verified)


def _unverified(report: TrustReport, provenance: Provenance, policy: TrustPolicy) -> Iterator[Refusal]:
    by_status = {check.status: check for check in reversed(report.signatures)}
    handed_over = provenance.channel is None and not provenance.inline
    if (bad := by_status.get("bad-signature")) is not None:
        yield "bad-signature", f"{_named(bad)} does not verify: {bad.reason}", None
    elif policy.require <= Trust.CHANNEL and (policy.unverifiable == "accept" or handed_over):
        pass  # it stays at the level of its channel
    elif (elsewhere := by_status.get("untrusted-key-host")) is not None:
        message = f"the key of {_named(elsewhere)} is where nobody we trust put it: {elsewhere.reason}"
        yield "untrusted-key-host", message, _accepting(report, elsewhere)
    else:
        first = next(by_status[status] for status in _TELLING if status in by_status)
        yield "unverifiable", f"{_named(first)} cannot be verified: {first.reason}", _accepting(report, first)


_TELLING = ("key-not-usable", "no-key", "unsupported", "malformed", "not-tried")


def _unsigned(report: TrustReport, policy: TrustPolicy) -> Iterator[Refusal]:
    if policy.require > Trust.CHANNEL:
        message = f"the card has no signature, and the policy requires {policy.require.name}"
        yield "unsigned", message, f"trust=TrustPolicy(require=Trust.{report.level.name}) accepts it as it is"


def _uncovered(report: TrustReport, provenance: Provenance, policy: TrustPolicy) -> Iterator[Refusal]:
    if policy.require > Trust.CHANNEL or not provenance.hosted:
        message = "the signature verifies, yet the card's interfaces are not what was signed"
        yield "uncovered", message, "the publisher should sign in the form of A2A section 8.4.1"


def _too_low(report: TrustReport, policy: TrustPolicy) -> Refusal:
    if report.level is Trust.NONE:
        hint = "network=NetworkPolicy(allow_http=True) fetches it; trust=TrustPolicy(require=Trust.NONE) accepts it"
        return "no-channel", "the card came over plain http, so nobody vouches for it", hint
    # All else that is too low was told before; left is a key of the card's own site where a pinned one is asked for.
    message = f"its key is one of the card's own site, and not of the caller's choice, as {policy.require.name} asks"
    carrier = report.verified
    return "untrusted-key-host", message, None if carrier is None else _accepting(report, carrier)


def _checked(report: TrustReport, check: Check) -> Iterator[Refusal]:
    try:
        reason = check(report)
    except Exception as exc:  # noqa: BLE001  (the caller's code: whatever it raises, the card was not accepted)
        reason = f"the check raised {type(exc).__name__}"
    if reason is not None:
        yield "refused", f"the caller's check refused the card: {reason}", None


def _named(check: SignatureCheck) -> str:
    return f"signature {check.index}" + (f" (kid {shown(check.kid)})" if check.kid is not None else "")


def _accepting(report: TrustReport, check: SignatureCheck) -> str:
    """The line that would accept this signature. It is the caller's to judge what it names, so it names it whole."""
    hosts = report.hosts[:_NAMED_HOSTS] or ("shop.example",)
    if check.status == "untrusted-key-host" and check.key_source in (None, "interface-host-jku"):
        place = check.jku or ""
        if len(place) <= _NAMED_PLACE and _is_place(place):
            places = ", ".join(f"{host!r}: ({place!r},)" for host in hosts)
            return f"trust=TrustPolicy(jku_hosts={{{places}}})"
    kid = "" if check.kid is None else f"  # with the key {shown(check.kid)}"
    keys = ", ".join(f'{host!r}: Path("keys.json")' for host in hosts)
    return f"trust=TrustPolicy(keys={{{keys}}}){kid}"


_NAMED_HOSTS = 4
_NAMED_PLACE = 200


def _is_place(jku: str) -> bool:
    try:
        parts = split(jku)
    except ValueError:
        return False
    return parts.scheme == "https" and not parts.userinfo and not parts.fragment
