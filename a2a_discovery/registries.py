"""Registries that list agents over REST, as values; a new one takes ten lines.

::

    async with Discovery(credentials={"registry.example": Credentials(bearer=token)}) as d:
        async for entry in d.catalog("https://registry.example/api/ard", registry="ard"):
            agent = await d.discover(entry)

A registry of one's own is a `Registry`, given in place of a name. Where its rows are cards, card URLs or AI Catalog
entries under usual names, `project` reads them already; else it brings a projection: a function from a page and its URL
to `CatalogEntry`, `Follow` and `Skipped` items.
"""

from __future__ import annotations

from collections.abc import Mapping

from a2a_discovery._catalog.entry import CatalogEntry, Follow, Item, Projection, Skipped
from a2a_discovery._catalog.project import A2A, project
from a2a_discovery._catalog.registry import Call, Paging, Registry, offset, token
from a2a_discovery._catalog.search import Query
from a2a_discovery.errors import UsageError

__all__ = [
    "REGISTRIES",
    "Call",
    "CatalogEntry",
    "Follow",
    "Item",
    "Paging",
    "Projection",
    "Query",
    "Registry",
    "Skipped",
    "named",
    "offset",
    "project",
    "token",
]

PAGE = 100
"""Rows asked for at a time, where a registry lets the client choose: its own usual maximum."""


def _ard_search(query: Query) -> Call:
    # The body is closed: a member that the specification does not know is an error.
    wanted = {"text": query.text, "filter": {"type": [A2A]}}
    return Call(path="search", body={"query": wanted, "federation": query.federation, "pageSize": PAGE})


def _a2aregistry_search(query: Query) -> Call:
    return Call(path="api/agents", parameters={"search": query.text, "limit": PAGE})


def _apicurio_search(query: Query) -> Call:
    return Call(path="/.well-known/agents", parameters={"name": query.text, "limit": PAGE})


def _google_search(query: Query) -> Call:
    return Call(path="agents:search", body={"searchString": query.text, "searchType": "SEMANTIC", "pageSize": PAGE})


REGISTRIES: Mapping[str, Registry] = {
    registry.name: registry
    for registry in (
        # ARD v0.91; base: the url of an entry of type application/ai-registry+json.
        Registry(
            name="ard",
            list=Call(path="agents", parameters={"pageSize": PAGE}),
            paging=token("pageToken", "pageToken"),
            search=_ard_search,
            get="agents/{identifier}",
        ),
        # AGNTCY dir; base: its origin.
        Registry(
            name="agntcy",
            list=Call(path="v1/agents", parameters={"page_size": PAGE, "filter": f"type={A2A}"}),
            paging=token("page_token", "nextPageToken"),
            search=lambda query: Call(path="v1/search", body={"query": query.text, "page_size": PAGE}),
            get="v1/agents/{identifier}",
        ),
        # Apicurio Registry before ARD; base: its origin. Rows are summaries, the cards are below the same origin.
        Registry(
            name="apicurio",
            list=Call(path="/.well-known/agents", parameters={"limit": PAGE}),
            paging=offset(),
            search=_apicurio_search,
        ),
        # a2aregistry.org; base: its origin. Rows are lossy copies, so their wellKnownURI is what counts.
        Registry(
            name="a2aregistry",
            list=Call(path="api/agents", parameters={"limit": PAGE}),
            paging=offset(),
            search=_a2aregistry_search,
        ),
        # LiteLLM proxy; base: its origin. The rows are the cards.
        Registry(name="litellm", list=Call(path="public/agent_hub"), api_key="x-litellm-api-key"),
        # Google Cloud Agent Registry; base: .../v1/projects/P/locations/L
        Registry(
            name="google",
            list=Call(path="agents", parameters={"pageSize": PAGE}),
            paging=token("pageToken", "nextPageToken"),
            search=_google_search,
        ),
        # AWS AgentCore; base: the endpoint of the region. It only searches, 20 rows at most, and wants the id of the
        # registry: replace(REGISTRIES["aws"], list=Call(path=..., body={"registryIds": [...], ...})).
        Registry(
            name="aws",
            list=Call(path="registry-records/search", body={"searchQuery": "agent", "maxResults": 20}),
            search=lambda query: Call(
                path="registry-records/search", body={"searchQuery": query.text, "maxResults": 20}
            ),
        ),
        # GoDaddy's Agent Name Service; base: its API's origin. Its keys go with Credentials(auth=...).
        Registry(
            name="ans",
            list=Call(path="v1/agents", parameters={"protocol": "A2A", "limit": PAGE}),
            paging=offset(),
        ),
    )
}
"""Those that come with the package, by name."""


def named(registry: str | Registry) -> Registry:
    """A registry by its name, or the caller's own.

    Raises:
        UsageError: ``bad-config``.
    """
    if isinstance(registry, Registry):
        return registry
    found = REGISTRIES.get(registry) if isinstance(registry, str) else None
    if found is None:
        known = ", ".join(REGISTRIES)
        raise UsageError(
            "bad-config",
            f"{registry!r:.60} is no registry that is known here",
            hint=f"known: {known}; or a Registry(...)",
        )
    return found
