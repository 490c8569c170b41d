"""How fake agents are reached: as an httpx transport without sockets, or on a real loopback port."""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from a2a_discovery._hosts import ascii_host, is_loopback
from a2a_discovery.policy import NetworkPolicy
from a2a_discovery.testing import _server
from a2a_discovery.testing._reply import Reply, Request, chunks

if TYPE_CHECKING:
    import trustme

    from a2a_discovery.testing._agent import FakeAgent


class FakeNetwork(httpx.AsyncBaseTransport):
    """Several agents on one transport, each under its own host; any other host is a `httpx.ConnectError`.

    Args:
        agents: the agents; their ``url`` tells them apart.
    """

    def __init__(self, *agents: FakeAgent) -> None:
        self.agents = agents
        self._by_origin = {agent.url: agent for agent in agents}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer httpx, without a socket."""
        url = request.url
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        agent = self._by_origin.get(origin)
        if agent is None:
            raise httpx.ConnectError(f"no fake agent at {origin}", request=request)
        headers: dict[str, str] = {}
        for name, value in request.headers.multi_items():
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        arrived = Request(method=request.method, url=str(url), headers=headers, body=await request.aread())
        reply = await agent.answer(arrived)
        if reply.drop and not reply.body:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        fields = [(name, value) for name, value in reply.headers.items() if value is not None]
        return httpx.Response(reply.status, headers=fields, stream=_Stream(reply, request))

    def serve(self, *, tls: bool = True) -> AbstractAsyncContextManager[Running]:
        """Serve all of them on one loopback port, each under its own host name: `Running.network` resolves them."""
        return serve({agent.host: agent for agent in self.agents}, tls=tls)

    def serve_in_thread(self, *, tls: bool = True) -> AbstractContextManager[Running]:
        """The same for code without asyncio: served by a thread of its own."""
        return serve_in_thread({agent.host: agent for agent in self.agents}, tls=tls)


class _Stream(httpx.AsyncByteStream):
    def __init__(self, reply: Reply, request: httpx.Request) -> None:
        self._reply = reply
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in chunks(self._reply.body):
            yield chunk
        if self._reply.drop:
            raise httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body", request=self._request
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Where agents are served."""

    url: str
    """Origin of the first agent, ``https://localhost:PORT``."""
    host: str
    port: int
    network: NetworkPolicy
    """The policy by which ``discover`` reaches it: loopback is allowed, the names resolve, the authority is trusted."""
    ca: trustme.CA | None = field(default=None, repr=False)
    """The private authority (``ca.cert_pem.write_to_path(...)``), one for the whole process; ``None`` without TLS."""
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False)
    """A client's context that trusts the authority and nobody else; ``None`` without TLS."""


@asynccontextmanager
async def serve(agents: Mapping[str, FakeAgent], *, tls: bool) -> AsyncIterator[Running]:
    """Serve agents under host names, on one free port of 127.0.0.1."""
    scheme = "https" if tls else "http"
    first = next(iter(agents))
    server_tls, client_tls = _contexts(*agents) if tls else (None, None)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    places = {agent.url: f"{scheme}://{name}:{port}" for name, agent in agents.items()}

    async def answer(request: Request) -> Reply:
        agent = agents.get(request.host)
        if agent is None and len(agents) > 1:
            return Reply.text("Misdirected Request", status=421)
        return await (agent or agents[first]).answer(request, places=places)

    async with _server.listening(answer, listener, scheme=scheme, tls=server_tls):
        yield Running(
            url=f"{scheme}://{first}:{port}",
            host=first,
            port=port,
            network=_policy(tuple(agents), client_tls),
            ca=_authority() if tls else None,
            ssl_context=client_tls,
        )


@contextmanager
def serve_in_thread(agents: Mapping[str, FakeAgent], *, tls: bool) -> Iterator[Running]:
    """`serve`, on a thread with an event loop of its own."""
    started = threading.Event()
    running: list[Running] = []
    failed: list[BaseException] = []
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        stopped = asyncio.Event()
        async with serve(agents, tls=tls) as here:
            running.append(here)
            stop.append((asyncio.get_running_loop(), stopped))
            started.set()
            await stopped.wait()

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as exc:  # noqa: BLE001  (it is raised again where somebody waits for it)
            failed.append(exc)
        finally:
            started.set()

    thread = threading.Thread(target=run, name="a2a-fake-agent", daemon=True)
    thread.start()
    started.wait()
    try:
        if failed:
            raise failed[0]
        yield running[0]
    finally:
        for loop, stopped in stop:
            loop.call_soon_threadsafe(stopped.set)
        thread.join()


def _policy(names: tuple[str, ...], client_tls: ssl.SSLContext | None) -> NetworkPolicy:
    if all(map(is_loopback, names)):
        return NetworkPolicy.local(ssl_context=client_tls)

    async def resolve(host: str, port: int) -> list[str]:
        if ascii_host(host) in names:
            return ["127.0.0.1"]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    return NetworkPolicy(allow_private=True, allow_http=client_tls is None, resolve=resolve, ssl_context=client_tls)


def _contexts(first: str, *others: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    ca = _authority()

    def issued(*names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert(*dict.fromkeys(names)).configure_cert(context)
        return context

    server = issued(first, "localhost", "127.0.0.1")
    if others:  # each host has its own certificate, made when somebody asks for it
        own = functools.cache(issued)

        def choose(connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name in others:
                connection.context = own(name)

        server.sni_callback = choose
    return server, ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())


@functools.cache
def _authority() -> trustme.CA:
    try:
        import trustme
    except ImportError:
        raise ImportError(
            'serving a FakeAgent with TLS needs trustme: pip install "a2a_discovery[testing]" (or serve(tls=False))'
        ) from None
    return trustme.CA(organization_name="a2a_discovery.testing")
