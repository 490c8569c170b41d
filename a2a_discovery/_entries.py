"""From a catalog, a merchant's profile or a list to the one card that is meant. Pure; the end of step 1 of the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from a2a_discovery._card.json import decode
from a2a_discovery._catalog.choose import check_digest, listed_by, named, single, stamped
from a2a_discovery._catalog.entry import JSON, CatalogEntry, Follow, Item, Listed
from a2a_discovery._catalog.project import kind_of, project
from a2a_discovery._catalog.stream import read_document
from a2a_discovery._catalog.ucp import WELL_KNOWN as UCP
from a2a_discovery._catalog.ucp import is_leaf
from a2a_discovery._effects import Fetch, Fetched, Flow, Keep, Kind
from a2a_discovery._hosts import is_loopback
from a2a_discovery._locate import (
    WELL_KNOWN,
    Asking,
    LastStage,
    Located,
    Place,
    check_status,
    is_page,
    last_known_good,
    locate,
    nothing_found,
    passing,
    stand_in,
)
from a2a_discovery._target import Base, Document, Domain, EntryOf, read_place
from a2a_discovery._trust.continuity import location_of
from a2a_discovery._urls import host_of, split
from a2a_discovery.errors import Attempt, AuthError, BlockedError, DiscoveryError, FetchError, NotFoundError

MANIFESTS: tuple[tuple[str, Kind], ...] = (
    (UCP, "profile"),
    ("/.well-known/ard.json", "catalog"),
    ("/.well-known/ai-catalog.json", "catalog"),
)
"""Where a domain without a card of its own may name one, in the order in which they count."""

NOT_HERE = {404: "not found", 405: "method not allowed", 410: "gone"}


def find_card(target: Domain | Document | Base | EntryOf | CatalogEntry, asking: Asking) -> Flow[Located]:
    """Go from a target to the answer that holds its card.

    Raises:
        NotFoundError: ``no-card``, ``entry-not-found``, ``ambiguous``.
        CardError: ``not-json``, ``not-a-catalog``; ``invalid-card``, where its catalog's digest is of another card.
        FetchError, BlockedError, AuthError: what ended the walk.
    """
    if isinstance(target, EntryOf):
        return (yield from _find_entry(target.url, target.identifier, None, asking))
    if isinstance(target, CatalogEntry):
        return (yield from _card_of_entry(target, asking))
    located = yield from locate(target, asking, last=_last_stage(target))
    if located.place.exact and lists(located):
        entry = yield from _pick(located.answer, asking, None)
        found = yield from _card_of_entry(entry, asking)
        return replace(found, location=location_of(located.place.url))
    if isinstance(target, Base):  # wherever its walk ended: a card at the root must prove what one below it did
        return replace(located, location=location_of(target.url))
    return located


def _last_stage(target: Domain | Document | Base) -> LastStage | None:
    if not isinstance(target, Domain):
        return None
    return lambda asking, nothing: _ask_manifests(target, asking, nothing)


def good_before(
    target: Domain | Document | Base | EntryOf | CatalogEntry, located: Located, asking: Asking, error: DiscoveryError
) -> Flow[Located | None]:
    """What was last known good, where the walk ended at an answer that is no card after all."""
    if located.entry is None and isinstance(target, (Domain, Document, Base)):
        last = _last_stage(target)
        return (yield from stand_in(target, located.place, asking, error, located.attempts, last=last))
    good = yield from last_known_good(located.place, asking, error, located.attempts)
    # What led here stays: it decides under whose name the card was asked for.
    return good and replace(located, answer=good.answer, document=good.document, failure=good.failure)


def lists(located: Located) -> bool:
    """Whether a document that was asked for by its URL lists cards instead of being one."""
    from a2a_discovery._card.read import looks_like

    return looks_like(located.document) != "card" and kind_of(located.document) is not None


def again(located: Located, asking: Asking) -> Flow[Located]:
    """The same place, asked without any condition."""
    asking = replace(asking, mode="unconditional")
    if located.inline and located.entry is not None and located.entry.listed is not None:
        entry = located.entry
        newer = yield from _find_entry(located.entry.listed.asked, entry.identifier, entry.version, asking)
        return replace(located, answer=newer.answer, document=newer.document, entry=newer.entry)
    answer: Fetched = yield asking.fetch(located.place.url, located.place.kind)
    check_status(answer)
    return replace(located, answer=answer, document=decode(answer.body, depth=asking.limits.depth))


def _find_entry(url: str, identifier: str, version: str | None, asking: Asking) -> Flow[Located]:
    answer = yield from had(asking.fetch(url, "profile" if split(url).path == UCP else "catalog"))
    entry = yield from _pick(answer, asking, identifier, version)
    return (yield from _card_of_entry(entry, asking, answer))


def _pick(answer: Fetched, asking: Asking, identifier: str | None, version: str | None = None) -> Flow[CatalogEntry]:
    """The entry of an identifier, or the only one; its catalog is then good enough to be kept."""
    try:
        _, items = yield from items_of(answer, asking)
        if identifier is None:
            entry = single(items, url=answer.url)
        else:
            entry = named(items, identifier, url=answer.url, version=version)
    except DiscoveryError as error:
        raise error.at(step="read", url=answer.url) from None
    yield Keep(answer=answer)
    return entry


def items_of(answer: Fetched, asking: Asking, *, via: tuple[str, ...] = ()) -> Flow[tuple[JSON, Iterator[Item]]]:
    """A fetched document and what it lists; where a profile has no A2A agent itself, what its older versions have.

    Raises:
        CardError: ``not-json``; while iterating, ``not-a-catalog``.
    """
    document = read_document(answer.body, depth=asking.limits.depth)
    items = stamped(project(document, answer.url), listed_by(answer, via))
    if kind_of(document) != "profile":
        return document, items
    mine = list(items)
    for item in mine:
        if isinstance(item, Follow) and item.kind == "profile":
            older = yield from _older(item, answer, asking)
            if any(isinstance(each, CatalogEntry) for each in older):
                return document, iter((*mine, *older))
    return document, iter(mine)


def _older(follow: Follow, newer: Fetched, asking: Asking) -> Flow[list[Item]]:
    try:
        answer: Fetched = yield for_named(follow.url, newer.url, asking).fetch(follow.url, "profile")
        check_status(answer)
        document = read_document(answer.body, depth=asking.limits.depth)
        if not is_leaf(document, follow.version or ""):
            return []
        yield Keep(answer=answer)
        return list(stamped(project(document, answer.url), listed_by(answer, (newer.url,))))
    except DiscoveryError:
        return []  # an older version that cannot be had is one that is not offered


def had(fetch: Fetch) -> Flow[Fetched]:
    """The answer to a fetch; while its origin is out, the stored copy of the answer."""
    try:
        answer: Fetched = yield fetch
        check_status(answer)
    except DiscoveryError as error:
        error.at(step="fetch", url=fetch.url)
        if not passing(error) or fetch.method != "GET":
            raise
        try:
            answer = yield replace(fetch, mode="stored")
        except DiscoveryError:
            raise error from None
        return replace(answer, cache="stale")
    return answer


def for_named(url: str, by: str, asking: Asking) -> Asking:
    """How a URL that a document names is asked for.

    It may lie on loopback only where the document came from there itself. And a document does not get a credential
    sent in clear by writing ``http`` before a host that the caller bound it to: that takes a URL of the caller's own.

    Args:
        url: what is named.
        by: where the document came from.
        asking: how the document was asked for.
    """
    local = asking.local and _is_loopback(by)
    if url[:5].lower() == "http:" and not (local and _is_loopback(url)):
        return replace(asking, local=local, auth_for=None, principal=None)
    return replace(asking, local=local)


def _is_loopback(url: str) -> bool:
    host = host_of(url)
    return host is not None and is_loopback(host)


def _card_of_entry(entry: CatalogEntry, asking: Asking, answer: Fetched | None = None) -> Flow[Located]:
    """The card that an entry names or holds. ``answer`` is the catalog, where it was fetched just now."""
    listed = entry.listed
    if entry.card is None:
        return (yield from _linked_card(entry, asking))
    if answer is None and listed is not None and asking.mode == "refresh":
        return (yield from _find_entry(listed.asked, entry.identifier, entry.version, asking))
    findings = check_digest(entry, None)
    document = dict(entry.card)
    return Located(
        place=Place(url=listed.url if listed is not None else entry.source),
        answer=answer if answer is not None else _told(entry, listed),
        document=document,
        entry=entry,
        inline=True,
        location=location_of_entry(entry),
        expires_at=listed.expires_at if listed is not None else float("inf"),
        findings=findings,
        size=len(json.dumps(document)),
    )


def _told(entry: CatalogEntry, listed: Listed | None) -> Fetched:
    """The catalog of an entry that was listed before, or handed over: there is nothing to be kept."""
    return Fetched(
        requested=listed.asked if listed is not None else entry.source,
        url=listed.url if listed is not None else "",
        status=200,
        headers={"etag": listed.etag} if listed is not None and listed.etag else {},
        body=b"",
        channel=listed.channel if listed is not None else "tls",
        fetched_at=listed.fetched_at if listed is not None else 0.0,
        expires_at=listed.expires_at if listed is not None else float("inf"),
        redirects=listed.redirects if listed is not None else (),
    )


def _linked_card(entry: CatalogEntry, asking: Asking) -> Flow[Located]:
    """A linked card comes from its own host, and owes the catalog nothing."""
    url = entry.url or ""
    inner = asking if entry.listed is None else for_named(url, entry.listed.url, asking)
    try:
        place = read_place(url)
    except ValueError:
        raise BlockedError("scheme", "the entry's url is no absolute URL", url=entry.source, step="locate") from None
    located = yield from locate(place if entry.base else Document(url=url), inner)
    return replace(
        located,
        entry=entry,
        location=location_of_entry(entry),
        expires_at=entry.listed.expires_at if entry.listed is not None else float("inf"),
        findings=check_digest(entry, located.answer.body),
    )


def location_of_target(target: object) -> str | None:
    """The location that the past of a target belongs to, or ``None`` where none is remembered."""
    if isinstance(target, EntryOf):
        return f"{location_of(target.url)}#{target.identifier}"
    if isinstance(target, CatalogEntry):
        return location_of_entry(target)
    url = getattr(target, "url", None) or getattr(target, "origin", None)
    return location_of(url) if url is not None else None


def location_of_entry(entry: CatalogEntry) -> str | None:
    """The location that the past of an entry belongs to: its catalog and its identifier."""
    if entry.listed is not None:
        return f"{location_of(entry.listed.asked)}#{entry.identifier}"
    return location_of(entry.url) if entry.url is not None and host_of(entry.url) is not None else None


def _ask_manifests(target: Domain, asking: Asking, nothing: NotFoundError) -> Flow[Located]:
    """The last stage of a domain's walk: three places asked together; the first usable one, in their order, wins."""
    fetches = tuple(
        replace(asking.fetch(target.origin + path, kind), limit=asking.limits.card_bytes) for path, kind in MANIFESTS
    )
    answers: tuple[Fetched | DiscoveryError, ...] = yield fetches
    attempts, failures, out = list(nothing.attempts), [], []
    for fetch, answer in zip(fetches, answers, strict=True):
        found = yield from _card_of_manifest(target, answer, asking)
        if isinstance(found, Located):
            return replace(found, attempts=tuple(attempts))
        status = answer.status if isinstance(answer, Fetched) else None
        reason = found if isinstance(found, str) else _reason(found)
        attempts.append(Attempt(url=fetch.url, status=status, reason=reason))
        if isinstance(found, (FetchError, AuthError, BlockedError)):
            failures.append(found)
        if status == 200 if isinstance(found, str) else passing(found) and found.code != "no-card":
            out.append(replace(fetch, mode="stored"))
    copies: tuple[Fetched | DiscoveryError, ...] = (yield tuple(out)) if out and asking.mode != "stored" else ()
    for copy in copies:  # an outage of the place that names the card takes no card away
        if isinstance(copy, Fetched):
            found = yield from _card_of_manifest(target, replace(copy, cache="stale"), asking)
            if isinstance(found, Located):
                return replace(found, attempts=tuple(attempts))
    if len(failures) == len(fetches):
        first = failures[0]
        if isinstance(first, (FetchError, AuthError)):
            first.attempts = tuple(attempts)
        raise first
    raise nothing_found(attempts, private=asking.auth_for is None)


def _card_of_manifest(
    target: Domain, answer: Fetched | DiscoveryError, asking: Asking
) -> Flow[Located | DiscoveryError | str]:
    """The card that an answer leads to; else why it leads to none.

    Raises:
        DiscoveryError: what ends the walk: it lists several, or the one that it lists cannot be had.
    """
    if isinstance(answer, DiscoveryError):
        return answer
    try:
        miss = _miss(answer)
        if miss is not None:
            return miss
        entry = yield from _pick(answer, asking, None)
    except DiscoveryError as error:
        if error.code == "ambiguous":
            raise
        return error
    found = yield from _card_of_entry(entry, asking, answer)
    return replace(found, walked_from=host_of(answer.requested), location=location_of(target.origin + WELL_KNOWN))


def _miss(answer: Fetched) -> str | None:
    if answer.status in NOT_HERE:
        return NOT_HERE[answer.status]
    if 200 <= answer.status < 300 and is_page(answer):
        return "an HTML page"
    check_status(answer)
    return None


def _reason(error: DiscoveryError) -> str:
    if error.code == "no-card":
        return "lists no A2A agent"
    return "" if error.code == "http-status" else error.code
