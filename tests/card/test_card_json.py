"""Bytes to JSON: what is refused, where the message says it is, and that it quotes nothing."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._card.json import decode
from a2a_discovery.errors import CardError

DEEP = 10_000


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"<!doctype html><title>Hello</title>", "it is an HTML or XML page"),
        (b"{", "line 1, column 2"),
        (b'{"a": 1,\n "b" 2}', "line 2, column 6"),
        (b'{"a": 1} {"b": 2}', "line 1, column 10"),
        (b"{'a': 1}", "line 1, column 2"),
        (b'"a\tb"', "line 1, column 3"),
        (b'"\\x"', "line 1, column 2"),
        (b'{"a": "\xff"}', "byte 7"),
        (b'{"a": "\xed\xa0\x80"}', "byte 7"),  # a surrogate, spelled out in UTF-8
        (b'{"a": "\xc0\xaf"}', "byte 7"),  # an overlong slash
        ('{"a": 1}'.encode("utf-16"), "byte 0"),
        ('{"a": 1}'.encode("utf-16-be"), "line 1, column 1"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "line 1, column 1"),
        (b'{"a": 1, "b": {"a": 2}, "a": 3}', "line 1, column 25"),
        (b'{"a": 1,\n "\\u0061": 2}', "line 2, column 2"),
        (b"[NaN]", "line 1, column 2"),
        (b"[1, Infinity]", "line 1, column 5"),
        (b"[-Infinity]", "line 1, column 2"),
        (b"[1e400]", "line 1, column 2"),
        (b"[1, -1E+999]", "line 1, column 5"),
        (b"[" + b"9" * 5000 + b"]", "line 1, column 2"),
        (b'["\\ud800"]', "line 1, column 2"),
        (b'{"\\uDFFF": 1}', "line 1, column 2"),
        (b'["\\ude00\\ud83d"]', "line 1, column 2"),
        (b'["\\\\ud800", "\\ud800"]', "line 1, column 13"),
    ],
)
def test_what_is_no_json_is_refused_at_its_place(body, where):
    with pytest.raises(CardError) as refusal:
        decode(body, depth=64)

    assert refusal.value.code == "not-json"
    assert where in refusal.value.message


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"\xef\xbb\xbf{}", {}),
        (b" null ", None),
        (b"[1e308, 0.50, -0.0, 12345678901234567890]", [1e308, 0.5, -0.0, 12345678901234567890]),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"[" + b"9" * 308 + b"]", [int("9" * 308)]),
        ('{"é": "\u2028"}'.encode(), {"é": "\u2028"}),
        (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    ],
)
def test_what_is_json_is_read_as_it_stands(body, value):
    assert decode(body, depth=64) == value


@pytest.mark.parametrize("body", [b'{"token-of-a-person": 1, "token-of-a-person": 2}', b'["token-of-a-person", \\]'])
def test_the_message_quotes_nothing(body):
    with pytest.raises(CardError) as refusal:
        decode(body, depth=64)

    assert "token-of-a-person" not in str(refusal.value)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP + b"]" * DEEP,
        b"[" * DEEP,
        b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        b'[{"a":' * DEEP,
        b'["]", ' * DEEP,
        b'["\\"]", ' * DEEP,
        b"[[]," * DEEP,
    ],
)
def test_deep_nesting_is_refused_before_it_costs(body):
    start = time.perf_counter()
    with pytest.raises(CardError) as refusal:
        decode(body, depth=64)

    assert refusal.value.code == "not-json"
    assert "deeper than 64 levels" in refusal.value.message
    assert time.perf_counter() - start < 0.5


def test_the_depth_limit_is_exact_and_looks_past_text():
    body = b'{"[[[[": ["\\\\", "\\"[[[[", {"a]": ["{{"]}]}'

    assert decode(body, depth=4) == {"[[[[": ["\\", '"[[[[', {"a]": ["{{"]}]}
    with pytest.raises(CardError):
        decode(body, depth=3)


def test_a_document_of_many_brackets_is_no_deep_one():
    assert decode(b"[" + b"[],{}," * 5000 + b"1]", depth=2) == [[], {}] * 5000 + [1]


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='ab[]{}"\\é'), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.booleans())
def test_any_json_is_read_as_the_plain_parser_reads_it(value, ascii_only):
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    depth = depth_of(value)

    assert decode(body, depth=max(depth, 1)) == value
    if depth > 1:
        with pytest.raises(CardError):
            decode(body, depth=depth - 1)


@given(st.binary(max_size=300) | st.text(alphabet='[]{}",:\\u0d8e1.-+NaIfty \n').map(str.encode))
def test_any_bytes_give_json_or_our_error(body):
    try:
        value = decode(body, depth=16)
    except CardError as refusal:
        assert refusal.code == "not-json"
    else:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
