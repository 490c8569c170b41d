"""Whatever an authorization server sends, it is a token or an error of ours, and none of its text is repeated."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery import DiscoveryError
from a2a_discovery._credentials import fits_a_field
from a2a_discovery._effects import Fetched
from a2a_discovery._oauth import _decoded, _read_device, _read_metadata, _read_token

URL = "https://login.example/token"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = (
    *("access_token", "token_type", "expires_in", "refresh_token", "error", "error_description", "issuer"),
    *("token_endpoint", "device_authorization_endpoint", "token_endpoint_auth_methods_supported"),
    *("device_code", "user_code", "verification_uri", "interval"),
)
SAID = st.dictionaries(st.sampled_from(NAMES), VALUES | st.sampled_from(["bearer", "x", URL, "600"]), max_size=8)
BODIES = st.binary(max_size=200) | SAID.map(lambda said: json.dumps(said).encode())


def answer(body: bytes, status: int = 200) -> Fetched:
    return Fetched(requested=URL, url=URL, status=status, headers={}, body=body, channel="tls")


@given(BODIES, st.sampled_from([200, 400, 401, 403, 404, 429, 500]))
def test_any_answer_of_a_token_endpoint_is_a_token_or_our_error(body: bytes, status: int) -> None:
    try:
        token = _read_token(answer(body, status), now=1000.0)
    except DiscoveryError as error:
        assert error.url == URL
        assert "error_description" not in str(error)
    else:
        assert status == 200
        assert fits_a_field(token.access)
        assert token.refresh is None or fits_a_field(token.refresh)
        assert token.expires_at >= 1000.0
        assert token.access not in repr(token) or len(token.access) < 8


@given(BODIES)
def test_any_metadata_names_endpoints_or_is_our_error(body: bytes) -> None:
    try:
        there = _read_metadata("https://login.example/.well-known/openid-configuration", _decoded(answer(body)))
    except DiscoveryError as error:
        assert error.code == "protocol"
    else:
        assert there.token


@given(BODIES)
def test_any_device_code_is_one_that_may_be_shown_or_our_error(body: bytes) -> None:
    try:
        shown, _, interval = _read_device(answer(body), local=False)
    except DiscoveryError:
        return
    assert shown.url.startswith("https://")
    assert shown.code.isprintable()
    assert 1 <= interval <= 60


@pytest.mark.parametrize(
    ("expires_in", "expires_at"),
    [(3600, 1000 + 3570), ("3600", 1000 + 3570), (20, 1010), (0, 1000), (-5, 1000), (None, float("inf"))],
)
def test_a_token_is_renewed_half_a_minute_before_its_end_and_a_short_one_at_its_half(
    expires_in: object, expires_at: float
) -> None:
    said = {"access_token": "a", "token_type": "Bearer", "expires_in": expires_in}

    assert _read_token(answer(json.dumps(said).encode()), now=1000.0).expires_at == expires_at
