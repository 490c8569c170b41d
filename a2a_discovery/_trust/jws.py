"""One entry of ``signatures`` (A2A section 8.4.2): its protected header by the rules of RFC 7515, and its signature.

Only the *protected* header decides anything. ``jwk``, ``x5c``, ``x5u`` and the unprotected header are never looked at
for a key: the signer must not choose its own root of trust.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from a2a_discovery._card.json import decode
from a2a_discovery._trust.report import SignatureCheck, Status
from a2a_discovery.errors import CardError

HEADER_SIZE = 8 * 1024
"""Longest protected header, in characters: a kid, a jku and an x5c chain fit in, and each entry may cost this much."""
SIGNATURE_SIZE = 2 * 1024
"""Longest signature, in characters: that of the largest RSA key we use has 1366."""
HEADER_DEPTH = 8

_BASE64URL = re.compile(r"[A-Za-z0-9_-]+\Z")
_USUAL_TYPES = frozenset(("jose", "jwt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A signature that can be tried."""

    index: int
    alg: str
    kid: str | None
    jku: str | None
    protected: bytes
    """The protected header as it was signed: base64url."""
    signature: bytes
    odd_typ: bool
    """Its ``typ`` is neither absent nor one of the usual ones."""

    def check(self, status: Status, reason: str = "", **more: Any) -> SignatureCheck:
        """What became of it."""
        return SignatureCheck(
            index=self.index, status=status, kid=self.kid, alg=self.alg, jku=self.jku, reason=reason, **more
        )


def read_entry(index: int, entry: Any, *, algorithms: AbstractSet[str], strict: bool = False) -> Entry | SignatureCheck:
    """Read one entry.

    Args:
        index: its place in ``signatures``.
        entry: what stands there.
        algorithms: the JWS algorithms that the policy accepts.
        strict: refuse a ``typ`` other than JOSE and JWT.

    Returns:
        The entry, or a finished check that says why it cannot be tried: ``malformed`` or ``unsupported``.
    """
    failed = SignatureCheck(index=index, status="malformed")
    try:
        protected, signature, header = _parts(entry)
        failed = replace(failed, kid=_text(header, "kid"), jku=_text(header, "jku"), alg=_text(header, "alg"))
        _check_names(header, entry.get("header"))
    except ValueError as exc:
        return replace(failed, reason=str(exc))
    if failed.alg is None:
        return replace(failed, reason="the protected header has no alg")
    odd_typ = header.get("typ", "JOSE").lower() not in _USUAL_TYPES
    reason = _unsupported(header, failed.alg, algorithms) or (
        "its typ is neither JOSE nor JWT" if odd_typ and strict else None
    )
    if reason is not None:
        return replace(failed, status="unsupported", reason=reason)
    return Entry(
        index=index,
        alg=failed.alg,
        kid=failed.kid,
        jku=failed.jku,
        protected=protected.encode(),
        signature=signature,
        odd_typ=odd_typ,
    )


def _parts(entry: Any) -> tuple[str, bytes, dict[str, Any]]:
    if not isinstance(entry, dict):
        raise ValueError("it is no JSON object")
    protected, signature = entry.get("protected"), entry.get("signature")
    if not isinstance(protected, str) or not isinstance(signature, str):
        raise ValueError("protected and signature are strings")
    if len(protected) > HEADER_SIZE or len(signature) > SIGNATURE_SIZE:
        raise ValueError("its protected header or signature is too long")
    if protected.endswith("="):
        # The padding would be part of what is signed, and RFC 7515 section 2 has none.
        raise ValueError("its protected header is padded, which base64url in JWS is not")
    header = _json(_decoded(protected, "protected header"))
    return protected, _decoded(signature.rstrip("="), "signature"), header


def _decoded(text: str, what: str) -> bytes:
    if not _BASE64URL.match(text) or len(text) % 4 == 1:
        raise ValueError(f"its {what} is not base64url")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _json(body: bytes) -> dict[str, Any]:
    try:
        header = decode(body, depth=HEADER_DEPTH)
    except CardError:
        raise ValueError("its protected header is not JSON, or names a member twice") from None
    if not isinstance(header, dict):
        raise ValueError("its protected header is no JSON object")
    return header


def _text(header: dict[str, Any], name: str) -> str | None:
    if name not in header:
        return None
    value = header[name]
    if not isinstance(value, str):
        raise ValueError(f"the {name} in its protected header is no string")
    return value


def _check_names(header: dict[str, Any], unprotected: Any) -> None:
    _text(header, "typ")
    if unprotected is None:
        return
    if not isinstance(unprotected, dict):
        raise ValueError("its unprotected header is no JSON object")
    if "crit" in unprotected:
        raise ValueError("crit stands in the unprotected header")  # RFC 7515 section 4.1.11
    if not header.keys().isdisjoint(unprotected):
        raise ValueError("a name stands in both of its headers")  # RFC 7515 section 4


def _unsupported(header: dict[str, Any], alg: str, algorithms: AbstractSet[str]) -> str | None:
    if "crit" in header:
        return "it has critical header parameters (crit), and none is known here"
    if header.get("b64", True) is not True:
        return "it signs an unencoded payload (b64), which A2A does not"
    if alg not in algorithms:
        return f"the policy does not accept the algorithm {alg[:40]!r}"
    return None
