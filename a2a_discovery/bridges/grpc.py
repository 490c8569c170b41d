"""gRPC, guarded: every name resolved and judged by us, TLS always, credentials as metadata. Extra: ``a2a``.

gRPC would resolve the name itself, and again whenever it reconnects: the channel is given the addresses that we judged,
and the name for TLS beside them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from a2a_discovery._effects import Fetched, Invoke
from a2a_discovery._extended import grpc_url
from a2a_discovery._http.failures import failure
from a2a_discovery._http.guard import GuardedBackend, check_url
from a2a_discovery._http.pool import default_ssl_context
from a2a_discovery._urls import Parts
from a2a_discovery.errors import BlockedError, FetchError, UsageError

if TYPE_CHECKING:
    from a2a_discovery._auth import BoundAuth
    from a2a_discovery.policy import NetworkPolicy

# What each status is in HTTP, for the one place that reads refusals: google.rpc.Code.
_HTTP = {
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "UNIMPLEMENTED": 501,
    "NOT_FOUND": 404,
    "FAILED_PRECONDITION": 400,
    "INVALID_ARGUMENT": 400,
    "INTERNAL": 500,
    "UNKNOWN": 500,
}
_NEW = "/lf.a2a.v1.A2AService/GetExtendedAgentCard"
_OLD = "/a2a.v1.A2AService/GetAgentCard"


def check_target(target: str, network: NetworkPolicy, *, local: bool) -> Parts:
    """Judge a gRPC target: ``host:port``, ``dns:///host:port`` or an https URL without a path, and nothing else.

    Raises:
        BlockedError: ``scheme``, ``host`` or ``address``.
    """
    url, hint = grpc_url(target), "host:port, dns:///host:port or https://host"
    if not url.lower().startswith("https://"):
        raise BlockedError("scheme", "gRPC is spoken over TLS alone", step="extend", hint=hint)
    parts = check_url(url, network, local=local)
    if parts.path not in ("", "/") or parts.query:
        raise BlockedError("host", "a gRPC target has no path", url=parts.origin, step="extend", hint=hint)
    return parts


async def open_channel(
    target: str, network: NetworkPolicy, *, local: bool, auth: BoundAuth | None, headers: Mapping[str, str]
) -> grpc.aio.Channel:
    """A channel to a target's judged addresses, and to no other.

    Args:
        target: as the card names it.
        network: where connections may go.
        local: the card came from loopback.
        auth: the credentials; every call carries them as metadata.
        headers: further metadata.

    Raises:
        BlockedError: the policy forbids it.
        FetchError: ``dns``, or a proxy is in force.
    """
    if network.proxy is not None:
        raise UsageError(
            "bad-config", "gRPC is not sent through a proxy", hint='prefer another binding: bindings=("JSONRPC",)'
        )
    parts = check_target(target, network, local=local)
    port = parts.port or 443
    try:
        async with asyncio.timeout(network.timeout):
            addresses = await GuardedBackend(network).addresses(parts.host, port)
    except (TimeoutError, OSError) as exc:
        raise FetchError("timeout", f"{parts.host} did not resolve in time", url=parts.origin, step="extend") from exc
    except BlockedError:
        raise
    except Exception as exc:
        raise failure(exc, parts.origin, network, sockets=True) from exc
    options = [
        ("grpc.ssl_target_name_override", parts.host),
        ("grpc.default_authority", parts.authority),
        ("grpc.enable_http_proxy", 0),  # the environment's proxies are not used
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.use_local_subchannel_pool", 1),  # two hosts on one address must not share a connection
    ]
    given = {name.lower(): value for name, value in headers.items()}
    interceptors = [_Unary(auth, parts.origin, given), _Streaming(auth, parts.origin, given)]
    return grpc.aio.secure_channel(
        _addressed(addresses, port), _tls(network.ssl_context), options=options, interceptors=interceptors
    )


def _addressed(addresses: Any, port: int) -> str:
    """The addresses as gRPC writes them: those of the first one's family."""
    version = addresses[0].version
    same = [each for each in addresses if each.version == version]
    if version == 6:
        return "ipv6:" + ",".join(f"[{ipaddress.ip_address(each)}]:{port}" for each in same)
    return "ipv4:" + ",".join(f"{each}:{port}" for each in same)


def _tls(context: ssl.SSLContext | None) -> grpc.ChannelCredentials:
    """GRPC takes no context, so it is given the authorities of one."""
    roots = (context or default_ssl_context()).get_ca_certs(binary_form=True)
    pem = "".join(ssl.DER_cert_to_PEM_cert(each) for each in roots)
    return grpc.ssl_channel_credentials(root_certificates=pem.encode() or None)


class _Metadata:
    """Adds the credentials and the service parameters to each call, and asks once more after UNAUTHENTICATED."""

    def __init__(self, auth: BoundAuth | None, origin: str, headers: Mapping[str, str]) -> None:
        self._auth = auth
        self._origin = origin
        self._headers = headers

    async def details(self, details: grpc.aio.ClientCallDetails, refused: Any = ()) -> grpc.aio.ClientCallDetails:
        """The call's own metadata, the service parameters, and the credentials: other ones than were refused."""
        given = list(details.metadata or ())
        named = {name for name, _ in given}
        given += [(name, value) for name, value in self._headers.items() if name not in named]
        if self._auth is not None:
            fields = await self._auth.fields(self._origin, refused=refused)
            given += [(name.lower(), value) for name, value in fields]
        return details._replace(metadata=grpc.aio.Metadata(*given))


class _Unary(_Metadata, grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]  # grpc has no types
    async def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        """One call, or two."""
        first = await self.details(details)
        call = await continuation(first, request)
        if self._auth is None or not self._auth.renewable or await call.code() != grpc.StatusCode.UNAUTHENTICATED:
            return call
        sent = [each for each in first.metadata or () if each[0] == "authorization"]
        return await continuation(await self.details(details, sent), request)


class _Streaming(_Metadata, grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[misc]
    async def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        """One call."""
        return await continuation(await self.details(details), request)


async def get_extended_card(call: Invoke, network: NetworkPolicy) -> Fetched:
    """The extended card over gRPC, as an answer in JSON; a refusal as HTTP+JSON would spell it.

    Raises:
        BlockedError, FetchError, AuthError, UsageError: as `open_channel`.
    """
    from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
    from a2a.types import a2a_pb2 as new
    from google.protobuf.json_format import MessageToJson

    legacy = call.version.startswith("0.")
    request = old.GetAgentCardRequest() if legacy else new.GetExtendedAgentCardRequest(tenant=call.tenant)
    reply = old.AgentCard if legacy else new.AgentCard
    channel = await open_channel(call.target, network, local=call.local, auth=call.auth, headers=dict(call.headers))
    parts = check_target(call.target, network, local=call.local)
    url = parts.origin
    async with channel:
        method = channel.unary_unary(
            _OLD if legacy else _NEW,
            request_serializer=type(request).SerializeToString,
            response_deserializer=lambda data: _bounded(data, call.limit, reply),
        )
        try:
            card = await method(request, timeout=network.timeout)
        except grpc.aio.AioRpcError as exc:
            return _refused(exc, call.target, url, network)
    if card is None:
        raise FetchError(
            "too-large", f"the card is larger than the limit of {call.limit} bytes", url=url, step="extend"
        )
    return _fetched(call.target, url, 200, MessageToJson(card).encode())


def _bounded(data: bytes, limit: int, kind: Any) -> Any:
    return kind.FromString(data) if len(data) <= limit else None


def _fetched(requested: str, url: str, status: int, body: bytes) -> Fetched:
    return Fetched(requested=requested, url=url, status=status, headers={}, body=body, channel="tls")


def _refused(exc: grpc.aio.AioRpcError, target: str, url: str, network: NetworkPolicy) -> Fetched:
    """A gRPC status as the HTTP+JSON binding writes it (A2A sections 10.6 and 11.6).

    Raises:
        FetchError: ``connect``, ``timeout``, ``too-large``.
    """
    name = exc.code().name
    if name == "DEADLINE_EXCEEDED":
        raise FetchError("timeout", f"{url} did not answer within {network.timeout:g} s", url=url, step="extend")
    if name == "UNAVAILABLE":
        tls = any(word in str(exc.details()) for word in ("SSL", "TLS", "handshake", "certificate"))
        raise FetchError("tls" if tls else "connect", f"no gRPC connection to {url}", url=url, step="extend")
    if name == "RESOURCE_EXHAUSTED":
        raise FetchError("too-large", f"{url} says that something is exhausted", url=url, step="extend")
    error = {"code": _HTTP.get(name, 500), "status": name, "details": [{"reason": each} for each in _reasons(exc)]}
    return _fetched(target, url, _HTTP.get(name, 500), json.dumps({"error": error}).encode())


def _reasons(exc: grpc.aio.AioRpcError) -> list[str]:
    """The reasons of the ErrorInfo details; for 0.3 the name of the error before the colon."""
    from a2a.utils.grpc_status import status_from_call
    from google.rpc import error_details_pb2

    found = []
    try:
        status = status_from_call(exc)
    except ValueError:  # details that contradict the status
        status = None
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Is(info.DESCRIPTOR) and detail.Unpack(info):
            found.append(info.reason)
    head = str(exc.details() or "").partition(":")[0]
    old = {
        "ExtendedAgentCardNotConfiguredError": "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "AuthenticatedExtendedCardNotConfiguredError": "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "UnsupportedOperationError": "UNSUPPORTED_OPERATION",
        "VersionNotSupportedError": "VERSION_NOT_SUPPORTED",
    }
    return [*found, *([old[head]] if head in old else [])]
