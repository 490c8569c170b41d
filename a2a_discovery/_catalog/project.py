"""From a document of whatever kind to what it lists, told apart by content: a catalog may lie anywhere, and comes as
``application/json``. AI Catalog documents, ARD manifests and ARD pages are read here, each row on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from a2a_discovery._catalog.entry import (
    JSON,
    LISTS,
    Bad,
    CatalogEntry,
    Follow,
    Item,
    Rows,
    Skipped,
    linked_entry,
    rows,
    text_of,
    texts_of,
)
from a2a_discovery._catalog.lists import card_in, is_card, listed_row
from a2a_discovery._catalog.ucp import project_profile
from a2a_discovery._catalog.urls import absolute, is_plain
from a2a_discovery._finding import pointer
from a2a_discovery.errors import CardError

A2A = "application/a2a-agent-card+json"
CATALOG = "application/ai-catalog+json"
REGISTRY = "application/ai-registry+json"
GENERIC = "application/agent-card+json"
"""Reserved for cards of any protocol; an A2A card inside such an entry is recognised as one."""

DEPTH = 4
"""Levels of catalogs inside catalogs: what the AI Catalog specification recommends."""
MAJOR = 1
"""Of ``specVersion``: a higher one may mean anything."""

_WEAK = re.compile(r"(?:md|sha-?1\b|sha-?224|sha-?0|crc|adler)", re.IGNORECASE)
_SPEC_VERSION = re.compile(r"\s*([0-9]{1,9})(?:\.|\s*\Z)")


def project(document: JSON, url: str) -> Iterator[Item]:
    """What a document lists: AI Catalog, ARD manifest or page, UCP profile, list of cards or card URLs, one card.

    Args:
        document: a decoded document; it is not changed, and entries refer to its parts.
        url: the URL that answered with it, against which relative URLs are resolved; ``""`` where it has none.

    Raises:
        CardError: ``not-a-catalog``, at the first step of the iteration.
    """
    if isinstance(document, Mapping):
        yield from _project_object(document, url)
        return
    listed = rows(document)
    if listed is None:
        raise not_a_catalog("it is neither an object nor an array")
    yield from _project_rows(listed, url, "")


def kind_of(document: JSON) -> str | None:
    """``profile``, ``catalog`` or ``list``; ``None`` where nothing can be read from it."""
    if isinstance(document, Mapping):
        if isinstance(document.get("ucp"), Mapping):
            return "profile"
        if rows(document.get("entries")) is not None:
            return "catalog"
        return "list" if any(rows(document.get(name)) is not None for name in LISTS) else None
    return "list" if rows(document) is not None else None


def _project_object(document: Mapping[str, Any], url: str) -> Iterator[Item]:
    if isinstance(document.get("ucp"), Mapping):
        yield from project_profile(document, url)
    elif rows(document.get("entries")) is not None:
        yield from _project_catalog(document, url, "", 1, "")
    elif is_card(document) or isinstance(document.get("descriptors"), Mapping):
        yield from listed_row(_whole(document), url, "")
    elif isinstance(document.get("identifier"), str):
        yield from _entry(_whole(document), url, "", 1, "", lookup=False)
    else:
        found = False
        for name in LISTS:
            listed = rows(document.get(name))
            if listed is not None:
                found = True
                yield from _project_rows(listed, url, pointer(name))
        yield from _referrals(document.get("referrals"), url)
        if not found:
            raise not_a_catalog("it has no list of agents")


def _whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document that is one row itself, with all that is in it."""
    whole = {name: list(value) if isinstance(value, Rows) else value for name, value in document.items()}
    if any(isinstance(each, Bad) for name in LISTS if isinstance(whole.get(name), list) for each in whole[name]):
        raise CardError("not-json", "the document is not JSON: part of it is not fit to be read", step="read")
    return whole


def _project_rows(listed: Any, url: str, at: str) -> Iterator[Item]:
    """Rows of a list: catalog entries are known by their ``identifier``."""
    for index, row in enumerate(listed):
        if type(row) is dict and isinstance(row.get("identifier"), str):
            yield from _entry(row, url, f"{at}/{index}", 1, "", lookup=True)
        else:
            yield from listed_row(row, url, f"{at}/{index}")


def _project_catalog(document: Mapping[str, Any], url: str, at: str, level: int, outer: str) -> Iterator[Item]:
    """The entries of an AI Catalog or ARD document; ``outer`` names the entry that a nested one stands in."""
    _check_version(document.get("specVersion"))
    for index, row in enumerate(rows(document.get("entries")) or ()):
        usual = _usual(row, url)
        if usual is not None:
            yield usual
        else:
            yield from _entry(row, url, f"{at}/entries/{index}", level, outer, lookup=False)
    collections = rows(document.get("collections"))  # AGNTCY: pages of its registry, by kind
    for index, row in enumerate(collections or ()):
        if isinstance(row, Mapping) and media_type(row) in (A2A, CATALOG, ""):
            place = absolute(row.get("url"), url)
            if place is not None:
                yield Follow(kind="catalog", url=place, pointer=f"{at}/collections/{index}", levels=level)


def _check_version(version: object) -> None:
    if version is None:
        return
    found = _SPEC_VERSION.match(str(version)) if isinstance(version, (str, int, float)) else None
    if found is not None and int(found[1]) > MAJOR:
        raise not_a_catalog(f"its specVersion has the major {found[1]}, and {MAJOR} is the newest that is read here")


def media_type(row: Mapping[str, Any]) -> str:
    """The media type of a row without parameters, in lower case; ``type`` wins over the older ``mediaType``."""
    kind = row.get("type") or row.get("mediaType") or ""
    if kind == A2A:
        return A2A
    return kind.partition(";")[0].strip().lower() if isinstance(kind, str) else "?"


def _usual(row: Any, url: str) -> CatalogEntry | None:
    """The entry of the row that nearly all are: linked, well formed, without a digest. Only a shorter way to it."""
    if type(row) is not dict or row.get("type") != A2A or "data" in row or "digest" in row:
        return None
    identifier, place = row.get("identifier"), row.get("url")
    if type(identifier) is not str or not identifier or type(place) is not str or not is_plain(place):
        return None
    return linked_entry(row, identifier=identifier, source=url, url=place, kind=A2A)


def _entry(row: Any, url: str, at: str, level: int, outer: str, *, lookup: bool) -> Iterator[Item]:
    """One row of a catalog (AI Catalog, "Catalog Entry")."""
    if type(row) is not dict:
        yield Skipped(
            code="not-an-entry", pointer=at, message=row.reason if isinstance(row, Bad) else "it is no JSON object"
        )
        return
    # An entry without identifier is known by its name; inside another entry, by that one's identifier.
    identifier = row.get("identifier") or outer or row.get("displayName")
    if not isinstance(identifier, str) or not identifier:
        yield Skipped(code="missing-identifier", pointer=at, message="it has no identifier")
        return
    kind = media_type(row)
    place, data = row.get("url"), row.get("data")
    if kind == "" and place is None and data is None and lookup:
        asked = absolute(row["source"], url) if row.get("source") is not None else url
        if asked:
            yield Follow(kind="lookup", url=asked, identifier=identifier, pointer=at)
        else:
            yield _skipped("bad-url", at, "where it comes from is no http or https URL", identifier)
    elif kind not in _READ:
        return  # an MCP server, a skill, a data set: no A2A agent, and nothing is wrong with it
    elif place is not None and data is not None:
        message = "it has both url and data, so which one counts is open"
        yield _skipped("url-and-data", at, message, identifier)
    elif place is not None:
        yield _linked(row, identifier, url, at, kind=kind, level=level)
    elif data is not None:
        yield from _inline(row, identifier, url, at, kind=kind, level=level)
    else:
        yield _skipped("no-location", at, "it has neither url nor data", identifier)


_READ = frozenset({A2A, CATALOG, REGISTRY, GENERIC, ""})


def _linked(row: dict[str, Any], identifier: str, url: str, at: str, *, kind: str, level: int) -> Item:
    place = absolute(row["url"], url)
    if place is None:
        return Skipped(
            code="bad-url", pointer=at + "/url", message="its url is no http or https URL", identifier=identifier
        )
    if kind == CATALOG:
        return Follow(kind="catalog", url=place, identifier=identifier, pointer=at, levels=level)
    if kind == REGISTRY:
        return Follow(kind="registry", url=place, identifier=identifier, pointer=at, levels=level)
    if kind in (GENERIC, ""):
        return Skipped(
            code="missing-type",
            pointer=at,
            message="its type does not say that it is an A2A card",
            identifier=identifier,
        )
    return _made(row, identifier, url, at, place=place)


def _inline(row: dict[str, Any], identifier: str, url: str, at: str, *, kind: str, level: int) -> Iterator[Item]:
    data = row["data"]
    if kind == CATALOG:
        if not isinstance(data, Mapping) or rows(data.get("entries")) is None:
            yield Skipped(code="not-a-catalog", pointer=at + "/data", message="it is no catalog")
        elif level > DEPTH:
            yield Skipped(code="too-deep", pointer=at, message=f"catalogs nest deeper than {DEPTH} levels")
        else:
            try:
                yield from _project_catalog(data, url, at + "/data", level + 1, identifier)
            except CardError as error:
                yield Skipped(code="not-a-catalog", pointer=at + "/data", message=error.message)
        return
    card = card_in(data)
    if kind == REGISTRY or (kind in (GENERIC, "") and (card is None or not is_card(card))):
        return
    if card is None:
        message = "it is no Agent Card, or only a summary of one"
        yield _skipped("not-a-card", at + "/data", message, identifier)
    else:
        yield _made(row, identifier, url, at, card=card)


def _made(
    row: dict[str, Any],
    identifier: str,
    url: str,
    at: str,
    *,
    place: str | None = None,
    card: Mapping[str, Any] | None = None,
) -> Item:
    digest = text_of(row.get("digest"))
    if digest is not None and _WEAK.match(digest):
        return Skipped(
            code="weak-digest",
            pointer=at + "/digest",
            message="its digest is weaker than SHA-256",
            identifier=identifier,
        )
    return _entry_of(row, identifier, url, place=place, card=card, digest=digest)


def _entry_of(
    row: dict[str, Any],
    identifier: str,
    url: str,
    *,
    place: str | None = None,
    card: Mapping[str, Any] | None = None,
    digest: str | None = None,
) -> CatalogEntry:
    get = row.get
    return CatalogEntry(
        identifier=identifier,
        source=url,
        url=place,
        card=card,
        display_name=text_of(get("displayName")),
        description=text_of(get("description")),
        version=text_of(get("version")),
        updated_at=text_of(get("updatedAt")),
        tags=texts_of(get("tags")),
        digest=digest,
        type=text_of(get("type") or get("mediaType")),
        raw=row,
    )


def _skipped(code: str, at: str, message: str, identifier: str) -> Skipped:
    return Skipped(code=code, pointer=at, message=message, identifier=identifier)


def _referrals(value: object, url: str) -> Iterator[Item]:
    """Other registries that a search names: the ``url`` of each is its search route (ARD v0.91)."""
    for index, row in enumerate(rows(value) or ()):
        place = absolute(row.get("url"), url) if isinstance(row, Mapping) else None
        if place is not None:
            base = place.removesuffix("/").removesuffix("/search") + "/"
            name = text_of(row.get("identifier")) or base
            yield Follow(kind="registry", url=base, identifier=name, pointer=f"/referrals/{index}")


def not_a_catalog(what: str) -> CardError:
    """The error for a document that lists nothing."""
    return CardError("not-a-catalog", f"the document is no catalog: {what}", step="read")
