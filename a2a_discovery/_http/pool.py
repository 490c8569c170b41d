"""Connections, kept by host name: two hosts on one address never share one."""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from a2a_discovery._hosts import ascii_host, is_loopback
from a2a_discovery._http.body import Chunks, Reply
from a2a_discovery._http.guard import GuardedBackend, target_of
from a2a_discovery._urls import Parts

if TYPE_CHECKING:
    from a2a_discovery.policy import NetworkPolicy

KEPT = 20
"""Idle connections kept: a walk and its keys reuse one or two, and every request looks at them all."""
KEPT_SECONDS = 10.0
"""How long an idle connection is kept: long enough for one line, shorter than servers keep theirs."""

_NAMES = (
    "ConnectError",
    "ConnectTimeout",
    "LocalProtocolError",
    "NetworkError",
    "PoolTimeout",
    "ProtocolError",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "TimeoutException",
    "UnsupportedProtocol",
    "WriteError",
    "WriteTimeout",
)
_EXCEPTIONS: dict[type, type[httpx.TransportError]] = {getattr(httpcore, name): getattr(httpx, name) for name in _NAMES}

Connection = httpcore.AsyncConnectionInterface


@functools.cache
def default_ssl_context() -> ssl.SSLContext:
    """One TLS context for the process: certifi's roots and the system's, where a company keeps its own.

    Made on first use: it costs about 40 ms. ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` replace both, as elsewhere.
    """
    context = httpx.create_ssl_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_default_certs()
    return context


class PooledTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over connections that all passed the guard, each used by one request at a time.

    It belongs to one event loop; close it there.

    httpcore's connections without httpcore's pool: that one loses track of a connection whose request is cancelled
    between being assigned and being sent.
    """

    def __init__(self, network: NetworkPolicy) -> None:
        self._network = network
        self._backend = GuardedBackend(network)
        self._proxy: httpcore.AsyncHTTPProxy | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept = _Kept()
        self._lifeline: AsyncGenerator[None, None] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the answer's stream gives the connection back when it is closed."""
        url = request.url
        answer, body = await self._send(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)

    async def get(self, parts: Parts, headers: list[tuple[bytes, bytes]], extensions: dict[str, Any]) -> Reply:
        """Send a GET without a detour over httpx's request and answer, which take the URL and the fields apart anew.

        Args:
            parts: a URL that was judged.
            headers: the fields, ``Host`` aside.
            extensions: as httpcore has them.
        """
        answer, body = await self._send(
            httpcore.Request(
                method=b"GET",
                url=httpcore.URL(
                    scheme=parts.scheme.encode(), host=parts.host.encode(), port=parts.own_port, target=target_of(parts)
                ),
                headers=[(b"Host", parts.authority.encode()), *headers],
                extensions=extensions,
            )
        )
        return Reply(status=answer.status, fields=_fields(answer.headers), stream=body, aclose=body.aclose)

    async def _send(self, sent: httpcore.Request) -> tuple[httpcore.Response, _Body]:
        origin = sent.url.origin
        kept = await self._here()
        while True:
            connection = await kept.take(origin)
            reused = connection is not None
            if connection is None:
                connection = self._create(origin)
                kept.busy.add(connection)
            try:
                answer = await connection.handle_async_request(sent)
            except BaseException as exc:  # noqa: BLE001  (cancelled or failed: the connection is ours to close)
                await kept.drop(connection)
                if reused and sent.method == b"GET" and isinstance(exc, _GONE):
                    continue  # the server closed it just as we took it: RFC 9112 section 9.5
                _translate(exc)
            return answer, _Body(answer, functools.partial(kept.give_back, origin, connection))

    async def aclose(self) -> None:
        """Close every connection, those in use too."""
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            await lifeline.aclose()
        await self._kept.aclose()

    async def _here(self) -> _Kept:
        """The connections of this event loop; those of another one are closed by it, when it ends."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._kept = loop, _Kept()
            self._lifeline = _until_shutdown(self._kept)
            await anext(self._lifeline)
        return self._kept

    def _create(self, origin: httpcore.Origin) -> Connection:
        network = self._network
        context = (network.ssl_context or default_ssl_context()) if origin.scheme == b"https" else None
        # Under local() this machine is reached from this machine, as a browser does it too.
        near = network.loopback and is_loopback(origin.host.decode("ascii"))
        if network.proxy is not None and not near:
            self._proxy = self._proxy or _open_proxy(network, network.proxy)
            return self._proxy.create_connection(origin)
        return httpcore.AsyncHTTPConnection(
            origin, ssl_context=context, keepalive_expiry=KEPT_SECONDS, network_backend=self._backend
        )


class _Kept:
    """The open connections of one event loop: idle ones by origin, latest last, and those in use."""

    def __init__(self) -> None:
        self.idle: list[tuple[httpcore.Origin, Connection]] = []
        self.busy: set[Connection] = set()
        self.closed = False

    async def take(self, origin: httpcore.Origin) -> Connection | None:
        gone = [entry for entry in self.idle if entry[1].has_expired() or not entry[1].is_available()]
        for entry in gone:
            self.idle.remove(entry)
        found = next((entry for entry in reversed(self.idle) if entry[0] == origin), None)
        if found is not None:
            self.idle.remove(found)
            self.busy.add(found[1])
        for _, connection in gone:
            await connection.aclose()
        return None if found is None else found[1]

    async def give_back(self, origin: httpcore.Origin, connection: Connection) -> None:
        if self.closed or not connection.is_idle():
            await self.drop(connection)
            return
        self.busy.discard(connection)
        self.idle.append((origin, connection))
        if len(self.idle) > KEPT:
            await self.idle.pop(0)[1].aclose()

    async def drop(self, connection: Connection) -> None:
        self.busy.discard(connection)
        await connection.aclose()

    async def aclose(self) -> None:
        self.closed = True
        open_ones = [connection for _, connection in self.idle] + list(self.busy)
        self.idle.clear()
        self.busy.clear()
        for connection in open_ones:
            await connection.aclose()


async def _until_shutdown(kept: _Kept) -> AsyncGenerator[None, None]:
    # An event loop that ends closes its asynchronous generators, and one that is forgotten is closed by its loop: so a
    # caller who never says aclose() leaves no socket open.
    try:
        yield
    finally:
        await kept.aclose()


_GONE = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class _Body(httpx.AsyncByteStream):
    """The raw body of one answer."""

    def __init__(self, answer: httpcore.Response, give_back: Callable[[], Awaitable[None]]) -> None:
        self._answer = answer
        self._give_back = give_back
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            assert isinstance(self._answer.stream, AsyncIterable)  # noqa: S101  (an async connection answered)
            async with Chunks(self._answer.stream) as parts:
                async for part in parts:
                    yield part
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as exc:
            _translate(exc)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._answer.aclose()
        finally:
            await self._give_back()


def _fields(raw: list[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    try:
        return tuple((name.decode("ascii").lower(), value.decode("ascii")) for name, value in raw)
    except UnicodeDecodeError:
        return tuple(httpx.Headers(raw).multi_items())


def _translate(exc: BaseException) -> NoReturn:
    for kind in type(exc).__mro__:
        if kind in _EXCEPTIONS:
            raise _EXCEPTIONS[kind](str(exc)) from exc
    raise exc


def _open_proxy(network: NetworkPolicy, url: str) -> httpcore.AsyncHTTPProxy:
    parts = urlsplit(url)
    user, password = parts.username, parts.password
    context = network.ssl_context or default_ssl_context()
    return httpcore.AsyncHTTPProxy(
        httpcore.URL(
            scheme=parts.scheme,
            host=ascii_host(parts.hostname or ""),
            port=parts.port or (443 if parts.scheme == "https" else 80),
            target="/",
        ),
        proxy_auth=None if user is None else (unquote(user).encode(), unquote(password or "").encode()),
        ssl_context=context,
        proxy_ssl_context=context if parts.scheme == "https" else None,
        keepalive_expiry=KEPT_SECONDS,
        network_backend=GuardedBackend(network, guarded=False),
    )
