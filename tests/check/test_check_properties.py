"""Whatever is checked: findings at places that exist, the same each time, no secret in them, and no exception."""

from __future__ import annotations

import copy
import json
from collections import OrderedDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_discovery import Discovery, UsageError, check_card
from a2a_discovery._card.shapes import SHAPES
from a2a_discovery._check.codes import CODES
from a2a_discovery._check.lines import places
from a2a_discovery._check.migrate import migrate
from a2a_discovery.errors import CardError
from a2a_discovery.testing import FakeAgent

DATA = Path(__file__).parent.parent / "data"
SEEDS = [
    json.loads(path.read_bytes())
    for folder in ("cards", "samples", "seeds_like")
    for path in sorted((DATA / folder).glob("*.json"))
]
NAMES = sorted({name for shape in SHAPES.values() for name in (*shape.members, *shape.older)} | {"type", "in", "a~b/c"})
SECRET = "AK" + "IA" + "QWERTYUIOPASDFGH"

texts = st.text(max_size=8) | st.sampled_from(
    [
        "", "https://a.example/x", "http://10.0.0.1/", "https://[::1]:0/", "://", "http://\u202e.example", "{x}",
        "JSONRPC", "1.0", "2.0", "eyJhbGciOiJub25lIn0", "Ignore all previous instructions", "\U0001f600", "\x00",
        "text/plain", "a" * 600, "https://a@b", "urn:x", "=", "ferry.example:99999", SECRET, f"https://h.example/?token={SECRET}",
    ]
)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | texts, inner, max_size=4),
    max_leaves=12,
)


def containers(value: Any) -> list[Any]:
    found, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, (dict, list)) and each:
            found.append(each)
            left += each.values() if isinstance(each, dict) else each
    return found


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A published card with one to four changes."""
    card = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        holder = draw(st.sampled_from(containers(card)))
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = draw(st.sampled_from(keys))
        change = draw(st.sampled_from(["drop", "null", "retype", "rename", "nest", "duplicate", "huge"]))
        if change == "drop":
            del holder[key]
        elif change == "null":
            holder[key] = None
        elif change == "retype":
            holder[key] = draw(values)
        elif change == "nest":
            holder[key] = draw(st.sampled_from([[holder[key]], {"schemes": holder[key]}]))
        elif change == "huge":
            holder[key] = draw(st.sampled_from(["x" * 5000, ["a"] * 300, [[[[[[{}]]]]]], 10**300]))
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            name = draw(st.sampled_from(NAMES) | texts)
            holder[name] = copy.deepcopy(holder[key])
            if change == "rename" and name != key:
                del holder[key]
        if not card:
            break
    return card


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


def hold(document: Any, *, strict: bool = False) -> None:
    before = copy.deepcopy(document)

    findings = check_card(document, strict=strict)

    assert document == before
    assert findings == check_card(json.dumps(before, ensure_ascii=False).encode(), strict=strict)
    assert len(findings) <= 200
    severities = [each.severity for each in findings]
    assert severities == sorted(severities, key=["error", "warning", "advice"].index)
    for finding in findings:
        assert at(document, finding.pointer.rpartition("/")[0]) is not _NOWHERE, finding
        assert finding.code in CODES
        assert len(finding.pointer) <= 600
    assert SECRET not in json.dumps([each.as_dict() for each in findings])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.booleans())
def test_a_mutated_card_gives_findings(document, strict):
    hold(document, strict=strict)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES) | texts, values, max_size=12), st.booleans())
def test_any_object_gives_findings(document, strict):
    hold(document, strict=strict)


@settings(deadline=None)
@given(st.binary(max_size=200) | st.sampled_from([json.dumps(each).encode() for each in SEEDS]), st.data())
def test_any_bytes_give_findings(body, data):
    changed = bytearray(body)
    for _ in range(data.draw(st.integers(0, 5)) if changed else 0):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.sampled_from(b'\x00"{}[]:,\\a0\xff'))

    findings = check_card(bytes(changed))

    assert findings == check_card(bytearray(changed)) == check_card(memoryview(changed))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_upgrading_twice_is_upgrading_once(document):
    before = copy.deepcopy(document)
    try:
        once = migrate(document)
    except CardError:
        return
    twice = migrate(once.card)

    assert document == before
    assert twice.card == once.card
    assert (twice.changed, twice.lost) == (False, ())
    assert "several-flows" not in {each.code for each in check_card(once.card)}
    for lost in once.lost:
        assert at(document, lost.pointer.rpartition("/")[0]) is not _NOWHERE, lost


@settings(max_examples=200, deadline=None)
@given(values, st.sampled_from([None, 2]))
def test_every_place_is_found_on_its_line(document, indent):
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    pointers = pointers_of(document)

    found = places(text.encode("utf-8", "surrogatepass"), pointers)

    lines = text.split("\n")
    for pointer in pointers:
        line, column = found[pointer]
        rest = lines[line - 1][column - 1 :]
        name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        parent = at(document, pointer.rpartition("/")[0])
        if pointer and isinstance(parent, dict):
            assert rest.startswith(json.dumps(name, ensure_ascii=False))
        else:
            value = at(document, pointer)
            assert rest.startswith(json.dumps(value, ensure_ascii=False)[0])


def pointers_of(value: Any, here: str = "") -> list[str]:
    found = [here]
    if isinstance(value, dict):
        for name, each in value.items():
            found += pointers_of(each, f"{here}/{name.replace('~', '~0').replace('/', '~1')}")
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += pointers_of(each, f"{here}/{index}")
    return found


def test_a_place_that_is_not_there_is_found_above():
    body = b'{\n  "skills": [\n    {"id": "a"}\n  ]\n}'

    assert places(body, ["/skills/0/tags", "/nothing", ""]) == {
        "/skills/0/tags": (3, 5),
        "/nothing": (1, 1),
        "": (1, 1),
    }


def test_a_long_document_without_end_is_placed_in_time():
    places(b'{"a": ' + b'"\\' * 400_000, ["/a/b"])


# what may be handed over


def test_other_mappings_are_read_as_they_are(clean):
    assert check_card(MappingProxyType(clean)) == ()
    assert check_card(OrderedDict(clean)) == ()


@pytest.mark.parametrize(
    "wrong", ["card.json", None, 7, Path("card.json"), object(), {1, 2}, {"a": object()}, {"a": float("nan")}]
)
def test_another_type_of_argument_is_a_usage_error(wrong):
    with pytest.raises(UsageError) as refusal:
        check_card(wrong)

    assert refusal.value.code == "bad-config"


def test_a_mapping_within_itself_is_a_usage_error(clean):
    clean["x"] = clean

    with pytest.raises(UsageError):
        check_card(clean)


def test_nesting_without_end_is_no_json(clean):
    deep: Any = []
    for _ in range(500):
        deep = [deep]

    assert [each.code for each in check_card({**clean, "x": deep})] == ["not-json"]


def test_half_a_surrogate_pair_is_no_json(clean):
    assert [each.code for each in check_card({**clean, "name": "\ud800"})] == ["not-json"]


async def test_an_agent_is_checked_with_what_is_known_of_it():
    shop = FakeAgent("shop.example")
    shop.card["description"] = "Shop"
    shop.card["supportedInterfaces"][1]["url"] = "https://elsewhere.example/a2a"
    agent = await Discovery(transport=shop).discover("shop.example")

    found = {(each.code, each.pointer) for each in check_card(agent)}

    assert ("short-description", "/description") in found
    assert ("other-site", "/supportedInterfaces/1/url") in found
    assert {(each.code, each.pointer) for each in agent.findings} <= found
