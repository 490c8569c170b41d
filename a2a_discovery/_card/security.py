"""Security: schemes, flows and requirements as 1.0 has them, out of every spelling that is published (section 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Path
from a2a_discovery._card.parts import Built, Context, built, place, rebuilt
from a2a_discovery._card.shapes import FLOWS, ONE_OF

_TYPES = {
    "apikey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openidconnect": "openIdConnectSecurityScheme",
    "mutualtls": "mtlsSecurityScheme",
}
_SPELLED = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")
_BARE = {
    "apiKey": "apiKeySecurityScheme",
    "httpAuth": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mtls": "mtlsSecurityScheme",
}
"""A Go server's names for the members of the oneof."""


def move_requirements(context: Context, card: Built, src: Path) -> None:
    """``security``, of a card or a skill, under its 1.0 name.

    Where both names are there and differ, the one of the card's own generation counts.
    """
    if "security" not in card:
        return
    old, new, at = card["security"], card.get("securityRequirements"), place(card, src, "security")
    if isinstance(new, list):
        if _plain(old) == _plain(new):
            return
        message = "security and securityRequirements contradict each other; the one of this card's generation counts"
        context.notes.repair("conflicting-members", at, message)
        if not context.legacy:
            return
    elif not context.legacy:
        if not old:
            return
        message = "A2A 1.0 calls it securityRequirements; it was read as that"
        context.notes.repair("legacy-security", at, message)
        if context.strict:
            return
    card.pop("securityRequirements", None)
    card.move("security", "securityRequirements", src)


def _plain(requirements: JSON) -> JSON:
    if not isinstance(requirements, list):
        return requirements
    plain: list[JSON] = [_flat(each) if isinstance(each, dict) else each for each in requirements]
    return plain


def _flat(requirement: dict[str, JSON]) -> dict[str, JSON]:
    schemes = requirement.get("schemes", requirement)
    if not isinstance(schemes, dict):
        return requirement
    scopes = {name: each.get("list") if isinstance(each, dict) else each for name, each in schemes.items()}
    return {name: each or [] for name, each in scopes.items()}


def requirement(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    """One alternative: ``{"schemes": {s: {"list": [...]}}}``, or ``{s: [...]}`` as OpenAPI writes it."""
    if "schemes" in value and not isinstance(value["schemes"], list):
        return value
    if not value and not context.legacy:
        return value
    if value and "security" not in src:
        context.notes.repair("flat-requirement", src, 'A2A 1.0 writes {"schemes": {NAME: {"list": [...]}}}')
    return Built({"schemes": Built(value)}, {"schemes": src})


def is_readable(requirement: Mapping[str, JSON]) -> bool:
    """Whether one alternative says which schemes it is of."""
    return isinstance(requirement.get("schemes"), (dict, list, NoneType))


def scopes(context: Context, value: JSON, at: Path, *, flat: bool) -> JSON:
    """What a requirement says of one scheme: ``{"list": [...]}``, or the bare list."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        if not flat:
            context.notes.repair("flat-requirement", at, 'A2A 1.0 writes {"list": [...]}')
        return Built({"list": value}, {"list": at})
    if value is not None:
        context.notes.repair("wrong-type", at, "it must be a list of scopes; it was read as an empty one")
    return {}


def scheme(context: Context, value: dict[str, JSON], src: Path, dst: Path) -> dict[str, JSON]:
    """One scheme, as a oneof: exactly one member, named after the kind."""
    value = _without_case(context, value, src, "scheme", ONE_OF)
    value = _with_full_name(context, value, src)
    members = [name for name in ONE_OF if isinstance(value.get(name), dict)]
    if len(members) > 1:
        context.notes.repair("ambiguous-scheme", src, "a scheme is of exactly one kind; this one is not used")
        context.inert += [(*dst, name) for name in members]
    if members:
        return value
    kind = _kind(context, value, src)
    if kind is None:
        context.notes.repair("unknown-scheme", src, "it is of no kind that A2A knows; it is not used")
        return value
    rest = {name: each for name, each in value.items() if name != "type"}
    places = value.places if isinstance(value, Built) else None
    return Built({kind: Built(rest, places, flat=True)}, {kind: src})


def _kind(context: Context, value: dict[str, JSON], src: Path) -> str | None:
    named = value.get("type")
    if isinstance(named, str):
        kind = _TYPES.get(named.replace("_", "").replace("-", "").lower())
        if kind is not None and named not in _SPELLED:
            message = "the kinds are spelled apiKey, http, oauth2, openIdConnect and mutualTLS"
            context.notes.repair("scheme-type", (*src, "type"), message)
        return kind
    kind = _inferred(value)
    if kind is not None:
        context.notes.repair("inferred-scheme", src, "it doesn't say of which kind it is; its members do")
    return kind


def _inferred(value: dict[str, JSON]) -> str | None:
    if "openIdConnectUrl" in value:
        return "openIdConnectSecurityScheme"
    if "flows" in value:
        return "oauth2SecurityScheme"
    if "name" in value and not value.keys().isdisjoint(("in", "in_", "location")):
        return "apiKeySecurityScheme"
    return "httpAuthSecurityScheme" if isinstance(value.get("scheme"), str) else None


def _without_case(
    context: Context, value: dict[str, JSON], src: Path, holder: str, members: Mapping[str, str]
) -> dict[str, JSON]:
    """A typed JavaScript server's ``{holder: {"$case": member, "value": ...}}`` as ``{member: ...}``."""
    held = value.get(holder)
    if not isinstance(held, dict):
        return value
    member = held.get("$case")
    if not isinstance(member, str) or member not in members or isinstance(value.get(member), dict):
        return value
    context.notes.repair("case-wrapper", (*src, holder), "JSON of A2A writes the member itself, not $case and value")
    rest = {name: each for name, each in value.items() if name != holder}
    inner, at = held.get("value"), (*src, holder, "value") if "value" in held else (*src, holder)
    return rebuilt(value, rest | {member: {} if inner is None else inner}, {member: at})


def _with_full_name(context: Context, value: dict[str, JSON], src: Path) -> dict[str, JSON]:
    """A Go server's ``{"apiKey": {...}}`` under the member's full name."""
    if any(isinstance(value.get(name), dict) for name in ONE_OF):
        return value
    for bare, full in _BARE.items():
        if isinstance(value.get(bare), dict):
            context.notes.repair("renamed-member", (*src, bare), f"A2A 1.0 calls it {full}")
            whole = built(value)
            whole.move(bare, full, src)
            return whole
    return value


def api_key(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    """``location``, which v0.3 called ``in`` and some servers ``in_``."""
    if value.get("location") is not None:
        return value
    flat = isinstance(value, Built) and value.flat
    key = built(value)
    if flat:
        key.places["location"] = (*src, "in")
    old = next((name for name in ("in", "in_") if name in value), None)
    if old is None:
        return key
    if old == "in_" or not flat:
        context.notes.repair("renamed-member", (*src, old), "it was read as the place of the key")
        if context.strict:
            return key
    key.move(old, "location", src)
    return key


def flows(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    """OAuth flows: 1.0 has one, v0.3 any number, and all are kept."""
    value = _without_case(context, value, src, "flow", FLOWS)
    if not context.legacy and sum(isinstance(value.get(name), dict) for name in FLOWS) > 1:
        context.notes.repair("several-flows", src, "A2A 1.0 has one flow in a scheme; all of them were kept")
    return value


def from_authentication(context: Context, card: Built) -> None:
    """The ``authentication`` of v0.1, as far as it has one meaning: a Bearer or Basic scheme."""
    old, at = card.get("authentication"), place(card, (), "authentication")
    if old is None:
        return
    context.notes.warning("legacy-auth", at, "authentication went away with v0.2; write securitySchemes")
    named = old.get("schemes") if isinstance(old, dict) else None
    if card.get("securitySchemes") or card.get("securityRequirements") or not isinstance(named, list):
        return
    schemes = Built({})
    for index, name in enumerate(named):
        if isinstance(name, str) and name.lower() in ("bearer", "basic") and name not in schemes:
            here = (*at, "schemes", index)
            http = Built({"scheme": name}, {"scheme": here})
            schemes[name] = Built({"httpAuthSecurityScheme": http}, {"httpAuthSecurityScheme": here})
            schemes.places[name] = here
    if schemes:
        card["securitySchemes"] = schemes
        card.places["securitySchemes"] = (*at, "schemes")
