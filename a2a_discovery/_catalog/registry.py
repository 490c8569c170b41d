"""A registry as a value: where its list is, how a page is read, how the next one is asked for. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from a2a_discovery._catalog.entry import JSON, LISTS, Projection, rows
from a2a_discovery._catalog.project import project
from a2a_discovery._catalog.search import Query
from a2a_discovery._urls import split

Parameters: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a registry."""

    path: str = ""
    """Below the base URL; with a slash in front, below the origin."""
    parameters: Parameters = field(default_factory=dict)
    """Of the query, or members of ``body`` where there is one."""
    body: Parameters | None = None
    """A JSON object that is posted; ``None`` for a GET."""

    def url(self, base: str) -> str:
        """The URL of the request. The path is put behind the base, not resolved: ``agents:search`` is no scheme."""
        start = split(base).origin if self.path.startswith("/") else base.partition("?")[0].rstrip("/")
        path = self.path.lstrip("/")
        whole = f"{start}/{path}" if path else base
        query = urlencode({} if self.body is not None else self.parameters, quote_via=quote)
        return f"{whole}{'&' if '?' in whole else '?'}{query}" if query else whole

    @property
    def content(self) -> bytes | None:
        """The bytes that are posted."""
        if self.body is None:
            return None
        return json.dumps({**self.body, **self.parameters}, ensure_ascii=False, separators=(",", ":")).encode()

    def having(self, **parameters: Any) -> Call:
        """The same call with other parameters; one that is ``None`` is left out."""
        merged = {**self.parameters, **parameters}
        return replace(self, parameters={name: value for name, value in merged.items() if value is not None})


Paging: TypeAlias = Callable[[JSON, Call], Call | None]
"""From a page and the call that gave it to the call for the next one, or ``None`` at the end."""


def token(parameter: str, *members: str) -> Paging:
    """Paging by a token: the page has it in one of the members, the next call sends it as the parameter."""

    def next_call(page: JSON, call: Call) -> Call | None:
        if not isinstance(page, Mapping):
            return None
        for name in members:
            value: Any = page
            for part in name.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if isinstance(value, str) and value:
                return call.having(**{parameter: value})
        return None

    return next_call


def offset(parameter: str = "offset", *, total: tuple[str, ...] = ("total", "totalCount")) -> Paging:
    """Paging by how many rows came before; it ends at the total, where the page has one, and at an empty page."""

    def next_call(page: JSON, call: Call) -> Call | None:
        here = call.parameters.get(parameter, 0)
        there = int(here if isinstance(here, (int, str)) and str(here).isdecimal() else 0) + count_rows(page)
        ends = [page.get(name) for name in total] if isinstance(page, Mapping) else []
        whole = next((each for each in ends if isinstance(each, int)), None)
        if isinstance(page, Mapping) and page.get("hasMore") is False:
            return None
        return None if whole is not None and there >= whole else call.having(**{parameter: there})

    return next_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """How a registry's REST interface is used. A new one is a value of these.

    Args:
        name: what messages call it.
        list: the call for the first page of all its agents.
        project: reads a page, ``(document, url)``, and gives `CatalogEntry`, `Follow` and `Skipped` items.
        paging: gives the next call; ``None``: there is one page.
        search: gives the call for a `Query` that has a text; ``None``: it has no search, and its list is filtered.
        get: path of one entry, with ``{identifier}``; ``None``: it has none.
        headers: header fields of every call; no credentials, which the caller binds to the registry's host.
        api_key: the header field that takes ``Credentials(api_key=...)``.
    """

    name: str
    list: Call = field(default_factory=Call)
    project: Projection = project
    paging: Paging | None = None
    search: Callable[[Query], Call | None] | None = None
    get: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    api_key: str | None = None

    def first(self, query: Query) -> Call:
        """The call that a query begins with."""
        found = self.search(query) if self.search is not None and query.text is not None else None
        return self.list if found is None else found

    def lookup(self, identifier: str) -> Call | None:
        """The call for one entry."""
        return None if self.get is None else Call(path=self.get.format(identifier=quote(identifier, safe="")))


def _lists(page: JSON) -> list[Iterable[Any]]:
    """The lists of a page: under usual names, else under names of its own, which a caller's projection knows."""
    if not isinstance(page, Mapping):
        found = rows(page)
        return [] if found is None else [found]
    listed = [found for name in ("entries", *LISTS) if (found := rows(page.get(name))) is not None]
    return listed or [value for value in page.values() if isinstance(value, list)]


def count_rows(page: JSON) -> int:
    """How many rows a page has."""
    return max((sum(1 for _ in each) for each in _lists(page)), default=0)


def is_empty(page: JSON) -> bool:
    """Whether a page has no row: it is the last then, whatever else it says."""
    return not any(True for each in _lists(page) for _ in each)


_CURSORS = (("pageToken", "pageToken"), ("nextCursor", "cursor"), ("metadata.nextCursor", "cursor"))


def next_of(page: JSON, url: str) -> str | None:
    """The URL of the page after one that was fetched by its URL alone, where the page says how to ask for it."""
    if not isinstance(page, Mapping) or rows(page.get("entries")) is not None:
        return None
    base, _, query = url.partition("?")
    call = Call(path="", parameters=dict(parse_qsl(query)))
    for member, parameter in _CURSORS:
        found = token(parameter, member)(page, call)
        if found is not None:
            return found.url(base)
    # AGNTCY names its parameters in another case than Google, whose rows are called agents.
    parameter = "page_token" if "results" in page else "pageToken"
    found = token(parameter, "nextPageToken")(page, call)
    if found is None and isinstance(page.get("offset"), int) and isinstance(page.get("total"), int):
        found = offset()(page, call)
    return None if found is None else found.url(base)
