"""The bytes a signature is over: the canonical forms of a card (A2A section 8.4.1, RFC 8785).

Four views of one document, and one way to write each of them:

=================  ==================================================================================================
``spec``           section 8.4.1 to the letter; members that A2A 1.0 does not know are left out
``spec+unknown``   the same, unknown members kept as they are
``sdk``            the protocol buffers view with every ``""``, ``[]``, ``{}`` and ``null`` deleted, at any depth
``received``       the JSON as it came
``python-json``    the ``sdk`` view as ``json.dumps(sort_keys=True)`` writes it
=================  ==================================================================================================

In all of them only the *root* member ``signatures`` is left out.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from a2a_discovery._card.json import is_texts
from a2a_discovery._trust.presence import MESSAGES, PROTO_NAMES, Field
from a2a_discovery._trust.report import MatchedForm
from a2a_discovery.policy import Form

DEPTH = 128
"""Deepest nesting that is written. Documents we decode stop far earlier; a mapping from the caller may not."""


def canonical(document: Mapping[str, Any], form: MatchedForm) -> bytes:
    """The bytes that a signature over a card in this form covers.

    Args:
        document: the card as plain JSON, with or without its ``signatures``.
        form: the canonical form.

    Raises:
        ValueError: the document has no such form: a lone surrogate, a number beyond a double, nesting beyond `DEPTH`.
    """
    return write(view(document, form).covered, form)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of a document a form covers, as plain JSON; parts of it may be the document's own."""

    covered: dict[str, Any]
    full: dict[str, Any]
    """The same before the ``sdk`` forms delete everything empty from it."""
    defaults_only: bool
    """What ``full`` lacks of the document is unset or an implicit default, so that it says the same."""


def view(document: Mapping[str, Any], form: MatchedForm) -> View:
    """See a document through a form.

    Raises:
        ValueError: nesting beyond `DEPTH`.
    """
    card = {name: value for name, value in document.items() if name != "signatures"}
    if form == "received":
        return View(covered=card, full=card, defaults_only=True)
    walk = _Walk(keep_unknown=form == "spec+unknown", proto_names=form in PRUNED)
    return _seen(_message(card, "AgentCard", walk), form, strange=walk.strange)


def _seen(full: dict[str, Any], form: MatchedForm, *, strange: bool) -> View:
    covered = (_pruned(full, DEPTH) or {}) if form in PRUNED else full
    # Beside an unknown member even a default can say something: an empty list of requirements hides an older one.
    return View(covered=covered, full=full, defaults_only=not strange)


def write(covered: Mapping[str, Any], form: MatchedForm) -> bytes:
    """Write what a form covers: RFC 8785, except for ``python-json``.

    Raises:
        ValueError: it has no such form.
    """
    if form == "python-json":
        return json.dumps(_doubles(covered, DEPTH), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    return jcs_bytes(covered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A card in one form."""

    form: MatchedForm
    view: View
    signed: bytes
    encoded: bytes
    """A dot and the base64url of it: the second half of the JWS signing input (RFC 7515 section 5.1)."""


class Forms:
    """The canonical forms of one card that differ, each written when it is first asked for, and once."""

    def __init__(self, document: Mapping[str, Any], forms: Iterable[Form]) -> None:
        self._document = document
        self._order: list[MatchedForm] = [each for form in forms for each in _VARIANTS.get(form, (form,))]
        self._views: dict[MatchedForm, View | None] = {}
        self._made: dict[MatchedForm, Payload | None] = {}

    def payloads(self, likely: MatchedForm | None = None) -> Iterator[Payload]:
        """The card in each form, in order.

        Args:
            likely: a form to begin with. It changes how soon a signature is matched, and never under which name.
        """
        first = [likely] if likely in self._order else []
        for form in dict.fromkeys(first + self._order):
            payload = self._payload(form)
            if payload is not None:
                yield payload

    def _payload(self, form: MatchedForm) -> Payload | None:
        """The card in this form; ``None`` where it has none, or the same bytes go by the name of an earlier one."""
        if form not in self._made:
            self._made[form] = self._make(form)
        return self._made[form]

    def _make(self, form: MatchedForm) -> Payload | None:
        seen = self._view(form)
        earlier = self._order[: self._order.index(form)]
        # Members of a view are the document's own, so equal views are equal bytes. Python's JSON is written otherwise.
        if seen is None or (form != "python-json" and any(seen.covered == self._covered(each) for each in earlier)):
            return None
        try:
            signed = write(seen.covered, form)
        except (ValueError, RecursionError):  # this card has no such form, so nobody signed it
            return None
        if form == "python-json" and any(made.signed == signed for made in map(self._payload, earlier) if made):
            return None
        encoded = b"." + urlsafe_b64encode(signed).rstrip(b"=")
        return Payload(form=form, view=seen, signed=signed, encoded=encoded)

    def _view(self, form: MatchedForm) -> View | None:
        if form not in self._views:
            try:
                self._views[form] = self._see(form)
            except (ValueError, RecursionError):
                self._views[form] = None
        return self._views[form]

    def _see(self, form: MatchedForm) -> View:
        plain = self._view("spec") if form in _AS_SPEC else None
        if plain is None or not plain.defaults_only:
            return view(self._document, form)
        # No member is strange, so none has another spelling, and every form walks the messages alike.
        return _seen(plain.full, form, strange=False)

    def _covered(self, form: MatchedForm) -> dict[str, Any] | None:
        seen = self._view(form)
        return None if seen is None else seen.covered


PRUNED: frozenset[MatchedForm] = frozenset(("sdk", "python-json"))
"""The forms without anything empty in them."""
_AS_SPEC = PRUNED | {"spec+unknown"}
"""The forms that differ from ``spec`` in members that A2A 1.0 does not know, and in what is empty, alone."""
_VARIANTS: Mapping[Form, tuple[MatchedForm, ...]] = {"spec": ("spec", "spec+unknown")}


# --- the views


@dataclass(slots=True)
class _Walk:
    """How a document is walked along the messages, and whether that met a member that A2A 1.0 does not know."""

    keep_unknown: bool
    proto_names: bool
    """Members are read under the names of the definition too."""
    strange: bool = False


def _message(value: dict[str, Any], kind: str, walk: _Walk) -> dict[str, Any]:
    """One message by section 8.4.1 rule 1: unset members and implicit ones at their default are left out."""
    fields = MESSAGES[kind]
    seen: dict[str, Any] = {}
    for name, member in value.items():
        field = fields.get(name)
        if field is None:
            walk.strange = True
        if field is None and walk.proto_names:
            known = PROTO_NAMES[kind].get(name)
            if known is None or known in value:  # a member spelled both ways is read by its JSON name
                continue
            name, field = known, fields[known]  # noqa: PLW2901
        if field is None:
            if walk.keep_unknown:
                seen[name] = member
        elif member is not None:  # ProtoJSON: null is unset
            if field.message is not None:
                member = _member(member, field, field.message, walk)  # noqa: PLW2901
            if member or field.kept or not _is_default(member, field):  # every default is false
                seen[name] = member
    return seen


def _member(value: Any, field: Field, kind: str, walk: _Walk) -> Any:
    # A value of a shape that the definition does not give stays as it is: nothing is repaired on the way to the bytes.
    if field.shape == "list" and isinstance(value, list):
        return [_message(part, kind, walk) if isinstance(part, dict) else part for part in value]
    if field.shape == "map" and isinstance(value, dict):
        return {key: _message(part, kind, walk) if isinstance(part, dict) else part for key, part in value.items()}
    if field.shape == "message" and isinstance(value, dict):
        return _message(value, kind, walk)
    return value


def _is_default(value: Any, field: Field) -> bool:
    default = field.empty
    return type(value) is type(default) and bool(value == default)


def _pruned(value: Any, depth: int) -> Any:
    """The value without anything empty in it, or ``None`` where nothing is left."""
    if isinstance(value, dict):
        _check_depth(depth)
        left = {}
        for name, member in value.items():
            kept = (member or None) if type(member) is str else _pruned(member, depth - 1)
            if kept is not None:
                left[name] = kept
        return left or None
    if isinstance(value, list):
        _check_depth(depth)
        if is_texts(value) and all(value):
            return value or None
        parts = []
        for part in value:
            kept = (part or None) if type(part) is str else _pruned(part, depth - 1)
            if kept is not None:
                parts.append(kept)
        return parts or None
    return None if value == "" else value


def _doubles(value: Any, depth: int) -> Any:
    """The value with every number as the double that a ``google.protobuf.Struct`` holds."""
    if isinstance(value, dict):
        _check_depth(depth)
        return {name: _doubles(member, depth - 1) for name, member in value.items()}
    if isinstance(value, list):
        _check_depth(depth)
        return [_doubles(part, depth - 1) for part in value]
    return _double(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number is beyond a double") from None


def _check_depth(depth: int) -> None:
    if depth <= 0:
        raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"nested more than {DEPTH} deep")


# --- RFC 8785


def jcs_bytes(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Only the numbers, the hard part, come from ``jcs``: its walk is a chain of generators, whose cost grows with the
    depth of each value and whose depth has no bound but the interpreter's stack.

    Raises:
        ValueError: a lone surrogate, a number beyond a double, a value that is not JSON, nesting beyond `DEPTH`.
    """
    try:
        return _text(value, DEPTH).encode()
    except TypeError:
        raise ValueError("a name is no string") from None


def _text(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is dict:
        if depth <= 0:
            raise _too_deep()
        members = []
        for name in sorted(value) if "".join(value).isascii() else sorted(value, key=_code_units):
            member = value[name]
            text = encode_basestring(member) if type(member) is str else _text(member, depth - 1)
            members.append(f"{encode_basestring(name)}:{text}")
        return f"{{{','.join(members)}}}"
    if kind is list:
        if depth <= 0:
            raise _too_deep()
        parts = [encode_basestring(part) if type(part) is str else _text(part, depth - 1) for part in value]
        return f"[{','.join(parts)}]"
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        import jcs

        number: bytes = jcs.canonicalize(_double(value))
        return number.decode()
    if isinstance(value, Mapping):
        return _text(dict(value), depth)
    if isinstance(value, (list, tuple)):
        return _text(list(value), depth)
    raise ValueError("a value is not JSON")


def _code_units(name: str) -> bytes:
    """Section 3.2.3: by UTF-16 code units, which is not Python's order by code points above U+FFFF."""
    return name.encode("utf-16-be")
