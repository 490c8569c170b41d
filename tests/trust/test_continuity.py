"""Continuity: what is remembered of a location, and what is then refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from a2a_discovery import SignatureCheck, Trust, TrustError, TrustPolicy, TrustReport
from a2a_discovery._trust.continuity import (
    Past,
    compare,
    decode_past,
    familiar,
    judge_continuity,
    location_of,
    remember,
    rolled_back,
)
from a2a_discovery._trust.places import Provenance

HOSTS = ("shop.example",)


def check(**changes: Any) -> SignatureCheck:
    return SignatureCheck(
        **{
            "index": 0,
            "status": "verified",
            "kid": "k",
            "alg": "ES256",
            "jku": "https://keys.shop.example/jwks.json",
            "key_source": "same-site-jku",
            "thumbprint": "T1",
            "form": "spec",
            "interfaces_covered": True,
            **changes,
        }
    )


def report(*checks: SignatureCheck, level: Trust = Trust.SIGNED) -> TrustReport:
    return TrustReport(level=level, authority="shop.example", signatures=checks)


signed_before = remember(report(check()), "1.0.0", None)


def test_what_is_remembered_is_authority_level_key_host_key_and_version() -> None:
    assert signed_before == Past(
        authority="shop.example",
        level=Trust.SIGNED,
        jku_hosts=("keys.shop.example",),
        thumbprints=("T1",),
        version="1.0.0",
    )
    assert decode_past(signed_before.encode()) == signed_before


@pytest.mark.parametrize(
    "now",
    [
        report(level=Trust.CHANNEL),
        report(check(status="bad-signature"), level=Trust.CHANNEL),
        report(check(interfaces_covered=False), level=Trust.CHANNEL),  # verified, but its interfaces are not covered
        report(check(jku="https://other.shop.example/j", thumbprint="T2")),
        # a seen signature beside the new one, yet over something else than the interfaces
        report(check(jku="https://other.shop.example/j", thumbprint="T2"), check(index=1, interfaces_covered=False)),
    ],
)
def test_a_card_that_proves_less_than_before_is_a_downgrade(now: TrustReport) -> None:
    assert compare(now, signed_before, TrustPolicy(), HOSTS) is not None
    assert compare(now, signed_before, TrustPolicy(continuity=False), HOSTS) is None
    assert compare(now, None, TrustPolicy(), HOSTS) is None


@pytest.mark.parametrize(
    "now",
    [
        report(check(thumbprint="T2")),  # a rotation at the same key host
        report(check(jku="https://other.shop.example/j")),  # the same key at another place
        report(check(jku="https://other.shop.example/j", thumbprint="T2"), check(index=1)),  # a seen one beside it
        report(check(key_source="pinned", jku=None, thumbprint="T3"), level=Trust.PINNED),
    ],
)
def test_a_rotation_or_a_known_key_beside_a_new_one_continues(now: TrustReport) -> None:
    assert compare(now, signed_before, TrustPolicy(), HOSTS) is None


def test_a_lower_level_is_a_downgrade_only_while_this_policy_pins_keys_for_the_host() -> None:
    pinned = remember(report(check(key_source="pinned", jku=None), level=Trust.PINNED), "1", None)
    key = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}  # RFC 8037 A.2
    now = report(check(thumbprint="T1"))

    assert compare(now, pinned, TrustPolicy(keys={"shop.example": key}), HOSTS) is not None
    assert compare(now, pinned, TrustPolicy(keys={"other.example": key}), HOSTS) is None
    assert compare(now, pinned, TrustPolicy(), HOSTS) is None


def test_a_signature_that_raises_no_level_continues_nothing() -> None:
    """It verifies with the very key of before, yet the card is of another publisher than it was asked for under."""
    elsewhere = replace(report(check(), level=Trust.CHANNEL), other_publisher=True)

    assert compare(elsewhere, signed_before, TrustPolicy(), HOSTS) is not None


def test_the_place_that_a_pinned_signature_names_was_never_looked_at() -> None:
    """So keys that come from there later are as strange as any."""
    pinned = remember(report(check(key_source="pinned"), level=Trust.PINNED), "1.0.0", None)
    later = check(thumbprint="T2")

    assert pinned.jku_hosts == ()
    assert not familiar(later, pinned)
    assert compare(report(later), pinned, TrustPolicy(), HOSTS) is not None


def test_an_unsigned_past_forbids_nothing() -> None:
    past = remember(report(level=Trust.CHANNEL), "1", None)

    assert compare(report(level=Trust.CHANNEL), past, TrustPolicy(), HOSTS) is None
    assert familiar(check(jku="https://new.example/j", thumbprint="T9"), past)


@pytest.mark.parametrize(
    ("now", "before", "found"),
    [
        ("1.0.0", "1.2.0", True),
        ("1.10.0", "1.9.0", False),
        ("1.2", "1.2.0", False),
        ("1.2.0", "1.2.0", False),
        ("2024-01", "latest", False),
        ("1.9", "1.10", True),
        ("v1.0", "1.1", True),
        ("1.0.0-rc1", "1.0.1", True),
    ],
)
def test_a_lower_version_is_a_finding(now: str, before: str, found: bool) -> None:
    assert bool(rolled_back(now, Past(version=before))) is found


def test_the_highest_version_is_remembered() -> None:
    past = remember(report(), "1.9.0", None)
    assert remember(report(), "1.10.0", past).version == "1.10.0"
    assert remember(report(), "1.2.0", past).version == "1.9.0"


def test_what_is_remembered_is_bounded() -> None:
    past = None
    for number in range(100):
        past = remember(report(check(thumbprint=f"T{number}", jku=f"https://k{number}.shop.example/j")), "1", past)

    assert past is not None
    assert (len(past.jku_hosts), len(past.thumbprints)) == (8, 32)
    assert past.thumbprints[-1] == "T99"


checks = st.builds(
    check,
    status=st.sampled_from(["verified", "verified", "bad-signature"]),
    interfaces_covered=st.sampled_from([True, True, False]),
    key_source=st.sampled_from(["same-site-jku", "jku-host", "pinned"]),
    jku=st.sampled_from([f"https://k{number}.shop.example/j" for number in range(12)]),
    thumbprint=st.sampled_from([f"T{number}" for number in range(40)]),
)
reports = st.builds(
    lambda some, level: report(*some, level=level),
    st.lists(checks, max_size=4),
    st.sampled_from([Trust.CHANNEL, Trust.SIGNED, Trust.PINNED]),
)
versions = st.sampled_from(["", "1", "1.9", "v1.10", "1.10.0+" + "x" * 80, "latest"])


@given(st.lists(st.tuples(reports, versions), max_size=60), reports, versions)
def test_what_an_accepted_card_leaves_behind_allows_that_card_and_says_the_same_of_it(
    before: list[tuple[TrustReport, str]], now: TrustReport, version: str
) -> None:
    """Where a record is what a verdict left, the verdict is taken as it was, without comparing anything."""
    past = None
    for earlier, its_version in before:
        past = remember(earlier, its_version, past)
    # A level that signatures prove is proven by one of those that raise a level.
    assume(now.level < Trust.SIGNED or any(each.interfaces_covered for each in verified(now)))
    assume(compare(now, past, TrustPolicy(), HOSTS) is None)

    left = remember(now, version, past)

    assert compare(now, left, TrustPolicy(), HOSTS) is None
    assert rolled_back(version, left) == rolled_back(version, past)


def verified(of: TrustReport) -> list[SignatureCheck]:
    return [each for each in of.signatures if each.status == "verified"]


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/.well-known/agent-card.json",
        "https://shop.example/.well-known/agent.json",
        "https://shop.example",
        "https://shop.example/",
        "https://shop.example:443/",
    ],
)
def test_the_well_known_names_of_one_base_are_one_location(url: str) -> None:
    assert location_of(url) == "https://shop.example"


def test_path_query_and_port_are_part_of_a_location() -> None:
    urls = [
        "https://h.example/a",
        "https://h.example/b",
        "https://h.example/a?x=1",
        "https://h.example:8443/a",
        "https://h.example",
        "http://h.example",
    ]
    assert len({location_of(url) for url in urls}) == len(urls)
    assert location_of("https://h.example/a/.well-known/agent-card.json") == location_of("https://h.example/a/")


@given(st.binary(max_size=200) | st.none())
def test_a_damaged_record_is_no_record(record: bytes | None) -> None:
    assert decode_past(record) is None or isinstance(decode_past(record), Past)


def test_a_key_that_does_not_cover_the_interfaces_is_not_remembered() -> None:
    beside = check(index=1, thumbprint="T9", jku="https://other.shop.example/j", interfaces_covered=False)

    past = remember(report(check(), beside), "1", None)

    assert (past.thumbprints, past.jku_hosts) == (("T1",), ("keys.shop.example",))


def test_pins_of_a_card_in_a_catalog_are_found_by_the_hosts_of_its_interfaces() -> None:
    """Its key host was seen before, so only the pin says that a key of the caller's choice is missing."""
    provenance = Provenance(authority="catalog.example", asked="catalog.example", channel="tls", inline=True)
    past = Past(authority="shop.example", level=Trust.PINNED, jku_hosts=("keys.shop.example",))
    now = replace(report(check()), hosts=("shop.example",))

    with pytest.raises(TrustError) as refusal:
        judge_continuity(now, past, provenance, TrustPolicy(keys={"shop.example": OTHER}))

    assert refusal.value.code == "downgraded"
    judge_continuity(now, past, provenance, TrustPolicy(keys={"catalog.example": OTHER}))


OTHER = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}  # RFC 8037 appendix A.2
