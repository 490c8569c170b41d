"""Cards and agents as they are met in the field. Each test here names the rows it answers in its docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from a2a_discovery import Agent, Discovery
from a2a_discovery.testing import Clock, FakeAgent

CARD_PATH = "/.well-known/agent-card.json"

Make = Callable[..., Any]


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


@pytest.fixture
def card() -> Make:
    """A whole 1.0 card of ``a.example``; members can be changed, or left out with ``None``."""

    def make(**changes: Any) -> dict[str, Any]:
        whole = {
            "name": "Tides",
            "description": "Says when the water is high.",
            "version": "2.1.0",
            "supportedInterfaces": [
                {"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "tide", "name": "Tide", "description": "The next high tide.", "tags": ["sea"]}],
        }
        return _without_none(whole | changes)

    return make


@pytest.fixture
def old_card() -> Make:
    """A whole card of version 0.3; members can be changed, or left out with ``None``."""

    def make(**changes: Any) -> dict[str, Any]:
        whole = {
            "name": "Tides",
            "description": "Says when the water is high.",
            "version": "2.1.0",
            "protocolVersion": "0.3.0",
            "url": "https://a.example/a2a",
            "preferredTransport": "JSONRPC",
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "tide", "name": "Tide", "description": "The next high tide.", "tags": ["sea"]}],
        }
        return _without_none(whole | changes)

    return make


@pytest.fixture
def interface() -> Make:
    """One entry of ``supportedInterfaces``."""

    def make(url: str = "https://a.example/a2a", binding: str = "JSONRPC", version: str = "1.0") -> dict[str, Any]:
        return {"url": url, "protocolBinding": binding, "protocolVersion": version}

    return make


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def serve(clock: Clock) -> Make:
    """An agent that serves this card, unsigned, at these paths."""

    def make(card: Mapping[str, Any], *paths: str, host: str = "a.example") -> FakeAgent:
        agent = FakeAgent(host, card=card, signers=[], clock=clock)
        agent.card_paths = set(paths) or {CARD_PATH}
        return agent

    return make


@pytest.fixture
def find(clock: Clock) -> Make:
    """Discover a target at an agent, or at a network of them, with a memory that belongs to this call alone."""

    async def run(target: object, agent: Any = None, **options: Any) -> Agent:
        return await Discovery(**{"transport": agent, "clock": clock} | options).discover(target)

    return run


@pytest.fixture
def asked() -> Callable[[FakeAgent], list[str]]:
    """The paths that an agent was asked for, in order."""
    return lambda agent: [request.path for request in agent.requests]
