"""Where a key may come from: the three rules that keep the signer from choosing its own root of trust (A2A#2096).

1. The caller pinned it for the host of the card.
2. It stands at a ``jku`` of the card's own site; for a card with no host of its own, of the very host of its
   interfaces.
3. It stands at a ``jku`` in a place that the caller listed for the host of the card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from a2a_discovery._effects import Channel, Fetched
from a2a_discovery._hosts import ascii_host, best_match, is_loopback, matches, same_site
from a2a_discovery._trust.report import KeySource
from a2a_discovery._urls import Parts, host_of, split
from a2a_discovery.policy import TrustPolicy

Jwk = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a card came to us: what its channel says about it, before any signature."""

    authority: str | None
    """The ASCII host whose TLS answered with the card, after redirects; the catalog's host for an inline card; ``None``
    for a mapping or a file."""
    asked: str | None
    """The host of the location that was asked for."""
    channel: Channel | None
    """``None``: the caller handed the card over."""
    url: str | None = None
    """The final URL of the card: the base of its relative URLs."""
    inline: bool = False
    """It stood inside a catalog, so it has no host of its own."""
    crossed_site: bool = False
    """A redirect led to another site: a ``jku`` of that site says nothing about the host asked for."""
    local: bool = False
    """``NetworkPolicy.local()`` is in force."""
    loopback: bool = False
    """And this card came from loopback, or was handed over: its ``jku`` may be there too."""
    other_publisher: bool = False
    """The walk ended at the card of another publisher than the one asked for."""
    walked_from: str | None = None
    """The domain whose own catalog or profile led to the card, which must be of that site."""
    proven: str | None = None
    """For an extended card: the authority that its public card proved, which it keeps."""
    publisher: str | None = None
    """The host that the identifier of the card's catalog entry names, for ``urn:air:HOST:...``."""

    @property
    def hosted(self) -> bool:
        """Whether the card has a host of its own."""
        return self.authority is not None and not self.inline


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A JWK Set that may be fetched for a card."""

    url: str
    source: KeySource
    exact: bool = False
    """No redirect, and a JSON media type: its host may be one where others can store files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the three rules need to know of one card."""

    provenance: Provenance
    policy: TrustPolicy
    interface_hosts: tuple[str | None, ...]
    """``None`` for an interface whose URL names no host."""

    def _groups(self) -> Iterator[tuple[str, ...]]:
        """Sets of hosts; a pattern of the caller counts where it matches one host of *each*."""
        authority, asked, local = self.provenance.authority, self.provenance.asked, self.provenance.local
        if authority is None or self.provenance.inline:
            yield from ((host,) for host in self.interface_hosts if host is not None)
        elif asked is not None and same_site(asked, authority, local=local):
            yield (authority, asked)
        else:
            yield (authority,)

    def _bound(self) -> bool:
        """Whether the hosts are known that the caller's patterns are to match."""
        return self.provenance.hosted or (bool(self.interface_hosts) and None not in self.interface_hosts)

    def pinned(self) -> tuple[Jwk, ...]:
        """The caller's keys for this card (rule 1)."""
        if not self.policy.keys or not self._bound():
            return ()
        first, *others = [best_match(self.policy.keys, hosts) or () for hosts in self._groups()]
        return tuple(key for key in first if all(key in keys for keys in others))

    def place(self, jku: str) -> Place | str:
        """Where the keys of a ``jku`` may be fetched, or the reason why not (rules 2 and 3)."""
        try:
            parts = split(jku)
        except ValueError as exc:
            return f"its jku is no URL that we use: {exc}"
        if parts.userinfo:
            return "its jku has userinfo"
        local = self.provenance.local and self.provenance.loopback and is_loopback(parts.host)
        if parts.scheme != "https" and not (local and parts.scheme == "http"):
            return "its jku is not https"
        if self._listed(parts):
            return Place(url=parts.normal, source="listed-jku")
        return self._own(parts)

    def _listed(self, parts: Parts) -> bool:
        places = self.policy.jku_hosts
        if not isinstance(places, Mapping) or not places or not self._bound():
            return False
        everywhere = tuple(places.get("", ()))
        return all(
            any(_covers(place, parts) for place in (*(best_match(places, hosts) or ()), *everywhere))
            for hosts in self._groups()
        )

    def _own(self, parts: Parts) -> Place | str:
        provenance, hosts = self.provenance, self.interface_hosts
        authority, local = provenance.authority, provenance.local
        if provenance.crossed_site:
            return "a redirect to another site led to the card, so its jku does not count"
        if authority is not None:
            at_home = provenance.hosted or (
                bool(hosts) and all(host is not None and same_site(host, authority, local=local) for host in hosts)
            )
            if at_home and same_site(parts.host, authority, local=local):
                return Place(url=parts.normal, source="same-site-jku")
        if provenance.hosted:
            return "its jku is on another site than the card"
        if not hosts or any(host != parts.host for host in hosts):
            return "its jku is not on the very host of every interface, and the card has no host of its own"
        if parts.query:
            return "its jku has a query, and the card has no host of its own"
        return Place(url=parts.normal, source="interface-host-jku", exact=True)


def _covers(place: str, parts: Parts) -> bool:
    if place.startswith("https://*."):
        return parts.scheme == "https" and matches(place[len("https://") : -1], parts.host)
    if not place.endswith("/"):
        return place == parts.normal
    # A dot segment would climb out of the place; spelled like this it is one to many a server, or to a proxy before it.
    path = parts.path.lower()
    for spelled, meant in (("%2e", "."), ("%2f", "/"), ("%5c", "/"), ("%3b", ";")):
        path = path.replace(spelled, meant)
    segments = {segment.partition(";")[0] for segment in path.split("/")}
    return parts.normal.startswith(place) and not {".", ".."} & segments


def interface_host(url: str) -> str | None:
    """The ASCII host of an interface's URL, the gRPC forms ``host:port`` and ``dns:///host:port`` included."""
    if "://" not in url.removeprefix("dns:///"):
        host, _, port = url.removeprefix("dns:///").rpartition(":")
        try:
            return ascii_host(host) if port.isdigit() else None
        except ValueError:
            return None
    return host_of(url)


def refused(place: Place, answer: Fetched, provenance: Provenance) -> str | None:
    """Why an answer does not count as the keys of this place, by the way it came, or ``None``."""
    if (answer.redirects or answer.url != place.url) and not _stayed(place, answer, local=provenance.local):
        return "its jku was redirected to another site"
    if place.exact and (answer.redirects or answer.url != place.url):
        return "its jku was redirected, and the card has no host of its own"
    if answer.channel == "plain" or (answer.channel == "loopback" and not provenance.loopback):
        return "its jku was not answered over TLS"
    if place.exact and not _is_json(answer.headers.get("content-type", "")):
        return "its jku has no JSON media type, and the card has no host of its own"
    return None


def _stayed(place: Place, answer: Fetched, *, local: bool) -> bool:
    home = host_of(place.url)
    hosts = [host_of(url) for url in (*answer.redirects, answer.url)]
    return home is not None and all(host is not None and same_site(home, host, local=local) for host in hosts)


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))
