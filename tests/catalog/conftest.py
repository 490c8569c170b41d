"""A web of documents, served to a real `Discovery` in place of the sockets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_discovery import Cache, Discovery

SAMPLES = Path(__file__).parent.parent / "data" / "catalogs"


class Web:
    """What each URL answers, and what was asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[httpx.Request] = []

    @property
    def urls(self) -> list[str]:
        return [str(request.url) for request in self.asked]

    def put(self, url: str, document: Any, *, status: int = 200, **headers: str) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        fields = {
            "content-type": "application/json",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        self.answers[url] = httpx.Response(status, headers=fields, content=body)

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.get(str(request.url), httpx.Response(404))
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def discovery(web: Web) -> Callable[..., Discovery]:
    """A `Discovery` that finds only this web; arguments may be given by keyword."""

    def make(**options: Any) -> Discovery:
        return Discovery(**{"transport": httpx.MockTransport(web.handle), "cache": Cache.memory(), **options})

    return make


@pytest.fixture
def samples() -> Path:
    """Where the published documents are."""
    return SAMPLES


@pytest.fixture
def sample() -> Callable[[str], Any]:
    """A published document, decoded."""
    return lambda name: json.loads((SAMPLES / name).read_bytes())


@pytest.fixture
def card() -> Callable[..., dict[str, Any]]:
    """A whole 1.0 card of one host; members can be changed, or left out with ``None``."""

    def make(host: str = "shop.example", **changes: Any) -> dict[str, Any]:
        whole = {
            "name": "Orders",
            "description": "Takes orders",
            "version": "1.2.0",
            "supportedInterfaces": [
                {"url": f"https://{host}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "order", "name": "Order", "description": "Orders", "tags": ["shop"]}],
            **changes,
        }
        return {name: value for name, value in whole.items() if value is not None}

    return make
