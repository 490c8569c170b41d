"""The canonical forms against published vectors: A2A section 8.4.1, RFC 8785, and what real SDKs signed."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import jcs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._trust.canonical import DEPTH, Forms, canonical, jcs_bytes
from a2a_discovery._trust.presence import MESSAGES, proto_name
from a2a_discovery._trust.report import MatchedForm
from a2a_discovery.policy import Form

DATA = Path(__file__).parent.parent / "data"
CANONICAL = json.loads((DATA / "canonical-vectors.json").read_text(encoding="utf-8"))
VECTORS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((DATA / "vectors").glob("*.json"))
}


@pytest.mark.parametrize("vector", CANONICAL, ids=lambda vector: vector["id"])
def test_the_strict_form_is_byte_for_byte_the_published_one(vector):
    made = canonical(vector["card"], "spec")

    assert made == vector["strict"].encode()
    assert hashlib.sha256(made).hexdigest() == vector["strict_sha256"]


@pytest.mark.parametrize("vector", CANONICAL, ids=lambda vector: vector["id"])
def test_the_sdk_form_is_byte_for_byte_what_the_sdks_write(vector):
    assert canonical(vector["card"], "sdk") == vector["sdk_compat"].encode()


@pytest.mark.parametrize("vector", CANONICAL, ids=lambda vector: vector["id"])
def test_unknown_members_are_kept_where_asked_for(vector):
    assert canonical(vector["card"], "spec+unknown") == vector["keep_unknown"].encode()


@pytest.mark.parametrize("name", VECTORS)
def test_every_signer_signed_the_bytes_of_one_of_our_forms(name):
    vector = VECTORS[name]
    form = {"py112": "python-json", "spec": "spec"}.get(name.split("-")[0], "sdk")

    assert canonical(vector["card"], form) == vector["canonical"].encode()


def test_the_worked_example_of_the_specification():
    card = {
        "name": "Example Agent",
        "description": "",
        "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
        "skills": [],
    }

    assert canonical(card, "spec") == (
        b'{"capabilities":{"pushNotifications":false,"streaming":false},"description":"",'
        b'"name":"Example Agent","skills":[]}'
    )


def test_only_the_root_signatures_member_is_left_out():
    card = {"name": "x", "signatures": [1], "capabilities": {"extensions": [{"uri": "u", "params": {"signatures": 1}}]}}

    for form in ("spec", "spec+unknown", "sdk", "received"):
        assert (
            canonical(card, form)
            == b'{"capabilities":{"extensions":[{"params":{"signatures":1},"uri":"u"}]},"name":"x"}'
        )


def test_received_is_the_document_with_nothing_left_out():
    card = {"b": None, "a": "", "protocolVersion": "0.3.0", "l": [], "signatures": []}

    assert canonical(card, "received") == b'{"a":"","b":null,"l":[],"protocolVersion":"0.3.0"}'


def test_the_sdk_form_reads_names_as_the_protocol_buffers_parsers_do():
    card = {"name": "x", "supported_interfaces": [{"url": "https://a", "protocol_binding": "JSONRPC"}]}

    assert canonical(card, "sdk") == (
        b'{"name":"x","supportedInterfaces":[{"protocolBinding":"JSONRPC","url":"https://a"}]}'
    )


def test_a_member_spelled_both_ways_is_read_by_its_json_name():
    card = {"name": "x", "icon_url": "https://b", "iconUrl": "https://a"}

    assert canonical(card, "sdk") == b'{"iconUrl":"https://a","name":"x"}'


def test_a_value_of_another_shape_is_not_repaired():
    card = {"name": ["x"], "skills": {"0": 1}, "capabilities": "all", "securitySchemes": [1]}

    assert canonical(card, "spec") == b'{"capabilities":"all","name":["x"],"securitySchemes":[1],"skills":{"0":1}}'


def test_the_document_is_not_changed():
    card = json.loads(VECTORS["py-full"]["body"])
    before = json.dumps(card)

    for form in ("spec", "spec+unknown", "sdk", "received", "python-json"):
        canonical(card, form)

    assert json.dumps(card) == before


def test_the_old_python_form_escapes_and_sorts_as_json_dumps_does():
    params = {"\uff01": 2, "\U0001f600": 1e-06, "big": 2**63, "no": -0.0}
    card = {"name": "Café", "capabilities": {"extensions": [{"uri": "u", "params": params}]}}

    # Python orders by code points: U+FF01 before U+1F600, the other way round than UTF-16
    assert canonical(card, "python-json") == (
        rb'{"capabilities":{"extensions":[{"params":{"big":9.223372036854776e+18,"no":-0.0,"\uff01":2.0,'
        rb'"\ud83d\ude00":1e-06},"uri":"u"}]},"name":"Caf\u00e9"}'
    )


@pytest.mark.parametrize("form", ["spec", "spec+unknown", "sdk", "received", "python-json"])
@pytest.mark.parametrize(
    "odd", [math.inf, math.nan, 10**400, "deep", "long"], ids=["infinity", "nan", "beyond-a-double", "deep", "long"]
)
def test_what_has_no_canonical_form_is_a_value_error(form, odd):
    if odd in ("deep", "long"):
        nested: object = "x"
        for _ in range(DEPTH if odd == "deep" else 100_000):
            nested = [nested]
        odd = nested
    card = {"name": "x", "capabilities": {"extensions": [{"uri": "u", "params": {"a": odd}}]}}

    with pytest.raises(ValueError):  # noqa: PT011  (the class is the contract)
        canonical(card, form)


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, [object()], {1: 2}, b"x"])
def test_what_is_not_json_is_a_value_error(value):
    with pytest.raises(ValueError):  # noqa: PT011
        jcs_bytes(value)


def test_a_callers_own_kinds_of_mapping_list_and_text_are_what_json_has_for_them():
    class Text(str):
        __slots__ = ()

    value = MappingProxyType({"b": ({"d": Text("x")},), "a": MappingProxyType({}), "c": ()})

    assert jcs_bytes(value) == b'{"a":{},"b":[{"d":"x"}],"c":[]}'


# --- RFC 8785


def test_rfc_8785_section_3_2_2_serialization_of_primitive_types():
    value = json.loads(
        r'{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        r'"string": "\u20ac$\u000F\u000aA'
        "'"
        r'\u0042\u0022\u005c\\\"\/",'
        r'"literals": [null, true, false]}'
    )

    assert (
        jcs_bytes(value)
        == (
            r'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            r'"string":"€$\u000f\nA'
            "'"
            r'B\"\\\\\"/"}'
        ).encode()
    )


def test_rfc_8785_section_3_2_3_sorting_of_properties():
    value = json.loads(
        r'{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",'
        r'"\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}'
    )

    assert list(json.loads(jcs_bytes(value)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_rfc_8785_appendix_b_numbers(bits, text):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    assert jcs_bytes(value) == text.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000"], ids=["NaN", "Infinity"])
def test_rfc_8785_appendix_b_numbers_without_a_form(bits):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    with pytest.raises(ValueError):  # noqa: PT011
        jcs_bytes(value)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ({"k": "a\u2028b\u2029c"}, "eyJrIjoiYeKAqGLigKljIn0="),
        ({"a\u2028b": "x"}, "eyJh4oCoYiI6IngifQ=="),
        ({"\U0001f600": 2, "\uffff": 1}, "eyLwn5iAIjoyLCLvv78iOjF9"),
    ],
    ids=["separators-in-a-value", "separators-in-a-name", "order-above-the-basic-plane"],
)
def test_jcs_edge_data(value, encoded):
    assert jcs_bytes(value) == base64.b64decode(encoded)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(JSON)
def test_our_walk_writes_what_the_library_writes(value):
    assert jcs_bytes(value) == jcs.canonicalize(value)


@given(
    st.dictionaries(st.sampled_from(sorted(MESSAGES["AgentCard"])) | st.text(max_size=5), JSON, max_size=6),
    st.sampled_from(["spec", "spec+unknown", "sdk", "received"]),
)
def test_a_canonical_form_is_its_own_canonical_form(card, form):
    once = canonical(card, form)

    assert canonical(json.loads(once), form) == once


@given(
    st.dictionaries(st.sampled_from(sorted(MESSAGES["AgentCard"])) | st.text(max_size=5), JSON, max_size=6),
    st.sampled_from([None, *get_args(MatchedForm)]),
)
def test_a_guess_at_the_form_changes_the_order_and_no_name(card, likely):
    forms = get_args(Form)
    usual = [(each.form, each.signed) for each in Forms(card, forms).payloads()]

    guessed = [(each.form, each.signed) for each in Forms(card, forms).payloads(likely)]

    assert sorted(guessed) == sorted(usual)
    assert guessed[0][0] == likely or guessed == usual
    assert len({signed for _, signed in usual}) == len(usual)


def test_the_presence_table_is_the_definition_of_the_installed_sdk():
    types = pytest.importorskip("a2a.types.a2a_pb2")
    from google.api import field_behavior_pb2 as behavior

    for message, members in MESSAGES.items():
        fields = {field.json_name: field for field in getattr(types, message).DESCRIPTOR.fields}
        assert set(fields) == set(members), message
        for name, field in fields.items():
            ours, where = members[name], f"{message}.{name}"
            required = behavior.REQUIRED in field.GetOptions().Extensions[behavior.field_behavior]
            assert proto_name(name) == field.name, where
            assert ours.required == required, where
            assert ours.explicit == field.has_presence, where
            assert ours.shape == _shape(field), where
            assert ours.message == _message(field), where


def _shape(field):
    if field.is_repeated:
        return "map" if field.message_type and field.message_type.GetOptions().map_entry else "list"
    if field.message_type:
        return "struct" if field.message_type.full_name == "google.protobuf.Struct" else "message"
    return {field.TYPE_STRING: "text", field.TYPE_BOOL: "flag"}[field.type]


def _message(field):
    inner = field.message_type
    if inner and inner.GetOptions().map_entry:
        inner = inner.fields_by_name["value"].message_type
    return inner.name if inner and inner.full_name != "google.protobuf.Struct" else None
