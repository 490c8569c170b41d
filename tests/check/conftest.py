"""What the tests of checking share."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import Finding, check_card

DATA = Path(__file__).parent.parent / "data"

CLEAN = {
    "name": "Ferry ticket desk",
    "description": "Sells ferry tickets and answers questions about crossings.",
    "version": "2.1.0",
    "supportedInterfaces": [
        {"url": "https://ferry.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "provider": {"organization": "Example Ferries", "url": "https://ferry.example"},
    "capabilities": {"streaming": False},
    "securitySchemes": {
        "login": {
            "oauth2SecurityScheme": {
                "flows": {
                    "authorizationCode": {
                        "authorizationUrl": "https://login.ferry.example/authorize",
                        "tokenUrl": "https://login.ferry.example/token",
                        "scopes": {"buy": "Buy tickets"},
                        "pkceRequired": True,
                    }
                }
            }
        }
    },
    "securityRequirements": [{"schemes": {"login": {"list": ["buy"]}}}],
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "application/json"],
    "skills": [
        {"id": "sell", "name": "Sell", "description": "Sells a ticket for a crossing.", "tags": ["ferry", "tickets"]}
    ],
}
"""A card with nothing to say about."""


@pytest.fixture
def clean() -> dict[str, Any]:
    """A copy of the card with nothing to say about."""
    return copy.deepcopy(CLEAN)


@pytest.fixture
def put() -> Callable[..., dict[str, Any]]:
    """A copy of the clean card with one place changed: ``put("/skills/0/tags", [])``."""

    def put(pointer: str, value: Any, card: dict[str, Any] | None = None) -> dict[str, Any]:
        changed: Any = copy.deepcopy(CLEAN if card is None else card)
        *path, last = pointer.split("/")[1:]
        holder = changed
        for token in path:
            holder = holder[int(token)] if isinstance(holder, list) else holder.setdefault(token, {})
        if isinstance(holder, list):
            holder[int(last) :] = [value]
        else:
            holder[last] = value
        return changed

    return put


@pytest.fixture(scope="session")
def told() -> Callable[..., dict[str, str]]:
    """Findings of a card as ``code @ pointer`` → severity."""

    def told(card: Any, **options: Any) -> dict[str, str]:
        return {f"{each.code} @ {each.pointer}": each.severity for each in check_card(card, **options)}

    return told


@pytest.fixture(scope="session")
def find() -> Callable[..., Finding]:
    """The one finding with a code."""

    def find(card: Any, code: str, **options: Any) -> Finding:
        [finding] = [each for each in check_card(card, **options) if each.code == code]
        return finding

    return find


@pytest.fixture(scope="session")
def published() -> dict[str, bytes]:
    """Every card of the corpus: number and name → its bytes."""
    return {path.stem: path.read_bytes() for path in sorted((DATA / "cards").glob("*.json"))}


@pytest.fixture(scope="session")
def samples() -> list[dict[str, Any]]:
    """Cards of every generation, those of the specification among them."""
    paths = [path for folder in ("cards", "samples", "seeds_like") for path in sorted((DATA / folder).glob("*.json"))]
    return [json.loads(path.read_bytes()) for path in paths]
