"""The extended card: which call asks for it, and what the answer means (A2A sections 3.1.11 and 13.3). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from a2a_discovery._card.json import JSON, decode
from a2a_discovery._effects import Fetch, Fetched, Invoke
from a2a_discovery._finding import Finding, pointer
from a2a_discovery._hosts import is_loopback, site
from a2a_discovery._select import fold_binding, major_minor
from a2a_discovery._trust.canonical import canonical
from a2a_discovery._trust.covered import Uncovered, is_covered
from a2a_discovery._urls import host_of, split
from a2a_discovery.errors import AuthError, CardError, ExtendedCardError, FetchError

if TYPE_CHECKING:
    from a2a_discovery._card.model import AgentInterface, SecurityScheme
    from a2a_discovery._card.read import Reading
    from a2a_discovery._trust.report import TrustReport
    from a2a_discovery.policy import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How one (binding, version) asks for the extended card (A2A section 5.3)."""

    interface: AgentInterface
    binding: Literal["JSONRPC", "HTTP+JSON", "GRPC"]
    url: str
    """Where it goes; for gRPC the target as an https URL."""
    body: bytes | None = None

    def effect(
        self, *, limits: Limits, headers: Mapping[str, str], auth: Any, principal: str, local: bool
    ) -> Fetch | Invoke:
        """What the shell is asked to do for this call.

        Args:
            limits: how much is read.
            headers: what every call to the interface carries.
            auth: the `httpx.Auth` of the credentials.
            principal: names them.
            local: the card came from loopback.
        """
        if self.binding == "GRPC":
            return Invoke(
                target=self.interface.url,
                version=major_minor(self.interface.protocol_version) or "0.3",
                tenant=self.interface.tenant,
                limit=limits.card_bytes,
                local=local,
                headers=tuple(headers.items()),
                auth=auth,
            )
        kind = {"Content-Type": "application/json"} if self.body is not None else {}
        host = host_of(self.url)
        return Fetch(
            url=self.url,
            kind="extended",
            limit=limits.card_bytes,
            local=local,
            mode="unconditional",
            method="POST" if self.body is not None else "GET",
            headers=tuple({**headers, **kind}.items()),
            body=self.body,
            auth_for=lambda hop: auth if hop == host else None,
            principal=principal,
        )


def calls_for(interfaces: tuple[AgentInterface, ...], document: Mapping[str, JSON], *, grpc: bool) -> tuple[Call, ...]:
    """The calls over the first interface that can be asked, one after another until one is known there.

    All interfaces of an agent answer alike (A2A section 5.1), so where the selected one is of a binding that we do not
    speak, the next one is asked.

    Args:
        interfaces: the usable ones, the selected one first.
        document: the card as received: which of the old ways an 0.x agent knows depends on its very version.
        grpc: a gRPC library is there.

    Raises:
        ExtendedCardError: ``unsupported``, where none can be asked.
    """
    for interface in interfaces:
        binding, legacy = fold_binding(interface.protocol_binding), major_minor(interface.protocol_version) != "1.0"
        if binding == "JSONRPC":
            return _by_json_rpc(interface, document) if legacy else (_rpc(interface, "GetExtendedAgentCard"),)
        if binding == "HTTP+JSON":
            tenant = f"/{quote(interface.tenant, safe='')}" if interface.tenant and not legacy else ""
            return (_get(interface, "/v1/card" if legacy else f"{tenant}/extendedAgentCard"),)
        if binding == "GRPC" and grpc:
            return (Call(interface=interface, binding="GRPC", url=grpc_url(interface.url)),)
    missing = not grpc and any(fold_binding(each.protocol_binding) == "GRPC" for each in interfaces)
    raise ExtendedCardError(
        "unsupported",
        "none of the usable interfaces can be asked for the extended card",
        step="extend",
        hint='pip install "a2a_discovery[a2a]"' if missing else 'let bindings=(...) hold "JSONRPC" or "HTTP+JSON"',
    )


def _by_json_rpc(interface: AgentInterface, document: Mapping[str, JSON]) -> tuple[Call, ...]:
    """The ways of 0.2 and 0.3, the one that this version's text names first.

    0.2.1 to 0.2.5 knew a GET beside the interface's URL; 0.2.6 names both; 0.3 has the method alone, and once misnames
    it. A card of before 0.2.5 has no version.
    """
    now, then = (
        _rpc(interface, "agent/getAuthenticatedExtendedCard"),
        _rpc(interface, "agent/authenticatedExtendedCard"),
    )
    written = document.get("protocolVersion")
    found = re.match(r"0\.(\d+)(?:\.(\d+))?", written) if isinstance(written, str) else None
    if found is not None and int(found[1]) >= 3:
        return now, then
    # `..` takes the last segment away, and the path of a bare origin has none.
    parts = split(interface.url)
    url = f"{parts.origin}{parts.path.rpartition('/')[0]}/agent/authenticatedExtendedCard"
    beside = Call(interface=interface, binding="HTTP+JSON", url=url)
    if found is not None and (int(found[1]), int(found[2] or 0)) == (2, 6):
        return then, beside, now
    # A card that names the old way of 0.2 or nothing at all: both generations published such.
    return (beside, then, now) if found is not None else (beside, now, then)


def _rpc(interface: AgentInterface, method: str) -> Call:
    # `params` is sent always: some servers fail where it is left out.
    new = method == "GetExtendedAgentCard"
    params = {"tenant": interface.tenant} if interface.tenant and new else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Call(interface=interface, binding="JSONRPC", url=interface.url, body=json.dumps(body).encode())


def _get(interface: AgentInterface, path: str) -> Call:
    parts = split(interface.url)
    query = f"?{parts.query}" if parts.query else ""
    return Call(interface=interface, binding="HTTP+JSON", url=f"{parts.origin}{parts.path.rstrip('/')}{path}{query}")


def grpc_url(target: str) -> str:
    """A gRPC target as the https URL of its host and port."""
    target = target.removeprefix("dns:///")
    return target if "://" in target else f"https://{target}"


def card_of(answer: Fetched, *, rpc: bool, limits: Limits) -> JSON:
    """The card inside an answer to the call.

    Raises:
        ExtendedCardError: ``not-configured``, ``unsupported``.
        AuthError: ``auth-required``, ``forbidden``.
        FetchError: ``http-status``, ``protocol``.
        CardError: ``not-json``.
    """
    if answer.status in (401, 403):
        raise _auth_error(answer, answer.status)
    document = _decoded(answer, limits)
    error = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(error, Mapping) and ("code" in error or "status" in error):
        raise _refusal(_reasons(error), answer)
    if answer.status != 200:
        raise _refusal(_problem(document), answer)
    if not rpc:
        return document
    if not isinstance(document, Mapping) or "result" not in document:
        raise FetchError(
            "protocol", "the answer is no JSON-RPC response", url=answer.url, step="extend", status=answer.status
        )
    return document["result"]


def _decoded(answer: Fetched, limits: Limits) -> JSON:
    try:
        return decode(answer.body, depth=limits.depth)
    except CardError:
        if answer.status == 200:
            raise
        return None


_NOT_CONFIGURED = frozenset({-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "EXTENDED_CARD_NOT_CONFIGURED"})
_UNSUPPORTED = frozenset({-32004, -32601, "UNSUPPORTED_OPERATION", "UNIMPLEMENTED", 404, 405, 501})
_VERSION = frozenset({-32009, "VERSION_NOT_SUPPORTED"})
_UNAUTHENTICATED = {401: 401, 403: 403, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403}


def _reasons(error: Mapping[str, JSON]) -> list[JSON]:
    """The codes of a JSON-RPC error or a google.rpc.Status, most telling first (A2A sections 9.5 and 11.6)."""
    details = error.get("details") or error.get("data")
    named = [each.get("reason") for each in details if isinstance(each, Mapping)] if isinstance(details, list) else []
    return [*named, error.get("code"), error.get("status")]


def _problem(document: JSON) -> list[JSON]:
    """The code of an RFC 9457 problem, by the last segment of its type (A2A section 6.4)."""
    kind = document.get("type") if isinstance(document, Mapping) else None
    if not isinstance(kind, str):
        return []
    return [kind.rpartition("/")[2].upper().replace("-", "_")]


def _refusal(reasons: list[JSON], answer: Fetched) -> Exception:
    known = {each for each in reasons if isinstance(each, (int, str)) and not isinstance(each, bool)}
    if answer.status != 200:
        known.add(answer.status)
    if known & _NOT_CONFIGURED:
        return ExtendedCardError(
            "not-configured", "the agent declares an extended card and has none", url=answer.url, step="extend"
        )
    if known & _VERSION:
        return ExtendedCardError(
            "unsupported",
            "the agent refused the protocol version that its own card names",
            url=answer.url,
            step="extend",
            hint="another interface may do: see agent.alternatives",
        )
    status = next((_UNAUTHENTICATED[each] for each in known if each in _UNAUTHENTICATED), None)
    if status is not None:
        return _auth_error(answer, status)
    if known & _UNSUPPORTED:
        return ExtendedCardError(
            "unsupported", "the agent does not know the call for the extended card", url=answer.url, step="extend"
        )
    if answer.status != 200:
        return FetchError(
            "http-status", f"{answer.url} answered {answer.status}", status=answer.status, url=answer.url, step="extend"
        )
    codes = ", ".join(str(each) for each in known if isinstance(each, int)) or "no known code"
    return FetchError(
        "protocol", f"the agent answered with an error ({codes})", url=answer.url, step="extend", status=200
    )


def _auth_error(answer: Fetched, status: int) -> AuthError:
    if status == 401:
        code, message, hint = "auth-required", "did not accept the credential", "check that it is one for this agent"
    else:
        code, message, hint = "forbidden", "accepted the credential, which may not see this", "ask for the permission"
    return AuthError(
        code,
        f"{answer.url} {message}",
        status=answer.status if answer.status != 200 else status,
        url=answer.url,
        step="extend",
        hint=hint,
    )


def check_upgraded(public: Reading, extended: Reading) -> None:
    """Refuse an answer that is the public card once more.

    Raises:
        ExtendedCardError: ``not-upgraded``.
    """
    if content(public) == content(extended):
        raise ExtendedCardError(
            "not-upgraded",
            "the agent answered with its public card, as some servers do to strangers",
            step="extend",
            hint="check that the credential is one that this agent accepts",
        )


def check_consistent(
    public: Reading, extended: Reading, report: TrustReport, *, authority: str | None, local: bool
) -> None:
    """Refuse an extended card that, where no signature covers it, sends the caller to other sites than the public one,
    or names another provider.

    Args:
        public: the public card.
        extended: the extended one.
        report: who vouches for the extended one.
        authority: the public card's.
        local: all of loopback is one site.

    Raises:
        ExtendedCardError: ``mismatch``.
    """
    proven, uncovered = report.verified is not None and report.verified.interfaces_covered, Uncovered(report.uncovered)
    pointers = tuple(
        extended.origin(pointer(*place, *(("url",) if message == "AgentInterface" else ())))
        for message, place in _mismatches(public, extended, authority, local)
        if not (proven and is_covered(extended, uncovered, message, *place))
    )
    if pointers:
        raise ExtendedCardError(
            "mismatch",
            f"the extended card contradicts the public one, unsigned, at {', '.join(pointers[:5])}",
            pointers=pointers,
            step="extend",
            hint="the publisher should sign the extended card",
        )


def content(reading: Reading) -> bytes | str:
    """What a card says, its signatures aside: one JS server spells its two cards differently."""
    try:
        return canonical(reading.value, "spec")
    except ValueError:
        return repr(sorted(reading.value.items()))


_Place = tuple[str, tuple[str | int, ...]]
"""The name of a message, and where it stands in the card's value."""


def _mismatches(public: Reading, extended: Reading, authority: str | None, local: bool) -> Iterator[_Place]:
    known = {authority} if authority else set()
    known |= {host for _, host in _placed_hosts(public) if host}
    sites, near = {site(host) for host in known}, local and any(map(is_loopback, known))
    for place, host in _placed_hosts(extended):
        if host is not None and site(host) not in sites and not (near and is_loopback(host)):
            yield place
    if public.card.provider is not None and extended.card.provider != public.card.provider:
        yield "AgentProvider", ("provider",)


def _placed_hosts(reading: Reading) -> Iterator[tuple[_Place, str | None]]:
    for index, interface in enumerate(reading.card.supported_interfaces):
        yield ("AgentInterface", ("supportedInterfaces", index)), _interface_host(interface.url)
    for name, scheme in reading.card.security_schemes.items():
        for url in _scheme_urls(scheme):
            yield ("SecurityScheme", ("securitySchemes", name)), host_of(url)


def _interface_host(url: str) -> str | None:
    return host_of(url) or host_of(grpc_url(url))


def _scheme_urls(scheme: SecurityScheme) -> Iterator[str]:
    """Every URL of a scheme that a credential may be sent to."""
    connect, oauth = scheme.open_id_connect_security_scheme, scheme.oauth2_security_scheme
    if connect is not None:
        yield connect.open_id_connect_url
    if oauth is None:
        return
    if oauth.oauth2_metadata_url:
        yield oauth.oauth2_metadata_url
    for flow in (
        oauth.flows.authorization_code,
        oauth.flows.client_credentials,
        oauth.flows.implicit,
        oauth.flows.password,
        oauth.flows.device_code,
    ):
        for member in ("authorization_url", "token_url", "refresh_url", "device_authorization_url"):
            url = getattr(flow, member, None)
            if url:
                yield url


def unsigned_note() -> Finding:
    """The finding of an unsigned extended card whose public card was signed."""
    return Finding(
        code="extended-unsigned",
        severity="warning",
        pointer="",
        message="the public card is signed and the extended one is not: TLS alone vouches for what it adds",
    )
