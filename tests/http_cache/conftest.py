"""An origin that counts, a clock that is set by hand, and fetchers over every kind of cache."""

from __future__ import annotations

import importlib.util
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest
from hishel import AsyncBaseStorage, Entry, Headers, Request, Response

from a2a_discovery._effects import Fetch, Fetched
from a2a_discovery._http.cache import Cache
from a2a_discovery._http.fetcher import Fetcher
from a2a_discovery.policy import Limits, NetworkPolicy

URL = "https://shop.example/.well-known/agent-card.json"
START = 1_700_000_000.0


class Hand:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Origin:
    """Answers from a table, counts what it was asked, and speaks HTTP's conditional requests."""

    pages: dict[str, Any] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)

    def page(self, url: str = URL, *, body: bytes = b"{}", status: int = 200, **headers: str) -> None:
        """Serve this from now on; a header's underscores are hyphens."""
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.pages[url] = (status, named, body)

    def serve(self, url: str, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.pages[url] = answer

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        page = self.pages.get(str(request.url), (404, [], b"not found"))
        if callable(page):
            return page(request)
        status, headers, body = page
        tag = dict(headers).get("etag")
        if tag is not None and request.headers.get("if-none-match") == tag:
            return httpx.Response(304, headers=[pair for pair in headers if pair[0] != "content-type"])
        return httpx.Response(status, headers=headers, content=body)

    @property
    def count(self) -> int:
        return len(self.asked)

    @property
    def last(self) -> httpx.Request:
        return self.asked[-1]


class Plain(AsyncBaseStorage):
    """A storage as somebody else would write it: nothing but hishel's interface."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[uuid.UUID, tuple[str, Entry, bytes]] = {}
        self.closed = False

    async def create_entry(
        self, request: Request, response: Response, key: str, *, ttl: float | None = None, tti: float | None = None
    ) -> Entry:
        entry = Entry(id=uuid.uuid4(), request=request, response=response)

        async def saved() -> AsyncIterator[bytes]:
            chunks = []
            async for chunk in response.stream:  # type: ignore[union-attr]
                chunks.append(chunk)
                yield chunk
            self.entries[entry.id] = (key, replace(entry, response=replace(response, stream=None)), b"".join(chunks))

        return replace(entry, response=replace(response, stream=saved()))

    async def get_entries(self, key: str) -> list[Entry]:
        async def stream(body: bytes) -> AsyncIterator[bytes]:
            for start in range(0, len(body), 3):
                yield body[start : start + 3]

        return [
            replace(entry, response=replace(entry.response, stream=stream(body)))
            for theirs, entry, body in self.entries.values()
            if theirs == key
        ]

    async def update_headers(self, id: uuid.UUID, headers: Headers) -> None:  # noqa: A002
        key, entry, body = self.entries[id]
        self.entries[id] = (key, replace(entry, response=replace(entry.response, headers=headers)), body)

    async def remove_entry(self, id: uuid.UUID) -> None:  # noqa: A002
        self.entries.pop(id, None)

    async def close(self) -> None:
        self.closed = True


class Common(Plain):
    """The same, with leases: what several workers share, without a server."""

    def __init__(self) -> None:
        super().__init__()
        self.leases: dict[str, str] = {}
        self.lasting: dict[str, float | None] = {}
        self.extended: dict[str, str] = {}

    async def take(self, key: str, token: str, seconds: float) -> str | None:
        self.lasting[token] = seconds
        return self.leases.get(key) if key in self.leases else self.leases.update({key: token})

    async def holders(self, keys: Sequence[str]) -> list[str | None]:
        return [self.leases.get(key) for key in keys]

    async def extend(self, tokens: Mapping[str, str], seconds: float) -> None:
        self.extended.update(tokens)

    async def free(self, key: str, token: str, seconds: float | None) -> None:
        if self.leases.get(key) != token:
            return
        del self.leases[key]
        if seconds is not None:
            self.leases[key] = "-"

    async def lapse(self) -> None:
        """The holders are dead, and their time is over."""
        self.leases.clear()


@dataclass
class Desk:
    """One caller: a fetcher, the origin it asks, and the clock both go by."""

    fetcher: Fetcher
    origin: Origin
    clock: Hand

    async def get(self, url: str = URL, *, keep: bool = True, **options: Any) -> Fetched:
        """Fetch, and keep what came, as the line does with an answer it accepts."""
        kind, limit = options.pop("kind", "card"), options.pop("limit", 100_000)
        answer = await self.fetcher.fetch(Fetch(url=url, kind=kind, limit=limit, **options))
        if keep:
            await self.fetcher.keep(answer)
        return answer


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def origin() -> Origin:
    return Origin()


@pytest.fixture
def plain_storage() -> Plain:
    return Plain()


@pytest.fixture
def common_storage() -> Common:
    return Common()


@pytest.fixture
def open_desk(origin: Origin, clock: Hand) -> Callable[..., Any]:
    """``async with open_desk(cache=...)``: a desk, closed at the end. The transport is one object for all of them."""
    transport = httpx.MockTransport(origin)

    @asynccontextmanager
    async def open_(cache: Cache, **options: Any) -> AsyncIterator[Desk]:
        options = {"network": NetworkPolicy(), "limits": Limits(), "transport": transport, "clock": clock} | options
        fetcher = Fetcher(cache=cache, **options)
        try:
            yield Desk(fetcher, origin, clock)
        finally:
            await fetcher.aclose()

    return open_


@pytest.fixture
def redis_url() -> str:
    """A Redis server that the tests may write to. Their keys are their own, since each test's transport is."""
    url = os.environ.get("A2A_TEST_REDIS_URL")
    if not url or importlib.util.find_spec("redis") is None:
        pytest.skip("A2A_TEST_REDIS_URL names no Redis server, or redis is not installed")
    return str(url)


@pytest.fixture(params=["memory", "sqlite", "redis", "somebody else's"])
def cache(request: pytest.FixtureRequest, tmp_path: Any, plain_storage: Plain) -> Cache:
    """Every kind of store: what is promised does not depend on it."""
    if request.param == "redis":
        return Cache.redis(request.getfixturevalue("redis_url"))
    makers = {
        "memory": Cache.memory,
        "sqlite": lambda: Cache.sqlite(tmp_path / "answers" / "cache.sqlite"),
        "somebody else's": lambda: Cache.storage(plain_storage),
    }
    return makers[request.param]()


@pytest.fixture
async def desk(open_desk: Callable[..., Any], cache: Cache) -> AsyncIterator[Desk]:
    async with open_desk(cache) as desk:
        yield desk
