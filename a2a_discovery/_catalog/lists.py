"""Rows of lists and registries: a card, a card URL, or an origin, under the names that they are known to have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from a2a_discovery._card.read import looks_like
from a2a_discovery._catalog.entry import Bad, CatalogEntry, Item, Skipped, text_of, texts_of
from a2a_discovery._catalog.stream import read_text
from a2a_discovery._catalog.urls import absolute, names_a_document
from a2a_discovery._urls import split
from a2a_discovery.errors import CardError

_CARDS = ("agentCard", "agent_card", "card", "a2aCard", "a2aAgentCard", "card_data", "data")
_CARD_URLS = (
    *("agentCardUrl", "agentCardURL", "agent_card_url", "cardUrl", "cardURL", "card_url"),
    *("wellKnownURI", "wellKnownUri", "wellKnownUrl", "well_known_uri", "well_known_url"),
)
_BASES = ("base_url", "baseUrl", "baseURL", "agentHost")
_WRAPPERS = ("card_data", "content", "agentCard", "inlineContent", "data")
_IDENTIFIERS = ("identifier", "id", "agentId", "recordId", "ansName", "name")
_NAMES = ("displayName", "agentDisplayName", "title", "name")
_UPDATED = ("updatedAt", "updated_at", "updateTime", "modifiedOn")

_INLINE_DEPTH = 64
"""Nesting of a card that stands as text inside a row."""


def is_card(value: object) -> bool:
    """Whether an object is an Agent Card rather than a registry's summary of one.

    A summary has a name and interfaces too, so what counts is what summaries leave out or flatten: ``capabilities`` as
    an object, and ``skills`` as objects.
    """
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("capabilities"), Mapping)
        and isinstance(value.get("skills"), (list, tuple))
        and not is_summary(value)
        and any(name in value for name in ("supportedInterfaces", "supported_interfaces", "url"))
    )


def is_summary(value: Mapping[str, Any]) -> bool:
    """Whether its ``skills`` are not the objects that a card has."""
    skills = value.get("skills")
    return isinstance(skills, (list, tuple)) and not all(isinstance(each, Mapping) for each in skills)


def card_in(value: object) -> Mapping[str, Any] | None:
    """The card that a value is, wraps, or spells as a JSON text; ``None`` where there is none."""
    for _ in range(4):
        if isinstance(value, str):
            try:
                value = read_text(value, depth=_INLINE_DEPTH)
            except CardError:
                return None
        if not isinstance(value, dict):
            return None
        if looks_like(value) == "card" and "card_data" not in value:
            return None if is_summary(value) or not value else value
        inner = next((value[name] for name in _WRAPPERS if isinstance(value.get(name), (dict, str))), None)
        if inner is None:
            return None
        value = inner
    return None


def listed_row(row: Any, url: str, at: str) -> Iterator[Item]:
    """What one row of a list names.

    A card URL wins over copied fields, which are often a lossy copy; nothing is made up from a summary.
    """
    if isinstance(row, str):
        yield _url_row(row, url, at)
    elif not isinstance(row, Mapping):
        reason = row.reason if isinstance(row, Bad) else "it is neither an object nor a URL"
        yield Skipped(code="not-an-entry", pointer=at, message=reason)
    elif isinstance(row.get("descriptors"), Mapping):
        yield from _aws_row(row, url, at)
    elif isinstance(row.get("endpoints"), (list, tuple)) and "agentHost" in row:
        yield from _ans_row(row, url, at)
    elif isinstance(row.get("groupId"), str) and isinstance(row.get("artifactId"), str):
        yield _apicurio_row(row, url, at)
    else:
        yield _generic_row(row, url, at)


def _url_row(value: str, url: str, at: str) -> Item:
    place = absolute(value, url)
    if place is None:
        return Skipped(code="bad-url", pointer=at, message="it is no http or https URL")
    return made({}, url, at, place=place, base=not _is_document(place), identifier=place)


def _generic_row(row: Mapping[str, Any], url: str, at: str) -> Item:
    for name in _CARD_URLS:
        if text_of(row.get(name)):
            return made(row, url, at, place=absolute(row[name], url))
    for name in _CARDS:
        if isinstance(row.get(name), (Mapping, str)):
            card = card_in(row[name])
            if card is not None:
                return made(row, url, at, card=card)
    if is_card(row):
        return made(row, url, at, card=row)
    for name in _BASES:
        if text_of(row.get(name)):
            return made(row, url, at, place=absolute(row[name], url), base=True)
    if looks_like(dict(row)) == "card":
        return Skipped(code="summary", pointer=at, message="it is a summary of a card, and does not say where that is")
    return Skipped(code="no-location", pointer=at, message="it holds no card, and does not say where one is")


def _aws_row(row: Mapping[str, Any], url: str, at: str) -> Iterator[Item]:
    """AWS: ``descriptors.a2a.agentCard.inlineContent``, or ``descriptors.a2aAgentCard.data``, a JSON text."""
    descriptors = row["descriptors"]
    value = descriptors.get("a2aAgentCard") or descriptors.get("a2a")
    if value is None:
        return  # an MCP server or another kind of record
    card = card_in(value)
    if card is None:
        yield Skipped(code="not-a-card", pointer=at + "/descriptors", message="its descriptor holds no Agent Card")
    else:
        yield made(row, url, at, card=card)


def _ans_row(row: Mapping[str, Any], url: str, at: str) -> Iterator[Item]:
    """GoDaddy's Agent Name Service: ``endpoints[].metaDataUrl`` of the A2A endpoint, else the card at its host."""
    ours = [each for each in row["endpoints"] if isinstance(each, Mapping) and each.get("protocol") == "A2A"]
    identifier = text_of(row.get("ansName"))
    for endpoint in ours:
        if text_of(endpoint.get("metaDataUrl")):
            yield made(row, url, at, place=absolute(endpoint["metaDataUrl"], ""), identifier=identifier)
            return
    host = text_of(row.get("agentHost"))
    if ours and host is not None:
        yield made(row, url, at, place=absolute(f"https://{host}", ""), base=True, identifier=identifier)


def _apicurio_row(row: Mapping[str, Any], url: str, at: str) -> Item:
    """Apicurio: a summary; the card is below the same registry, by group and artifact."""
    group, artifact = row["groupId"], row["artifactId"]
    path = f"/.well-known/agents/{quote(group, safe='')}/{quote(artifact, safe='')}"
    return made(row, url, at, place=absolute(path, url), identifier=f"{group}/{artifact}")


def made(
    row: Mapping[str, Any],
    url: str,
    at: str,
    *,
    place: str | None = None,
    card: Mapping[str, Any] | None = None,
    base: bool = False,
    identifier: str | None = None,
) -> Item:
    """An entry from a row, its other members read under the names that they are known to have."""
    if place is None and card is None:
        return Skipped(code="bad-url", pointer=at, message="where it says its card is, is no http or https URL")
    words: Mapping[str, Any] = {} if card is row else row
    identifier = identifier or _first(row, _IDENTIFIERS) or place or _first(card or {}, ("name",))
    if identifier is None:
        return Skipped(code="missing-identifier", pointer=at, message="it has no identifier")
    if place is not None and base and _is_document(place):
        base = False
    return CatalogEntry(
        identifier=identifier,
        source=url,
        url=place,
        card=card,
        base=base,
        display_name=_first(words, _NAMES),
        description=text_of(words.get("description")),
        version=text_of(words.get("version")),
        updated_at=_first(words, _UPDATED),
        tags=texts_of(words.get("tags")),
        raw=row,
    )


def _is_document(url: str) -> bool:
    parts = split(url)
    return bool(parts.query) or names_a_document(parts.path)


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((row[name] for name in names if isinstance(row.get(name), str) and row[name]), None)
