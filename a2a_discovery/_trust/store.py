"""The caller's own keys: a JWK, a JWK Set, a list of JWKs, or a JSON or PEM file, as plain public JWKs.

It stands apart from the rest of the room because a policy reads its keys while it is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from a2a_discovery.errors import UsageError

_PRIVATE = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))  # RFC 7518 sections 6.2.2, 6.3.2 and 6.4
_PEM_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_HINT = "give a JWK, a JWK Set, a list of JWKs, or the pathlib.Path of a JWK, JWK Set or PEM file"


def read_keys(value: Any) -> tuple[Mapping[str, Any], ...]:
    """Read what a caller pins.

    Args:
        value: a JWK, a JWK Set, a list of JWKs, or the `pathlib.Path` of a file that holds one of them or PEM blocks
            (public keys, certificates, or private keys, of which only the public part is kept).

    Returns:
        Plain JWKs without private members; at least one.

    Raises:
        UsageError: ``bad-config``.
    """
    keys = _read(value)
    if not keys:
        raise _bad("there is no key in it")
    return tuple(_public(key) for key in keys)


def _read(value: Any) -> Sequence[Any]:
    if isinstance(value, Path):
        return _read_file(value)
    if isinstance(value, Mapping):
        keys = value.get("keys") if "keys" in value and "kty" not in value else [value]
        if not isinstance(keys, (list, tuple)):
            raise _bad("the member keys of a JWK Set is a list")
        return keys
    if isinstance(value, (list, tuple)):
        return value
    raise _bad(f"{type(value).__name__} is no key")


def _read_file(path: Path) -> Sequence[Any]:
    try:
        body = path.read_bytes()
    except OSError as exc:
        raise _bad(f"{path.name} cannot be read: {exc.strerror}") from exc
    if b"-----BEGIN " in body:
        return [_from_pem(found[0], found[1]) for found in _PEM_BLOCK.finditer(body)]
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise _bad(f"{path.name} is neither JSON nor PEM") from None
    return _read(document)


def _public(key: Any) -> Mapping[str, Any]:
    if not isinstance(key, Mapping) or not isinstance(key.get("kty"), str):
        raise _bad("a key has no kty")
    if key["kty"] == "oct":
        raise _bad("a symmetric key can sign for anybody who can verify", "pin a public key")
    return {name: member for name, member in key.items() if name not in _PRIVATE}


def _from_pem(block: bytes, label: bytes) -> dict[str, Any]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.x509 import load_pem_x509_certificate

    try:
        if label == b"CERTIFICATE":
            key: Any = load_pem_x509_certificate(block).public_key()
        elif label.endswith(b"PRIVATE KEY"):
            key = pem.load_pem_private_key(block, password=None).public_key()
        else:
            key = pem.load_pem_public_key(block)
        spki = key.public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
        raise _bad(f"a PEM block ({label.decode()}) cannot be read") from exc
    return _as_jwk(spki)


def _as_jwk(spki: bytes) -> dict[str, Any]:
    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    for kind in (ECKey, RSAKey, OKPKey):
        try:
            return dict(kind.import_key(spki).as_dict(private=False))
        except (JoseError, ValueError, TypeError):
            continue
    raise _bad("a PEM block holds a key of a kind that JWS does not know")


def _bad(message: str, hint: str = _HINT) -> UsageError:
    return UsageError("bad-config", f"keys: {message}", hint=hint)
