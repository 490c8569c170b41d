"""UCP profiles: which versions count, what is followed, which keys are given."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import CardError, FetchError, NotFoundError, TrustPolicy, UsageError
from a2a_discovery._catalog.ucp import profile_keys

HERE = "https://shop.example/.well-known/ucp"
OLDER = "https://shop.example/.well-known/ucp/2026-01-23"
CARD = "https://shop.example/card.json"
KEY = {
    "kid": "k",
    "kty": "EC",
    "crv": "P-256",
    "x": "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
    "y": "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0",
}


def profile(version: str, *bindings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ucp": {"version": version, "services": {"dev.ucp.shopping": list(bindings)}, **more}}


def a2a(version: str, endpoint: str = CARD) -> dict[str, Any]:
    return {"version": version, "transport": "a2a", "endpoint": endpoint}


REST = {"version": "2026-04-08", "transport": "rest", "endpoint": "https://shop.example/rest"}


async def test_an_older_version_is_asked_where_the_newest_has_no_agent(web: Any, discovery: Any, card: Any) -> None:
    web.put(HERE, profile("2026-04-08", REST, supported_versions={"2026-01-11": HERE + "/x", "2026-01-23": OLDER}))
    web.put(OLDER, profile("2026-01-23", a2a("2026-01-23")))
    web.put(CARD, card())

    agent = await discovery().discover(HERE)

    assert agent.source.url == CARD
    assert agent.source.via == (HERE, OLDER)
    assert web.urls == [HERE, OLDER, CARD]


@pytest.mark.parametrize(
    "leaf",
    [
        profile("2026-01-11", a2a("2026-01-11")),
        profile("2026-01-23", a2a("2026-01-23"), supported_versions={}),
        {"entries": []},
        b"<p>",
    ],
)
async def test_an_older_version_that_is_not_the_one_named_is_not_used(web: Any, discovery: Any, leaf: Any) -> None:
    web.put(HERE, profile("2026-04-08", REST, supported_versions={"2026-01-23": OLDER}))
    web.put(OLDER, leaf)

    with pytest.raises(NotFoundError) as caught:
        await discovery().discover(HERE)

    assert caught.value.code == "no-card"


async def test_where_the_newest_has_an_agent_no_other_is_asked(web: Any, discovery: Any, sample: Any) -> None:
    web.put("https://shop.example.com/.well-known/ucp", sample("ucp/2026-04-08_supported_versions.json"))
    web.put("https://shop.example.com/.well-known/agent-card.json", sample("ucp/agent_card_of_the_shop.json"))

    await discovery().discover("https://shop.example.com/.well-known/ucp")

    assert len(web.urls) == 2


@pytest.mark.parametrize(("version", "used"), [("2026-01-23", True), ("2026-04-08", True), ("2026-10-01", False)])
async def test_a_binding_of_another_version_is_absent_since_the_rule_is_there(
    web: Any, discovery: Any, version: str, used: bool
) -> None:
    web.put(HERE, profile(version, a2a("2025-01-01")))

    listing = discovery().catalog(HERE)

    assert [each.url async for each in listing] == ([CARD] if used else [])
    assert [finding.code for finding in listing.findings] == ["other-version"]


async def test_a_merchants_name_means_its_shop_and_its_own_services_are_beside_that(
    web: Any, discovery: Any, sample: Any, card: Any
) -> None:
    web.put("https://shop.example.com/.well-known/ucp", sample("ucp/draft_main_keys.json"))
    web.put("https://shop.example.com/.well-known/agent-card.json", card("shop.example.com"))

    assert (await discovery().discover("https://shop.example.com/.well-known/ucp")).card.name == "Orders"
    with pytest.raises(NotFoundError):
        await discovery().discover("https://shop.example.com/.well-known/ucp#com.example.loyalty")
    assert web.urls[-1] == "https://loyalty.example.com/agent-card.json"


async def test_a_profile_does_not_redirect(web: Any, discovery: Any) -> None:
    web.put(HERE, b"", status=302, location=OLDER)

    for wanted in (discovery().merchant_keys("shop.example"), discovery().discover(HERE)):
        with pytest.raises(FetchError) as caught:
            await wanted
        assert caught.value.code == "redirect-refused"


@pytest.mark.parametrize(
    ("file", "kids"),
    [
        ("2026-01-11_object_transports", ["business_2025"]),
        ("2026-01-23_array_transports", ["business_2025"]),
        ("2026-04-08_supported_versions", ["business_2025"]),
        ("draft_main_keys", ["poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U", "business_2025"]),
    ],
)
async def test_a_merchants_keys_are_what_a_policy_takes(
    web: Any, discovery: Any, sample: Any, file: str, kids: list[str]
) -> None:
    web.put("https://shop.example.com/.well-known/ucp", sample(f"ucp/{file}.json"))

    keys = await discovery().merchant_keys("shop.example.com")

    assert [key["kid"] for key in keys["keys"]] == kids
    assert [key["kid"] for key in TrustPolicy(keys={"shop.example.com": keys}).keys["shop.example.com"]] == kids


@pytest.mark.parametrize(
    "key",
    [
        {**KEY, "use": "enc"},
        {**KEY, "key_ops": ["sign"]},
        {**KEY, "key_ops": "verify"},
        {**KEY, "d": "AAAA"},
        {"kid": "k", "kty": "EC", "crv": "P-256", "public_key_pem": "-----BEGIN PUBLIC KEY-----"},
        {"kty": "oct", "k": "AAAA"},
        {"kty": "AKP", "alg": "ML-DSA-65", "pub": "AAAA"},
        {"kty": ["EC"]},
        "a key",
        None,
    ],
)
def test_a_key_that_cannot_verify_a_card_is_left_out_and_the_others_stay(key: Any) -> None:
    document = {
        "ucp": {"version": "2026-04-08"},
        "signing_keys": [key, KEY, {**KEY, "key_ops": ["verify"], "use": "sig"}],
    }

    assert [each["kid"] for each in profile_keys(document)] == ["k", "k"]


async def test_without_a_profile_or_keys_there_are_none(web: Any, discovery: Any, sample: Any) -> None:
    with pytest.raises(NotFoundError) as caught:
        await discovery().merchant_keys("shop.example")
    assert [(each.url, each.status) for each in caught.value.attempts] == [(HERE, 404)]

    web.put(HERE, sample("ucp/no_a2a.json"))
    with pytest.raises(NotFoundError, match="no key"):
        await discovery().merchant_keys("shop.example")

    web.put(HERE, {"entries": []})
    with pytest.raises(CardError) as refused:
        await discovery().merchant_keys("shop.example")
    assert refused.value.code == "not-a-catalog"

    with pytest.raises(UsageError):
        await discovery().merchant_keys("https://shop.example/path")
