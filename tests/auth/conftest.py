"""Agents that want to know who calls, the network they are on, and a real authorization server."""

from __future__ import annotations

import importlib.util
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from a2a_discovery import Discovery, NetworkPolicy
from a2a_discovery.testing import Clock, FakeAgent, FakeNetwork
from a2a_discovery.testing._network import _authority

TOKEN = "shop-token"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(clock: Clock) -> FakeAgent:
    """An unsigned agent with an extended card, which changes in memory."""
    return FakeAgent("shop.example", extended=True, signers=[], token=TOKEN, clock=clock)


@pytest.fixture
def evil(clock: Clock) -> FakeAgent:
    """A host that must never see what is the shop's. It would let anybody in."""
    agent = FakeAgent("evil.example", extended=True, signers=[], token="evil-token", clock=clock)
    agent.admits = lambda request: 200
    return agent


@pytest.fixture
def network(shop: FakeAgent, evil: FakeAgent) -> FakeNetwork:
    saas = FakeAgent("api.saas.example", extended=True, signers=[], token=TOKEN, clock=shop.clock)
    return FakeNetwork(shop, evil, saas, FakeAgent("api.shop.example", extended=True, signers=[], token=TOKEN))


@pytest.fixture
async def discovery(network: FakeNetwork, clock: Clock) -> AsyncIterator[Callable[..., Discovery]]:
    """Makes a `Discovery` on the fake network; closed after the test."""
    async with AsyncExitStack() as opened:

        def make(**options: Any) -> Discovery:
            made = Discovery(**{"transport": network, "clock": clock, **options})
            opened.push_async_callback(made.aclose)
            return made

        yield make


@dataclass
class Real:
    """An agent and an authorization server on sockets, under names that the policy resolves to loopback."""

    agent: FakeAgent
    oauth: Any
    url: str
    network: NetworkPolicy

    def declare(self, scheme: dict[str, Any], *scopes: str) -> None:
        """Let both cards want this scheme."""
        for card in (self.agent.card, self.agent.extended):
            card["securitySchemes"] = {"login": scheme}
            card["securityRequirements"] = [{"schemes": {"login": {"list": list(scopes)}}}]

    def machine(self, **more: Any) -> dict[str, Any]:
        flow = {"tokenUrl": f"{self.oauth.origin}/token", "scopes": {"read": "Read"}, **more}
        return {"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}}


def _load() -> Any:
    path = Path(__file__).with_name("oauth_server.py")
    spec = importlib.util.spec_from_file_location("oauth_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["oauth_server"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
async def real(receipts: Any) -> AsyncIterator[Callable[..., Any]]:
    """Makes `Real`: ``await real(login="login.example")``. Without a name the login is on the agent's own host."""
    for library in ("authlib", "flask", "trustme"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    server = _load()
    async with AsyncExitStack() as opened:
        others = opened.enter_context(ExitStack())

        async def make(login: str = "shop.example", **options: Any) -> Real:
            agent = FakeAgent("shop.example", extended=True, signers=[], **options)
            running = await opened.enter_async_context(agent.serve(name="shop.example"))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            _authority().issue_cert(login).configure_cert(context)
            oauth = others.enter_context(server.serve(context, login))
            agent.admits = lambda request: 200 if oauth.valid(request.authorization) else 401

            async def resolve(host: str, port: int) -> list[str]:
                if host in ("shop.example", login):
                    return ["127.0.0.1"]
                raise socket.gaierror(socket.EAI_NONAME, "no such name")

            policy = NetworkPolicy(allow_private=True, resolve=resolve, ssl_context=running.ssl_context)
            made.append(Real(agent=agent, oauth=oauth, url=running.url, network=policy))
            return made[-1]

        made: list[Real] = []
        yield make
        for each in made:
            for got in each.oauth.received:
                receipts.note(got.host, got.headers, body=urlencode(got.form).encode())


@pytest.fixture
def tls_context() -> ssl.SSLContext:
    """A TLS context of the caller's own."""
    return ssl.create_default_context()
