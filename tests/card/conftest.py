"""What the tests of reading share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery._card.json import decode
from a2a_discovery._card.read import Reading, read_card

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="session")
def published() -> Callable[[str], dict[str, Any]]:
    """Name below ``tests/data`` → the document."""

    def load(name: str) -> dict[str, Any]:
        document = decode((DATA / name).read_bytes(), depth=64)
        assert isinstance(document, dict)
        return document

    return load


@pytest.fixture
def v1() -> dict[str, Any]:
    """A small 1.0 card with nothing odd about it."""
    return json.loads(
        """{"name": "Ferry Desk", "description": "Sells ferry tickets.", "version": "2.1.0",
            "supportedInterfaces": [
              {"url": "https://ferry.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": false},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "sell", "name": "Sell", "description": "Sells a ticket.", "tags": ["ferry"]}]}"""
    )


@pytest.fixture
def v03() -> dict[str, Any]:
    """The same agent in the shape of 0.3."""
    return json.loads(
        """{"protocolVersion": "0.3.0", "name": "Ferry Desk", "description": "Sells ferry tickets.",
            "version": "2.1.0", "url": "https://ferry.example/rpc", "preferredTransport": "JSONRPC",
            "capabilities": {"streaming": false},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "sell", "name": "Sell", "description": "Sells a ticket.", "tags": ["ferry"]}]}"""
    )


@pytest.fixture(scope="session")
def read() -> Callable[..., Reading]:
    """Read a document as the answer of one card URL."""

    def read(document: Any, *, strict: bool = False, url: str | None = "https://ferry.example/card.json") -> Reading:
        return read_card(document, url=url, strict=strict)

    return read


@pytest.fixture(scope="session")
def told() -> Callable[[Any], set[tuple[str, str]]]:
    """Findings, of a reading or an error, as (code, pointer), advice aside."""

    def told(source: Any) -> set[tuple[str, str]]:
        return {(each.code, each.pointer) for each in source.findings if each.severity != "advice"}

    return told
