"""For every test of the suite: no credential reached a host that has no right to it.

And how the property tests run: a slow machine is no failure, and CI tries the same inputs each time.
"""

from __future__ import annotations

import base64
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import pytest
from hypothesis import HealthCheck, settings

from a2a_discovery._hosts import is_loopback, same_site
from a2a_discovery.testing import FakeAgent
from a2a_discovery.testing._reply import Request

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Header fields that no credential is in; any other value that a server gets may be one.
PLAIN = re.compile(
    r"(?:host|connection|accept.*|user-agent|content-.*|transfer-encoding|if-.*|cache-control|a2a-.*|x-a2a-.*)\Z"
)


@dataclass
class Receipts:
    """Which host was shown which secret, and which hosts the test says may see one beside its owner's site."""

    shown: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    owners: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    listed: set[str] = field(default_factory=set)

    def watch(self, agent: FakeAgent, request: Request) -> None:
        for token in (*agent.tokens, *agent.weak_tokens):
            self.owners[token] |= {agent.host, request.host}  # it may be served under another name
        self.note(request.host, dict(request.headers), request.url, request.body)

    def note(self, host: str, headers: dict[str, str], url: str = "", body: bytes = b"") -> None:
        """A request that a server got: every value in it that may be a secret."""
        for name, value in headers.items():
            if not PLAIN.match(name.lower()):
                for secret in secrets_in(name.lower(), value):
                    self.shown[secret].add(host)
        for _, value in parse_qsl(urlsplit(url).query):
            self.shown[value].add(host)
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            for name, value in parse_qsl(body.decode()):
                if name not in ("grant_type", "scope", "client_id"):
                    self.shown[value].add(host)

    def strays(self) -> list[str]:
        """Every secret that was shown to a host that is neither its owner's site, nor listed, nor all the same site."""
        found = []
        for secret, hosts in self.shown.items():
            owners = self.owners.get(secret) or {min(hosts - self.listed, default="")}
            strangers = {host for host in hosts - self.listed if not any(on_site(host, each) for each in owners)}
            if strangers:
                found.append(f"{secret[:4]}... of {sorted(owners)} was shown to {sorted(strangers)}")
        return found


def secrets_in(name: str, value: str) -> Iterator[str]:
    if name == "authorization":
        scheme, _, rest = value.partition(" ")
        if scheme.lower() == "basic":
            user, _, password = base64.b64decode(rest).decode("utf-8", "replace").partition(":")
            yield unquote_plus(password) or user
        else:
            yield rest
    elif name == "cookie":
        yield from (pair.partition("=")[2] for pair in value.split("; "))
    else:
        yield value


def on_site(host: str, owner: str) -> bool:
    return same_site(host, owner, local=True) or (is_loopback(host) and is_loopback(owner))


@pytest.fixture(autouse=True)
def receipts() -> Iterator[Receipts]:
    """What every fake agent was shown; ``receipts.listed`` takes the hosts that the test's credentials name."""
    seen = Receipts()
    FakeAgent.watchers.append(seen.watch)
    try:
        yield seen
    finally:
        FakeAgent.watchers.remove(seen.watch)
    assert seen.strays() == []
