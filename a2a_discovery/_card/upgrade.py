"""Any published card as a plain JSON value in the 1.0 shape: a copy, per field, with every change noted.

One walk along the messages of A2A 1.0. At each message its older spellings are moved first (`interfaces`, `security`),
then each member is checked against the tables (`shapes`). Two paths go along: where we are in the document, and where
in the value; where they part, `Upgraded.origins` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from a2a_discovery._card import interfaces, security
from a2a_discovery._card.json import JSON, is_texts
from a2a_discovery._card.notes import Notes, Path, fits
from a2a_discovery._card.parts import Built, Context, Row, built, place, renamed
from a2a_discovery._card.shapes import LOOKALIKES, SHAPES, Field, Shape
from a2a_discovery._finding import Finding, pointer

MOST_PARTS = 25_000
"""Messages of one card, and elements of its odd lists: each costs some 30 microseconds. A card of 300 kB has 2,000."""

_EXTENDED = ("supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """What a document says, in the 1.0 shape."""

    value: Mapping[str, JSON]
    """A 1.0 card comes out as it went in. Unknown members are kept at their place."""
    origins: Mapping[str, str]
    """Pointer in the value → pointer in the document, for what moved; all below moved with it."""
    findings: tuple[Finding, ...]
    legacy: bool
    """The document has the shape of 0.x."""
    readable: bool
    """Nothing was found that leaves no card."""
    inert: tuple[Path, ...]
    """Messages in the value that must not be used: schemes of two kinds, flows without their URL."""


def upgrade(
    document: Mapping[str, JSON], *, url: str | None = None, strict: bool = False, required_empty: bool = False
) -> Upgraded:
    """Read a document of any generation as the 1.0 card it means.

    Args:
        document: a decoded object; it is not changed.
        url: the card's own URL, against which relative interface URLs are resolved.
        strict: repair nothing; what would need it is an error.
        required_empty: a missing REQUIRED member is there with its empty value: the document went through a canonical
            form that drops those.

    Returns:
        The value, where each part came from, and what was found. It never raises.
    """
    context = Context(notes=Notes(strict=strict), strict=strict, base=url, required_empty=required_empty)
    walk = _Walk(context)
    value = walk.message("AgentCard", dict(document), (), ())
    return Upgraded(
        value=value,
        origins=walk.origins,
        findings=context.notes.findings(),
        legacy=context.legacy,
        readable=not context.notes.fatal,
        inert=tuple(context.inert),
    )


def _card(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    card = built(value)
    context.legacy = interfaces.is_legacy(card, strict=context.strict)
    if context.legacy:
        interfaces.from_legacy(context, card)
    else:
        context.dialect = interfaces.inherited(card)
        if "supportedInterfaces" not in card and "url" not in card:
            hint = _lookalike("url", card, src)
            context.notes.error("missing-required", ("url",), f"nor is there the url of a 0.x card{hint}")
    _move_extended_flag(context, card)
    security.move_requirements(context, card, src)
    if context.legacy:
        security.from_authentication(context, card)
    _note_misplaced_extensions(context, card)
    return card


def _move_extended_flag(context: Context, card: Built) -> None:
    """``capabilities.extendedAgentCard`` from its two earlier names and places."""
    capabilities = card.get("capabilities")
    if not isinstance(capabilities, dict):
        return
    for name in _EXTENDED:
        flag, at = card.get(name), place(card, (), name)
        current = capabilities.get("extendedAgentCard", capabilities.get("extended_agent_card"))
        if flag is None:
            continue
        if isinstance(current, bool):
            if current != flag:
                message = "capabilities.extendedAgentCard says otherwise, and that one counts"
                context.notes.warning("conflicting-members", at, message)
            continue
        if not context.legacy:
            if context.strict:
                continue
            context.notes.warning("renamed-member", at, "it was read as capabilities.extendedAgentCard")
        del card[name]
        capabilities = Built(capabilities | {"extendedAgentCard": flag}, {"extendedAgentCard": at})
        card["capabilities"] = capabilities


def _note_misplaced_extensions(context: Context, card: Built) -> None:
    extensions = card.get("extensions")
    for index, each in enumerate(extensions if isinstance(extensions, list) else ()):
        if isinstance(each, dict) and isinstance(each.get("uri"), str):
            message = "extensions are declared in capabilities.extensions; this one is not read"
            context.notes.warning("misplaced-extension", (*place(card, (), "extensions"), index), message)


def _skill(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    if "security" not in value:
        return value
    skill = built(value)
    security.move_requirements(context, skill, src)
    return skill


def _provider(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    if context.strict or "organization" in value or not isinstance(value.get("name"), str):
        return value
    provider = built(value)
    message = "the organization is required; name, which drafts had, was read as that"
    context.notes.warning("missing-required", (*src, "organization"), message)
    provider.move("name", "organization", src)
    return provider


_Hook = Callable[[Context, dict[str, JSON], Path, Path], dict[str, JSON]]

_HOOKS: Mapping[str, _Hook] = {
    "AgentCard": _card,
    "AgentInterface": interfaces.interface,
    "AgentProvider": _provider,
    "AgentSkill": _skill,
    "SecurityRequirement": security.requirement,
    "SecurityScheme": security.scheme,
    "APIKeySecurityScheme": security.api_key,
    "OAuthFlows": security.flows,
}
"""Message → what moves its older spellings into the 1.0 shape, before its members are checked."""


class _Absent:
    """The type of `_ABSENT`."""


_ABSENT: Final = _Absent()
"""Read as if it were not there."""

_Read: TypeAlias = "JSON | _Absent"


class _Walk:
    """One document, walked along the messages of 1.0; ``src`` is a place in the document, ``dst`` one in the value."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.notes = context.notes
        self.origins: dict[str, str] = {}
        self.parts = 0

    def message(self, kind: str, value: dict[str, JSON], src: Path, dst: Path) -> dict[str, JSON]:
        """An object that is such a message."""
        shape = SHAPES[kind]
        value = renamed(self.context, shape, value, src)
        hook = _HOOKS.get(kind)
        if hook is not None:
            value = hook(self.context, value, src, dst)
        out: dict[str, JSON] = {}
        twins: list[str] = []
        members = shape.members
        for name, each in value.items():
            field = members.get(name)
            if field is None:
                if self._stays(shape, name, each, value, src):
                    out[name] = each
                if name in shape.spellings:
                    twins.append(name)
            elif type(each) is str and field.kind == "text":
                out[name] = each
            elif field.kind == "texts" and isinstance(each, list) and each and is_texts(each):
                out[name] = each.copy()
            else:
                read = self._member(shape, name, each, place(value, src, name), (*dst, name))
                if not isinstance(read, _Absent):
                    out[name] = read
        self._complete(shape, value, out, src, dst)
        for name in twins:
            # the camelCase spelling counted and came to nothing; left alone, this one would seem to count
            if shape.spellings[name] not in out:
                out.pop(name, None)
        if isinstance(value, Built):
            self._trace(value, out, dst)
        return out

    def _trace(self, value: Built, out: Mapping[str, JSON], dst: Path) -> None:
        """Note where the members of an object at ``dst`` came from."""
        for name, at in value.places.items():
            if name in out:
                self._came((*dst, name), at)

    def _came(self, to: Path, src: Path) -> None:
        """Note that a place in the value came from another one in the document.

        Below a member whose name is endless nothing is noted: a thousand such pointers would fill the memory.
        """
        if fits(to) and fits(src):
            self.origins[pointer(*to)] = pointer(*src)

    def _room(self, more: int, at: Path) -> bool:
        """Whether so many parts more may be read: a megabyte of empty objects would take ten seconds."""
        self.parts += more
        if self.parts > MOST_PARTS:
            self.notes.error("too-large", at, f"a card of more than {MOST_PARTS:,} parts is not read")
        return self.parts <= MOST_PARTS

    def _stays(self, shape: Shape, name: str, each: JSON, value: Mapping[str, JSON], src: Path) -> bool:
        """Whether a member that 1.0 doesn't have is kept: all are, but an older name that says nothing."""
        at = place(value, src, name)
        if name in shape.older:
            if each is None:
                return False
            if name != "authentication" or not self.context.legacy:
                self.notes.advice("legacy-member", at, "A2A 1.0 has no such member; it is not used")
        elif not shape.quiet:
            self.notes.advice("unknown-member", at, "A2A has no such member; it is not used")
        return True

    def _complete(self, shape: Shape, value: Mapping[str, JSON], out: dict[str, JSON], src: Path, dst: Path) -> None:
        """See to the REQUIRED members that are missing or empty."""
        for name in shape.required:
            if name in out:
                if out[name] == "" and shape.gap == "refuse" and name != "description":
                    self.notes.advice(
                        "empty-required", place(value, src, name), "a REQUIRED member should say something"
                    )
                continue
            if name in value:
                continue  # null or of a wrong type: that has been noted
            field = shape.members[name]
            if self.context.required_empty and field.of != "AgentInterface":
                out[name] = field.empty
                continue
            hint = _lookalike(name, value, src)
            message = f"this REQUIRED member is missing{hint}"
            read = self._gap(shape, field, "missing-required", message, at=place(value, src, name), dst=(*dst, name))
            if not isinstance(read, _Absent):
                out[name] = read

    def _gap(self, shape: Shape, field: Field, code: str, message: str, *, at: Path, dst: Path) -> _Read:
        """A REQUIRED member, to stand at ``dst``, that is not usable: what it is read as."""
        if field.fill is not None:
            self.notes.repair(code, at, f"{message}; it is read as {_told(field.fill)}")
            if field.fill and isinstance(field.fill, list):
                self._came((*dst, 0), at)
            return field.filled
        if shape.gap == "refuse":
            self.notes.error(code, at, message)
            return _ABSENT
        self.notes.repair(code, at, message)
        if shape.gap == "fill":
            return field.empty
        self.context.inert.append(dst[:-1])
        return _ABSENT

    def _member(self, shape: Shape, name: str, value: JSON, at: Path, dst: Path) -> _Read:
        field = shape.members[name]
        if value is None:
            return self._null(shape, field, at, dst)
        if field.kind == "message" and isinstance(value, dict):
            return self.message(field.of, value, at, dst)
        if field.kind in ("texts", "messages") and isinstance(value, list):
            return self._list(field, value, at, dst)
        if field.kind in ("map", "scopes") and isinstance(value, dict):
            return self._map(field, value, at, dst)
        if (field.kind == "flag" and isinstance(value, bool)) or (field.kind == "data" and isinstance(value, dict)):
            return value
        return self._wrong(shape, field, value, at, dst)

    def _null(self, shape: Shape, field: Field, at: Path, dst: Path) -> _Read:
        if field.required:
            return self._gap(shape, field, "null-required", "this REQUIRED member is null", at=at, dst=dst)
        self.notes.advice("null-optional", at, "null means absent; leave the member out")
        return _ABSENT

    def _wrong(self, shape: Shape, field: Field, value: JSON, at: Path, dst: Path) -> _Read:
        message = f"it must be {_EXPECTED[field.kind]}"
        if field.keep:
            self.notes.error("wrong-type", at, message)
            return _ABSENT
        if not field.required:
            self.notes.repair("wrong-type", at, f"{message}; it is read as absent")
            return _ABSENT
        read = self._gap(shape, field, "wrong-type", message, at=at, dst=dst)
        return value if isinstance(read, _Absent) and shape.gap == "inert" else read

    def _list(self, field: Field, value: list[JSON], at: Path, dst: Path) -> JSON:
        if field.required and not value:
            self._note_empty(field, at)
        if not self._room(len(value), at):
            return []
        places = value.places if isinstance(value, Row) else None
        out: list[JSON] = []
        for index, each in enumerate(value):
            src, to = places[index] if places else (*at, index), (*dst, len(out))
            if isinstance(each, dict) and field.of == "SecurityRequirement" and not security.is_readable(each):
                # without its schemes it would seem to ask for no credentials
                self._wrong_element(field, (*src, "schemes"))
                continue
            if isinstance(each, dict) and field.kind == "messages":
                out.append(self.message(field.of, each, src, to))
            elif isinstance(each, str) and field.kind == "texts":
                out.append(each)
            else:
                self._wrong_element(field, src)
                continue
            if src != (*at, to[-1]):
                self._came(to, src)
        return out

    def _note_empty(self, field: Field, at: Path) -> None:
        if field.of == "AgentInterface":
            self.notes.error("empty-required", at, "a card must name at least one interface")
        elif not self.context.legacy:
            self.notes.repair("empty-required", at, "a REQUIRED list has at least one element (section 5.7)")

    def _wrong_element(self, field: Field, at: Path) -> None:
        message = "it must be an object" if field.kind == "messages" else "it must be text"
        if field.required and field.kind == "messages":
            self.notes.error("wrong-type", at, message)
        else:
            self.notes.repair("wrong-type", at, f"{message}; it is left out")

    def _map(self, field: Field, value: dict[str, JSON], at: Path, dst: Path) -> JSON:
        out: dict[str, JSON] = {}
        if not self._room(len(value), at):
            return out
        for name, written in value.items():
            src, to, each = place(value, at, name), (*dst, name), written
            if field.kind == "scopes":
                out[name] = each if isinstance(each, str) else self._scope(src)
                continue
            if field.of == "StringList":
                each = security.scopes(self.context, each, src, flat=isinstance(value, Built))
            if isinstance(each, dict):
                out[name] = self.message(field.of, each, src, to)
                if src != (*at, name):
                    self._came(to, src)
            elif each is None:
                self.notes.advice("null-optional", src, "null means absent; leave the member out")
            else:
                self.notes.repair("wrong-type", src, "it must be an object; it is read as absent")
        return out

    def _scope(self, at: Path) -> str:
        self.notes.repair("wrong-type", at, "the description of a scope must be text; it is read as empty")
        return ""


_EXPECTED: Mapping[str, str] = {
    "text": "text",
    "flag": "true or false",
    "data": "an object",
    "texts": "a list of text",
    "scopes": "an object of scopes and their descriptions",
    "message": "an object",
    "messages": "a list of objects",
    "map": "an object",
}


def _told(fill: JSON) -> str:
    return {"[]": "an empty list", "{}": "empty", "": "empty text"}.get(str(fill), "text/plain")


def _lookalike(name: str, value: Mapping[str, JSON], src: Path) -> str:
    """A hint at the member that the publisher may have meant."""
    near = next((other for other in LOOKALIKES.get(name, ()) if value.get(other) is not None), None)
    return f" (misspelt? {pointer(*place(value, src, near))})" if near is not None else ""
