"""A dictionary for a network, and signatures made by hand: a library would refuse to be as hostile as a stranger is."""

from __future__ import annotations

import base64
import copy
import functools
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from a2a_discovery._card.read import read_card
from a2a_discovery._effects import Fetch, Fetched, Keep
from a2a_discovery._trust.canonical import canonical
from a2a_discovery._trust.judge import judge
from a2a_discovery._trust.verify import Provenance, verify
from a2a_discovery.errors import CardError, DiscoveryError, FetchError
from a2a_discovery.policy import Limits, TrustPolicy

NOW = 1_800_000_000.0
HOST = "agent.example.com"
JKU = f"https://{HOST}/.well-known/jwks.json"
DATA = Path(__file__).parent.parent / "data" / "vectors"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, size: int | None = None) -> str:
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


# --- keys and signatures, by RFC 7518 and RFC 8037

HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
CURVES = {"ES256": ("P-256", ec.SECP256R1()), "ES384": ("P-384", ec.SECP384R1()), "ES512": ("P-521", ec.SECP521R1())}


@functools.cache
def private_key(alg: str, name: str):
    """One key for each algorithm and name, for the whole run."""
    if alg in CURVES:
        return ec.generate_private_key(CURVES[alg][1])
    if alg in ("EdDSA", "Ed25519"):
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


@dataclass(frozen=True)
class Signer:
    alg: str = "ES256"
    kid: str | None = "k1"
    jku: str | None = JKU
    form: str = "spec"
    name: str = ""

    @property
    def key(self):
        return private_key(self.alg, self.name or str(self.kid))

    def jwk(self, **more):
        public = self.key.public_key()
        if self.alg in CURVES:
            curve, numbers = CURVES[self.alg][0], public.public_numbers()
            size = (public.key_size + 7) // 8
            key = {"kty": "EC", "crv": curve, "x": number(numbers.x, size), "y": number(numbers.y, size)}
        elif self.alg in ("EdDSA", "Ed25519"):
            key = {"kty": "OKP", "crv": "Ed25519", "x": base64url(public.public_bytes_raw())}
        else:
            numbers = public.public_numbers()
            key = {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        if self.kid is not None:
            key["kid"] = self.kid
        return {name: value for name, value in {**key, **more}.items() if value is not ...}

    def raw(self, signing_input: bytes, *, der: bool = False) -> bytes:
        if self.alg in ("EdDSA", "Ed25519"):
            return self.key.sign(signing_input)
        digest = HASHES[self.alg[2:]]
        if self.alg in CURVES:
            signature = self.key.sign(signing_input, ec.ECDSA(digest))
            if der:
                return signature
            size = (self.key.key_size + 7) // 8
            return b"".join(part.to_bytes(size, "big") for part in decode_dss_signature(signature))
        pad = padding.PKCS1v15()
        if self.alg.startswith("PS"):
            pad = padding.PSS(padding.MGF1(digest), digest.digest_size)
        return self.key.sign(signing_input, pad, digest)

    def sign(self, card, *, protected=None, der=False, **header):
        """An entry of ``signatures``; ``protected`` replaces the header whole, and ``...`` takes a member out of it."""
        members = {"alg": self.alg, "kid": self.kid, "jku": self.jku, "typ": "JOSE", **header}
        if protected is None:
            kept = {name: value for name, value in members.items() if value is not ... and (name in header or value)}
            protected = base64url(json.dumps(kept).encode())
        signing_input = f"{protected}.{base64url(canonical(card, self.form))}".encode()
        return {"protected": protected, "signature": base64url(self.raw(signing_input, der=der))}

    def signed(self, card, **more):
        return {**card, "signatures": [self.sign(card, **more)]}


CARD = {
    "name": "Orders",
    "description": "Takes orders",
    "supportedInterfaces": [
        {"url": f"https://{HOST}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ],
    "version": "1.0.0",
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "order", "name": "Order", "description": "Orders things", "tags": ["shop"]}],
}


# --- a dictionary for a network


@dataclass
class World:
    """URL → what it answers: keys, bytes, an `Answer`, a `DiscoveryError`, or a list of these, one for each fetch."""

    pages: dict = field(default_factory=dict)
    stored: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    kept: list = field(default_factory=list)

    def run(self, flow):
        """Drive a flow to its end, as the shell does."""
        effect = None
        try:
            effect = next(flow)
            while True:
                if isinstance(effect, Keep):
                    self.kept.append(effect.answer.url)
                    effect = flow.send(None)
                else:
                    effect = flow.send(tuple(self.answer(fetch) for fetch in effect))
        except StopIteration as done:
            return done.value
        finally:
            flow.close()

    def answer(self, fetch: Fetch):
        assert fetch.kind == "keys"
        self.asked.append((fetch.mode, fetch.url) if fetch.mode != "use" else fetch.url)
        page = (self.stored if fetch.mode == "stored" else self.pages).get(fetch.url)
        if isinstance(page, list):
            page = page.pop(0)
        if page is None:
            page = (
                FetchError("connect", "nothing is stored") if fetch.mode == "stored" else Answer(status=404, body=b"")
            )
        if isinstance(page, DiscoveryError):
            return page
        if isinstance(page, dict):
            page = Answer(body=json.dumps(page).encode())
        if isinstance(page, bytes):
            page = Answer(body=page)
        return page.fetched(fetch.url)


@dataclass(frozen=True)
class Answer:
    body: bytes = b"{}"
    status: int = 200
    type: str = "application/json"
    url: str | None = None
    redirects: tuple = ()
    channel: str = "tls"
    cache: str = "network"
    fetched_at: float = NOW
    expires_at: float = NOW + 60

    def fetched(self, url):
        return Fetched(
            requested=url,
            url=self.url or url,
            status=self.status,
            headers={"content-type": self.type},
            body=self.body,
            channel=self.channel,
            cache=self.cache,
            fetched_at=self.fetched_at,
            expires_at=self.expires_at,
            redirects=self.redirects,
        )


def jwks(*keys, **answer):
    """An answer that is a JWK Set of these."""
    body = json.dumps({"keys": [key.jwk() if isinstance(key, Signer) else key for key in keys]}).encode()
    return Answer(body=body, **answer)


FROM_HOST = Provenance(authority=HOST, asked=HOST, channel="tls", url=f"https://{HOST}/.well-known/agent-card.json")
MAPPING = Provenance(authority=None, asked=None, channel=None)
INLINE = Provenance(authority="catalog.example", asked="catalog.example", channel="tls", inline=True)


OPTIONS = ("limits", "now", "strict", "extended")


@dataclass
class Bench:
    """Everything a test of trust needs, in one hand."""

    CardError = CardError
    World = World
    Answer = Answer
    Signer = Signer
    Provenance = Provenance
    NOW = NOW
    HOST = HOST
    JKU = JKU
    FROM_HOST = FROM_HOST
    MAPPING = MAPPING
    INLINE = INLINE
    jwks = staticmethod(jwks)
    base64url = staticmethod(base64url)

    @staticmethod
    def card(**changes):
        return {**copy.deepcopy(CARD), **changes}

    @staticmethod
    def vectors():
        return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))}

    @staticmethod
    def facts(
        card,
        world=None,
        provenance=FROM_HOST,
        *,
        limits=None,
        now=NOW,
        strict=False,
        extended=False,
        **policy,
    ):
        """The facts alone."""
        reading = read_card(card, url=provenance.url)
        world = World() if world is None else world
        flow = verify(
            reading,
            provenance,
            policy=policy["policy"] if "policy" in policy else TrustPolicy(**policy),
            limits=limits or Limits(),
            now=now,
            strict=strict,
            extended=extended,
        )
        return world.run(flow)

    @classmethod
    def check(cls, card, world=None, provenance=FROM_HOST, **policy):
        """The only signature's check."""
        (check,) = cls.facts(card, world, provenance, **policy).report.signatures
        return check

    @classmethod
    def judged(cls, card, world=None, provenance=FROM_HOST, **policy):
        """The facts, after the verdict: a `TrustError`, or the report."""
        found = cls.facts(card, world, provenance, **policy)
        policy = {name: value for name, value in policy.items() if name not in OPTIONS}
        judge(found.report, provenance, policy["policy"] if "policy" in policy else TrustPolicy(**policy))
        return found.report


@pytest.fixture(scope="session")
def bench():
    return Bench


@pytest.fixture
def signer():
    """A signer whose key the card's own site publishes in `world`."""
    return Signer()


@pytest.fixture
def world(signer):
    return World({JKU: jwks(signer)})
