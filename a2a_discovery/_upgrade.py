"""Step 6 of the line: the extended card, fetched with credentials, then read, verified and selected like any other.

A2A sections 3.1.11 and 13.3. Pure, as `_flow`: swapped in whole, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from a2a_discovery._card.json import JSON
from a2a_discovery._choose import Applied, Chosen, Endpoints, Grant, choose
from a2a_discovery._credentials import Allowed, Credentials, check_allowed, check_secret
from a2a_discovery._effects import Fetched, Flow, Keep, Recall
from a2a_discovery._extended import (
    Call,
    calls_for,
    card_of,
    check_consistent,
    check_upgraded,
    grpc_url,
    unsigned_note,
)
from a2a_discovery._finding import Finding
from a2a_discovery._flow import Found, Settings, earlier, judged, read
from a2a_discovery._select import major_minor
from a2a_discovery._trust.covered import Uncovered, is_covered
from a2a_discovery._urls import host_of
from a2a_discovery.errors import AuthError, CardError, ExtendedCardError
from a2a_discovery.policy import Trust

if TYPE_CHECKING:
    from a2a_discovery._card.model import AgentInterface
    from a2a_discovery._card.read import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What one card lets one caller's credentials do: how they are sent, and where to."""

    chosen: Chosen
    allowed: Allowed
    findings: tuple[Finding, ...] = ()


def grant(found: Found, credentials: Credentials, settings: Settings) -> Granted:
    """Choose how credentials are sent to a card's interface, and check every host they would go to.

    Raises:
        AuthError: ``no-credential``, before any request.
    """
    host = interface_host(found.selection.interface) or ""
    allowed = allowed_by(found, credentials, settings)
    check_allowed(host, allowed, credentials)
    schemes, requirements, notes = _security(found, settings)
    chosen = choose(credentials, schemes, requirements, certificate=settings.network.ssl_context is not None)
    for each in chosen.grants:
        check_secret(each.url, allowed, credentials)
    return Granted(chosen=chosen, allowed=allowed, findings=(*chosen.findings, *notes))


def allowed_by(found: Found, credentials: Credentials, settings: Settings) -> Allowed:
    """The hosts that credentials may go to for a card (design section 6)."""
    interface = found.selection.interface.url
    return Allowed(
        authority=None if found.provenance.other_publisher else found.report.authority,
        hosts=credentials.hosts,
        local=settings.network.loopback,
        http=interface.lower().startswith("http:"),
    )


def interface_host(interface: AgentInterface) -> str | None:
    """The host that an interface is at."""
    return host_of(grpc_url(interface.url))


def device_grant(found: Found, credentials: Credentials, settings: Settings) -> tuple[Grant, Endpoints | None]:
    """How a person can sign in on another device: the first scheme of the card that says so.

    Returns:
        The grant, and the endpoints where the card names them itself; else its metadata does.

    Raises:
        AuthError: ``no-credential``, where none does.
    """
    schemes, requirements, _ = _security(found, settings)
    scopes = {name: each.list for one in reversed(requirements) for name, each in one.schemes.items()}
    for name, scheme in schemes.items():
        oauth, connect = scheme.oauth2_security_scheme, scheme.open_id_connect_security_scheme
        flow = oauth.flows.device_code if oauth is not None else None
        metadata = oauth.oauth2_metadata_url if oauth is not None else connect.open_id_connect_url if connect else ""
        if flow is None and not metadata:
            continue
        wanted = Grant(credentials=credentials, metadata_url=metadata, scopes=tuple(scopes.get(name, ())))
        if flow is None:
            return wanted, None
        return wanted, Endpoints(token=flow.token_url, device=flow.device_authorization_url)
    raise AuthError("no-credential", "the card declares no device code flow", step="extend")


def extend(
    public: Found,
    credentials: Credentials,
    settings: Settings,
    *,
    now: float,
    bind: Callable[[tuple[Applied, ...], Allowed], Any],
    grpc: bool = False,
) -> Flow[Found]:
    """Step 6, whole.

    Args:
        public: what the public card's discovery found.
        credentials: the caller's, bound to hosts.
        settings: what to go by, the same as for the public card.
        now: seconds since the epoch.
        bind: makes the `httpx.Auth` of how the credentials are applied.
        grpc: a gRPC library is there.

    Raises:
        ExtendedCardError, AuthError, FetchError, BlockedError, CardError, TrustError, InterfaceError: the public card
            stays usable after each of them.
    """
    provenance, local = public.provenance, settings.network.loopback
    if not public.reading.card.capabilities.extended_agent_card:
        raise ExtendedCardError("not-declared", "the card declares no extended card", step="extend")
    interfaces = (public.selection.interface, *public.selection.alternatives)
    calls = calls_for(interfaces, public.reading.document, grpc=grpc)
    asked = replace(public, selection=replace(public.selection, interface=calls[0].interface))
    granted = grant(asked, credentials, settings)
    auth = bind(granted.chosen.applied, granted.allowed)
    answer, document = yield from _ask(calls, asked, settings, auth=auth, principal=credentials.principal)
    reading = read(document, answer.url, settings)
    check_upgraded(public.reading, reading)
    location = public.location and f"{public.location}#extended"
    came = replace(provenance, channel=answer.channel, url=answer.url, proven=public.report.authority)
    recalled = None if location is None else Recall(location)
    found = yield from judged(reading, came, settings, recall=recalled, now=now, extended=True)
    notes = granted.findings
    check_consistent(public.reading, reading, found.report, authority=public.report.authority, local=local)
    if found.report.verified is None and public.report.verified is not None:
        notes = (*notes, unsigned_note())
    if location is not None:
        yield Keep(location=location, record=found.record)
    return Found(
        reading=found.reading,
        report=found.report,
        selection=found.selection,
        verdict=found,
        provenance=provenance,
        location=public.location,
        extended=True,
        findings=(*found.findings, *notes),
        size=len(answer.body),
        source=replace(
            public.source,
            url=answer.url,
            via=(*public.source.via, *((public.source.url,) if public.source.url else ())),
            fetched_at=answer.fetched_at,
            # The public card's `version` is known only while that is fresh.
            expires_at=earlier(min(public.source.expires_at, answer.expires_at), found.report.expires_at),
            etag=answer.headers.get("etag"),
            cache_control=answer.headers.get("cache-control"),
            cache="network",
        ),
    )


def _ask(
    calls: tuple[Call, ...], public: Found, settings: Settings, *, auth: Any, principal: str
) -> Flow[tuple[Fetched, JSON]]:
    """The first call that is known there; an old server says of the others that it never heard of them."""
    *others, last = calls
    local = settings.network.loopback and public.provenance.loopback
    headers = service_headers(public.selection.interface, public.reading, settings.extensions)
    for call in (*others, last):
        answer: Fetched = yield call.effect(
            limits=settings.limits, headers=headers, auth=auth, principal=principal, local=local
        )
        try:
            return answer, card_of(answer, rpc=call.binding == "JSONRPC", limits=settings.limits)
        except (ExtendedCardError, CardError) as error:
            if call is last or error.code not in ("unsupported", "not-json"):
                raise
    raise AssertionError("there is a last call")


def _security(public: Found, settings: Settings) -> tuple[dict[str, Any], tuple[Any, ...], tuple[Finding, ...]]:
    """The schemes and requirements that may be followed: where more than a channel is required, the covered ones."""
    card, reading, report = public.reading.card, public.reading, public.report

    # A card with no host of its own is handed out as it was signed: what was not is not there.
    uncovered = Uncovered(report.uncovered if public.provenance.hosted or public.extended else ())

    def covered(message: str, *place: str | int) -> bool:
        return is_covered(reading, uncovered, message, *place)

    schemes = {
        name: each for name, each in card.security_schemes.items() if covered("SecurityScheme", "securitySchemes", name)
    }
    requirements = tuple(
        each
        for index, each in enumerate(card.security_requirements)
        if covered("SecurityRequirement", "securityRequirements", index)
    )
    complete = len(schemes) == len(card.security_schemes) and len(requirements) == len(card.security_requirements)
    if complete or settings.trust.require > Trust.CHANNEL:
        return schemes, requirements, ()
    note = Finding(
        code="uncovered-security",
        severity="warning",
        pointer=reading.origin("/securitySchemes") if card.security_schemes else "",
        message="no signature covers how to authenticate: TLS vouches for it, as for an unsigned card",
    )
    return dict(card.security_schemes), tuple(card.security_requirements), (note,)


def service_headers(interface: AgentInterface, reading: Reading, extensions: tuple[str, ...]) -> dict[str, str]:
    """The header fields that every call to an interface must carry (A2A sections 3.2.6 and 14.2); never credentials."""
    version = major_minor(interface.protocol_version) or "0.3"
    headers = {"A2A-Version": version}
    declared = {each.uri for each in reading.card.capabilities.extensions}
    claimed = ", ".join(uri for uri in extensions if uri in declared)
    if claimed:
        headers["A2A-Extensions"] = claimed
        if version.startswith("0."):
            headers["X-A2A-Extensions"] = claimed
    return headers
