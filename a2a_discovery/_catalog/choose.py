"""Which entry is meant: by identifier, by version, or because it is the only one. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from a2a_discovery._catalog.entry import CatalogEntry, Follow, Item, Listed, Skipped
from a2a_discovery._effects import Fetched
from a2a_discovery._finding import Finding
from a2a_discovery._trust.canonical import jcs_bytes
from a2a_discovery._trust.report import shown
from a2a_discovery.errors import CardError, NotFoundError

_SHOWN = 5
"""Identifiers that a message names."""
_CANDIDATES = 100
"""Entries that an error carries: enough to choose from."""
_SEMVER = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\Z")
_DIGEST = re.compile(r"sha-?(256|384|512):([0-9a-fA-F]+)\Z")


def named(items: Iterable[Item], identifier: str, *, url: str, version: str | None = None) -> CatalogEntry:
    """The entry of an identifier: its newest version, or the one given.

    Raises:
        NotFoundError: ``entry-not-found``; ``ambiguous``, where two entries have the same right to the name.
    """
    found: list[CatalogEntry] = []
    nested, why = 0, ""
    for item in items:
        if isinstance(item, CatalogEntry):
            if item.identifier == identifier and version in (None, item.version):
                found.append(item)
        elif isinstance(item, Follow):
            nested += item.kind == "catalog"
        elif isinstance(item, Skipped) and item.identifier == identifier:
            why = f", because {item.message} [{item.code}]"
    if not found:
        entry = (
            f"the entry {shown(identifier)} cannot be used{why}" if why else f"no entry {shown(identifier)} is there"
        )
        hint = f'its {nested} nested catalogs are read by find("{url}", identifier=...)' if nested else None
        raise NotFoundError("entry-not-found", entry, url=url, step="locate", hint=hint)
    return _latest(found, url)


def single(items: Iterable[Item], *, url: str) -> CatalogEntry:
    """The one A2A agent that a document lists, in its newest version.

    Raises:
        NotFoundError: ``no-card``, where there is none; ``ambiguous``, with the entries, where there are several.
    """
    found: list[CatalogEntry] = []
    nested = 0
    for item in items:
        if isinstance(item, CatalogEntry) and len(found) < _CANDIDATES:
            found.append(item)
        nested += isinstance(item, Follow)
    services = [entry for entry in found if entry.identifier.startswith("dev.ucp.")]
    found = services or found  # the services of UCP are what a merchant's name means, its own ones are beside that
    if not found:
        hint = f'it names other catalogs: async for entry in d.catalog("{url}")' if nested else None
        raise NotFoundError("no-card", "the catalog lists no A2A agent", url=url, step="locate", hint=hint)
    if len({entry.identifier for entry in found}) > 1:
        raise _ambiguous(found, url, "lists several agents")
    return _latest(found, url)


def _latest(found: list[CatalogEntry], url: str) -> CatalogEntry:
    if len(found) == 1:
        return found[0]
    orders = [_semver(entry.version) for entry in found]
    if any(order is None for order in orders):
        orders = [_date(entry.updated_at) for entry in found]
    newest = max(order or () for order in orders)
    best = [entry for entry, order in zip(found, orders, strict=True) if (order or ()) == newest]
    if any((entry.url, entry.card, entry.base) != (best[0].url, best[0].card, best[0].base) for entry in best):
        raise _ambiguous(best, url, f"has {len(best)} entries {shown(best[0].identifier)} of the same age")
    return best[0]


def _ambiguous(found: list[CatalogEntry], url: str, what: str) -> NotFoundError:
    names = list(dict.fromkeys(shown(entry.identifier) for entry in found))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return NotFoundError(
        "ambiguous",
        f"the catalog {what}: {', '.join(names[:_SHOWN])}{more}",
        entries=tuple(found),
        url=url,
        step="locate",
        hint=f'name one, "{url}#IDENTIFIER", or discover one of .entries',
    )


def _semver(version: str | None) -> tuple[Any, ...] | None:
    """An order for semantic versions (semver.org section 11), or ``None`` for what is none."""
    found = _SEMVER.match(version or "")
    if found is None:
        return None
    numbers = tuple(int(part or 0) for part in found.groups()[:3])
    if found[4] is None:
        return (*numbers, 1)
    parts = tuple(
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in found[4].split(".")
    )
    return (*numbers, 0, parts)


def _date(text: str | None) -> tuple[Any, ...]:
    try:
        moment = datetime.fromisoformat(text or "")
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(),)
    except (ValueError, OverflowError):
        return ()


def listed_by(answer: Fetched, via: tuple[str, ...] = ()) -> Listed:
    """How the entries of a fetched document came to us."""
    return Listed(
        url=answer.url,
        asked=answer.requested,
        channel=answer.channel,
        fetched_at=answer.fetched_at,
        expires_at=answer.expires_at,
        redirects=answer.redirects,
        etag=answer.headers.get("etag"),
        via=via,
    )


def stamped(items: Iterable[Item], listed: Listed | None) -> Iterator[Item]:
    """The same items, each entry with the document that lists it."""
    for item in items:
        if type(item) is CatalogEntry and listed is not None and item.listed is None:
            # It was made for this iteration and nobody has seen it; a copy would double the time of a large catalog.
            object.__setattr__(item, "listed", listed)
        yield item


def check_digest(entry: CatalogEntry, body: bytes | None) -> tuple[Finding, ...]:
    """Compare a card with the digest that its catalog gives: over the bytes, or over the canonical form of an inline
    card. It guards against accidents in between, and says nothing about who made the card.

    Raises:
        CardError: ``invalid-card``, with the finding ``digest-mismatch``.
    """
    if entry.digest is None:
        return ()
    found = _DIGEST.match(entry.digest)
    if found is None:
        return (_digest_finding("digest-not-checked", "warning", "its catalog gives a digest of an unknown kind"),)
    try:
        content = jcs_bytes(entry.raw.get("data", entry.card)) if body is None else body
    except ValueError:
        content = b""
    if hashlib.new(f"sha{found[1]}", content).hexdigest() == found[2].lower():
        return ()
    finding = _digest_finding(
        "digest-mismatch", "error", "the card is not the one that its catalog gives the digest of"
    )
    raise CardError("invalid-card", finding.message, findings=(finding,), step="read", url=entry.url or entry.source)


def _digest_finding(code: str, severity: Any, message: str) -> Finding:
    return Finding(code=code, severity=severity, pointer="", message=message)
