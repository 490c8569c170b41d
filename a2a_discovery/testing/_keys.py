"""Real keys and real signatures: A2A section 8.4.2, by hand where a library would refuse to be hostile."""

from __future__ import annotations

import functools
import itertools
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urljoin

if TYPE_CHECKING:
    from a2a_discovery._trust.report import MatchedForm

KEYS_PATH = "/.well-known/jwks.json"

_numbers = itertools.count(1)

# algorithm → key type, and its curve or its size in bits
_MADE_AS: Mapping[str, tuple[Literal["EC", "RSA", "OKP"], str | int]] = {
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    **{f"{family}{bits}": ("RSA", 2048) for family in ("RS", "PS") for bits in (256, 384, 512)},
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Signer:
    """A key that signs the cards of a `FakeAgent`; a new one is made unless a ``key`` is given.

    ``Signer()`` signs with ES256 in the form of the specification, and its key is published.
    """

    alg: str = "ES256"
    """ES256/384/512, RS256/384/512, PS256/384/512, EdDSA or Ed25519."""
    form: MatchedForm = "spec"
    """Which bytes are signed: ``spec``, ``spec+unknown``, ``sdk``, ``received`` or ``python-json``."""
    kid: str = ""
    """Key id; by default the algorithm and a number."""
    jku: str | None = KEYS_PATH
    """Where the protected header says the key is: a path at the agent, a URL, or ``None`` to say nothing."""
    published: bool = True
    """Whether the key is in the agent's JWK Set."""
    header: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the protected header; a ``None`` takes one out. Nothing is checked: be hostile."""
    unprotected: Mapping[str, Any] | None = None
    """The signature's ``header`` member."""
    key: Any = field(default=None, repr=False)
    """A private `joserfc` key; by default a fresh one."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not self.kid:
            put(self, "kid", f"{self.alg.lower()}-{next(_numbers)}")
        if self.key is None:
            put(self, "key", _new_key(self.alg))

    @property
    def jwk(self) -> dict[str, Any]:
        """The public key, as it stands in a JWK Set."""
        public = cast("dict[str, Any]", self.key.as_dict(private=False))
        return {**public, "kid": self.kid, "alg": self.alg, "use": "sig"}

    def rotated(self) -> Signer:
        """The same signer with a new key and key id."""
        return replace(self, kid="", key=None)

    def sign(self, document: Mapping[str, Any], *, base: str) -> dict[str, Any]:
        """One entry for ``signatures``.

        Args:
            document: the card; its ``signatures`` are left out.
            base: the agent's URL, to which a ``jku`` path belongs.
        """
        from a2a_discovery._trust.canonical import canonical

        header = {
            "alg": self.alg,
            "typ": "JOSE",
            "kid": self.kid,
            "jku": None if self.jku is None else urljoin(base, self.jku),
            **self.header,
        }
        protected = _base64url(_dump({name: value for name, value in header.items() if value is not None}))
        signing_input = f"{protected}.{_base64url(canonical(document, self.form))}".encode()
        entry: dict[str, Any] = {
            "protected": protected,
            "signature": _base64url(_algorithm(self.alg).sign(signing_input, self.key)),
        }
        return entry if self.unprotected is None else {**entry, "header": dict(self.unprotected)}


def _new_key(alg: str) -> Any:
    from joserfc.jwk import generate_key

    if alg not in _MADE_AS:
        raise ValueError(f"no key is made for {alg!r}: give a key=, or one of {', '.join(_MADE_AS)}")
    kty, size = _MADE_AS[alg]
    make: Callable[..., Any] = generate_key  # its overloads want each key type apart
    return make(kty, size)


@functools.cache
def _algorithm(alg: str) -> Any:
    from joserfc import jws

    return jws.JWSRegistry.algorithms[alg]


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
