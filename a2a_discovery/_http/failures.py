"""What went wrong on the network, as one of our errors: the code says who has to act."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx

from a2a_discovery._http.guard import HandshakeError, ResolveError, shown
from a2a_discovery.errors import FetchError

if TYPE_CHECKING:
    from a2a_discovery.policy import NetworkPolicy

_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
_REFUSED = {
    errno.ECONNREFUSED: "nobody listens there",
    errno.ENETUNREACH: "the network is unreachable",
    errno.EHOSTUNREACH: "the host is unreachable",
    errno.ECONNRESET: "the connection was reset",
}


def failure(exc: Exception, url: str, network: NetworkPolicy, *, sockets: bool) -> FetchError:
    """The error of ours that a failure on the network becomes.

    Args:
        exc: what httpx, httpcore or the system raised.
        url: the hop it happened at.
        network: the policy in force.
        sockets: the sockets were ours, not those of a caller's transport.
    """
    code, reason = _read(exc)
    return FetchError(
        code,
        f"{shown(url)} could not be fetched: {reason}",
        url=url,
        step="fetch",
        hint=_hint(code, network, sockets=sockets),
    )


def unused_proxy() -> str | None:
    """The hint for a machine whose environment names a proxy, which we don't use unless told."""
    named = next((name for name in _PROXY_VARIABLES if os.environ.get(name)), None)
    return named and f"{named} is set, and the environment's proxies are not used: network=NetworkPolicy(proxy=...)"


def unconnected(exc: Exception) -> bool:
    """Whether no connection was made, so that asking again changes nothing at the server's."""
    return isinstance(exc, (httpx.ConnectError, httpx.ConnectTimeout)) and _read(exc)[0] == "connect"


def _read(exc: Exception) -> tuple[str, str]:
    causes = list(_causes(exc))
    for each in causes:
        if isinstance(each, (ResolveError, socket.gaierror)):
            return "dns", "its name does not resolve"
        if isinstance(each, ssl.SSLCertVerificationError):
            return "tls", f"its certificate is not accepted ({each.verify_message.rstrip('.')})"
    for each in causes:
        if isinstance(each, (HandshakeError, ssl.SSLError)):
            return "tls", "TLS failed"
    if isinstance(exc, httpx.ProxyError):
        return "connect", f"the proxy refused it ({_status(exc)})"
    if isinstance(exc, (httpx.ConnectError, httpx.ConnectTimeout)):
        return "connect", f"no connection ({_system(causes)})"
    if isinstance(exc, httpx.TimeoutException):
        return "timeout", "no answer in time"
    if isinstance(exc, (httpx.NetworkError, OSError)):
        return "connect", "the connection broke off"
    return "protocol", "the answer is no HTTP that can be read"


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def _system(causes: list[BaseException]) -> str:
    numbers = (each.errno for each in causes if isinstance(each, OSError))
    return next((_REFUSED[number] for number in numbers if number in _REFUSED), "no address answered")


def _status(exc: httpx.ProxyError) -> str:
    status = str(exc)[:3]  # the words after it are the proxy's
    return status if status.isdecimal() else "no reason given"


def _hint(code: str, network: NetworkPolicy, *, sockets: bool) -> str | None:
    if code in ("connect", "dns") and sockets and network.proxy is None:
        return unused_proxy()
    if code == "tls" and sockets and network.ssl_context is None:
        return "for a private CA: network=NetworkPolicy(ssl_context=ssl.create_default_context(cafile=...))"
    return None
