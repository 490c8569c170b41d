"""What a card must prove, where we may connect, and how much we read: values, checked when they are made."""

from __future__ import annotations

import enum
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from a2a_discovery._hosts import check_pattern
from a2a_discovery.errors import UsageError

if TYPE_CHECKING:
    from a2a_discovery._trust.report import TrustReport

__all__ = ["Limits", "NetworkPolicy", "Trust", "TrustPolicy", "UnsafeTrustAnyCard", "all_of", "any_of"]

log = logging.getLogger("a2a_discovery")

Form = Literal["spec", "sdk", "received", "python-json"]
Check = Callable[["TrustReport"], str | None]
"""A caller's own judgement over the facts: a reason to refuse, or ``None``. It does no I/O and never raises."""

ALGORITHMS = frozenset(
    ("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "Ed25519")
)
"""Asymmetric ones alone: ``none`` and HMAC can never be allowed."""


class Trust(enum.IntEnum):
    """Who vouches for a card, least first."""

    NONE = 0
    """Nobody: it came over plain http."""
    CHANNEL = 1
    """TLS from ``trust.authority``, or the caller who handed the card over."""
    SIGNED = 2
    """A signature verified with a key that the card's own site publishes."""
    PINNED = 3
    """A signature verified with a key that the caller pinned, or from a ``jku`` place the caller listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustPolicy:
    """What a card must prove before it is handed out.

    Args:
        require: the least level.
        keys: host pattern of the card → the keys that may sign it: a JWK, a JWK Set, a list of JWKs, or the
            `pathlib.Path` of a JWK, JWK Set or PEM file.
        jku_hosts: host pattern of the card → places where its ``jku`` may be: a URL that ends in a slash covers all
            below it, any other is that very URL. A plain sequence of hosts or host patterns means every card.
        algorithms: JWS algorithms to accept; it can be narrowed, not emptied.
        forms: canonical forms to try, in the order ``spec``, ``sdk``, ``received``; ``python-json`` only when named.
        unverifiable: ``"accept"`` keeps a card whose signatures nobody could check at its channel's level.
        required_kids: each must be among the verified.
        same_site_interfaces: interfaces off the authority's site are unusable.
        continuity: refuse a card that proves less than the one seen before.
        check: the caller's own judgement over the facts.

    Raises:
        UsageError: ``bad-config``.
    """

    require: Trust = Trust.CHANNEL
    keys: Mapping[str, Any] = field(default_factory=dict, repr=False)
    jku_hosts: Mapping[str, Sequence[str]] | Sequence[str] = field(default_factory=dict)
    algorithms: frozenset[str] = ALGORITHMS
    forms: tuple[Form, ...] = ("spec", "sdk", "received")
    unverifiable: Literal["reject", "accept"] = "reject"
    required_kids: tuple[str, ...] = ()
    same_site_interfaces: bool = False
    continuity: bool = True
    check: Check | None = None
    unsafe_reason: str | None = None
    """Set by `UnsafeTrustAnyCard`: nothing is judged, and this is why."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.unsafe_reason is not None:
            if not self.unsafe_reason.strip():
                raise _bad("UnsafeTrustAnyCard needs a reason", 'write UnsafeTrustAnyCard(reason="...")')
            log.warning("a2a.trust.disabled", extra={"a2a.reason": self.unsafe_reason})
        if not isinstance(self.require, Trust):
            raise _bad("require takes a level", "write require=Trust.SIGNED")
        put(self, "keys", _read_keys(self.keys))
        put(self, "jku_hosts", _read_jku_hosts(self.jku_hosts))
        put(self, "algorithms", _subset("algorithms", self.algorithms, ALGORITHMS))
        named = _subset("forms", self.forms, frozenset(get_args(Form)))
        put(self, "forms", tuple(form for form in get_args(Form) if form in named))
        if self.unverifiable not in ("reject", "accept"):
            raise _bad("unverifiable takes 'reject' or 'accept'")
        kids: Any = self.required_kids
        if isinstance(kids, str):
            raise _bad("required_kids takes a sequence of kids, not one string")
        put(self, "required_kids", tuple(kids))


def UnsafeTrustAnyCard(*, reason: str) -> TrustPolicy:  # noqa: N802  (a policy by a name that warns)
    """The policy that takes any card at all, plain http and broken signatures included.

    Args:
        reason: why that is right here; it is logged as a warning each time.

    Raises:
        UsageError: ``bad-config``, without a reason.
    """
    return TrustPolicy(require=Trust.NONE, unverifiable="accept", continuity=False, unsafe_reason=reason)


def all_of(*checks: Check) -> Check:
    """A check that refuses where any of these does, with the first reason.

    Raises:
        UsageError: ``bad-config``, without any check: nothing empty counts as trusted.
    """
    if not checks:
        raise _bad("all_of() needs at least one check")
    return lambda report: next((reason for check in checks if (reason := check(report)) is not None), None)


def any_of(*checks: Check) -> Check:
    """A check that refuses where all of these do, with every reason.

    Raises:
        UsageError: ``bad-config``, without any check.
    """
    if not checks:
        raise _bad("any_of() needs at least one check")

    def check(report: TrustReport) -> str | None:
        reasons = []
        for part in checks:
            reason = part(report)
            if reason is None:
                return None
            reasons.append(reason)
        return "; ".join(reasons)

    return check


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    """Where we may connect, and for how long.

    Args:
        allow_private: open private and loopback addresses; link-local and metadata addresses stay closed.
        allow_http: plain http is fetched, and such a card has level `Trust.NONE`.
        resolve: ``async (host, port) -> list of addresses``, raising `socket.gaierror`; default the system's resolver.
        ssl_context: the caller's TLS, for a private CA or a client certificate; default the system's and certifi's.
        proxy: URL of an http or https proxy, which then resolves and connects. The environment's is not used.
        max_redirects: most redirects of one fetch.
        cross_site_redirects: follow a redirect to another site; such a card's ``jku`` is then not used.
        timeout: seconds for the whole of one fetch, redirects and retries included.

    Raises:
        UsageError: ``bad-config``.
    """

    allow_private: bool = False
    allow_http: bool = False
    resolve: Callable[[str, int], Awaitable[list[str]]] | None = None
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)
    max_redirects: int = 3
    cross_site_redirects: bool = False
    timeout: float = 10.0
    loopback: bool = False
    """Set by `local`: loopback by literal or ``localhost`` name, http included."""

    def __post_init__(self) -> None:
        for name in ("allow_private", "allow_http", "cross_site_redirects", "loopback"):
            if not isinstance(getattr(self, name), bool):  # "false" out of a settings file would open the door
                raise _bad(f"{name} takes True or False")
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, (int, float)) or not self.timeout > 0:
            raise _bad("timeout is a positive number of seconds")
        if isinstance(self.max_redirects, bool) or not isinstance(self.max_redirects, int) or self.max_redirects < 0:
            raise _bad("max_redirects is a number of at least 0")
        if self.resolve is not None and not callable(self.resolve):
            raise _bad("resolve takes an async function (host, port) -> list of addresses")
        if self.ssl_context is not None:
            _check_ssl_context(self.ssl_context)
        if self.proxy is not None:
            _check_proxy(self.proxy)

    @classmethod
    def local(cls, **options: Any) -> NetworkPolicy:
        """For development: loopback and http on loopback, reached as ``localhost``, ``*.localhost`` or a literal."""
        return cls(loopback=True, **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of what a stranger sends is read. Every number has its reason.

    Raises:
        UsageError: ``bad-config``, for a limit below one.
    """

    card_bytes: int = 1024 * 1024
    """Every URL that may hold a card. The largest honest card on record is near 300 kB."""
    catalog_bytes: int = 64 * 1024 * 1024
    """Only where a catalog was asked for: 100,000 entries are about 25 MB."""
    catalog_documents: int = 1_000
    """Nested catalogs, pages and lookups of one listing: a hundred thousand agents, a hundred a page."""
    keys_bytes: int = 256 * 1024
    """A JWK Set: three hundred 4096-bit RSA keys."""
    profile_bytes: int = 1024 * 1024
    """A UCP profile, read at places that may hold a card."""
    depth: int = 64
    """Nesting of a JSON document. A card needs 9; `params` are free, and RFC 8785 libraries recurse."""
    signatures: int = 64
    """Entries of ``signatures`` that are looked at. A rotation has two; each one costs a parse."""
    key_fetches: int = 8
    """JWK Sets fetched for one card: a card must not be a way to make us send requests."""
    default_ttl: float = 300.0
    """Seconds an answer without caching headers stays fresh (A2A section 8.6.2 leaves it to the client)."""
    max_ttl: float = 86_400.0
    """Seconds an answer stays fresh at most, whatever its headers say: a day."""
    keys_ttl: float = 3_600.0
    """Seconds a JWK Set stays fresh at most: a revoked key must not live longer (A2A section 8.4.3)."""
    stale_keys: float = 86_400.0
    """Seconds after its last good fetch that a JWK Set is used while refreshes fail."""
    key_cooldown: float = 60.0
    """Seconds between two fetches that an unknown ``kid`` can buy."""
    profile_ttl: float = 60.0
    """Seconds a UCP profile stays fresh at least: its own rule."""
    refresh_ahead: float = 0.0
    """Seconds before its expiry from which a warm call has its agent looked at again behind. Off: a program that
    makes no calls should send no requests either."""
    memory_bytes: int = 32 * 1024 * 1024
    """What the memory of one cache holds: answers in one half of it, finished agents in the other."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            least = 0 if isinstance(value, float) else 1
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
                raise _bad(f"Limits.{each.name} is a number of at least {least}")


def _bad(message: str, hint: str | None = None) -> UsageError:
    return UsageError("bad-config", message, hint=hint)


def _check_ssl_context(context: Any) -> None:
    if not isinstance(context, ssl.SSLContext):
        raise _bad("ssl_context takes an ssl.SSLContext", "write ssl.create_default_context(cafile=...)")
    if context.verify_mode != ssl.CERT_REQUIRED or not context.check_hostname:
        # TLS that proves no name would still count as the host's word for the card.
        raise _bad(
            "ssl_context must check certificates and host names",
            "trust your CA instead: ssl.create_default_context(cafile=...)",
        )


def _check_proxy(proxy: Any) -> None:
    from a2a_discovery._urls import split

    try:  # the URL may hold a password: no message repeats it
        usable = split(proxy).scheme in ("http", "https")
    except (ValueError, TypeError):
        usable = False
    if not usable:
        raise _bad("proxy is no http or https URL", 'write proxy="http://proxy.example:3128"')


def _subset(name: str, given: Any, known: frozenset[str]) -> frozenset[str]:
    if isinstance(given, str):
        raise _bad(f"{name} takes a collection, not one string")
    chosen = frozenset(given)
    if not chosen:
        raise _bad(f"{name} must not be empty", "leave it out for the default")
    if not chosen <= known:
        raise _bad(f"{name} does not know {min(chosen - known)!r}", f"it knows {', '.join(sorted(known))}")
    return chosen


def _read_keys(keys: Any) -> dict[str, tuple[Mapping[str, Any], ...]]:
    if not isinstance(keys, Mapping):
        raise _bad("keys maps hosts to keys", 'write keys={"shop.example": jwks}')
    if not keys:
        return {}
    from a2a_discovery._trust.store import read_keys  # joserfc only where keys are pinned

    return {check_pattern(pattern): read_keys(value) for pattern, value in keys.items()}


def _read_jku_hosts(places: Any) -> dict[str, tuple[str, ...]]:
    if isinstance(places, (str, Path)):
        raise _bad("jku_hosts maps hosts to places", 'write jku_hosts={"shop.example": ("https://keys.example/",)}')
    if isinstance(places, Mapping):
        return {check_pattern(pattern): tuple(map(_jku_place, _several(value))) for pattern, value in places.items()}
    hosts = tuple(places)
    if not hosts:
        return {}
    log.warning("a2a.trust.jku_hosts_for_every_card", extra={"a2a.hosts": hosts})
    # "" stands for every card; no caller can write it, because it is no host pattern.
    return {"": tuple(_jku_place(host) if "://" in host else f"https://{check_pattern(host)}/" for host in hosts)}


def _several(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _jku_place(place: str) -> str:
    from a2a_discovery._urls import split

    try:
        parts = split(place)
    except ValueError:
        raise _bad(f"{place!r} is no URL", 'write "https://keys.example/shop/" or the whole URL of a JWK Set') from None
    if parts.userinfo or parts.fragment:
        raise _bad(f"{place!r} has userinfo or a fragment, which no jku has")
    return parts.normal
