"""The extended card's endpoints: A2A 1.0 (sections 3.1.11, 9.4.8, 11.3.4), 0.3 and 0.2, and their errors (3.3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

from a2a_discovery.testing._reply import Reply, Request

if TYPE_CHECKING:
    from a2a_discovery.testing._agent import FakeAgent

METHOD = "GetExtendedAgentCard"
OLD_METHOD = "agent/getAuthenticatedExtendedCard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One A2A error, in the codes of both bindings."""

    code: int
    http: int
    status: str
    reason: str
    message: str


NOT_CONFIGURED = Failure(
    code=-32007,
    http=400,
    status="FAILED_PRECONDITION",
    reason="EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    message="Extended Agent Card is not configured",
)
UNSUPPORTED = Failure(
    code=-32004,
    http=400,
    status="FAILED_PRECONDITION",
    reason="UNSUPPORTED_OPERATION",
    message="This operation is not supported",
)
BAD_VERSION = Failure(
    code=-32009,
    http=400,
    status="FAILED_PRECONDITION",
    reason="VERSION_NOT_SUPPORTED",
    message="Protocol version is not supported",
)
BAD_TENANT = Failure(code=-32602, http=404, status="NOT_FOUND", reason="TENANT_NOT_FOUND", message="Unknown tenant")
NO_METHOD = Failure(code=-32601, http=404, status="NOT_FOUND", reason="METHOD_NOT_FOUND", message="Method not found")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    path: str
    binding: str
    version: str
    tenant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A request for the extended card, understood."""

    binding: Literal["JSONRPC", "HTTP+JSON"]
    path: str
    """Path of the interface it was sent to."""
    old: bool
    """In the words of 0.2 or 0.3."""
    tenant: str = ""
    id: Any = None


def asked(card: Mapping[str, Any], request: Request) -> bool:
    """Whether a request is for the extended card."""
    return _call(card, request) is not None


def answer(agent: FakeAgent, request: Request, places: Mapping[str, str]) -> Reply:
    """What a server answers: who are you, which version, is there one; then the card."""
    call = _call(agent.card, request)
    if call is None:
        return Reply.text("Not Found", status=404)
    admitted = agent.admits(request)
    if admitted != 200 and agent.strangers == "refuse":
        return refusal(admitted)
    failure = _failure(agent, request, call)
    if failure is not None:
        return _error(call, failure)
    document = agent.document(extended=admitted == 200, places=places)
    if call.binding == "JSONRPC":
        return Reply.json({"jsonrpc": "2.0", "id": call.id, "result": document}, headers=agent.headers["extended"])
    media_type = "application/json" if call.old else "application/a2a+json"
    return Reply.json(document, headers={"content-type": media_type, **agent.headers["extended"]})


def refusal(status: int) -> Reply:
    """The answer to somebody without the right credentials: topics/enterprise-ready of A2A, RFC 6750 section 3."""
    challenge = {401: 'Bearer realm="a2a"', 403: 'Bearer realm="a2a", error="insufficient_scope"'}.get(status)
    word = {401: "Unauthorized", 403: "Forbidden"}.get(status, "Not Found")
    return Reply.text(word, status=status, headers={"www-authenticate": challenge})


def _failure(agent: FakeAgent, request: Request, call: _Call) -> Failure | None:
    # 0.2 asks by GET beside a JSON-RPC interface
    here = [
        each
        for each in _interfaces(agent.card)
        if each.path == call.path and (call.old or each.binding == call.binding)
    ]
    version = request.headers.get("a2a-version", "") or "0.3"  # section 3.6.2: empty is read as 0.3
    versions = {each.version for each in here}
    if call.old and "0.3" not in versions:
        return NO_METHOD
    if not call.old and version not in versions:
        return BAD_VERSION
    tenants = {each.tenant for each in here}
    if call.tenant not in tenants and call.tenant:
        return BAD_TENANT
    if not _declared(agent.card):
        return UNSUPPORTED
    return NOT_CONFIGURED if agent.extended is None else None


def _declared(card: Mapping[str, Any]) -> bool:
    capabilities = card.get("capabilities")
    declared = isinstance(capabilities, Mapping) and capabilities.get("extendedAgentCard") is True
    return declared or card.get("supportsAuthenticatedExtendedCard") is True


def _error(call: _Call, failure: Failure) -> Reply:
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": failure.reason,
        "domain": "a2a-protocol.org",
    }
    if call.binding == "JSONRPC":
        error = {"code": failure.code, "message": failure.message, "data": [info]}
        return Reply.json({"jsonrpc": "2.0", "id": call.id, "error": error})
    status = {"code": failure.http, "status": failure.status, "message": failure.message, "details": [info]}
    return Reply.json({"error": status}, status=failure.http)


def _call(card: Mapping[str, Any], request: Request) -> _Call | None:
    interfaces = list(_interfaces(card))
    if request.method == "POST":
        return _rpc_call(request) if any(_is(each, "JSONRPC", request.path) for each in interfaces) else None
    if request.method != "GET":
        return None
    return next((call for each in interfaces if (call := _rest_call(each, request.path)) is not None), None)


def _is(interface: _Interface, binding: str, path: str) -> bool:
    return interface.binding == binding and interface.path == path


def _rpc_call(request: Request) -> _Call | None:
    try:
        message = request.json()
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") not in (METHOD, OLD_METHOD):
        return None
    params = message.get("params")
    tenant = params.get("tenant", "") if isinstance(params, dict) else ""
    return _Call(
        binding="JSONRPC",
        path=request.path,
        old=message["method"] == OLD_METHOD,
        tenant=tenant if isinstance(tenant, str) else "",
        id=message.get("id"),
    )


def _rest_call(interface: _Interface, path: str) -> _Call | None:
    root = interface.path.rstrip("/")
    if interface.version == "0.3":
        if interface.binding == "HTTP+JSON" and path == f"{root}/v1/card":
            return _Call(binding="HTTP+JSON", path=interface.path, old=True)
        # 0.2: beside the last segment of the card's own URL, whatever its transport
        if path == urljoin(interface.path, "agent/authenticatedExtendedCard"):
            return _Call(binding="HTTP+JSON", path=interface.path, old=True)
        return None
    found = re.fullmatch(re.escape(root) + r"(?:/([^/]+))?/extendedAgentCard", path)
    if interface.binding != "HTTP+JSON" or found is None:
        return None
    return _Call(binding="HTTP+JSON", path=interface.path, old=False, tenant=unquote(found[1] or ""))


def _interfaces(card: Mapping[str, Any]) -> Iterator[_Interface]:
    for entry in _objects(card.get("supportedInterfaces")):
        version = ".".join(str(entry.get("protocolVersion", "")).split(".")[:2])
        yield _interface(entry, str(entry.get("protocolBinding")), version)
    if isinstance(card.get("url"), str):
        yield _interface(card, str(card.get("preferredTransport", "JSONRPC")), "0.3")
    for entry in _objects(card.get("additionalInterfaces")):
        yield _interface(entry, str(entry.get("transport")), "0.3")


def _interface(entry: Mapping[str, Any], binding: str, version: str) -> _Interface:
    # A URL that is none is served nowhere, and must not stop the rest.
    try:
        path = urlsplit(str(entry.get("url"))).path or "/"
    except ValueError:
        path = ""
    tenant = entry.get("tenant")
    return _Interface(path=path, binding=binding, version=version, tenant=tenant if isinstance(tenant, str) else "")


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
