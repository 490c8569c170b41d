"""Where a connection may go: rules on the URL first, then on every address its name stands for.

What a card, a catalog or a redirect names is a stranger's data, so each URL passes `check_url`, and each connection is
opened by `GuardedBackend`: it resolves the name once, judges all the addresses, and connects to one of those it judged.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import re
import select
import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from a2a_discovery._hosts import Address, address_kind, is_loopback, literal
from a2a_discovery._urls import PLAIN_PATH, Parts, split, without_userinfo
from a2a_discovery.errors import BlockedError

if TYPE_CHECKING:
    from a2a_discovery.policy import NetworkPolicy

_LOCAL_HINT = "for development: network=NetworkPolicy.local()"
_TYPED_HINT = "only a target you type, or a document from loopback, may lead there"
_WRITTEN_HINT = "this machine is reached as localhost, or by the address itself"
_PRIVATE_HINT = "if you mean it: network=NetworkPolicy(allow_private=True)"
_NEVER_HINT = "no setting opens it"
# Development servers listen on IPv4 more often than on IPv6.
_LOCALHOST = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))
_KINDS = {
    "loopback": ("loopback", _PRIVATE_HINT),
    "private": ("private", _PRIVATE_HINT),
    "wildcard": ("wildcard", _NEVER_HINT),
    "forbidden": ("link-local, metadata, multicast, tunnel or reserved", _NEVER_HINT),
}
_SHOWN = 100
"""Characters of a stranger's URL or host that a message repeats."""
# Nothing in it is to be quoted, and no `.` or `..` to be resolved: it is sent as it stands.
_PLAIN_PATH = re.compile(rf"{PLAIN_PATH}\Z")
_DOTS = re.compile(r"/\.{1,2}(?:/|\Z)")
_REMEMBERED = 256
"""URLs that are kept as they are sent: what is asked for again and again is a card that is never fresh."""
_LONG = 1024
"""The longest of them, in characters."""


class ResolveError(httpcore.ConnectError):
    """The name has no address."""


class HandshakeError(httpcore.ConnectError):
    """The connection was made, TLS was not."""


def shown(url: str) -> str:
    """A URL as it may stand in a message: no userinfo, no control characters, not endless."""
    url = without_userinfo(url)
    return repr(url if len(url) <= _SHOWN else f"{url[:_SHOWN]}...")


def check_url(url: str, network: NetworkPolicy, *, local: bool) -> Parts:
    """Judge a URL by what is written in it: scheme, userinfo, literal addresses, ``localhost`` names.

    Args:
        url: the absolute URL to fetch.
        network: the policy in force.
        local: the caller typed it, or a document from loopback named it; under ``NetworkPolicy.local()`` it may then
            be on loopback.

    Returns:
        The URL taken apart, its host in ASCII form.

    Raises:
        BlockedError: ``scheme``, ``host`` or ``address``.
    """
    try:
        parts = split(url)
    except ValueError:  # its text may repeat the URL, a password included
        raise BlockedError("host", f"{shown(url)} names no host that can be asked", hint="check the URL") from None
    if parts.userinfo:
        raise _blocked(
            parts, "host", "it carries a user name or password", "pass credentials=, not a URL with userinfo"
        )
    if parts.scheme not in ("http", "https"):
        raise _blocked(parts, "scheme", "only https is fetched", "use an https URL")
    if is_loopback(parts.host):
        if network.loopback and local:
            return parts
        if not network.allow_private:
            raise _no_loopback(parts, network)
    check_address(parts.host, literal(parts.host), network)
    if parts.scheme == "http" and not network.allow_http:
        raise _blocked(
            parts, "scheme", "plain http is not fetched", "use https, or network=NetworkPolicy(allow_http=True)"
        )
    return parts


def request_url(parts: Parts) -> httpx.URL:
    """The URL as it is sent, held to the reading that was judged.

    Raises:
        BlockedError: ``host``, where httpx reads another host or port out of it than we did.
    """
    return _request_url(parts) if len(parts.path) + len(parts.query) > _LONG else _request_url_before(parts)


def target_of(parts: Parts) -> bytes:
    """Path and query as they are sent.

    Raises:
        BlockedError: as `request_url`.
    """
    if _PLAIN_PATH.match(parts.path) and not parts.query and not _DOTS.search(parts.path):
        return (parts.path or "/").encode()
    return request_url(parts).raw_path


def _request_url(parts: Parts) -> httpx.URL:
    try:
        url = httpx.URL(parts.normal)
        same = url.raw_host.decode("ascii") == parts.host and (url.port or _default(url.scheme)) == parts.port
    except (httpx.InvalidURL, UnicodeDecodeError):
        same = False
    if not same:
        raise BlockedError("host", f"{shown(parts.normal)} can be read in two ways", hint="check the URL")
    return url


_request_url_before = functools.lru_cache(maxsize=_REMEMBERED)(_request_url)


def check_address(host: str, address: Address | None, network: NetworkPolicy, *, loopback: bool = False) -> None:
    """Judge one address; ``None`` passes, for a host that is a name.

    Args:
        host: what was asked for, for the message.
        address: what it is, or stands for.
        network: the policy in force.
        loopback: loopback is allowed here.

    Raises:
        BlockedError: ``address``.
    """
    kind = "public" if address is None else address_kind(address)
    if kind == "public" or (network.allow_private and kind in ("private", "loopback")):
        return
    if loopback and kind == "loopback":
        return
    words, hint = _KINDS[kind]
    if kind == "loopback" and network.loopback:
        hint = _WRITTEN_HINT
    what = f"{host} is" if str(address) == host else f"{host} stands for {address},"
    raise BlockedError("address", f"{what} a {words} address, which is blocked", hint=hint, address=str(address))


def _default(scheme: str) -> int:
    return 80 if scheme == "http" else 443


def _blocked(parts: Parts, code: str, reason: str, hint: str) -> BlockedError:
    return BlockedError(code, f"{shown(parts.normal)} is blocked: {reason}", url=parts.normal, hint=hint)


def _no_loopback(parts: Parts, network: NetworkPolicy) -> BlockedError:
    hint = _TYPED_HINT if network.loopback else _LOCAL_HINT
    address = str(literal(parts.host) or _LOCALHOST[0])
    message = f"{parts.authority} is this machine ({address}, a loopback address), which is blocked"
    return BlockedError("address", message, url=parts.normal, hint=hint, address=address)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to addresses it judged itself, and to no other.

    Args:
        network: the policy in force.
        guarded: ``False`` for the way to the caller's own proxy, which may be anywhere.
    """

    def __init__(self, network: NetworkPolicy, *, guarded: bool = True) -> None:
        self._network = network
        self._guarded = guarded
        self._sockets = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's signature)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, judge every address, connect to the first that answers."""
        addresses = await self.addresses(host, port)
        clock = asyncio.get_running_loop().time
        deadline = None if timeout is None else clock() + timeout
        failure: Exception | None = None
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            # A first address that swallows packets must leave time for the others.
            share = None if deadline is None else max(deadline - clock(), 0.001) / left
            try:
                stream = await self._sockets.connect_tcp(str(address), port, timeout=share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as exc:
                failure = exc
            else:
                return GuardedStream(stream)
        raise httpcore.ConnectError(f"no connection to {host}, port {port}") from failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Never: a card names hosts, not files."""
        raise httpcore.ConnectError("no sockets in the file system")

    async def sleep(self, seconds: float) -> None:
        """Wait, for httpcore's own retries, which are off."""
        await asyncio.sleep(seconds)

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """The addresses of a host, each of them judged.

        Raises:
            BlockedError: ``address``.
            ResolveError: it has none.
        """
        address = literal(host)
        if address is not None:
            addresses: Sequence[Address] = (address,)
        elif is_loopback(host):
            addresses = _LOCALHOST  # no resolver is asked what localhost is
        else:
            addresses = await _resolve(host, port, self._network)
        if self._guarded:
            # A name that resolves to loopback stays blocked under local(): only the written form reaches it.
            written = is_loopback(host) and self._network.loopback
            for each in addresses:
                check_address(host, each, self._network, loopback=written)
        return addresses


async def _resolve(host: str, port: int, network: NetworkPolicy) -> list[Address]:
    try:
        if network.resolve is not None:
            found = await network.resolve(host, port)
        else:
            loop = asyncio.get_running_loop()
            found = [str(entry[4][0]) for entry in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        # A scope id says which interface, and only link-local addresses have one.
        addresses = [ipaddress.ip_address(each.partition("%")[0]) for each in dict.fromkeys(found)]
    except Exception as exc:  # the caller's function: whatever it raises, there is no address
        raise ResolveError(f"no address for {host}") from exc
    if not addresses:
        raise ResolveError(f"no address for {host}")
    return addresses


class GuardedStream(httpcore.AsyncNetworkStream):
    """A connection whose failures are all httpcore's, and which a cancelled handshake doesn't leave open."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Read some bytes."""
        try:
            return await self._stream.read(max_bytes, timeout)
        except OSError as exc:  # ssl.SSLError too: a server that wants a client certificate says so here
            raise httpcore.ReadError(str(exc)) from exc

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Write all of the bytes."""
        try:
            await self._stream.write(buffer, timeout)
        except OSError as exc:
            raise httpcore.WriteError(str(exc)) from exc

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        """Shake hands; the name to be proven is the host's, whatever address it has."""
        try:
            return GuardedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))
        except (httpcore.ConnectError, OSError, ValueError) as exc:  # ValueError: a name that TLS cannot carry
            await self._stream.aclose()
            raise HandshakeError("the TLS handshake failed") from exc
        except BaseException:
            await self._stream.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about the connection."""
        if info == "is_readable":  # of each idle connection before each request
            return _is_readable(self._socket)
        return self._stream.get_extra_info(info)

    @functools.cached_property
    def _socket(self) -> Any:
        # Kept: to look it up, anyio collects all that it knows about the socket, which costs more than to look at it.
        return self._stream.get_extra_info("socket")


def _is_readable(sock: Any) -> bool:
    """Whether something is there to read, the end included; of a closed socket too."""
    number = -1 if sock is None else sock.fileno()
    if number < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))
