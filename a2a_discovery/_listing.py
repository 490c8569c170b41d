"""`Listing`: the agents of a catalog, one after another, its nested catalogs and further pages read as they come up."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from a2a_discovery._browse import Opened, open_domain, open_page, open_url, told
from a2a_discovery._catalog.entry import CatalogEntry, Follow, Item, Projection, Skipped
from a2a_discovery._catalog.project import DEPTH
from a2a_discovery._catalog.registry import Call, Registry
from a2a_discovery._catalog.search import Query
from a2a_discovery._choose import Applied, for_card_fetch
from a2a_discovery._credentials import Credentials
from a2a_discovery._effects import Flow
from a2a_discovery._entries import for_named
from a2a_discovery._files import read_file
from a2a_discovery._finding import Finding
from a2a_discovery._hosts import best_match
from a2a_discovery._locate import Asking
from a2a_discovery._target import Base, Document, Domain, EntryOf, read_target
from a2a_discovery._urls import split, without_userinfo
from a2a_discovery.errors import DiscoveryError, FetchError, UsageError
from a2a_discovery.policy import NetworkPolicy
from a2a_discovery.registries import REGISTRIES, named

log = logging.getLogger("a2a_discovery")

FINDINGS = 1_000
"""Findings that are kept: a catalog of a million broken rows is told by the first of them and their number."""
_BREATH = 256
"""Rows that are read before other tasks have their turn."""

Kind = Literal["told", "file", "domain", "document", "registry", "lookup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """One document to be read."""

    kind: Kind
    url: str = ""
    depth: int = 0
    """Levels of catalogs above it."""
    path: tuple[str, ...] = ()
    """The documents that led to it, for cycles and for ``source.via``."""
    pointer: str = ""
    """Where the document above names it."""
    registry: Registry | None = None
    call: Call | None = None
    content: Any = field(default=None, repr=False)
    """What the caller handed over: a document, or the path of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a listing goes about it."""

    run: Callable[[Flow[Opened]], Awaitable[Opened]]
    """Performs a flow of the core."""
    asking: Asking
    query: Query = field(default_factory=Query)
    project: Projection | None = None
    limit: int | None = None
    """Most entries that are given."""
    follow_registries: bool = False
    """Whether registries that a catalog names are asked."""


class Listing:
    """The entries of a catalog: ``async for entry in d.catalog(...)``.

    What could not be used is in `findings` by the end: broken rows, dead or circular nested catalogs, registries that
    were not asked. A failure of the catalog itself is raised.
    """

    def __init__(self, first: Todo, plan: Plan) -> None:
        self._plan = plan
        # What a registry was asked to search for, it may find in texts that its rows do not show.
        searched = first.kind == "registry" and first.registry is not None and first.registry.search is not None
        self._wanted = replace(plan.query, text=None) if searched else plan.query
        self._all = self._wanted.empty
        self._todo = deque([first])
        self._now = first
        self._items: Iterator[Item] = iter(())
        self._visited: set[str] = set()
        self._calls: set[object] = set()
        self._pages: set[int] = set()
        self._documents = self._read = self._given = 0
        self._findings: list[Finding] = []
        self.dropped = 0
        """How many findings there were beyond those kept."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was left out so far, and why; pointers into the document that names it."""
        return tuple(self._findings)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CatalogEntry:
        plan = self._plan
        while plan.limit is None or self._given < plan.limit:
            item = next(self._items, None)
            if item is None:
                if not self._todo:
                    break
                await self._open(self._todo.popleft())
                continue
            self._read += 1
            if self._read % _BREATH == 0:
                await asyncio.sleep(0)
            if not isinstance(item, CatalogEntry):
                self._take(item)
            elif self._all or self._wanted.fits(item):
                self._given += 1
                return item
        raise StopAsyncIteration

    async def _open(self, todo: Todo) -> None:
        first, self._documents = self._documents == 0, self._documents + 1
        if self._documents > self._plan.asking.limits.catalog_documents:
            self._note("too-many-documents", todo.pointer, f"{without_userinfo(todo.url)} is one document too many")
            self._todo.clear()
            return
        self._calls.add(_key(todo))
        try:
            opened = await self._answer(todo)
        except DiscoveryError as error:
            if first and not (todo.kind == "lookup" and _is_absent(error)):
                raise
            self._note(error.code, todo.pointer, error.message)
            return
        if opened.digest in self._pages:
            self._note("repeated-page", todo.pointer, f"{opened.url} answered with a page that it gave before")
            return
        self._now = todo if todo.call is not None else replace(todo, url=opened.url)
        self._items = opened.items
        if todo.call is None:
            self._visited |= {_normal(todo.url), _normal(opened.url)}
        if opened.stale:
            self._note("stale-catalog", "", f"{opened.url} could not be had; a stored copy stands in for it", "advice")
        if opened.next is not None:
            self._pages.add(opened.digest)
            self._turn_to(todo, opened.next)

    def _turn_to(self, todo: Todo, following: Call | str) -> None:
        """Put the next page in front of everything else."""
        if isinstance(following, Call):
            page = replace(todo, call=following)
        else:
            page = replace(todo, kind="document", url=following)
        if _key(page) in self._calls:
            self._note("repeated-page", "", "the registry asks for a page that it gave before")
        else:
            self._todo.appendleft(page)

    async def _answer(self, todo: Todo) -> Opened:
        plan = self._plan
        if todo.kind == "told":
            return told(todo.content, read=plan.project)
        if todo.kind == "file":
            body = await asyncio.to_thread(
                read_file, todo.content, limit=plan.asking.limits.catalog_bytes, argument="catalog_bytes"
            )
            return told(None, body=body, read=plan.project, depth=plan.asking.limits.depth)
        asking = plan.asking if not todo.path else for_named(todo.url, todo.path[-1], plan.asking)
        if todo.registry is not None and todo.call is not None:
            return await plan.run(open_page(todo.registry, todo.url, todo.call, asking, via=todo.path))
        if todo.kind == "domain":
            return await plan.run(open_domain(todo.url, asking, read=plan.project))
        return await plan.run(open_url(todo.url, asking, via=todo.path, read=plan.project))

    def _take(self, item: Follow | Skipped | Finding) -> None:
        if isinstance(item, Skipped):
            self._note(item.code, item.pointer, item.message)
        elif isinstance(item, Finding):
            self._note(item.code, item.pointer, item.message, item.severity)
        elif item.kind == "catalog":
            self._follow(item)
        elif item.kind == "lookup":
            self._look_up(item)
        elif item.kind == "registry" and self._plan.follow_registries:
            ard = REGISTRIES["ard"]
            self._push(item, kind="registry", registry=ard, call=ard.first(self._plan.query))
        elif item.kind == "registry":
            self._note("registry-not-asked", item.pointer, f"{item.url} is a registry, and was not asked", "advice")

    def _follow(self, item: Follow) -> None:
        if _normal(item.url) in map(_normal, (*self._now.path, self._now.url)):
            self._note("catalog-cycle", item.pointer, f"{item.url} is a catalog that leads here")
        elif self._now.depth + item.levels > DEPTH:
            self._note("too-deep", item.pointer, f"{item.url} is nested deeper than {DEPTH} levels")
        elif _normal(item.url) not in self._visited:
            self._visited.add(_normal(item.url))
            self._push(item, kind="document")

    def _look_up(self, item: Follow) -> None:
        registry, base = self._now.registry, self._now.url
        call = registry.lookup(item.identifier) if registry is not None else None
        if registry is None or call is None:
            self._note(
                "unresolvable", item.pointer, "the row says no more than a name, and nothing can be asked for it"
            )
        elif split(item.url).origin != split(base).origin:
            self._note("other-registry", item.pointer, f"the row is of another registry, {split(item.url).host}")
        else:
            self._push(item, kind="lookup", url=base, registry=registry, call=call)

    def _push(self, item: Follow, *, kind: Kind, url: str | None = None, **more: Any) -> None:
        here = (self._now.url,) if self._now.url else ()
        self._todo.append(
            Todo(
                kind=kind,
                url=url or item.url,
                depth=self._now.depth + item.levels,
                path=(*self._now.path, *here),
                pointer=item.pointer,
                **more,
            )
        )

    def _note(self, code: str, pointer: str, message: str, severity: Any = "warning") -> None:
        if len(self._findings) >= FINDINGS:
            self.dropped += 1
            return
        self._findings.append(Finding(code=code, severity=severity, pointer=pointer, message=message))
        log.debug("a2a.catalog.finding", extra={"a2a.code": code, "a2a.pointer": pointer, "a2a.url": self._now.url})


class SyncListing:
    """A `Listing` for code without asyncio: ``for entry in d.catalog(...)``."""

    def __init__(self, listing: Listing, run: Callable[[Coroutine[Any, Any, CatalogEntry | None]], Any]) -> None:
        self._listing = listing
        self._run = run

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was left out so far, and why."""
        return self._listing.findings

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> CatalogEntry:
        entry: CatalogEntry | None = self._run(_next(self._listing))
        if entry is None:
            raise StopIteration
        return entry


async def _next(listing: Listing) -> CatalogEntry | None:
    return await anext(listing, None)


def _key(todo: Todo) -> object:
    return (todo.url, None) if todo.call is None else (todo.call.url(todo.url), todo.call.content)


def _normal(url: str) -> str:
    try:
        return split(url).normal
    except ValueError:
        return url


def _is_absent(error: DiscoveryError) -> bool:
    return isinstance(error, FetchError) and error.status in (404, 405, 410, 501)


def first_todo(
    target: object,
    query: Query,
    registry: str | Registry | None,
    *,
    network: NetworkPolicy,
    names: Collection[str],
) -> Todo:
    """What a listing begins with.

    Raises:
        UsageError: ``bad-target``, ``bad-config``.
    """
    chosen = None if registry is None else named(registry)
    if isinstance(target, (Mapping, list, tuple, Path)) and chosen is None:
        return Todo(kind="file" if isinstance(target, Path) else "told", content=target)
    place = read_target(target, network=network, names=names)
    if not isinstance(place, (Domain, Document, Base)):
        what = "one entry is discovered rather than listed" if isinstance(place, EntryOf) else "it is no catalog"
        raise UsageError(
            "bad-target", what, hint="give a domain, a URL, a pathlib.Path, a mapping or a list", step="locate"
        )
    url = place.origin if isinstance(place, Domain) else place.url
    if chosen is None:
        return Todo(kind="domain" if isinstance(place, Domain) else "document", url=url)
    lookup = chosen.lookup(query.identifier) if query.identifier is not None else None
    if lookup is not None:
        return Todo(kind="lookup", url=url, registry=chosen, call=lookup)
    return Todo(kind="registry", url=url, registry=chosen, call=chosen.first(query))


def auth_by(credentials: Mapping[str, Credentials], *, api_key: str | None = None) -> Callable[[str], Any] | None:
    """Host → the `httpx.Auth` of the credentials that are bound to it.

    Args:
        credentials: host pattern → credentials.
        api_key: the header field that takes an API key, where that is known.
    """
    if not credentials:
        return None

    def auth_for(host: str) -> Any:
        found = best_match(credentials, (host,))
        applied = for_card_fetch(found) if found is not None else ()
        if not applied and found is not None and found.api_key is not None and api_key is not None:
            applied = (Applied(place="header", name=api_key, value=found.api_key),)
        if not applied:
            return None
        from a2a_discovery._auth import bind  # httpx: not for an answer from the store

        return bind(applied)

    return auth_for
