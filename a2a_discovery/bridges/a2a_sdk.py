"""The official SDK: its protobuf card, and a client of it that is bound to one interface. Extra: ``a2a``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from a2a_discovery._select import fold_binding, major_minor
from a2a_discovery.errors import InterfaceError, UsageError

if TYPE_CHECKING:
    from a2a.client import Client
    from a2a.client.client import ClientConfig
    from a2a.types import AgentCard as ProtoCard

    from a2a_discovery._auth import BoundAuth
    from a2a_discovery._card.model import AgentCard, AgentInterface, OAuthFlows
    from a2a_discovery.policy import NetworkPolicy

# One scheme of the SDK has one flow. The first of these is the scheme's own, the others become schemes beside it.
_FLOWS = ("authorization_code", "device_code", "client_credentials", "implicit", "password")


def missing() -> UsageError:
    """The error where the SDK is not installed."""
    return UsageError(
        "bad-config", "handing over to the official SDK needs a2a-sdk", hint='pip install "a2a_discovery[a2a]"'
    )


def to_proto(card: AgentCard, interfaces: Sequence[AgentInterface]) -> ProtoCard:
    """The card as the SDK's protobuf message, without signatures.

    Args:
        card: the card.
        interfaces: the ones to name, first the one to call.

    Raises:
        UsageError: ``bad-config``, where the SDK is not installed.
    """
    try:
        from a2a.types import AgentCard as ProtoCard
        from google.protobuf.json_format import ParseDict
    except ImportError:
        raise missing() from None
    document = _plain(card)
    document.pop("signatures", None)
    document["supportedInterfaces"] = [
        {
            "url": each.url,
            "protocolBinding": fold_binding(each.protocol_binding),
            "protocolVersion": major_minor(each.protocol_version) or each.protocol_version,
            "tenant": each.tenant,
        }
        for each in interfaces
    ]
    _one_flow_each(card, document)
    proto = ProtoCard()
    ParseDict(document, proto, ignore_unknown_fields=True)
    return proto


def _plain(value: Any) -> Any:
    """A model as plain JSON: what the specification knows, under its names, absent members left out."""
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        members = {(each.alias or name): getattr(value, name) for name, each in fields.items()}
        return {name: _plain(each) for name, each in members.items() if each is not None}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _one_flow_each(card: AgentCard, document: dict[str, Any]) -> None:
    """Several flows of one scheme, which only other generations of cards have, as several schemes."""
    others: dict[str, list[str]] = {}
    schemes: dict[str, Any] = document.get("securitySchemes", {})
    for name, scheme in card.security_schemes.items():
        if scheme.kind is None:
            schemes[name] = {}  # of no known kind, or of two: nothing that could be followed
        if scheme.oauth2_security_scheme is None or scheme.kind is None:
            continue
        names, oauth = _flow_names(scheme.oauth2_security_scheme.flows), schemes[name]["oauth2SecurityScheme"]
        flows = oauth["flows"]
        oauth["flows"] = {each: flows[each] for each in names[:1]}
        for each in names[1:]:
            schemes[f"{name}#{each}"] = {"oauth2SecurityScheme": {**oauth, "flows": {each: flows[each]}}}
            others.setdefault(name, []).append(f"{name}#{each}")
    for place in (document, *document.get("skills", ())):
        wanted = place.get("securityRequirements", [])
        place["securityRequirements"] = [one for each in wanted for one in _alternatives(each, others)]


def _flow_names(flows: OAuthFlows) -> list[str]:
    fields = type(flows).model_fields
    return [fields[name].alias or name for name in _FLOWS if getattr(flows, name) is not None]


def _alternatives(requirement: dict[str, Any], others: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """A requirement, and the same by each other flow."""
    found, schemes = [requirement], requirement.get("schemes", {})
    for name in schemes:
        for other in others.get(name, ()):
            renamed = {(other if each == name else each): scopes for each, scopes in schemes.items()}
            found.append({"schemes": renamed})
    return found


def speaks_http(interface: AgentInterface) -> bool:
    """Whether an interface is called over HTTP by the SDK; gRPC is the other way.

    Raises:
        InterfaceError: ``no-usable-interface``, for a binding that the SDK does not speak.
    """
    binding = fold_binding(interface.protocol_binding)
    if binding in ("JSONRPC", "HTTP+JSON"):
        return True
    if binding == "GRPC":
        return False
    raise InterfaceError(
        "no-usable-interface", "the official SDK does not speak the binding of this interface", step="extend"
    )


def http_client(
    card: AgentCard,
    interface: AgentInterface,
    *,
    transport: httpx.AsyncBaseTransport,
    headers: Mapping[str, str],
    timeout: tuple[float, float],
    streaming: bool,
) -> Client:
    """A client over JSON-RPC or HTTP+JSON. It owns its connections.

    Args:
        card: the card.
        interface: the one to call.
        transport: guarded, and with the credentials.
        headers: what each call must carry.
        timeout: seconds to connect, and seconds of silence.
        streaming: let messages be answered as a stream.

    Raises:
        UsageError: ``bad-config``, where the SDK is not installed.
    """
    try:
        from a2a.client.transports.jsonrpc import JsonRpcTransport
        from a2a.client.transports.rest import RestTransport
        from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
        from a2a.compat.v0_3.rest_transport import CompatRestTransport
    except ImportError:
        raise missing() from None
    rpc = fold_binding(interface.protocol_binding) == "JSONRPC"
    kind: Any = JsonRpcTransport if rpc else RestTransport
    if _legacy(interface):
        kind = CompatJsonRpcTransport if rpc else CompatRestTransport
    client = httpx.AsyncClient(
        transport=transport,
        headers=dict(headers),
        timeout=httpx.Timeout(timeout[1], connect=timeout[0], pool=timeout[0]),
        trust_env=False,
    )
    proto = to_proto(card, (interface,))
    return _client(proto, interface, streaming, lambda: kind(client, proto, interface.url))


async def grpc_client(
    card: AgentCard,
    interface: AgentInterface,
    *,
    network: NetworkPolicy,
    local: bool,
    auth: BoundAuth,
    headers: Mapping[str, str],
    streaming: bool,
) -> Client:
    """A client over gRPC. It owns its channel.

    Args:
        card: the card.
        interface: the one to call.
        network: where connections may go.
        local: the card came from loopback.
        auth: the credentials, which become metadata.
        headers: what each call must carry, as metadata too.
        streaming: let messages be answered as a stream.

    Raises:
        UsageError: ``bad-config``, where the SDK or gRPC is not installed.
        BlockedError, FetchError: the target is forbidden, or does not resolve.
    """
    try:
        from a2a.client.transports.grpc import GrpcTransport
        from a2a.compat.v0_3.grpc_transport import CompatGrpcTransport

        from a2a_discovery.bridges.grpc import open_channel
    except ImportError:
        raise missing() from None
    channel = await open_channel(interface.url, network, local=local, auth=auth, headers=headers)
    kind: Any = CompatGrpcTransport if _legacy(interface) else GrpcTransport
    proto = to_proto(card, (interface,))
    return _client(proto, interface, streaming, lambda: kind(channel, proto))


def _legacy(interface: AgentInterface) -> bool:
    return (major_minor(interface.protocol_version) or "0.3").startswith("0.")


def _client(proto: ProtoCard, interface: AgentInterface, streaming: bool, transport: Any) -> Client:
    from a2a.client.client_factory import ClientFactory

    binding = fold_binding(interface.protocol_binding)
    factory = ClientFactory(_config(binding, streaming))
    # The factory's own transports choose among interfaces anew, and leave a client that was handed in open.
    factory.register(binding, lambda card, url, config: transport())
    return factory.create(proto)


def _config(binding: str, streaming: bool) -> ClientConfig:
    from a2a.client.client import ClientConfig

    return ClientConfig(streaming=streaming, supported_protocol_bindings=[binding])
