"""What the pure core may ask of the outside world: fetch a document, keep one it accepted.

The line is written as plain generators. They yield a `Fetch` (and are sent a `Fetched`, or have the `DiscoveryError`
thrown in), a tuple of `Fetch` (sent a tuple of `Fetched | DiscoveryError`, in order; the shell runs them together), a
`Keep` (sent ``None``), or a `Recall` (sent what was remembered). ``yield from`` joins them. No socket, clock or
``await`` in the core.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

Kind = Literal["card", "catalog", "profile", "keys", "extended", "token"]
"""What is fetched: it decides the floor and the cap of the lifetime, and whether redirects are followed."""

Mode = Literal["use", "refresh", "unconditional", "stored"]
"""``use`` the cache; ``refresh``: revalidate now; ``unconditional``: ask without any condition;
``stored``: answer from what is stored, however old, or fail, without any request."""

CacheState = Literal["network", "revalidated", "fresh", "memory", "stale"]

Channel = Literal["tls", "loopback", "plain"]
"""How the answer came: over TLS, from loopback under ``NetworkPolicy.local()``, or over plain http."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One request, guarded, limited, cached."""

    url: str
    kind: Kind
    limit: int
    """Most bytes of the inflated body."""
    local: bool = False
    """The URL was typed or handed over by the caller, or named by a document from loopback: under
    ``NetworkPolicy.local()`` it may reach loopback."""
    mode: Mode = "use"
    method: Literal["GET", "POST"] = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    auth_for: Callable[[str], Any] | None = field(default=None, repr=False)
    """Host of a hop (ASCII, lower case) → the `httpx.Auth` bound to it, or ``None``. Such a request never meets a
    shared store."""
    principal: str | None = None
    """Names the credential in in-process keys, without revealing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """One HTTP answer, whatever its status, read whole and inflated."""

    requested: str
    url: str
    """The URL that answered, after redirects."""
    status: int
    headers: Mapping[str, str]
    """Header fields with lower-case names; several of one name are joined by a comma."""
    body: bytes = field(repr=False)
    channel: Channel
    cache: CacheState = "network"
    fetched_at: float = 0.0
    """Seconds since the epoch, by the injected clock: when the origin last vouched for these bytes."""
    expires_at: float = 0.0
    redirects: tuple[str, ...] = ()
    """Every URL that redirected, in order."""
    handle: Any = field(default=None, repr=False, compare=False)
    """The shell's own: what to write when the core says `Keep`."""

    @property
    def retry_after(self) -> float | None:
        """Seconds that the server asked us to wait, where it did."""
        return retry_after(self.headers.get("retry-after"), self.fetched_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The core accepted a card: the answer may enter the store, and its location is remembered, in one step."""

    answer: Fetched | None = None
    location: str | None = None
    record: bytes = b""
    """What to remember of the location (`_trust.continuity`); it is not evicted with answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke:
    """Ask for the extended card over gRPC; the shell answers with a `Fetched` whose body is the card as ProtoJSON, or
    the status as HTTP+JSON spells it.
    """

    target: str
    """``host:port``, ``dns:///host:port`` or an https URL."""
    version: str
    """``Major.Minor``."""
    tenant: str = ""
    limit: int
    """Most bytes of the answer."""
    local: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    auth: Any = field(default=None, repr=False)
    """The `httpx.Auth` whose header fields become metadata."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What is remembered of a location: bytes, or ``None``."""

    location: str
    answer: Fetched | None = None
    """Came from there: the shell may have looked up both at once."""


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a ``Retry-After`` asks for, RFC 9110 section 10.2.3; ``None`` where it is absent or unreadable.

    Args:
        value: the field, seconds or a date.
        now: seconds since the epoch, when it arrived.
    """
    if not value:
        return None
    value = value.strip()
    if value.isascii() and value.isdecimal() and len(value) < 12:
        return float(value)
    date = http_date(value)
    return None if date is None else max(date - now, 0.0)


def http_date(text: str) -> float | None:
    """Seconds since the epoch that a date in a header field means (RFC 9110 section 5.6.7), where it can be read."""
    from datetime import UTC
    from email.utils import parsedate_to_datetime  # most answers have no date that matters

    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


Effect = Fetch | tuple[Fetch, ...] | Keep | Recall | Invoke

T = TypeVar("T")
Flow: TypeAlias = Generator[Effect, Any, T]
