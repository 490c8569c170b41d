"""The rules of keys and of their rotation, each through the whole line, as a caller of `Discovery` meets them."""

from __future__ import annotations

import base64
import datetime as dt
import warnings
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID
from joserfc.jwk import RSAKey

from a2a_discovery import Discovery, FetchError, Limits, NetworkPolicy, Trust, TrustError, TrustPolicy
from a2a_discovery.testing import Clock, FakeAgent, FakeNetwork, Reply, Signer

HOST = "shop.example"
NOW = 1_800_000_000
DAY = 86_400


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def shop(clock: Clock) -> FakeAgent:
    """Signs with one key, which it does not publish: a test does, in its own way."""
    return FakeAgent(HOST, signers=[Signer(kid="k1", published=False)], clock=clock)


@pytest.fixture
def find(shop: FakeAgent, clock: Clock) -> Any:
    """One call of a new process."""

    async def run(transport: Any = shop, **options: Any) -> Any:
        async with Discovery(transport=transport, clock=clock, **options) as d:
            return await d.discover(HOST)

    return run


def key_of(signer: Signer, **changes: Any) -> dict[str, Any]:
    """Its public key with these members; ``...`` takes one out."""
    jwk = {name: value for name, value in signer.jwk.items() if name not in ("use", "alg")}
    return {name: value for name, value in {**jwk, **changes}.items() if value is not ...}


def certificate(signer: Signer, *, until: float) -> list[str]:
    private = serialization.load_pem_private_key(signer.key.as_pem(private=True), None)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())  # type: ignore[arg-type]
        .serial_number(1)
        .not_valid_before(dt.datetime.fromtimestamp(NOW - 9 * DAY, dt.UTC))
        .not_valid_after(dt.datetime.fromtimestamp(until, dt.UTC))
        .sign(private, hashes.SHA256())  # type: ignore[arg-type]
    )
    return [base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()]


async def refused(find: Any, *args: Any, **options: Any) -> tuple[str, str, str]:
    with pytest.raises(TrustError) as caught:
        await find(*args, **options)
    (check,) = caught.value.report.signatures
    return caught.value.code, check.status, check.reason


# --- what a key says of itself


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ({"use": "enc"}, "its use is 'enc'"),
        ({"key_ops": ["sign"]}, "its key_ops do not name verify"),
        ({"key_ops": []}, "its key_ops do not name verify"),
        ({"alg": "ES384"}, "its alg is 'ES384'"),
        ({"kty": "RSA"}, "its kty is 'RSA', and ES256 needs EC"),
        ({"kty": ...}, "its kty is missing, and ES256 needs EC"),
        ({"crv": "secp256k1"}, "its crv is 'secp256k1', and ES256 needs P-256"),
        ({"nbf": NOW + 1}, "it is not valid yet (nbf)"),
        ({"exp": NOW}, "it has expired (exp)"),
        ({"revoked": True}, "it is revoked"),
        ({"revoked": {"revoked_at": NOW - DAY, "reason": "compromised"}}, "it is revoked"),
    ],
    ids=str,
)
async def test_a_published_key_is_not_used_against_what_it_says(
    find: Any, shop: FakeAgent, member: dict[str, Any], reason: str
) -> None:
    shop.extra_keys = [key_of(shop.signers[0], **member)]

    assert await refused(find) == ("unverifiable", "key-not-usable", reason)


@pytest.mark.parametrize(
    "member",
    [
        {"use": "sig", "alg": "ES256", "key_ops": ["verify"]},
        {"nbf": NOW, "exp": NOW + 1, "revoked": False},
        {"kid": ...},
    ],
    ids=str,
)
async def test_a_published_key_is_used_where_nothing_speaks_against_it(
    find: Any, shop: FakeAgent, member: dict[str, Any]
) -> None:
    shop.extra_keys = [key_of(shop.signers[0], **member)]

    assert (await find(trust=TrustPolicy(require=Trust.SIGNED))).trust.level is Trust.SIGNED


async def test_a_pinned_key_is_held_to_the_same(find: Any, shop: FakeAgent) -> None:
    spent = key_of(shop.signers[0], exp=NOW)

    assert (await refused(find, trust=TrustPolicy(keys={HOST: spent})))[1:] == (
        "key-not-usable",
        "it has expired (exp)",
    )


async def test_a_short_rsa_key_is_not_used(find: Any, shop: FakeAgent) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = RSAKey.generate_key(1024, private=True)
    shop.signers = [Signer(alg="RS256", kid="k1", key=short)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = await refused(find)

    assert found == (
        "unverifiable",
        "key-not-usable",
        "it is an RSA key of 1024 bits, and RFC 7518 asks for 2048",
    )


@pytest.mark.parametrize(("until", "status"), [(NOW + DAY, "verified"), (NOW - 1, "key-not-usable")])
async def test_a_key_ends_with_its_certificate(find: Any, shop: FakeAgent, until: float, status: str) -> None:
    shop.extra_keys = [key_of(shop.signers[0], x5c=certificate(shop.signers[0], until=until))]

    if status == "verified":
        assert (await find()).trust.verified.kid == "k1"
    else:
        assert await refused(find) == ("unverifiable", status, "its certificate (x5c) has expired")


async def test_a_key_that_ends_while_its_card_is_fresh_ends_the_agent(shop: FakeAgent, clock: Clock) -> None:
    shop.extra_keys = [key_of(shop.signers[0], exp=NOW + 10)]
    async with Discovery(transport=shop, clock=clock) as d:
        agent = await d.discover(HOST)
        assert agent.source.expires_at == NOW + 10
        clock.advance(10)

        with pytest.raises(TrustError) as caught:
            await d.discover(HOST)

    assert caught.value.report.signatures[0].status == "key-not-usable"


# --- the set


async def test_of_keys_with_one_kid_the_one_that_fits_verifies(find: Any, shop: FakeAgent) -> None:
    signer = shop.signers[0]
    shop.extra_keys = [key_of(Signer(), kid="k1"), key_of(Signer(alg="EdDSA"), kid="k1"), key_of(signer)]

    found = await find(trust=TrustPolicy(require=Trust.SIGNED))

    assert found.trust.verified.thumbprint == signer.key.thumbprint()


async def test_odd_keys_spoil_no_other(find: Any, shop: FakeAgent) -> None:
    odd: list[Any] = [None, 7, "key", [], {}, {"kty": ["EC"]}, {"kty": "oct", "k": "AA", "kid": "k1"}]
    odd += [{"kty": "AKP", "kid": "k1", "alg": "ML-DSA-44", "pub": "AA"}, {"kty": "EC", "kid": "k1", "crv": "P-256"}]
    shop.extra_keys = [*odd, key_of(shop.signers[0])]

    assert (await find(trust=TrustPolicy(require=Trust.SIGNED))).trust.level is Trust.SIGNED


async def test_a_signature_without_kid_is_for_pinned_keys_alone(find: Any, shop: FakeAgent) -> None:
    shop.signers = [Signer(header={"kid": None})]

    code, status, reason = await refused(find)
    pinned = await find(trust=TrustPolicy(require=Trust.PINNED, keys={HOST: shop.signers[0].jwk}))

    assert (code, status) == ("unverifiable", "no-key")
    assert reason == "it has no kid, so only a key of the caller could verify it"
    assert pinned.trust.verified.kid is None
    assert shop.count("keys") == 0


async def test_a_key_that_is_gone_from_a_fresh_set_verifies_nothing_more(shop: FakeAgent, clock: Clock) -> None:
    shop.extra_keys = [key_of(shop.signers[0])]
    async with Discovery(transport=shop, clock=clock) as d:
        assert (await d.discover(HOST)).trust.level is Trust.SIGNED
        shop.extra_keys = [key_of(Signer())]
        clock.advance(3601)

        with pytest.raises(TrustError) as caught:
            await d.discover(HOST)

    assert caught.value.report.signatures[0].status == "no-key"


# --- fetching it


async def test_unknown_kids_buy_one_fetch_in_a_cooldown(shop: FakeAgent, clock: Clock) -> None:
    """A card that shows a new kid at every answer must not be a way to make us ask for keys at every call."""
    shop.extra_keys = [key_of(shop.signers[0])]
    shop.headers["keys"]["cache-control"] = "max-age=3600"
    shop.headers["card"]["cache-control"] = "no-cache"
    cooldown = Limits().key_cooldown
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        for _ in range(5):  # at once: within the cooldown of the first fetch
            shop.signers = [Signer(published=False)]
            with pytest.raises(TrustError):
                await d.discover(HOST)
        assert shop.count("keys") == 1

        clock.advance(cooldown)
        for _ in range(5):
            shop.signers = [Signer(published=False)]
            with pytest.raises(TrustError):
                await d.discover(HOST)

    assert shop.count("keys") == 2


@pytest.mark.parametrize("failure", [500, 503, 429, Reply.html(), Reply(drop=True)], ids=str)
async def test_while_a_refresh_fails_the_last_good_set_is_used_for_a_day(
    shop: FakeAgent, clock: Clock, failure: Any
) -> None:
    shop.extra_keys = [key_of(shop.signers[0])]
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        shop.fail("keys", failure)
        clock.advance(DAY - 1)
        assert (await d.discover(HOST)).trust.level is Trust.SIGNED
        clock.advance(61)  # past any back-off too

        with pytest.raises(TrustError) as caught:
            await d.discover(HOST)

    assert caught.value.code == "unverifiable"


@pytest.mark.parametrize("answer", [404, 403, 410])
async def test_a_set_that_its_site_took_back_is_not_used_for_a_day(shop: FakeAgent, clock: Clock, answer: int) -> None:
    shop.extra_keys = [key_of(shop.signers[0])]
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        shop.fail("keys", answer)
        clock.advance(3601)

        with pytest.raises(TrustError) as caught:
            await d.discover(HOST)

    assert caught.value.report.signatures[0].status == "no-key"


PEM_MAP = {"k1": "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Reply.error(500), "its jku answered 500"),
        (Reply.error(404), "its jku answered 404"),
        (Reply(drop=True), "could not be fetched"),
        (Reply.endless(), "[too-large]"),
        (Reply.json({"keys": [], "more": "x" * 300_000}), "[too-large]"),
        (Reply.redirect("https://keys.example/jwks.json"), "[redirect-refused]"),
        (Reply.redirect("http://shop.example/jwks.json"), "could not be fetched"),
        (Reply.redirect("https://169.254.169.254/keys"), "could not be fetched"),
        (Reply.html(), "it answered an HTML page"),
        (Reply.html(content_type="application/json"), "it answered an HTML page"),
        (Reply.json(PEM_MAP), "it answered a map of kid to PEM"),
        (Reply.json([]), "is no JWK Set"),
        (Reply.text("{", headers={"content-type": "application/json"}), "is not JSON"),
        (Reply.json({"keys": []}), "there is no key"),
    ],
    ids=[
        "500", "404", "dropped", "endless", "huge", "redirected", "down-to-http", "inside", "page", "page-as-json",
        "pem", "list", "broken", "empty",
    ],
)  # fmt: skip
async def test_a_place_that_gives_no_keys_is_told_in_the_refusal(
    find: Any, shop: FakeAgent, answer: Reply, reason: str
) -> None:
    shop.fail("keys", answer)

    code, status, told = await refused(find)

    assert (code, status) == ("unverifiable", "no-key")
    assert reason in told


async def test_a_key_host_that_is_down_is_told_too(find: Any, shop: FakeAgent) -> None:
    shop.signers = [Signer(jku="https://keys.shop.example/jwks.json")]

    code, status, reason = await refused(find)  # nobody is there

    assert (code, status) == ("unverifiable", "no-key")
    assert reason.endswith("[connect]")


async def test_a_slow_key_host_meets_the_timeout(find: Any, shop: FakeAgent) -> None:
    gate = shop.hold("keys")

    code, status, reason = await refused(find, network=NetworkPolicy(timeout=1.0))
    gate.open()

    assert (code, status) == ("unverifiable", "no-key")
    assert reason.endswith("[timeout]")


async def test_a_redirect_within_the_site_is_followed_and_one_that_leaves_it_never_is(
    find: Any, shop: FakeAgent, clock: Clock
) -> None:
    home, stranger = FakeAgent("keys.shop.example", clock=clock), FakeAgent("keys.example", clock=clock)
    for each in (home, stranger):
        each.signers, each.extra_keys = [], [key_of(shop.signers[0])]
    everyone = FakeNetwork(shop, home, stranger)

    shop.fail("keys", Reply.redirect("https://keys.shop.example/.well-known/jwks.json"))
    assert (await find(everyone)).trust.verified.key_source == "same-site-jku"

    shop.fail("keys", Reply.redirect("https://keys.example/.well-known/jwks.json"))
    for network in (NetworkPolicy(), NetworkPolicy(cross_site_redirects=True)):  # which is for cards alone
        code, status, reason = await refused(find, everyone, network=network)
        assert (code, status) == ("unverifiable", "no-key")
        assert reason.endswith("[redirect-refused]")
    assert stranger.requests == []


# --- rotation: each ends verified, with no more than one extra request


async def test_old_and_new_signature_side_by_side_cost_no_extra_request(clock: Clock) -> None:
    shop = FakeAgent(HOST, clock=clock)
    shop.rotate_keys(keep_old=True)
    old, new = shop.signers
    async with Discovery(transport=shop, clock=clock) as d:
        found = await d.discover(HOST)

    assert found.trust.verified.kid == old.kid
    assert [request.kind for request in shop.requests] == ["card", "keys"]

    shop.signers = [Signer(key=old.key, kid=old.kid, published=False), new]  # the old key is withdrawn first
    shop.requests.clear()
    async with Discovery(transport=shop, clock=clock) as d:
        found = await d.discover(HOST)

    assert found.trust.verified.kid == new.kid
    assert [request.kind for request in shop.requests] == ["card", "keys"]


@pytest.mark.parametrize("keep_old", [True, False])
async def test_a_rotation_between_two_calls_costs_one_request_for_its_keys(clock: Clock, keep_old: bool) -> None:
    shop = FakeAgent(HOST, clock=clock)
    shop.headers["keys"]["cache-control"] = "max-age=3600"
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        shop.rotate_keys(keep_old=keep_old)
        clock.advance(301)  # the card is due, its keys are not
        shop.requests.clear()

        found = await d.discover(HOST)

    assert found.trust.level is Trust.SIGNED
    # The cached set still verifies the old signature; where only the new one is left, it is fetched anew.
    assert [request.kind for request in shop.requests] == (["card"] if keep_old else ["card", "keys"])


async def test_a_set_that_is_new_while_the_card_still_has_its_old_signature_is_asked_for_once(clock: Clock) -> None:
    """The publisher puts the new key beside the old one first, and signs with it later."""
    shop = FakeAgent(HOST, clock=clock)
    shop.headers["keys"]["cache-control"] = "max-age=3600"
    old, new = shop.signers[0], Signer()
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        shop.extra_keys = [new.jwk]
        clock.advance(301)
        assert (await d.discover(HOST)).trust.verified.kid == old.kid
        shop.signers, shop.extra_keys = [new], [old.jwk]
        clock.advance(301)

        assert (await d.discover(HOST)).trust.verified.kid == new.kid

    assert shop.count("keys") == 2


async def test_a_304_that_keeps_an_old_signature_costs_one_card_more(clock: Clock) -> None:
    """Its server's ETag leaves the signatures out, so the condition holds while the key is gone."""
    shop = FakeAgent(HOST, clock=clock)
    shop.etag = "unsigned"
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        shop.rotate_keys()
        clock.advance(3601)  # card and keys are due
        shop.requests.clear()

        found = await d.discover(HOST)

    assert found.trust.level is Trust.SIGNED
    assert [(request.kind, request.status) for request in shop.requests] == [
        ("card", 304),
        ("keys", 200),
        ("card", 200),
    ]


async def test_a_new_kid_that_the_cached_set_does_not_know_costs_one_set_more(clock: Clock) -> None:
    shop = FakeAgent(HOST, clock=clock)
    shop.headers["keys"]["cache-control"] = "max-age=3600"
    shop.card_paths = {"/one.json", "/two.json"}
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(f"https://{HOST}/one.json")
        shop.rotate_keys()
        clock.advance(Limits().key_cooldown)
        shop.requests.clear()

        found = await d.discover(f"https://{HOST}/two.json")

    assert found.trust.level is Trust.SIGNED
    assert [request.kind for request in shop.requests] == ["card", "keys"]


async def test_a_rotation_while_the_key_host_is_down_is_no_reason_to_believe(clock: Clock) -> None:
    shop = FakeAgent(HOST, clock=clock)
    async with Discovery(transport=shop, clock=clock) as d:
        await d.discover(HOST)
        shop.rotate_keys()
        shop.fail("keys", 503)
        clock.advance(301)

        with pytest.raises((TrustError, FetchError)) as caught:
            await d.discover(HOST)

    assert caught.value.code == "unverifiable"
