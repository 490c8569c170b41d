"""A third shell for the line: a dict of URL → answer, in place of the network."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from a2a_discovery._effects import Fetch, Fetched, Keep, Recall
from a2a_discovery._flow import Found, Settings, discover
from a2a_discovery._target import read_target
from a2a_discovery.errors import DiscoveryError, FetchError
from a2a_discovery.policy import Limits, NetworkPolicy, TrustPolicy

NOW = 1_800_000_000.0


@dataclass
class World:
    """What each URL answers; what was asked for, and what was kept."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Fetch] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    past: dict[str, bytes] = field(default_factory=dict)

    @property
    def urls(self) -> list[str]:
        return [fetch.url for fetch in self.asked]

    def fetch(self, wanted: Fetch) -> Fetched:
        if wanted.mode == "stored":
            raise FetchError("connect", "nothing is stored here")
        self.asked.append(wanted)
        answer = self.answers.get(wanted.url, 404)
        if callable(answer):
            answer = answer(wanted)
        if isinstance(answer, DiscoveryError):
            raise answer
        if isinstance(answer, int):
            answer = (answer, b"", "text/plain")
        status, body, kind, *more = answer if isinstance(answer, tuple) else (200, answer, "application/json")
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        options = more[0] if more else {}
        return Fetched(
            **{
                "requested": wanted.url,
                "url": wanted.url,
                "status": status,
                "headers": {"content-type": kind} if kind else {},
                "body": body,
                "channel": "tls" if wanted.url.startswith("https:") else "loopback",
                "fetched_at": NOW,
                "expires_at": NOW + 300,
                **options,
            }
        )

    def run(self, flow: Any) -> Any:
        """Drive a flow to its end."""
        try:
            effect = next(flow)
            while True:
                try:
                    reply = self._reply(effect)
                except DiscoveryError as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(reply)
        except StopIteration as done:
            return done.value

    def _reply(self, effect: Any) -> Any:
        if isinstance(effect, Keep):
            if effect.location is not None:
                self.past[effect.location] = effect.record
            return self.kept.append(effect.answer.url) if effect.answer is not None else None
        if isinstance(effect, Recall):
            return self.past.get(effect.location)
        if isinstance(effect, Fetch):
            return self.fetch(effect)
        results = []
        for each in effect:
            try:
                results.append(self.fetch(each))
            except DiscoveryError as error:
                results.append(error)
        return tuple(results)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def settings() -> Callable[..., Settings]:
    def make(**changes: Any) -> Settings:
        return Settings(
            **{
                "trust": TrustPolicy(),
                "network": NetworkPolicy(),
                "limits": Limits(),
                "bindings": ("JSONRPC", "HTTP+JSON"),
                "versions": ("1.0", "0.3"),
                "extensions": (),
                "strict": False,
                "replace_local_hosts": False,
                **changes,
            }
        )

    return make


@pytest.fixture
def find(world: World, settings: Callable[..., Settings]) -> Callable[..., Found]:
    """Run steps 1 to 5 for a target, under settings that may be changed by keyword."""

    def run(target: object, *, refresh: bool = False, auth_for: Any = None, **changes: Any) -> Found:
        chosen = settings(**changes)
        place = read_target(target, network=chosen.network)
        flow = discover(place, chosen, requested=str(target), now=NOW, refresh=refresh, auth_for=auth_for)
        return world.run(flow)

    return run


@pytest.fixture
def card() -> Callable[..., dict[str, Any]]:
    """A whole 1.0 card; members can be changed, or left out with ``None``."""

    def make(**changes: Any) -> dict[str, Any]:
        whole = {
            "name": "Orders",
            "description": "Takes orders",
            "version": "1.2.0",
            "supportedInterfaces": [
                {"url": "https://shop.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "order", "name": "Order", "description": "Orders", "tags": ["shop"]}],
            **changes,
        }
        return {name: value for name, value in whole.items() if value is not None}

    return make


@pytest.fixture
def refused() -> FetchError:
    return FetchError("connect", "nobody listens")
