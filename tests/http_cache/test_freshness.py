"""What a server's caching fields mean: RFC 9111, as a private cache reads it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._http import freshness
from a2a_discovery._http.freshness import Copy
from a2a_discovery._http.freshness import fields as by_name
from a2a_discovery.policy import Limits

AT = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
LIMITS = Limits()


def lifetime(*fields: tuple[str, str], kind: Any = "card", loopback: bool = False, limits: Limits = LIMITS) -> float:
    return freshness.lifetime(by_name(fields), at=AT, kind=kind, loopback=loopback, limits=limits)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ([("cache-control", "max-age=60")], 60),
        ([("cache-control", "public, max-age=3600")], 3600),
        ([("cache-control", "Public , Max-Age = 60")], 60),
        ([("cache-control", 'max-age="60"')], 60),
        ([("cache-control", "max-age=0")], 0),
        ([("cache-control", "max-age=600"), ("age", "100")], 500),
        ([("cache-control", "max-age=60"), ("age", "100")], 0),
        ([("cache-control", "max-age=60"), ("age", "soon")], 60),
        ([("cache-control", "max-age=60"), ("cache-control", "max-age=30")], 30),
        ([("cache-control", "max-age=60, max-age=90")], 60),
        ([("cache-control", "max-age=1.5")], 0),
        ([("cache-control", "max-age=-5")], 0),
        ([("cache-control", "max-age=٣")], 0),
        ([("cache-control", "max-age=")], 0),
        ([("cache-control", "max-age=" + "9" * 5000)], 86_400),
        ([("cache-control", "s-maxage=10, max-age=60")], 60),
        ([("cache-control", "private, max-age=60")], 60),
        ([("cache-control", "no-cache, max-age=60")], 0),
        ([("cache-control", 'no-cache="set-cookie", max-age=60')], 0),
        ([("cache-control", "no-store, max-age=60")], 0),
        ([("cache-control", 'private="max-age=9, x", max-age=60')], 60),
        ([("cache-control", "max-age=60"), ("expires", "Thu, 01 Jan 1970 00:00:00 GMT")], 60),
        ([("expires", "Tue, 14 Nov 2023 22:23:20 GMT"), ("date", "Tue, 14 Nov 2023 22:13:20 GMT")], 600),
        ([("expires", "Tue, 14 Nov 2023 22:23:20 GMT")], 600),
        # the server's clock is an hour off: only its own two readings are compared
        ([("expires", "Tue, 14 Nov 2023 21:23:20 GMT"), ("date", "Tue, 14 Nov 2023 21:13:20 GMT")], 600),
        ([("expires", "Tue, 14 Nov 2023 22:23:20 GMT"), ("age", "500")], 100),
        ([("expires", "0")], 0),
        ([("expires", "-1")], 0),
        ([("expires", "Tue, 14 Nov 99999 22:23:20 GMT")], 0),
        ([("expires", "Fri, 31 Dec 9999 23:59:59 GMT")], 86_400),
        ([("pragma", "no-cache")], 0),
        ([("pragma", "no-cache"), ("cache-control", "max-age=60")], 60),
    ],
)
def test_the_lifetime_is_what_the_origin_gave(fields: list[tuple[str, str]], seconds: float) -> None:
    assert lifetime(*fields) == seconds


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("etag", 'W/"1"')],
        [("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT")],
        [("etag", '"1"'), ("last-modified", "Sat, 01 Jan 2000 00:00:00 GMT"), ("vary", "A2A-Version")],
        [("cache-control", "public")],
        [("cache-control", "must-revalidate")],
        [("cache-control", "")],
    ],
)
def test_an_answer_without_a_lifetime_has_the_default_one_and_a_validator_adds_none(
    fields: list[tuple[str, str]],
) -> None:
    assert lifetime(*fields) == 300
    assert lifetime(*fields, limits=Limits(default_ttl=7.0)) == 7


def test_an_answer_from_loopback_without_a_lifetime_has_none() -> None:
    assert lifetime(("etag", '"1"'), loopback=True) == 0
    assert lifetime(("cache-control", "max-age=60"), loopback=True) == 60


def test_a_day_is_the_longest_and_an_hour_for_keys() -> None:
    year = ("cache-control", "max-age=31536000")

    assert lifetime(year) == 86_400
    assert lifetime(year, kind="keys") == 3_600
    assert lifetime(year, kind="keys", limits=Limits(max_ttl=10.0)) == 10


@pytest.mark.parametrize("value", ["max-age=5", "no-store", "no-cache", "max-age=0"])
def test_a_profile_stays_fresh_for_a_minute_at_least(value: str) -> None:
    assert lifetime(("cache-control", value), kind="profile") == 60


def test_a_profile_that_may_stay_longer_does() -> None:
    assert lifetime(("cache-control", "max-age=90"), kind="profile") == 90


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        ([], True),
        ([("cache-control", "no-cache")], True),
        ([("cache-control", "private")], True),
        ([("cache-control", "max-age=60, NO-STORE")], False),
        ([("cache-control", "max-age=60"), ("cache-control", "no-store")], False),
        ([("vary", "Accept, A2A-Version")], True),
        ([("vary", "*")], False),
        ([("vary", "Accept, *")], False),
    ],
)
def test_what_may_not_be_stored_or_could_not_be_found_again_is_not(fields: list[tuple[str, str]], stored: bool) -> None:
    assert freshness.storable(by_name(fields)) is stored


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("max-age=60", 86_400),
        ("max-age=60, stale-if-error=600", 600),
        ("max-age=60, stale-if-error=99999999", 86_400),
        ("max-age=60, must-revalidate", 0),
        ("no-cache", 0),
        ("no-store", 0),
    ],
)
def test_a_copy_stands_in_for_a_day_unless_its_origin_forbids_or_shortens_it(value: str, seconds: float) -> None:
    assert freshness.stale_until({"cache-control": [value]}, expires_at=AT) == AT + seconds


def test_the_validators_go_back_exactly_as_they_came() -> None:
    fields = {"etag": ['W/"a b,c"'], "last-modified": ["yesterday, about noon"]}

    assert freshness.validators(fields) == (
        ("if-none-match", 'W/"a b,c"'),
        ("if-modified-since", "yesterday, about noon"),
    )


@pytest.mark.parametrize("tag", ["", "a\nb", "é", '"' + "x" * 5000 + '"', " padded "])
def test_a_validator_that_no_request_can_carry_is_not_sent(tag: str) -> None:
    assert freshness.validators({"etag": [tag]}) == ()


def test_two_entity_tags_in_one_answer_are_none() -> None:
    assert freshness.validators({"etag": ['"1"', '"2"']}) == ()


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        ('"1"', '"1"', True),
        ('W/"1"', '"1"', True),
        ('"1"', 'W/"1"', True),
        ('"2"', '"1"', False),
        (None, '"1"', True),
        ('"2"', None, True),
    ],
)
def test_a_304_counts_only_for_the_entity_tag_it_names(theirs: str | None, ours: str | None, same: bool) -> None:
    news = {} if theirs is None else {"etag": [theirs]}
    fields = {} if ours is None else {"etag": [ours]}

    assert freshness.confirms(news, fields) is same


def test_a_304_replaces_fields_but_none_that_describe_the_body() -> None:
    stored = {
        "content-type": ["application/json"],
        "cache-control": ["max-age=60"],
        "age": ["50"],
        "date": ["Tue, 14 Nov 2023 22:13:20 GMT"],
        "x-kept": ["1"],
    }
    news = {
        "content-type": ["text/html"],
        "content-length": ["0"],
        "cache-control": ["max-age=90", "private"],
        "connection": ["x-hop"],
        "x-hop": ["1"],
    }

    assert freshness.refreshed(stored, news) == {
        "content-type": ["application/json"],
        "x-kept": ["1"],
        "cache-control": ["max-age=90", "private"],
    }


def test_fields_of_one_connection_and_cookies_are_not_stored() -> None:
    fields = {
        "connection": ["close, X-Hop"],
        "x-hop": ["1"],
        "transfer-encoding": ["chunked"],
        "content-encoding": ["gzip"],
        "content-length": ["10"],
        "set-cookie": ["session=secret"],
        "etag": ['"1"'],
    }

    assert freshness.kept(fields) == {"etag": ['"1"']}


def copy(vary: str, **varied: str) -> Copy:
    url, fields = "https://a.example/", {"vary": [vary]} if vary else {}
    sent = {name.replace("_", "-"): value for name, value in varied.items()}
    return Copy(requested=url, url=url, channel="tls", at=AT, headers=fields, body=b"", varied=sent)


@pytest.mark.parametrize(
    ("stored", "sent", "answers"),
    [
        (copy(""), {"a2a-version": "1.0"}, True),
        (copy("A2A-Version", a2a_version="1.0"), {"a2a-version": "1.0", "accept": "x"}, True),
        (copy("A2A-Version", a2a_version="0.3"), {"a2a-version": "1.0"}, False),
        (copy("A2A-Version"), {"a2a-version": "1.0"}, False),
        (copy("A2A-Version", a2a_version="1.0"), {}, False),
        (copy("Origin"), {"a2a-version": "1.0"}, True),
        (copy("*"), {}, False),
    ],
)
def test_a_copy_answers_only_requests_with_the_fields_it_varies_by(
    stored: Copy, sent: dict[str, str], answers: bool
) -> None:
    assert freshness.answers(stored, sent) is answers


NAMES = st.sampled_from(
    ["cache-control", "expires", "date", "age", "pragma", "vary", "etag", "last-modified", "connection"]
)
WORDS = st.sampled_from(
    ["max-age=", "no-store", "no-cache", "stale-if-error=", ",", '"', "\\", "=", "1", "60", "-1", "*", ";", "\x00", "٣"]
)
VALUES = st.one_of(
    st.text(max_size=40),
    st.lists(WORDS, max_size=8).map("".join),
    st.integers(-(10**12), 10**12).map("max-age={}".format),
    st.datetimes().map(lambda moment: moment.strftime("%a, %d %b %Y %H:%M:%S GMT")),
)
FIELDS = st.lists(st.tuples(NAMES, VALUES), max_size=6)


@given(
    fields=FIELDS,
    at=st.floats(0, 4e9),
    kind=st.sampled_from(["card", "catalog", "profile", "keys"]),
    loopback=st.booleans(),
)
def test_whatever_a_server_writes_the_lifetime_is_between_nothing_and_the_cap(
    fields: list[tuple[str, str]], at: float, kind: Any, loopback: bool
) -> None:
    seconds = freshness.lifetime(by_name(fields), at=at, kind=kind, loopback=loopback, limits=LIMITS)

    assert 0 <= seconds <= (LIMITS.keys_ttl if kind == "keys" else LIMITS.max_ttl)


@given(fields=FIELDS, news=FIELDS)
def test_whatever_a_server_writes_nothing_raises_and_no_copy_stands_in_for_more_than_a_day(
    fields: list[tuple[str, str]], news: list[tuple[str, str]]
) -> None:
    merged = freshness.refreshed(freshness.kept(by_name(fields)), by_name(news))

    assert AT <= freshness.stale_until(merged, expires_at=AT) <= AT + 86_400
    assert all(value.isascii() and value.isprintable() for _, value in freshness.validators(merged))
    freshness.storable(merged)
    freshness.confirms(by_name(news), merged)
    freshness.varied(merged, {"accept": "x"})
