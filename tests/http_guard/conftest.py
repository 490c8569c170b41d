"""Servers on loopback, a certificate authority, and exchanges that are closed when a test ends."""

import asyncio
import contextlib
import ssl

import httpx
import pytest
import trustme

from a2a_discovery._effects import Fetch
from a2a_discovery._http.exchange import Exchange
from a2a_discovery.policy import NetworkPolicy

PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


@pytest.fixture(autouse=True)
def no_environment_proxy(monkeypatch):
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def ca():
    return trustme.CA()


@pytest.fixture(scope="session")
def trusting(ca):
    """A client's TLS context that trusts the tests' certificate authority alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca.configure_trust(context)
    return context


@pytest.fixture
def server_context(ca):
    """A server's TLS context with one certificate for these hosts."""

    def make(*hosts):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert(*hosts).configure_cert(context)
        return context

    return make


@pytest.fixture
def http():
    """The bytes of an HTTP/1.1 answer."""

    def make(status=200, body=b"{}", length=True, **fields):
        head = [f"HTTP/1.1 {status} Some words"]
        head += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        if length:
            head.append(f"content-length: {len(body)}")
        return "\r\n".join([*head, "", ""]).encode() + body

    return make


@pytest.fixture
async def serve():
    """Start a raw server on loopback; ``talk`` gets each request's head and the writer, and its answer is sent."""
    async with contextlib.AsyncExitStack() as stack:
        open_ones = set()

        async def start(talk, *, tls=None, host="127.0.0.1"):
            async def connected(reader, writer):
                open_ones.add(writer)
                started.connections += 1
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
                    while True:
                        head = (await reader.readuntil(b"\r\n\r\n")).decode()
                        started.requests.append(head)
                        answer = await talk(head, reader, writer)
                        if answer is None:
                            break
                        writer.write(answer)
                        await writer.drain()
                started.ended()
                writer.transport.abort()

            server = await asyncio.start_server(connected, host, 0, ssl=tls)
            stack.push_async_callback(server.wait_closed)
            stack.callback(server.close)
            started = _Server(server.sockets[0].getsockname()[1])
            return started

        yield start
        for writer in open_ones:
            writer.transport.abort()
        await asyncio.sleep(0)


class _Server:
    def __init__(self, port):
        self.port = port
        self.requests = []
        self.connections = 0
        self.closed = 0
        self._change = asyncio.Event()

    def ended(self):
        self.closed += 1
        self._change.set()

    async def until_closed(self, number):
        """Wait until so many connections are closed."""
        async with asyncio.timeout(5):
            while self.closed < number:
                self._change.clear()
                await self._change.wait()


@pytest.fixture
async def exchange():
    """Make exchanges that are closed when the test ends. Their waits take no time, and are written down."""
    async with contextlib.AsyncExitStack() as stack:

        def make(network=None, *, transport=None, handler=None, **options):
            waits = []

            async def sleep(seconds):
                waits.append(seconds)

            transport = httpx.MockTransport(handler) if handler is not None else transport
            options = {"sleep": sleep, "jitter": lambda: 1.0, "clock": lambda: 1_000_000.0} | options
            made = Exchange(network or NetworkPolicy(), transport=transport, **options)
            made.waits = waits
            stack.push_async_callback(made.aclose)
            return made

        yield make


@pytest.fixture
def card():
    """A `Fetch` of a card, with these differences."""

    def make(url="https://shop.example/card.json", **options):
        return Fetch(**({"url": url, "kind": "card", "limit": 100_000} | options))

    return make
