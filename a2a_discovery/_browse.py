"""Reading catalogs and registries document by document: one flow a document, for whoever lists many. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from a2a_discovery._catalog.choose import listed_by, stamped
from a2a_discovery._catalog.entry import JSON, CatalogEntry, Item, Projection, Skipped
from a2a_discovery._catalog.links import linked_catalogs
from a2a_discovery._catalog.project import kind_of, project
from a2a_discovery._catalog.registry import Call, Registry, is_empty, next_of
from a2a_discovery._catalog.stream import read_document
from a2a_discovery._catalog.ucp import WELL_KNOWN as UCP
from a2a_discovery._catalog.ucp import profile_keys
from a2a_discovery._effects import Fetch, Fetched, Flow, Keep, Kind
from a2a_discovery._entries import NOT_HERE, had, items_of
from a2a_discovery._locate import Asking, check_status, is_page
from a2a_discovery._urls import split
from a2a_discovery.errors import Attempt, AuthError, CardError, DiscoveryError, FetchError, NotFoundError

CATALOGS = ("/.well-known/ard.json", "/.well-known/ai-catalog.json")
"""Where a domain publishes its catalog: ARD v0.91, and AI Catalog before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A document that lists something, begun to be read."""

    items: Iterator[Item]
    url: str
    """The URL that answered."""
    next: Call | str | None = None
    """How to ask for the page after it."""
    digest: int = 0
    """Tells the same bytes again from others."""
    stale: bool = False
    """It is a stored copy, for a failure."""


def open_url(url: str, asking: Asking, *, via: tuple[str, ...] = (), read: Projection | None = None) -> Flow[Opened]:
    """Fetch a document that lists agents, and read it by its content, or as the caller's projection does.

    Raises:
        FetchError, BlockedError, AuthError: it could not be had.
        CardError: ``not-json``, ``not-a-catalog``.
    """
    kind: Kind = "profile" if split(url).path == UCP else "catalog"
    answer = yield from had(asking.fetch(url, kind))
    return (yield from open_answer(answer, asking, via=via, read=read))


def open_domain(origin: str, asking: Asking, *, read: Projection | None = None) -> Flow[Opened]:
    """The catalog of a domain: ``ard.json``, else ``ai-catalog.json``, else what one of its pages links to.

    Raises:
        NotFoundError: ``no-card``, with every URL tried.
        FetchError, AuthError, BlockedError: where nothing answered at all, the first failure.
    """
    attempts: list[Attempt] = []
    failures: list[DiscoveryError] = []
    links: list[str] = []
    for url in (*(origin + path for path in CATALOGS), origin + "/"):
        try:
            answer: Fetched = yield asking.fetch(url, "catalog")
        except DiscoveryError as error:
            failures.append(error)
            attempts.append(Attempt(url=url, reason=error.code))
            continue
        links += linked_catalogs(answer.headers.get("link", ""), answer.body if is_page(answer) else b"", answer.url)
        found = yield from _open_if_here(url, answer, asking, attempts, read)
        if found is not None:
            return found
    for url in dict.fromkeys(links):
        if url not in {attempt.url for attempt in attempts}:
            return (yield from open_url(url, asking, via=(origin + "/",), read=read))
    if len(failures) == len(attempts):
        raise failures[0]
    tried = ", ".join(map(str, attempts))
    raise NotFoundError(
        "no-card", f"no catalog was found; tried {tried}", attempts=tuple(attempts), url=origin, step="locate"
    )


def _open_if_here(
    url: str, answer: Fetched, asking: Asking, attempts: list[Attempt], read: Projection | None
) -> Flow[Opened | None]:
    miss = NOT_HERE.get(answer.status) or ("an HTML page" if answer.status == 200 and is_page(answer) else None)
    try:
        if miss is None:
            check_status(answer)
            return (yield from open_answer(answer, asking, read=read))
    except (FetchError, AuthError, CardError) as error:
        if url.endswith(CATALOGS):
            raise
        miss = error.code  # the root of a site may be anything
    attempts.append(Attempt(url=url, status=answer.status, reason=miss or ""))
    return None


def open_answer(
    answer: Fetched, asking: Asking, *, via: tuple[str, ...] = (), read: Projection | None = None
) -> Flow[Opened]:
    """Begin to read a fetched document; it is good enough to be kept once it is known to list something."""
    try:
        if read is None:
            document, items = yield from items_of(answer, asking, via=via)
        else:
            document = read_document(answer.body, depth=asking.limits.depth)
            items = stamped(guarded(read, document, answer.url), listed_by(answer, via))
        items = begun(items)
    except DiscoveryError as error:
        raise error.at(step="read", url=answer.url) from None
    yield Keep(answer=answer)
    return Opened(
        items=items,
        url=answer.url,
        next=None if is_empty(document) else next_of(document, answer.url),
        digest=hash(answer.body),
        stale=answer.cache == "stale",
    )


def open_page(registry: Registry, base: str, call: Call, asking: Asking, *, via: tuple[str, ...] = ()) -> Flow[Opened]:
    """One page of a registry.

    Raises:
        FetchError, BlockedError, AuthError: it could not be had.
        CardError: ``not-json``, ``not-a-catalog``.
    """
    answer = yield from had(request(registry, base, call, asking))
    try:
        document = read_document(answer.body, depth=asking.limits.depth)
        items = begun(stamped(guarded(registry.project, document, answer.url), listed_by(answer, via)))
        ends = registry.paging is None or is_empty(document)
        following = None if ends or registry.paging is None else registry.paging(document, call)
    except DiscoveryError as error:
        raise error.at(step="read", url=answer.url) from None
    yield Keep(answer=answer)
    return Opened(items=items, url=answer.url, next=following, digest=hash(answer.body), stale=answer.cache == "stale")


def request(registry: Registry, base: str, call: Call, asking: Asking) -> Fetch:
    """The `Fetch` of a call."""
    fetch = asking.fetch(call.url(base), "catalog")
    content = call.content
    if content is None:
        return replace(fetch, headers=registry.headers)
    headers = (("Content-Type", "application/json"), *registry.headers)
    return replace(fetch, method="POST", body=content, headers=headers)


def merchant_keys(origin: str, asking: Asking) -> Flow[dict[str, Any]]:
    """The signature keys of a merchant's UCP profile, as a JWK Set.

    Raises:
        CardError: ``not-json``, ``not-a-catalog``: it is no profile.
        NotFoundError: ``no-card``: the merchant has no profile, or no keys in it.
    """
    url = origin + UCP
    answer: Fetched = yield asking.fetch(url, "profile")
    if answer.status in NOT_HERE or (answer.status == 200 and is_page(answer)):
        reason = NOT_HERE.get(answer.status, "an HTML page")
        attempt = Attempt(url=url, status=answer.status, reason=reason)
        raise NotFoundError("no-card", f"no UCP profile is at {attempt}", attempts=(attempt,), url=url, step="locate")
    check_status(answer)
    try:
        document = read_document(answer.body, depth=asking.limits.depth)
    except DiscoveryError as error:
        raise error.at(step="read", url=answer.url) from None
    if kind_of(document) != "profile":
        raise CardError("not-a-catalog", "the document is no UCP profile", url=answer.url, step="read")
    keys = profile_keys(document)
    yield Keep(answer=answer)
    if not keys:
        raise NotFoundError("no-card", "the profile has no key that verifies signatures", url=answer.url, step="read")
    return {"keys": [dict(key) for key in keys]}


def told(document: JSON, *, read: Projection | None = None, body: bytes | None = None, depth: int = 64) -> Opened:
    """A document that the caller handed over: decoded already, or the bytes of a file.

    Raises:
        CardError: ``not-json``, ``not-a-catalog``.
    """
    document = document if body is None else read_document(body, depth=depth)
    return Opened(items=begun(guarded(read or project, document, "")), url="")


def begun(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, the first of them taken: a document that is no catalog says so now."""
    iterator = iter(items)
    first = next(iterator, None)
    return iterator if first is None else chain((first,), iterator)


def guarded(read: Projection, document: JSON, url: str) -> Iterator[Item]:
    """What a projection gives. One of the caller's may fail on a document it did not expect: that is the document's
    fault, whatever it raises.

    Raises:
        CardError: ``not-a-catalog``.
    """
    if read is project:
        yield from project(document, url)
        return
    try:
        for item in read(document, url):
            if isinstance(item, CatalogEntry) and (item.url is None) == (item.card is None):
                yield Skipped(code="no-location", pointer="", message="an entry has either a url or a card")
            else:
                yield item
    except DiscoveryError:
        raise
    except Exception as error:  # the caller's function, and a stranger's document
        message = f"the projection failed on the document: {type(error).__name__}"
        raise CardError("not-a-catalog", message, url=url or None, step="read") from error
