"""Security: schemes that can be fulfilled and requirements that name them (A2A sections 4.5, 7 and 13.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_discovery._card.json import JSON
from a2a_discovery._card.shapes import FLOWS
from a2a_discovery._check.subject import Subject, members, objects, text, texts
from a2a_discovery._finding import Severity
from a2a_discovery._hosts import is_loopback
from a2a_discovery._urls import split

# https://www.iana.org/assignments/http-authschemes
_HTTP_SCHEMES = frozenset(
    (
        *("basic", "bearer", "concealed", "digest", "dpop", "gnap", "hoba", "mutual", "negotiate", "oauth"),
        *("privatetoken", "scram-sha-1", "scram-sha-256", "vapid"),
    )
)
_LOCATIONS = ("query", "header", "cookie")
_FLOW_URLS = ("authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl")
_DEPRECATED = ("implicit", "password")

_Place = tuple[str | int, ...]


def check_security(subject: Subject) -> None:
    """Judge schemes, requirements, and whether they fit each other."""
    schemes = members(subject.value.get("securitySchemes"))
    if subject.value.get("securitySchemes") == {}:
        subject.say("empty-scheme-map", "it declares no scheme", "securitySchemes")
    for name, scheme in schemes.items():
        _check_scheme(subject, name, members(scheme))
    places = list(_requirements(subject))
    for at, requirements in places:
        for index, requirement in objects(requirements):
            _check_requirement(subject, (*at, index), requirement, schemes, alone=len(schemes) == 0)
    if schemes and not any(requirements for _, requirements in places):
        message = "no requirement of the card or of a skill names any of these schemes"
        subject.say("schemes-without-requirements", message, "securitySchemes")
    if not schemes and members(subject.value.get("capabilities")).get("extendedAgentCard") is True:
        message = "an extended card is declared, and no scheme by which a client could authenticate for it"
        subject.say("extended-without-security", message, "capabilities", "extendedAgentCard")


def _requirements(subject: Subject) -> Iterator[tuple[_Place, JSON]]:
    yield ("securityRequirements",), subject.value.get("securityRequirements")
    for index, skill in objects(subject.value.get("skills")):
        yield ("skills", index, "securityRequirements"), skill.get("securityRequirements")


def _check_requirement(
    subject: Subject, at: _Place, requirement: Mapping[str, JSON], schemes: Mapping[str, JSON], *, alone: bool
) -> None:
    named = members(requirement.get("schemes"))
    if not named and not alone:
        subject.say("anonymous-allowed", "this alternative asks for no credentials at all", *at)
    for name, wanted in named.items():
        if name not in schemes:
            subject.say("undeclared-scheme", "no scheme of this name is declared", *at, "schemes", name)
            continue
        known = _scopes(members(schemes[name]))
        for index, scope in texts(members(wanted).get("list")):
            if known and scope not in known:
                message = "the scheme's flow does not list this scope"
                subject.say("undeclared-scope", message, *at, "schemes", name, "list", index)


def _scopes(scheme: Mapping[str, JSON]) -> set[str]:
    flows = members(members(scheme.get("oauth2SecurityScheme")).get("flows"))
    return {scope for flow in flows.values() for scope in members(members(flow).get("scopes"))}


def _check_scheme(subject: Subject, name: str, scheme: Mapping[str, JSON]) -> None:
    at = ("securitySchemes", name)
    key = members(scheme.get("apiKeySecurityScheme"))
    location = key.get("location")
    if isinstance(location, str) and location not in _LOCATIONS:
        message = "an API key goes into the query, a header or a cookie"
        subject.say("bad-location", message, *at, "apiKeySecurityScheme", "location")
    http = text(members(scheme.get("httpAuthSecurityScheme")).get("scheme"))
    if http and http.lower() not in _HTTP_SCHEMES:
        message = "IANA has no HTTP authentication scheme of this name"
        subject.say("unknown-http-scheme", message, *at, "httpAuthSecurityScheme", "scheme")
    _check_url(subject, scheme, "openIdConnectSecurityScheme", "openIdConnectUrl", at)
    _check_url(subject, scheme, "oauth2SecurityScheme", "oauth2MetadataUrl", at)
    flows = members(members(scheme.get("oauth2SecurityScheme")).get("flows"))
    for kind in FLOWS:
        if isinstance(flows.get(kind), dict):
            _check_flow(subject, kind, flows, (*at, "oauth2SecurityScheme", "flows"))


def _check_flow(subject: Subject, kind: str, flows: Mapping[str, JSON], at: _Place) -> None:
    flow = members(flows[kind])
    if kind in _DEPRECATED:
        severity: Severity | None = "advice" if subject.legacy else None
        subject.say("deprecated-flow", "the flow is deprecated", *at, kind, severity=severity)
    if kind == "authorizationCode" and not subject.legacy and flow.get("pkceRequired") is not True:
        subject.say("pkce-not-required", "the flow does not say that PKCE is required", *at, kind)
    for member in _FLOW_URLS:
        _check_url(subject, flows, kind, member, at)


def _check_url(subject: Subject, holder: Mapping[str, JSON], name: str, member: str, at: _Place) -> None:
    url = text(members(holder.get(name)).get(member))
    if not url:
        return
    try:
        parts = split(url)
    except ValueError:
        subject.say("bad-auth-url", "it is no absolute URL", *at, name, member)
        return
    if parts.scheme != "https" and not is_loopback(parts.host):
        subject.say("plain-auth-url", "credentials are sent there, and it is not https", *at, name, member)
