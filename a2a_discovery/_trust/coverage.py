"""What a signature leaves open, found by reading the card twice: from the document, and from the signed bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from a2a_discovery._card.json import is_texts
from a2a_discovery._card.notes import shortened
from a2a_discovery._card.read import Reading, read_card
from a2a_discovery._card.upgrade import Upgraded, upgrade
from a2a_discovery._finding import pointer
from a2a_discovery._trust.canonical import PRUNED, Payload
from a2a_discovery._trust.presence import MESSAGES, Field
from a2a_discovery.errors import CardError

_INTERFACE = ("url", "protocolBinding", "tenant", "protocolVersion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What of a card is in the bytes that were signed."""

    uncovered: tuple[str, ...] = ()
    """Pointers, in the document, of all that is only there or reads differently there."""
    interfaces: bool = True
    """Whether both readings have the same interfaces, in the same order."""
    second: Reading | None = None
    """The card as the signed bytes say it; ``None`` where they are no card, or nobody asked for it."""


def compare(reading: Reading, payload: Payload, *, url: str | None, hand_out: bool) -> Coverage:
    """Read the signed bytes as a card and list what the document has beyond them.

    Args:
        reading: the document's reading.
        payload: what a signature verified over.
        url: the final URL of the card: the base of its relative URLs.
        hand_out: the card may be handed out as the signed bytes say it; its model is made for that alone.
    """
    text = json.loads(payload.signed)
    pruned = payload.form in PRUNED
    if pruned:
        _restore(text, payload.view.full, "AgentCard")
    # Every member of a form is the document's own, so equal means the same, though Python takes 1 for true. A number
    # that RFC 8785 rounds is not equal.
    document = {name: value for name, value in reading.document.items() if name != "signatures"}
    if text == document or (payload.view.defaults_only and text == payload.view.full):
        return Coverage(second=reading)
    text["signatures"] = reading.document["signatures"]  # the same in both readings
    for required_empty in (False, True) if pruned else (False,):
        second = _read(text, url=url, required_empty=required_empty, hand_out=hand_out)
        if second is not None:
            return _compared(reading, second)
    return Coverage(uncovered=("",), interfaces=False)


def _read(text: dict[str, Any], *, url: str | None, required_empty: bool, hand_out: bool) -> Reading | Upgraded | None:
    if not hand_out:
        second = upgrade(text, url=url, required_empty=required_empty)
        return second if second.readable else None
    try:
        return read_card(text, url=url, required_empty=required_empty)
    except CardError:
        return None


def _compared(reading: Reading, second: Reading | Upgraded) -> Coverage:
    places = dict.fromkeys(
        reading.origin(pointer(*shortened(place)))  # what stands above it is uncovered as well
        for place in _differences(reading.value, second.value, MESSAGES["AgentCard"], ())
    )
    return Coverage(
        uncovered=tuple(places),
        interfaces=_interfaces(reading.value) == _interfaces(second.value),
        # Still the document as it came; only the card is the signed one.
        second=replace(second, document=reading.document) if isinstance(second, Reading) else None,
    )


def _interfaces(value: Mapping[str, Any]) -> list[Any]:
    interfaces = value.get("supportedInterfaces")
    return [
        tuple(interface.get(name) or "" for name in _INTERFACE) if isinstance(interface, dict) else None
        for interface in (interfaces if isinstance(interfaces, list) else ())
    ]


# --- REQUIRED members whose empty value the form deletes are read as that empty value


def _restore(signed: dict[str, Any], view: Mapping[str, Any], kind: str) -> None:
    fields = MESSAGES[kind]
    for name, ours in view.items():
        field = fields[name]  # the forms that delete know no other members
        if name not in signed:
            if field.required:
                signed[name] = field.empty
        elif field.message is not None and signed[name] != ours:  # equal parts lack nothing
            for part, mine in _parts(signed[name], ours, field):
                if isinstance(part, dict) and isinstance(mine, dict):
                    _restore(part, mine, field.message)


def _parts(signed: Any, ours: Any, field: Field) -> Iterator[tuple[Any, Any]]:
    if field.shape == "list" and isinstance(signed, list) and isinstance(ours, list):
        # elements that were deleted whole have no counterpart
        yield from zip(signed, [part for part in ours if not _is_empty(part)], strict=False)
    elif field.shape == "map" and isinstance(signed, dict) and isinstance(ours, dict):
        yield from ((signed[key], ours[key]) for key in signed.keys() & ours.keys())
    elif field.shape == "message":
        yield signed, ours


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return value is None or value == ""


# --- the two readings, member by member

_Path = tuple[str | int, ...]
_Fields = Mapping[str, Field]
_FREE: _Fields = {}


def _differences(first: Any, second: Any, fields: _Fields, place: _Path) -> Iterator[_Path]:
    """Paths of what only the first reading has, or has otherwise; of the place itself, where it lacks something."""
    if isinstance(first, list) and isinstance(second, list):
        yield from _elements(first, second, fields, place)
        return
    if not isinstance(first, dict) or not isinstance(second, dict):
        if type(first) is not type(second) and bool in (type(first), type(second)):
            yield place  # Python takes 1 for true
        elif first != second:
            yield place
        return
    for name, value in first.items():
        if name not in second:
            if not _means_absence(value, fields.get(name)):
                yield (*place, name)
        elif not _same_texts(value, second[name]):
            yield from _member(value, second[name], fields.get(name), (*place, name))
    if any(name not in first and not _means_absence(second[name], fields.get(name)) for name in second):
        yield place


def _same_texts(first: Any, second: Any) -> bool:
    """Whether two values are the same text, list of texts, or flat object of these: most of a card.

    It goes no deeper, so that nothing is looked at again at each level, and where Python takes 1 for true.
    """
    if type(first) is dict:
        flat = all([type(each) is str or is_texts(each) for each in first.values()])  # noqa: C419  (faster, for so few)
    else:
        flat = type(first) is str or is_texts(first)
    return flat and bool(first == second)


def _member(first: Any, second: Any, field: Field | None, place: _Path) -> Iterator[_Path]:
    inner = _FREE if field is None or field.message is None else MESSAGES[field.message]
    if field is not None and field.shape == "map" and isinstance(first, dict) and isinstance(second, dict):
        for key, value in first.items():
            if key not in second:
                yield (*place, key)
            else:
                yield from _differences(value, second[key], inner, (*place, key))
        if not second.keys() <= first.keys():
            yield place
    else:
        yield from _differences(first, second, inner, place)


def _elements(first: list[Any], second: list[Any], inner: _Fields, place: _Path) -> Iterator[_Path]:
    if len(first) == len(second):
        for index, (one, other) in enumerate(zip(first, second, strict=True)):
            if not _same_texts(one, other):
                yield from _differences(one, other, inner, (*place, index))
        return
    matched = 0
    for index, one in enumerate(first):
        if matched < len(second) and next(_differences(one, second[matched], inner, ()), None) is None:
            matched += 1
        else:
            yield (*place, index)
    if matched < len(second):
        yield place


def _means_absence(value: Any, field: Field | None) -> bool:
    """Whether a member that only one reading has says the same as its absence."""
    if field is None:  # free data, or a member that nobody defined: even null is something there
        return False
    if value is None:
        return True
    if field.shape == "text":  # for an optional text too: an empty URL names nothing
        return bool(value == "")
    return not field.kept and type(value) is type(field.empty) and value == field.empty
