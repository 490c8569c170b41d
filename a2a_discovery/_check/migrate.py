"""From a card of 0.x to the card of 1.0 that may be served in its place (A2A appendix A.2, and what SDKs accept).

`upgrade` reads tolerantly and keeps whatever it met. This writes: one OAuth flow in a scheme, nothing that 1.0 has no
place for, no signature over other bytes, and a list of all that was left out. A card of 1.0 comes out as it went in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Path
from a2a_discovery._card.read import read_card
from a2a_discovery._card.shapes import FLOWS, ONE_OF, SHAPES
from a2a_discovery._card.upgrade import upgrade
from a2a_discovery._check.subject import bounded, members
from a2a_discovery._finding import Finding

_PREFERENCE = ("authorizationCode", "deviceCode", "clientCredentials", "implicit", "password")
"""Which flow keeps the name of the scheme."""
_MOST = 64
"""Alternatives of one requirement: a card with more is no card that somebody wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Something of the old card that has no place in the new one."""

    pointer: str
    """Where it stood in the old card."""
    reason: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """A card of 1.0, and what became of the old one."""

    card: Mapping[str, JSON]
    changed: bool
    """``False``: it was a card of 1.0 already, and is the very same."""
    legacy: bool
    """It had the shape of 0.x."""
    lost: tuple[Lost, ...]
    findings: tuple[Finding, ...]
    """What was repaired on the way, worst first; pointers into the old card."""


def migrate(document: Mapping[str, JSON], *, url: str | None = None, keep_unknown: bool = False) -> Migrated:
    """Write the 1.0 card of a document of any generation. Doing it again changes nothing.

    Args:
        document: a decoded card; it is not changed.
        url: the card's own URL, against which relative interface URLs are resolved.
        keep_unknown: leave members that A2A does not know where they are.

    Raises:
        CardError: ``not-a-card``, ``invalid-card``: there is no card to write.
    """
    reading = read_card(dict(document), url=url)
    upgraded = upgrade(document, url=url)
    # A card of 1.0 may serve both generations on purpose, and is left as its publisher wrote it.
    work = _Work(origins=upgraded.origins, keep_unknown=keep_unknown or not upgraded.legacy, anew=upgraded.legacy)
    value = work.message("AgentCard", dict(upgraded.value), ())
    if upgraded.legacy:
        _drop_unusable(value, upgraded.inert, work)
        _name_modes(value)
    _split_flows(value)
    if upgraded.legacy:
        for name in ("securitySchemes", "securityRequirements"):
            if not value.get(name):
                value.pop(name, None)
    changed = value != document
    if changed and "signatures" in value:
        del value["signatures"]
        work.lose(("signatures",), "signatures are over the old bytes: sign the new card")
    return Migrated(
        card=value,
        changed=changed,
        legacy=upgraded.legacy,
        lost=tuple(work.lost),
        findings=reading.findings,
    )


@dataclass(slots=True, kw_only=True)
class _Work:
    """A value of the 1.0 shape while it is cut down to what 1.0 has."""

    origins: Mapping[str, str]
    keep_unknown: bool
    anew: bool
    """Members are put in the order of the definition."""
    lost: list[Lost] = field(default_factory=list)

    def lose(self, path: Path, reason: str) -> None:
        """Note what is left out, by its place in the old card."""
        head = whole = bounded(path)
        while head and head not in self.origins:
            head = head.rpartition("/")[0]
        at = self.origins[head] + whole[len(head) :] if head in self.origins else whole
        self.lost.append(Lost(pointer=at, reason=reason))

    def message(self, kind: str, value: dict[str, JSON], path: Path) -> dict[str, JSON]:
        """A copy of a message with the members that it has in 1.0."""
        shape = SHAPES[kind]
        kept: dict[str, JSON] = {}
        for name, each in value.items():
            member = shape.members.get(name)
            if member is not None:
                kept[name] = self._member(member.kind, member.of, each, (*path, name))
            elif self.keep_unknown:
                kept[name] = each
            elif not shape.quiet:
                self.lose((*path, name), _reason(name, shape.older))
        if not self.anew:
            return kept
        known = {name: kept[name] for name in shape.members if name in kept}
        return known | kept

    def _member(self, kind: str, of: str, value: JSON, path: Path) -> JSON:
        if kind == "message" and isinstance(value, dict):
            return self.message(of, value, path)
        if kind == "messages" and isinstance(value, list):
            return [
                self.message(of, each, (*path, index)) if isinstance(each, dict) else each
                for index, each in enumerate(value)
            ]
        if kind == "map" and isinstance(value, dict):
            return {
                name: self.message(of, each, (*path, name)) if isinstance(each, dict) else each
                for name, each in value.items()
            }
        return value


def _reason(name: str, older: frozenset[str]) -> str:
    if name == "authentication":
        return "1.0 has securitySchemes in its place; what had one meaning was moved there"
    return "1.0 has no such member" if name in older else "A2A has no such member"


def _drop_unusable(value: dict[str, JSON], inert: Sequence[Path], work: _Work) -> None:
    """Take out flows and schemes that no client could use: of no kind, of two, or without a part that must be there."""
    schemes = value.get("securitySchemes")
    if not isinstance(schemes, dict):
        return
    for path in inert:
        if path[:1] == ("securitySchemes",) and len(path) > 3:
            holder = members(members(members(schemes.get(str(path[1]))).get(str(path[2]))).get("flows"))
            if isinstance(holder, dict) and holder.pop(str(path[-1]), None) is not None:
                work.lose(path, "a part of the flow is missing, so nobody could use it")
    unusable = {path[1] for path in inert if path[:1] == ("securitySchemes",) and len(path) in (2, 3)}
    for name in list(schemes):
        kinds = [kind for kind in ONE_OF if isinstance(members(schemes[name]).get(kind), dict)]
        oauth = members(members(schemes[name]).get("oauth2SecurityScheme"))
        if not kinds:
            work.lose(("securitySchemes", name), "1.0 has no scheme of this kind")
        elif name in unusable or (oauth and not oauth.get("flows")):
            work.lose(("securitySchemes", name), "a part of the scheme is missing, so nobody could use it")
        else:
            continue
        del schemes[name]


def _name_modes(value: dict[str, JSON]) -> None:
    """``text``, which 0.1 had as a mode, is ``text/plain``."""
    skills = value.get("skills")
    holders = [value, *(each for each in (skills if isinstance(skills, list) else ()) if isinstance(each, dict))]
    for holder in holders:
        for name in ("defaultInputModes", "defaultOutputModes", "inputModes", "outputModes"):
            modes = holder.get(name)
            if isinstance(modes, list):
                named = ["text/plain" if mode == "text" else mode for mode in modes]
                holder[name] = list(dict.fromkeys(mode for mode in named if isinstance(mode, str)))


# several flows


def _split_flows(value: dict[str, JSON]) -> None:
    """One scheme for each OAuth flow, and each requirement once for each of them: alternatives."""
    schemes = value.get("securitySchemes")
    if not isinstance(schemes, dict):
        return
    names = {name: _parts(name, schemes) for name in list(schemes)}
    several = {name: parts for name, parts in names.items() if len(parts) > 1}
    if not several:
        return
    value["securitySchemes"] = dict(_divided(schemes, several))
    skills = value.get("skills")
    for holder in (value, *(each for each in (skills if isinstance(skills, list) else ()) if isinstance(each, dict))):
        requirements = holder.get("securityRequirements")
        if isinstance(requirements, list):
            holder["securityRequirements"] = [
                alternative for each in requirements for alternative in _alternatives(each, several)
            ]


def _parts(name: str, schemes: Mapping[str, JSON]) -> dict[str, str]:
    """Flow → the name of its scheme."""
    flows = members(members(members(schemes[name]).get("oauth2SecurityScheme")).get("flows"))
    present = [flow for flow in _PREFERENCE if isinstance(flows.get(flow), dict)]
    if len(present) < 2:
        return {}
    first, *others = present
    return {first: name} | {flow: _free(f"{name}#{flow}", schemes) for flow in others}


def _free(name: str, schemes: Mapping[str, JSON]) -> str:
    return (
        name
        if name not in schemes
        else next(other for number in itertools.count(2) if (other := f"{name}-{number}") not in schemes)
    )


def _divided(schemes: Mapping[str, JSON], several: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, JSON]]:
    for name, scheme in schemes.items():
        parts = several.get(name)
        if parts is None:
            yield name, scheme
            continue
        oauth = members(members(scheme).get("oauth2SecurityScheme"))
        flows = members(oauth.get("flows"))
        for flow, part in parts.items():
            rest = {other: each for other, each in flows.items() if other not in FLOWS}
            yield part, {**members(scheme), "oauth2SecurityScheme": {**oauth, "flows": {flow: flows[flow], **rest}}}


def _alternatives(requirement: JSON, several: Mapping[str, Mapping[str, str]]) -> Iterator[JSON]:
    """The requirement with each of the schemes that its own were divided into."""
    named = members(members(requirement).get("schemes"))
    if named.keys().isdisjoint(several):
        yield requirement
        return
    choices = [list(several[name].values()) if name in several else [name] for name in named]
    for chosen in itertools.islice(itertools.product(*choices), _MOST):
        schemes: dict[str, JSON] = dict(zip(chosen, named.values(), strict=True))
        yield {**members(requirement), "schemes": schemes}
