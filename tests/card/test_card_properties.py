"""Whatever the document is: a reading or our error, the same each time, with pointers that exist."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_discovery._card.json import decode
from a2a_discovery._card.read import Reading, looks_like, read_card
from a2a_discovery._card.shapes import LOOKALIKES, SHAPES
from a2a_discovery._card.upgrade import upgrade
from a2a_discovery.errors import CardError

DATA = Path(__file__).parent.parent / "data"
CARDS = [
    json.loads(path.read_text("utf-8"))
    for folder in ("cards", "seeds_like", "samples")
    for path in sorted((DATA / folder).glob("*.json"))
]
RICH = {
    "name": "n", "description": "d", "version": "1", "capabilities": {"extensions": [{"uri": "u", "params": {"a": 1}}]},
    "supportedInterfaces": [
        {"url": "/a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": ""},
        {"url": "https://a.example", "protocol_binding": "http_json"},
    ],
    "provider": {"name": "p", "url": "u"}, "protocolVersion": "1.0", "url": "https://a.example",
    "additionalInterfaces": [{"url": "https://a.example", "transport": "GRPC"}],
    "supportsAuthenticatedExtendedCard": True, "authentication": {"schemes": ["Bearer"]},
    "securitySchemes": {
        "a": {"type": "apiKey", "in_": "header", "name": "X"},
        "b": {"scheme": {"$case": "httpAuthSecurityScheme", "value": {"scheme": "Bearer"}}},
        "c": {"apiKey": {"location": "header", "name": "X"}},
        "d": {"oauth2SecurityScheme": {"flows": {
            "flow": {"$case": "clientCredentials", "value": {"tokenUrl": "t", "scopes": {"r": "R"}}},
            "password": {"tokenUrl": "t"}}}},
        "e": {"mtlsSecurityScheme": {}, "openIdConnectSecurityScheme": {"openIdConnectUrl": "o"}},
        "f": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "a", "scopes": {}}}},
    },
    "security": [{"a": ["s"]}, {}, {"schemes": {"b": {"list": []}}}, {"schemes": {"c": ["s"]}}],
    "skills": [{"id": "i", "name": "n", "description": "d", "tags": ["t"], "security": [{"a": []}]}],
    "defaultInputModes": ["text"], "defaultOutputModes": None, "signatures": [{"protected": "p", "signature": "s"}],
}  # fmt: skip
LEGACY = {name: value for name, value in RICH.items() if name != "supportedInterfaces"}
SEEDS = [*CARDS, RICH, LEGACY]

NAMES = sorted(
    {name for shape in SHAPES.values() for name in (*shape.members, *shape.older, *shape.spellings)}
    | {near for names in LOOKALIKES.values() for near in names}
    | {"type", "in", "in_", "apiKey", "$case", "value", "flow", "list", "schemes", "a~b/c"}
)
TWINS = {name: snake for shape in SHAPES.values() for snake, name in shape.spellings.items()}
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(
    ["", "a", "1.0", "0.3.0", "0.2.5", "/a", "https://a.example", "JSONRPC", "http_json", "apiKey", "oauth2",
     "httpAuthSecurityScheme", "clientCredentials", "\U0001f600", "..//[", "\\"]
) | st.floats(allow_nan=False)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def containers(value: Any) -> list[Any]:
    """The objects and lists in a document that have something in them, outermost first."""
    found, left = [], [value]
    while left:
        each = left.pop(0)
        if isinstance(each, (dict, list)) and each:
            found.append(each)
            left += each.values() if isinstance(each, dict) else each
    return found


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A card of some generation with one to four changes."""
    card = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        holder = draw(st.sampled_from(containers(card) or [card]))
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            continue
        key = draw(st.sampled_from(keys))
        change = draw(st.sampled_from(["drop", "null", "retype", "rename", "nest", "duplicate", "swap", "respell"]))
        if change == "drop":
            del holder[key]
        elif change == "null":
            holder[key] = None
        elif change == "retype":
            holder[key] = draw(values)
        elif change == "nest":
            holder[key] = draw(st.sampled_from([[holder[key]], {"value": holder[key]}, {"schemes": holder[key]}]))
        elif change == "swap":
            other = draw(st.sampled_from(keys))
            holder[key], holder[other] = holder[other], holder[key]
        elif change == "respell" and isinstance(holder, dict):
            twins = [name for name in TWINS if name in holder]
            if twins:
                holder[TWINS[draw(st.sampled_from(twins))]] = draw(values)
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            name = draw(st.sampled_from(NAMES))
            holder[name] = copy.deepcopy(holder[key])
            if change == "rename" and name != key:
                del holder[key]
    return card


def outcome(document: Any, **options: Any) -> Reading | CardError:
    try:
        return read_card(document, url="https://a.example/.well-known/agent-card.json", **options)
    except CardError as refusal:
        assert refusal.code in ("not-a-card", "invalid-card")
        return refusal


_NOWHERE = object()


def at(document: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return _NOWHERE
    return document


def pointers(value: Any, here: str = "") -> list[str]:
    found = [here]
    if isinstance(value, dict):
        for name, each in value.items():
            found += pointers(each, f"{here}/{name.replace('~', '~0').replace('/', '~1')}")
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += pointers(each, f"{here}/{index}")
    return found


def check(document: Any, *, strict: bool) -> None:
    before = copy.deepcopy(document)
    first = outcome(document, strict=strict)
    again = outcome(copy.deepcopy(document), strict=strict)

    assert document == before
    assert type(first) is type(again)
    assert first.findings == again.findings
    assert len(first.findings) <= 200
    for finding in first.findings:
        assert at(document, finding.pointer.rpartition("/")[0]) is not _NOWHERE, finding
    if isinstance(first, CardError) or isinstance(again, CardError):
        assert any(each.severity == "error" for each in first.findings)
        return
    assert (first.value, first.card, first.origins) == (again.value, again.card, again.origins)
    for pointer in pointers(first.value):
        origin = first.origin(pointer)
        assert at(document, origin.rpartition("/")[0]) is not _NOWHERE, (pointer, origin)
    if not strict:
        assert upgrade(first.value).value == first.value
        assert outcome(first.value).card == first.card


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.booleans())
def test_a_mutated_card_gives_a_reading_or_our_error(document, strict):
    check(document, strict=strict)


@given(st.dictionaries(st.sampled_from(NAMES), values, max_size=12), st.booleans())
def test_any_object_gives_a_reading_or_our_error(document, strict):
    check(document, strict=strict)


@given(values)
def test_any_json_gives_a_reading_or_our_error(document):
    looks_like(document)
    check(document, strict=False)


@given(st.sampled_from(SEEDS), st.data())
def test_damaged_bytes_give_a_reading_or_our_error(card, data):
    body = bytearray(json.dumps(card).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.sampled_from(b'\x00"{}[]:,\\a0\xff'))
    try:
        read_card(decode(bytes(body), depth=64), url=None)
    except CardError as refusal:
        assert refusal.code in ("not-json", "not-a-card", "invalid-card")


def test_the_seeds_themselves():
    for card in SEEDS:
        check(card, strict=False)
        check(card, strict=True)


def test_what_only_one_reading_holds_is_found_in_the_document():
    """Take away any member that the card rests on, and some place that came from it reads differently."""
    reading = read_card(RICH, url=None)
    for pointer in pointers(RICH):
        changed = copy.deepcopy(RICH)
        holder, _, name = pointer.rpartition("/")
        parent = at(changed, holder)
        if pointer == "" or isinstance(parent, list):
            continue
        del parent[name.replace("~1", "/").replace("~0", "~")]
        other = outcome(changed)
        if isinstance(other, CardError) or other.value == reading.value:
            continue
        differing = {each for each in pointers(reading.value) if at(other.value, each) != at(reading.value, each)}
        origins = {reading.origin(each) for each in differing}
        assert any(each == pointer or each.startswith(f"{pointer}/") or pointer.startswith(each) for each in origins)
