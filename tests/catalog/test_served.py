"""Catalogs and registries as they are served: Starlette behind uvicorn, TLS on loopback, ETags, tokens, pages."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FunctionType
from typing import Any

import pytest
import trustme
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from a2a_discovery import (
    AuthError,
    BlockedError,
    Cache,
    Credentials,
    Discovery,
    FetchError,
    NetworkPolicy,
    Trust,
    TrustPolicy,
)

A2A = "application/a2a-agent-card+json"


class Site:
    """A server of documents under one origin; it knows what it was asked, and by whom."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.asked: list[tuple[str, str, int]] = []
        self.authorization: list[str | None] = []
        self.bodies: list[Any] = []
        self.token: str | None = None
        self.cache_control = "no-cache"
        self.origin = ""

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.authorization.append(request.headers.get("authorization"))
        if request.method == "POST":
            self.bodies.append(await request.json())
        response = self._answer(request, target)
        self.asked.append((request.method, target, response.status_code))
        return response

    def _answer(self, request: Request, target: str) -> Response:
        if self.token is not None and request.headers.get("authorization") != f"Bearer {self.token}":
            return JSONResponse({"errorCode": "UNAUTHENTICATED", "message": "who are you"}, status_code=401)
        found = self.documents.get(target, self.documents.get(request.url.path))
        if isinstance(found, FunctionType):
            found = found(request)
        if found is None:
            return JSONResponse({"errorCode": "NOT_FOUND", "message": "nothing here"}, status_code=404)
        if isinstance(found, Response):
            return found
        body = json.dumps(found).encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers = {"etag": etag, "cache-control": self.cache_control}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)


class _Server(uvicorn.Server):
    """Says when it listens, and leaves the signals of the test run alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    def install_signal_handlers(self) -> None:
        pass


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def network(ca: trustme.CA) -> NetworkPolicy:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return NetworkPolicy.local(ssl_context=context)


@pytest.fixture
def served(ca: trustme.CA) -> Callable[..., Any]:
    """Run a site on loopback while a block lasts."""

    @asynccontextmanager
    async def serve(site: Site, host: str = "localhost") -> AsyncIterator[Site]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert(host).configure_cert(context)
        config = uvicorn.Config(site.app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        config.load()
        config.ssl = context
        server = _Server(config)
        listener = socket.create_server(("127.0.0.1", 0))
        site.origin = f"https://{host}:{listener.getsockname()[1]}"
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await server.up.wait()
        try:
            yield site
        finally:
            server.should_exit = True
            await task
            listener.close()

    return serve


def entry(identifier: str, **members: Any) -> dict[str, Any]:
    return {"identifier": identifier, "type": A2A, **members}


async def names(listing: Any) -> list[str]:
    return [each.identifier async for each in listing]


async def test_a_catalog_is_asked_for_again_by_its_etag(served: Any, network: Any, card: Any) -> None:
    async with served(Site()) as site, Discovery(network=network) as d:
        path = "/.well-known/ai-catalog.json"
        site.documents[path] = {"specVersion": "1.0", "entries": [entry("a", url="/a.json"), entry("b", data=card())]}
        site.documents["/a.json"] = card("localhost")

        first = [each async for each in d.catalog(site.origin)]
        second = [each async for each in d.catalog(site.origin + path)]
        agent = await d.discover(f"{site.origin}{path}#a")

        assert first == second
        assert (agent.source.url, agent.trust.level) == (f"{site.origin}/a.json", Trust.CHANNEL)
        assert site.asked == [
            ("GET", "/.well-known/ard.json", 404),
            ("GET", path, 200),
            ("GET", path, 304),
            ("GET", path, 304),
            ("GET", "/a.json", 200),
        ]


async def test_what_loopback_lists_may_be_on_loopback_and_nowhere_else_inside(
    served: Any, network: Any, card: Any
) -> None:
    async with served(Site()) as site, Discovery(network=network) as d:
        rows = [entry("here", url="card.json"), entry("inside", url="https://10.0.0.1/c.json")]
        site.documents["/c.json"] = {"entries": rows}
        site.documents["/card.json"] = card("localhost")

        here, inside = [each async for each in d.catalog(site.origin + "/c.json")]

        assert (await d.discover(here)).card.name == "Orders"
        with pytest.raises(BlockedError):
            await d.discover(inside)


async def test_a_registry_gives_its_pages_until_one_is_empty(served: Any, network: Any) -> None:
    def page(request: Request) -> Any:
        number = int(request.query_params.get("pageToken", "0"))
        rows = [entry(f"a{number}", url=f"https://h.example/{number}.json")] if number < 3 else []
        return {"items": rows, "total": 3, "pageToken": str(number + 1)}

    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/api/ard/agents"] = page

        assert await names(d.catalog(site.origin + "/api/ard/", registry="ard")) == ["a0", "a1", "a2"]
        assert [target for _, target, _ in site.asked] == [
            "/api/ard/agents?pageSize=100",
            "/api/ard/agents?pageSize=100&pageToken=1",
            "/api/ard/agents?pageSize=100&pageToken=2",
            "/api/ard/agents?pageSize=100&pageToken=3",
        ]


async def test_a_registry_that_turns_in_circles_is_left(served: Any, network: Any) -> None:
    def page(request: Request) -> Any:
        here = request.query_params.get("pageToken", "a")
        return {
            "items": [entry(here, url="https://h.example/c.json")],
            "pageToken": {"a": "b", "b": "c", "c": "b"}[here],
        }

    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/agents"] = page
        listing = d.catalog(site.origin, registry="ard")

        assert await names(listing) == ["a", "b", "c"]
        assert [finding.code for finding in listing.findings] == ["repeated-page"]


async def test_a_registry_that_ignores_the_offset_is_left(served: Any, network: Any) -> None:
    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/api/agents"] = {
            "agents": [{"id": "a", "wellKnownURI": "https://h.example/c.json"}],
            "total": 9,
        }
        listing = d.catalog(site.origin, registry="a2aregistry")

        assert await names(listing) == ["a"]
        assert [finding.code for finding in listing.findings] == ["repeated-page"]


async def test_no_page_is_asked_for_beyond_the_callers_limit(served: Any, network: Any) -> None:
    def page(request: Request) -> Any:
        start = int(request.query_params.get("offset", "0"))
        rows = [{"id": f"a{start + more}", "wellKnownURI": "https://h.example/c.json"} for more in range(10)]
        return {"agents": rows, "total": 10**9, "offset": start}

    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/api/agents"] = page

        assert await names(d.catalog(site.origin, registry="a2aregistry", limit=15)) == [f"a{n}" for n in range(15)]
        assert len(site.asked) == 2


async def test_a_search_asks_the_registry_alone(served: Any, network: Any, sample: Any) -> None:
    def search(request: Request) -> Any:
        answer = sample("ard_registry/search_response.json")
        answer["results"][1]["source"] = f"https://{request.url.netloc}/api/"
        answer.pop("pageToken")
        return answer

    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/api/search"] = search
        found = "/api/agents/urn%3Aair%3Aexample.com%3Aagent%3Aprojection-only"
        site.documents["/api/agents/urn:air:example.com:agent:projection-only"] = sample(
            "ard_registry/get_response.json"
        )

        listing = d.find(site.origin + "/api/", registry="ard", text="book a flight")

        assert [(each.identifier, each.url) async for each in listing] == [
            ("urn:air:travel.example:agent:flights", "https://travel.example/agents/flights.json"),
            ("urn:air:example.com:agent:projection-only", "https://p.example.com/agent-card.json"),
        ]
        assert site.bodies == [
            {"query": {"text": "book a flight", "filter": {"type": [A2A]}}, "federation": "none", "pageSize": 100}
        ]
        assert [method for method, _, _ in site.asked] == ["POST", "GET"]
        assert found  # percent-encoded on the wire; the framework shows it decoded
        assert [finding.code for finding in listing.findings] == ["registry-not-asked"]


async def test_an_identifier_is_looked_up_where_the_registry_can(served: Any, network: Any, sample: Any) -> None:
    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/agents/urn:air:example.com:agent:projection-only"] = sample("ard_registry/get_response.json")

        found = d.find(site.origin, registry="ard", identifier="urn:air:example.com:agent:projection-only")
        missing = d.find(site.origin, registry="ard", identifier="nobody")

        assert await names(found) == ["urn:air:example.com:agent:projection-only"]
        assert await names(missing) == []
        assert [finding.code for finding in missing.findings] == ["http-status"]


async def test_the_registrys_credential_goes_to_no_other_host(served: Any, network: Any, card: Any) -> None:
    async with served(Site()) as registry, served(Site(), "cards.localhost") as cards:
        registry.token = "of-the-registry"
        registry.documents["/agents"] = {"items": [entry("a", url=f"{cards.origin}/card.json")]}
        cards.documents["/card.json"] = card("cards.localhost")
        mine = Credentials(bearer="of-the-registry")

        async with Discovery(network=network) as d:
            with pytest.raises(AuthError) as caught:
                await names(d.catalog(registry.origin, registry="ard"))
            assert caught.value.code == "auth-required"

            for options, own in (({"credentials": mine}, {}), ({}, {"credentials": {"localhost": mine}})):
                async with Discovery(network=network, **own) as each:
                    (found,) = [entry async for entry in each.catalog(registry.origin, registry="ard", **options)]
                    await each.discover(found)

    assert registry.authorization[-1] == "Bearer of-the-registry"
    assert cards.authorization == [None, None]


@pytest.mark.parametrize(
    ("name", "path", "file", "expected"),
    [
        ("agntcy", "/v1/agents", "ard_registry/agntcy_v1_agents.json", 2),
        ("apicurio", "/.well-known/agents", "card_list/apicurio_wellknown_agents.json", 1),
        ("a2aregistry", "/api/agents", "card_list/a2aregistry_org_agents.json", 1),
        ("litellm", "/public/agent_hub", "card_list/bare_cards_litellm_agent_hub.json", 2),
        ("google", "/v1/projects/p/locations/l/agents", "vendor/google_agents_list.json", 1),
        ("aws", "/registry-records/search", "vendor/aws_agentcore_search_response.json", 1),
        ("ans", "/v1/agents", "vendor/godaddy_ans_search.json", 1),
    ],
)
async def test_a_registry_that_comes_with_the_package_is_read(
    served: Any, network: Any, sample: Any, name: str, path: str, file: str, expected: int
) -> None:
    async with served(Site()) as site, Discovery(network=network) as d:
        document = sample(file)
        site.documents[path] = lambda request: _last(document) if _is_later(request) else document
        base = site.origin + (path.removesuffix("/agents") if name == "google" else "")

        assert len(await names(d.catalog(base, registry=name))) == expected
        assert [status for _, _, status in site.asked] == [200] * len(site.asked)
        assert len(site.asked) <= 2


def _is_later(request: Request) -> bool:
    return bool({"pageToken", "page_token", "offset"} & set(request.query_params))


def _last(document: Any) -> Any:
    return {name: ([] if isinstance(value, list) else None) for name, value in document.items()}


async def test_the_pages_of_a_list_are_followed_without_naming_its_registry(
    served: Any, network: Any, sample: Any
) -> None:
    def page(request: Request) -> Any:
        return _last(sample("ard_registry/agntcy_v1_agents.json")) if _is_later(request) else first

    first = sample("ard_registry/agntcy_v1_agents.json")
    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/v1/agents"] = page
        wellknown = sample("ard_registry/agntcy_wellknown.json")
        wellknown["collections"][0]["url"] = "/v1/agents?filter=x"
        site.documents["/.well-known/ai-catalog.json"] = wellknown

        assert len(await names(d.catalog(site.origin))) == 2
        assert [target for _, target, _ in site.asked[-2:]] == [
            "/v1/agents?filter=x",
            "/v1/agents?filter=x&page_token=MjA%3D",
        ]


async def test_a_profile_is_followed_nowhere_and_kept_a_minute_whatever_it_says(
    served: Any, network: Any, card: Any, sample: Any
) -> None:
    profile = sample("ucp/2026-04-08_supported_versions.json")
    async with served(Site()) as site:
        site.cache_control = "no-store"
        binding = profile["ucp"]["services"]["dev.ucp.shopping"][0]
        binding["endpoint"] = f"{site.origin}/card.json"
        site.documents["/.well-known/ucp"] = profile
        site.documents["/card.json"] = card("localhost")
        now = 1_800_000_000.0

        async with Discovery(network=network, clock=lambda: now, cache=Cache.memory()) as d:
            keys = await d.merchant_keys(site.origin)
            assert [key["kid"] for key in keys["keys"]] == ["business_2025"]
            TrustPolicy(keys={"localhost": keys})
            await d.merchant_keys(site.origin)
            assert [target for _, target, _ in site.asked] == ["/.well-known/ucp"]
            now += 61.0
            await d.merchant_keys(site.origin)
            assert [target for _, target, _ in site.asked] == ["/.well-known/ucp"] * 2

            assert (await d.discover(site.origin)).source.url == f"{site.origin}/card.json"

    async with served(Site()) as site, Discovery(network=network) as d:
        site.documents["/.well-known/ucp"] = RedirectResponse("/elsewhere")
        site.documents["/elsewhere"] = profile
        with pytest.raises(FetchError) as caught:
            await d.merchant_keys(site.origin)
        assert caught.value.code == "redirect-refused"
