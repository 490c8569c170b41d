"""Real servers on loopback, over TLS from one authority made for this run.

A peer that is not installed skips its tests, with the reason; where ``A2A_REQUIRE_PEERS`` is set it is an error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_discovery import Discovery, NetworkPolicy

HERE = Path(__file__).parent
READY_SECONDS = 60
NODE = 20
"""The oldest release that @a2a-js/sdk runs on."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A running server process: its variants by name, and the token that its extended cards ask for."""

    urls: dict[str, str]
    token: str = "live-token"

    def __getitem__(self, variant: str) -> str:
        return self.urls[variant]


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """One authority, and one server certificate for ``localhost`` and ``127.0.0.1`` with its key."""

    authority: Path
    certificate: Path
    key: Path


def missing(reason: str) -> None:
    if os.environ.get("A2A_REQUIRE_PEERS"):
        pytest.fail(f"A2A_REQUIRE_PEERS is set, and {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if importlib.util.find_spec("trustme") is None:
        missing("trustme is not installed")
    import trustme

    directory = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost", "127.0.0.1")
    paths = Certificates(
        authority=directory / "ca.pem", certificate=directory / "server.pem", key=directory / "server.key"
    )
    authority.cert_pem.write_to_path(str(paths.authority))
    leaf.private_key_pem.write_to_path(str(paths.key))
    for blob in leaf.cert_chain_pems:
        blob.write_to_path(str(paths.certificate), append=True)
    return paths


@pytest.fixture(scope="session")
def tls(certificates: Certificates) -> ssl.SSLContext:
    """What a client needs to believe the peers."""
    return ssl.create_default_context(cafile=str(certificates.authority))


@pytest.fixture
def raw(tls: ssl.SSLContext) -> Iterator[httpx.Client]:
    """A bare HTTP client, to see what the peers really send."""
    with httpx.Client(verify=tls, trust_env=False) as client:
        yield client


@pytest.fixture
async def discovery(tls: ssl.SSLContext) -> AsyncIterator[Callable[..., Discovery]]:
    """Makes a `Discovery` that may reach loopback and believes the peers' certificates; closed after the test."""
    async with AsyncExitStack() as opened:

        def make(**options: Any) -> Discovery:
            made = Discovery(**{"network": NetworkPolicy.local(ssl_context=tls), **options})
            opened.push_async_callback(made.aclose)
            return made

        yield make


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis server that the tests may write to; `.ci/run` starts one. Every key holds the port of a peer."""
    url = os.environ.get("A2A_TEST_REDIS_URL")
    if not url:
        missing("A2A_TEST_REDIS_URL names no Redis server")
    if importlib.util.find_spec("redis") is None:
        missing("redis is not installed")
    return str(url)


@pytest.fixture(scope="session")
def python_peer(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    absent = [name for name in ("a2a", "starlette", "uvicorn", "jwt") if importlib.util.find_spec(name) is None]
    if absent:
        missing(f"these are not installed: {', '.join(absent)}")
    command = [sys.executable, str(HERE / "python_peer.py")]
    yield from _run(command, certificates, tmp_path_factory.mktemp("python-peer") / "log")


@pytest.fixture(scope="session")
def node() -> str:
    """The command that runs JavaScript; the SDK is installed beside `js/`."""
    found = shutil.which("node")
    if found is None:
        missing("node is not installed")
    version = subprocess.run([str(found), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < NODE:
        missing(f"node is {version}, and the peer needs {NODE}")
    if not (HERE / "js" / "node_modules" / "@a2a-js" / "sdk").is_dir():
        missing("@a2a-js/sdk is not installed: run `make peers`")
    return str(found)


@pytest.fixture(scope="session")
def js_peer(node: str, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    command = [node, str(HERE / "js" / "peer.mjs")]
    yield from _run(command, certificates, tmp_path_factory.mktemp("js-peer") / "log")


def _run(command: list[str], certificates: Certificates, log: Path) -> Iterator[Peer]:
    command = [*command, str(certificates.certificate), str(certificates.key)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready, _, _ = select.select([process.stdout], [], [], READY_SECONDS)
            line = process.stdout.readline() if ready else b""
            if not line:
                pytest.fail(f"{Path(command[1]).name} did not start:\n{log.read_text()}", pytrace=False)
            yield Peer(urls=json.loads(line))
        finally:
            process.stdin.close()  # both peers end when their standard input does
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
