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
    reason: str = ""
    """Why it is not verified, for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustReport:
    """Who vouches for the card, with which key, over which bytes, and what is left open."""

    level: Trust
    authority: str | None
    """The host whose TLS answered with the card; for an inline card its catalog's; ``None`` for a mapping or file."""
    signatures: tuple[SignatureCheck, ...] = ()
    uncovered: tuple[str, ...] = ()
    """JSON pointers, in the document, of what the matched form does not protect."""
    findings: tuple[Finding, ...] = ()
    refusal: str | None = None
    """The code of the refusal, where the policy refused."""
    expires_at: float | None = field(default=None, compare=False)
    """When the first of the key sets it rests on stops being fresh."""

    @property
    def verified(self) -> SignatureCheck | None:
        """The signature that carries the level, or ``None``."""
        verified = [check for check in self.signatures if check.status == "verified"]
        return max(verified, key=lambda check: check.key_source in ("pinned", "listed-jku"), default=None)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, the level by name."""
        return {**asdict(self), "level": self.level.name}
