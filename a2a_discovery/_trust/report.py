"""The facts about who vouches for a card: values that a policy judges and a person reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from a2a_discovery._finding import Finding
from a2a_discovery.policy import Trust

Status = Literal[
    "verified",
    "bad-signature",
    "no-key",
    "untrusted-key-host",
    "key-not-usable",
    "unsupported",
    "malformed",
    "not-tried",
]

MatchedForm = Literal["spec", "spec+unknown", "sdk", "received", "python-json"]

KeySource = Literal["pinned", "listed-jku", "same-site-jku", "interface-host-jku"]
"""By which of the rules the key counts: the caller's store, a place the caller listed, the card's own site, or, for a
card with no host of its own, the very host of its interfaces."""


_KEY_SOURCES: dict[KeySource, str] = {
    "pinned": "a key that the caller pinned",
    "listed-jku": "a key from a place that the caller listed",
    "same-site-jku": "a key that its own site publishes",
    "interface-host-jku": "a key that the host of its interfaces publishes",
}
_STRENGTH: dict[KeySource, int] = {"pinned": 3, "listed-jku": 2, "same-site-jku": 1, "interface-host-jku": 1}
_LEVELS = {
    Trust.NONE: "nobody vouches for this card: it came over plain http",
    Trust.CHANNEL: "whoever runs {authority} vouches for this card, by TLS alone",
    Trust.SIGNED: "{authority} vouches for this card, by a key of its own site",
    Trust.PINNED: "{authority} vouches for this card, by a key of the caller's choice",
}
_HANDED_OVER = "the caller handed this card over, and nobody else vouches for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCheck:
    """What became of one entry of ``signatures`` (A2A section 8.4.3)."""

    index: int
    """Its place in ``signatures``."""
    status: Status
    kid: str | None = None
    alg: str | None = None
    jku: str | None = None
    key_source: KeySource | None = None
    thumbprint: str | None = None
    """RFC 7638 thumbprint of the key that verified it."""
    form: MatchedForm | None = None
    interfaces_covered: bool | None = None
    """Whether what was signed holds the interfaces as they were read; a signature that does not raises no level."""
    reason: str = ""
    """Why it is not verified, for a person."""

    def __str__(self) -> str:
        name = f"signature {self.index}" + (f" ({shown(self.kid)})" if self.kid is not None else "")
        if self.status != "verified":
            return f"{name} is {self.status}" + (f": {self.reason}" if self.reason else "")
        return (
            f"{name} verified with {self.alg} by {_KEY_SOURCES[self.key_source or 'pinned']}, in the form {self.form}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustReport:
    """Who vouches for the card, with which key, over which bytes, and what is left open."""

    level: Trust
    authority: str | None
    """The host whose TLS answered with the card; for an inline card its catalog's; ``None`` for a mapping or file."""
    hosts: tuple[str, ...] = ()
    """The hosts that a pattern of the policy has to match: the authority, or for a card with no host of its own the
    hosts of all its interfaces."""
    signatures: tuple[SignatureCheck, ...] = ()
    uncovered: tuple[str, ...] = ()
    """JSON pointers, in the document, of what the matched form does not protect."""
    findings: tuple[Finding, ...] = ()
    refusal: str | None = None
    """The code of the refusal, where the policy refused."""
    other_publisher: bool = False
    """The card was asked for under another publisher's name than that of its authority."""
    expires_at: float | None = field(default=None, compare=False)
    """When the first of the key sets it rests on stops being fresh."""

    @property
    def verified(self) -> SignatureCheck | None:
        """The signature that carries the level, or ``None``."""
        verified = [check for check in self.signatures if check.status == "verified"]
        return max(verified, key=_carries, default=None)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, the level by name."""
        return {**asdict(self), "level": self.level.name}

    def __str__(self) -> str:
        parts = [f"{self.level.name}: {self._who()}"]
        parts += [str(check) for check in self.signatures[:_SHOWN]] or ["it has no signature"]
        if len(self.signatures) > _SHOWN:
            parts.append(f"{len(self.signatures) - _SHOWN} more signatures")
        if self.uncovered:
            places = ", ".join(shown(place) for place in self.uncovered[:_SHOWN])
            more = f" and {len(self.uncovered) - _SHOWN} more" if len(self.uncovered) > _SHOWN else ""
            parts.append(f"not covered: {places}{more}")
        if self.refusal is not None:
            parts.append(f"refused as {self.refusal}")
        return "; ".join(parts) + "."

    def _who(self) -> str:
        if self.authority is None and self.level is Trust.CHANNEL:
            return _HANDED_OVER
        return _LEVELS[self.level].format(authority=self.authority)


_SHOWN = 5


def _carries(check: SignatureCheck) -> tuple[bool, int]:
    return bool(check.interfaces_covered), _STRENGTH[check.key_source] if check.key_source else 0


def shown(text: str) -> str:
    """A stranger's string as it may stand in a message: quoted, and of bounded length."""
    return repr(text if len(text) <= 100 else text[:99] + "…")
