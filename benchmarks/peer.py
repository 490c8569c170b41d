"""Many signed agents on loopback, in a process of their own: a server that costs as little as can be.

Agent number ``n`` has its card at ``/a/n/.well-known/agent-card.json`` and its JWK Set at ``/a/n/jwks.json``, on any of
the ports. What is answered is made before the first request, and a request is a look into a dict.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WELL_KNOWN = "/.well-known/agent-card.json"


@dataclass(frozen=True, slots=True)
class Peer:
    """The running server."""

    ports: tuple[int, ...]
    authority: str
    """PEM of the CA that its certificate is from."""

    def context(self) -> ssl.SSLContext:
        """TLS for a client that trusts it."""
        return ssl.create_default_context(cadata=self.authority)

    def origin(self, number: int = 0) -> str:
        """The origin of one port; agents are spread over them."""
        return f"https://localhost:{self.ports[number % len(self.ports)]}"

    def base(self, number: int) -> str:
        """The base URL of an agent."""
        return f"{self.origin(number)}/a/{number}"

    def card(self, number: int) -> str:
        """The URL of an agent's card."""
        return self.base(number) + WELL_KNOWN

    def counts(self) -> dict[str, int]:
        """How many requests came since the last call, by the last part of the path."""
        import httpx

        with httpx.Client(verify=self.context()) as client:
            counts: dict[str, int] = client.get(self.origin() + "/counts").json()
        return counts


@contextlib.contextmanager
def peer(*, agents: int = 1, ports: int = 1, max_age: int = 300) -> Iterator[Peer]:
    """A server for a block.

    Args:
        agents: how many there are, each with a key, a JWK Set and a card of its own.
        ports: how many ports, and so origins, they are spread over.
        max_age: seconds that cards and keys stay fresh; 0 makes every further call a revalidation.
    """
    command = [sys.executable, "-m", "benchmarks.peer", str(agents), str(ports), str(max_age)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        told = json.loads(process.stdout.readline())
        yield Peer(tuple(told["ports"]), told["authority"])
    finally:
        process.stdin.close()  # it ends when nobody holds the other end
        process.wait(timeout=30)
        process.stdout.close()


# --- the process


def _respond(body: bytes, max_age: int) -> tuple[bytes, bytes, bytes]:
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    common = f"etag: {tag}\r\ncache-control: max-age={max_age}\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    whole = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{common}content-length: {len(body)}\r\n\r\n"
    return tag.encode(), whole.encode() + body, f"HTTP/1.1 304 Not Modified\r\n{common}\r\n".encode()


class _Connection(asyncio.Protocol):
    def __init__(self, answers: dict[bytes, tuple[bytes, bytes, bytes]], counts: dict[str, int]) -> None:
        self._answers = answers
        self._counts = counts
        self._held = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while b"\r\n\r\n" in self._held:
            head, _, self._held = self._held.partition(b"\r\n\r\n")
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        path = head.split(b" ", 2)[1]
        if path == b"/counts":
            body = json.dumps(self._counts).encode()
            self._counts.clear()
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            return
        name = path.rpartition(b"/")[2].decode()
        self._counts[name] = self._counts.get(name, 0) + 1
        found = self._answers.get(path)
        if found is None:
            self._transport.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        tag, whole, unchanged = found
        same = b"if-none-match" in head.lower() and tag in head
        self._transport.write(unchanged if same else whole)


def _answers(agents: int, origins: list[str], max_age: int) -> dict[bytes, tuple[bytes, bytes, bytes]]:
    from benchmarks.cards import signed_card, signer_of

    answers = {}
    for number in range(agents):
        base = f"{origins[number % len(origins)]}/a/{number}"
        signer = signer_of(number, jku=f"{base}/jwks.json")
        card = _respond(json.dumps(signed_card(base, signer, number)).encode(), max_age)
        keys = _respond(json.dumps({"keys": [signer.jwk]}).encode(), max_age)
        answers[f"/a/{number}{WELL_KNOWN}".encode()] = card
        answers[f"/a/{number}/jwks.json".encode()] = keys
        if number < len(origins):  # the domain itself is an agent too
            answers.setdefault(WELL_KNOWN.encode(), card)
    return answers


async def _serve(agents: int, ports: int, max_age: int) -> None:
    import trustme

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listeners = []
    for _ in range(ports):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        listeners.append(listener)
    found = [each.getsockname()[1] for each in listeners]
    answers = _answers(agents, [f"https://localhost:{port}" for port in found], max_age)
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    counts: dict[str, int] = {}
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(lambda: _Connection(answers, counts), sock=each, ssl=context) for each in listeners
    ]
    print(json.dumps({"ports": found, "authority": authority.cert_pem.bytes().decode()}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(_serve(*map(int, sys.argv[1:])))
