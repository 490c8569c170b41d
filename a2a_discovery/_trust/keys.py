"""Public keys: which of them may verify what, and why not (RFC 7517, RFC 7518 section 6, RFC 8037).

A JWK stays the plain JSON object it came as; a key that cannot be used is a reason, never an exception, so that one odd
key never spoils a set.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from a2a_discovery._card.json import decode
from a2a_discovery.errors import CardError
from a2a_discovery.policy import ALGORITHMS

Jwk = Mapping[str, Any]

_EC = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_OKP = {"EdDSA": ("Ed25519", "Ed448"), "Ed25519": ("Ed25519",)}
_SAME_ALG = {"Ed25519": {"Ed25519", "EdDSA"}, "EdDSA": {"Ed25519", "EdDSA", "Ed448"}}  # RFC 9864 renamed it

RSA_BITS = (2048, 8192)
"""RFC 7518 section 3.3 sets the least; beyond the most, a verification costs more than a stranger may ask for."""
RSA_EXPONENT_BITS = 32
"""The usual one has 17; a verification costs a multiplication or two for each."""

_MATERIAL = {"EC": ("crv", "x", "y"), "RSA": ("n", "e"), "OKP": ("crv", "x")}
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+=*\Z")


class KeySet(NamedTuple):
    """What a ``jku`` answered, read."""

    keys: tuple[Jwk, ...]
    problem: str = ""
    """Why it is no JWK Set."""


@functools.lru_cache(maxsize=32)
def read_set(body: bytes, depth: int) -> KeySet:
    """Read a JWK Set; entries that are no JSON objects are passed over (RFC 7517 section 5)."""
    try:
        document = decode(body, depth=depth)
    except CardError:
        page = body.lstrip()[:1] == b"<"
        return KeySet((), "it answered an HTML page" if page else "what it answered is not JSON")
    keys = document.get("keys") if isinstance(document, dict) else None
    if isinstance(keys, list):
        return KeySet(tuple(key for key in keys if isinstance(key, dict)))
    if isinstance(document, dict) and any("-----BEGIN " in str(value)[:40] for value in document.values()):
        return KeySet((), "it answered a map of kid to PEM, which is no JWK Set (RFC 7517 section 5)")
    return KeySet((), "what it answered is no JWK Set (RFC 7517 section 5)")


def with_kid(keys: Iterable[Jwk], kid: str | None) -> list[Jwk]:
    """The keys that a header's ``kid`` selects: those that have it and those that have none; without one, all."""
    return [key for key in keys if kid is None or key.get("kid") in (kid, None)]


def why_not(jwk: Jwk, alg: str, now: float) -> str | None:
    """Why this key may not verify a signature of this algorithm now, or ``None``.

    Args:
        jwk: the key.
        alg: a JWS algorithm that the policy accepts.
        now: seconds since the epoch.
    """
    return unfit(jwk, alg, now) or broken(jwk, now)


def unfit(jwk: Jwk, alg: str, now: float) -> str | None:
    """The same by what the key says of itself, which costs next to nothing to see."""
    return _wrong_kind(jwk, alg) or _wrong_purpose(jwk, alg) or _wrong_time(jwk, now)


def broken(jwk: Jwk, now: float) -> str | None:
    """The same by what it is made of: its certificate and its numbers, whose reading costs as much as a verification.

    That of a hundred odd keys is remembered, and a stranger may publish thousands.
    """
    chain = jwk.get("x5c")
    return (None if chain is None else _expired_certificate(chain, now)) or _material(jwk).problem


def _wrong_kind(jwk: Jwk, alg: str) -> str | None:
    kty, crv = jwk.get("kty"), jwk.get("crv")
    curves: tuple[str, ...]
    if alg in _EC:
        wanted, curves = "EC", (_EC[alg],)
    elif alg in _OKP:
        wanted, curves = "OKP", _OKP[alg]
    else:
        wanted, curves = "RSA", ()
    if kty != wanted:
        return f"its kty is {_shown(kty)}, and {alg} needs {wanted}"
    if curves and crv not in curves:
        return f"its crv is {_shown(crv)}, and {alg} needs {' or '.join(curves)}"
    return None


def _wrong_purpose(jwk: Jwk, alg: str) -> str | None:
    if jwk.get("use", "sig") != "sig":
        return f"its use is {_shown(jwk['use'])}"
    operations = jwk.get("key_ops")
    if operations is not None and (not isinstance(operations, list) or "verify" not in operations):
        return "its key_ops do not name verify"
    named = jwk.get("alg")
    if named is not None and named != alg and not (isinstance(named, str) and named in _SAME_ALG.get(alg, ())):
        return f"its alg is {_shown(named)}"
    return None


def _wrong_time(jwk: Jwk, now: float) -> str | None:
    if jwk.get("revoked") not in (None, False):
        return "it is revoked"
    for name in ("nbf", "exp"):
        moment = jwk.get(name)
        if moment is None:
            continue
        if isinstance(moment, bool) or not isinstance(moment, (int, float)):
            return f"its {name} is no number"
        if name == "nbf" and now < moment:
            return "it is not valid yet (nbf)"
        if name == "exp" and now >= moment:
            return "it has expired (exp)"
    return None


def _expired_certificate(chain: Any, now: float) -> str | None:
    first = chain[0] if isinstance(chain, list) and chain else None
    if not isinstance(first, str):
        return "its x5c is no list of certificates"
    validity = _validity(first)
    if validity is None:
        return "its x5c cannot be read"
    since, until = validity
    if now >= until:
        return "its certificate (x5c) has expired"
    return "its certificate (x5c) is not valid yet" if now < since else None


def valid_until(jwk: Jwk) -> list[float]:
    """When a usable key ceases to be valid, in seconds since the epoch, by what it says: its ``exp``, its ``x5c``."""
    found = [] if jwk.get("exp") is None else [jwk["exp"]]
    validity = _validity(jwk["x5c"][0]) if jwk.get("x5c") is not None else None
    return found if validity is None else [*found, validity[1]]


@functools.lru_cache(maxsize=64)
def _validity(certificate: str) -> tuple[float, float] | None:
    from cryptography import x509

    try:
        read = x509.load_der_x509_certificate(base64.b64decode(certificate, validate=True))
        return read.not_valid_before_utc.timestamp(), read.not_valid_after_utc.timestamp()
    except Exception:  # noqa: BLE001  (a stranger's certificate: whatever its parser raises, the key is not used)
        return None


class _Material(NamedTuple):
    """The numbers of a JWK, imported."""

    key: Any = None
    thumbprint: str | None = None
    """RFC 7638, SHA-256."""
    problem: str | None = None
    """Why there is no key."""


def _material(jwk: Jwk) -> _Material:
    kty = jwk.get("kty")
    names = _MATERIAL.get(kty, ()) if isinstance(kty, str) else ()
    values = tuple(jwk.get(name) for name in names)
    if not isinstance(kty, str) or not names or not all(isinstance(value, str) for value in values):
        return _Material(problem="a member that its kty needs is missing")
    return _import(kty, tuple(zip(names, values, strict=True)))


@functools.lru_cache(maxsize=256)
def _import(kty: str, members: tuple[tuple[str, str], ...]) -> _Material:
    from joserfc.jwk import import_key

    if not all(name == "crv" or _BASE64URL.match(value) for name, value in members):
        return _Material(problem="a member of it is not base64url")
    try:
        problem = _wrong_size(dict(members)) if kty == "RSA" else None
        if problem is not None:
            return _Material(problem=problem)
        key = import_key({"kty": kty, **dict(members)})
        return _Material(key=key, thumbprint=key.thumbprint())
    except Exception:  # noqa: BLE001  (a stranger's key: whatever its parser raises, the key is not used)
        return _Material(problem="its numbers are no key")


def _wrong_size(members: dict[str, str]) -> str | None:
    bits = _number(members["n"]).bit_length()
    if bits < RSA_BITS[0]:
        return f"it is an RSA key of {bits} bits, and RFC 7518 asks for {RSA_BITS[0]}"
    if bits > RSA_BITS[1]:
        return f"it is an RSA key of {bits} bits, and the most is {RSA_BITS[1]}"
    return "its RSA exponent is too large" if _number(members["e"]).bit_length() > RSA_EXPONENT_BITS else None


def _number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=="), "big")  # more padding than is due is passed over


def thumbprint(jwk: Jwk) -> str | None:
    """The RFC 7638 thumbprint (SHA-256), or ``None`` where it is no key."""
    return _material(jwk).thumbprint


def verifies(jwk: Jwk, alg: str, signing_input: bytes, signature: bytes) -> bool:
    """Whether the signature is this key's over these bytes."""
    from joserfc.jws import JWSRegistry

    if alg not in ALGORITHMS:  # no policy can name another, and a library says yes to ``none``
        return False
    # The algorithm object alone: the registry warns at EdDSA, and limits header and payload to less than a card.
    try:
        return bool(JWSRegistry.algorithms[alg].verify(signing_input, signature, _material(jwk).key))
    except Exception:  # noqa: BLE001  (whatever a library raises over a stranger's bytes, nothing was verified)
        return False


def is_der(alg: str, signature: bytes) -> bool:
    """Whether an ECDSA signature is in ASN.1 DER, as TLS writes it, and not the two numbers that JWS wants."""
    if alg not in _EC:
        return False
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    try:
        decode_dss_signature(signature)
    except ValueError:
        return False
    return True


def _shown(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, str) else "missing" if value is None else "no string"
