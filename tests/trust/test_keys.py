"""Which keys count, where they may come from, and how many requests they cost."""

from __future__ import annotations

import base64
import datetime as dt
import json
import warnings

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from a2a_discovery.errors import BlockedError, FetchError, UsageError
from a2a_discovery.policy import Limits, Trust, TrustPolicy

DAY = 86_400.0


def status(bench, card, world, **more):
    check = bench.check(card, world, **more)
    return check.status, check.reason


# --- the key itself


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ({"use": "enc"}, "its use is 'enc'"),
        ({"use": None}, "its use is missing"),
        ({"key_ops": ["sign"]}, "its key_ops do not name verify"),
        ({"key_ops": "verify"}, "its key_ops do not name verify"),
        ({"alg": "ES384"}, "its alg is 'ES384'"),
        ({"alg": ["ES256"]}, "its alg is no string"),
        ({"kty": "RSA"}, "its kty is 'RSA', and ES256 needs EC"),
        ({"crv": "P-384"}, "its crv is 'P-384', and ES256 needs P-256"),
        ({"nbf": 1_800_000_001}, "it is not valid yet (nbf)"),
        ({"exp": 1_800_000_000}, "it has expired (exp)"),
        ({"exp": "2027-01-01"}, "its exp is no number"),
        ({"nbf": True}, "its nbf is no number"),
        ({"revoked": True}, "it is revoked"),
        ({"revoked": {"revoked_at": 1, "reason": "compromised"}}, "it is revoked"),
        ({"x5c": []}, "its x5c is no list of certificates"),
        ({"x5c": ["AAAA"]}, "its x5c cannot be read"),
        ({"x5c": "AAAA"}, "its x5c is no list of certificates"),
        ({"x": "AAAA"}, "its numbers are no key"),
        ({"x": "?"}, "a member of it is not base64url"),
        ({"y": ...}, "a member that its kty needs is missing"),
        ({"x": 1}, "a member that its kty needs is missing"),
    ],
    ids=str,
)
def test_a_key_that_may_not_verify_is_not_used(bench, signer, member, reason):
    world = bench.World({bench.JKU: bench.jwks(signer.jwk(**member))})

    assert status(bench, signer.signed(bench.card()), world) == ("key-not-usable", reason)


@pytest.mark.parametrize(
    "member",
    [
        {"use": "sig"},
        {"key_ops": ["verify"]},
        {"key_ops": ["sign", "verify"]},
        {"alg": "ES256"},
        {"nbf": 1_800_000_000},
        {"exp": 1_800_000_001},
        {"exp": 1_800_000_000.5},
        {"revoked": False},
        {"revoked": None},
        {"x5t": "odd", "extra": {"a": 1}},
    ],
    ids=str,
)
def test_a_key_that_may_verify_is_used(bench, signer, member):
    world = bench.World({bench.JKU: bench.jwks(signer.jwk(**member))})

    assert status(bench, signer.signed(bench.card()), world) == ("verified", "")


def certificate(key, *, until, since=0.0):
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent.example.com")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(dt.datetime.fromtimestamp(since, dt.UTC))
        .not_valid_after(dt.datetime.fromtimestamp(until, dt.UTC))
        .sign(key, hashes.SHA256())
    )
    return base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (0.0, DAY, ("verified", "")),
        (-2 * DAY, 0.0, ("key-not-usable", "its certificate (x5c) has expired")),
        (1.0, DAY, ("key-not-usable", "its certificate (x5c) is not valid yet")),
    ],
    ids=["valid", "expired", "future"],
)
def test_a_key_lives_no_longer_than_its_certificate(bench, signer, since, until, expected):
    chain = [certificate(signer.key, since=bench.NOW + since, until=bench.NOW + until)]
    world = bench.World({bench.JKU: bench.jwks(signer.jwk(x5c=chain))})

    assert status(bench, signer.signed(bench.card()), world) == expected


def rsa_jwk(bench, bits, *, exponent=65537):
    numbers = rsa.generate_private_key(65537, bits).public_key().public_numbers()
    n, e = numbers.n.to_bytes(bits // 8, "big"), exponent.to_bytes((exponent.bit_length() + 7) // 8, "big")
    return {"kty": "RSA", "kid": "k1", "n": bench.base64url(n), "e": bench.base64url(e)}


def test_a_short_rsa_key_is_refused(bench):
    signer = bench.Signer(alg="RS256")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = bench.World({bench.JKU: bench.jwks(rsa_jwk(bench, 1024))})

    assert status(bench, signer.signed(bench.card()), world) == (
        "key-not-usable",
        "it is an RSA key of 1024 bits, and RFC 7518 asks for 2048",
    )


@pytest.mark.parametrize(
    ("n", "e", "reason"),
    [
        (2**8193 + 1, 65537, "it is an RSA key of 8194 bits, and the most is 8192"),
        (2**2048 + 1, 2**65 + 1, "its RSA exponent is too large"),
        (2**2048 + 1, 1, "its numbers are no key"),
    ],
    ids=["modulus", "exponent", "exponent-of-one"],
)
def test_an_rsa_key_that_would_cost_or_prove_too_little_is_refused(bench, n, e, reason):
    signer = bench.Signer(alg="PS256")
    size = lambda value: value.to_bytes((value.bit_length() + 7) // 8, "big")  # noqa: E731
    key = {"kty": "RSA", "kid": "k1", "n": bench.base64url(size(n)), "e": bench.base64url(size(e))}

    assert status(bench, signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(key)})) == (
        "key-not-usable",
        reason,
    )


@pytest.mark.parametrize("alg", ["ES256", "ES384", "ES512"])
def test_an_ecdsa_algorithm_takes_no_other_curve(bench, alg):
    """A P-256 key signs with SHA-384 as readily; RFC 7518 section 3.4 ties each algorithm to its curve."""
    wrong = bench.Signer(alg={"ES256": "ES384", "ES384": "ES512", "ES512": "ES256"}[alg])
    right = bench.Signer(alg=alg)
    card = right.signed(bench.card())

    check = bench.check(card, bench.World({bench.JKU: bench.jwks(wrong)}))

    assert check.status == "key-not-usable"
    assert alg in check.reason


# --- the set


def test_one_odd_key_never_spoils_the_others(bench, signer):
    odd = [{"kty": "AKP", "kid": "k1", "alg": "ML-DSA-44", "pub": "AA"}, {}, {"kty": ["EC"], "kid": "k1"}, 7, None, "x"]
    odd += [{"kty": "OKP", "crv": "X25519", "x": "AA", "kid": "k1"}, {"kty": "oct", "k": "AA", "kid": "k1"}]
    body = json.dumps({"keys": [*odd, signer.jwk()]}).encode()

    assert status(bench, signer.signed(bench.card()), bench.World({bench.JKU: body}))[0] == "verified"


def test_the_reasons_of_a_set_without_a_usable_key_are_told(bench, signer):
    keys = [signer.jwk(use="enc"), signer.jwk(alg="RSA-OAEP"), {"kty": "AKP", "kid": "k1"}]

    assert status(bench, signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(*keys)})) == (
        "key-not-usable",
        "its use is 'enc'; its alg is 'RSA-OAEP'; its kty is 'AKP', and ES256 needs EC",
    )


def test_of_two_keys_with_one_kid_each_is_tried(bench, signer):
    other = bench.Signer(name="another").jwk()
    world = bench.World({bench.JKU: bench.jwks(other, signer)})

    assert status(bench, signer.signed(bench.card()), world)[0] == "verified"


def test_a_key_without_kid_is_tried_for_any_kid(bench, signer):
    world = bench.World({bench.JKU: bench.jwks(signer.jwk(kid=...))})

    assert status(bench, signer.signed(bench.card()), world)[0] == "verified"


def test_a_key_without_kid_that_does_not_fit_says_nothing_about_the_kid(bench, signer):
    world = bench.World({bench.JKU: bench.jwks(bench.Signer(alg="RS256").jwk(kid=...))})

    assert status(bench, signer.signed(bench.card()), world) == ("no-key", "none of the 1 keys has its kid")


def test_a_key_under_another_kid_is_not_tried(bench, signer):
    world = bench.World({bench.JKU: bench.jwks(signer.jwk(kid="k2"))})

    assert status(bench, signer.signed(bench.card()), world) == ("no-key", "none of the 1 keys has its kid")


def test_no_more_than_a_few_keys_are_tried_for_one_signature(bench, signer):
    others = [bench.Signer(name=f"other-{number}").jwk() for number in range(9)]
    world = bench.World({bench.JKU: bench.jwks(*others, signer)})

    assert status(bench, signer.signed(bench.card()), world)[0] == "bad-signature"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"<!DOCTYPE html><html></html>", "its jku is of no use: it answered an HTML page"),
        (b'{"keys": [', "its jku is of no use: what it answered is not JSON"),
        (b'{"keys": [], "keys": []}', "its jku is of no use: what it answered is not JSON"),
        (b"[]", "its jku is of no use: what it answered is no JWK Set (RFC 7517 section 5)"),
        (b'{"keys": {}}', "its jku is of no use: what it answered is no JWK Set (RFC 7517 section 5)"),
        (
            b'{"k1": "-----BEGIN PUBLIC KEY-----"}',
            "its jku is of no use: it answered a map of kid to PEM, which is no JWK Set (RFC 7517 section 5)",
        ),
        (b'{"keys": []}', "there is no key"),
        ({"status": 404}, "its jku answered 404"),
        ({"status": 403}, "its jku answered 403"),
        ({"status": 503}, "its jku answered 503"),
        ({"status": 204, "body": b""}, "its jku answered 204"),
        (FetchError("timeout", "no answer in 10 s"), "its jku could not be fetched: no answer in 10 s [timeout]"),
        (FetchError("too-large", "too large"), "its jku could not be fetched: too large [too-large]"),
        (FetchError("redirect-refused", "to evil"), "its jku could not be fetched: to evil [redirect-refused]"),
        (BlockedError("address", "10.0.0.1"), "its jku could not be fetched: 10.0.0.1 [address]"),
    ],
    ids=str,
)
def test_a_place_that_gives_no_keys_is_told_apart(bench, signer, answer, reason):
    page = bench.Answer(**answer) if isinstance(answer, dict) else answer
    world = bench.World({bench.JKU: page})

    assert status(bench, signer.signed(bench.card()), world) == ("no-key", reason)
    assert world.kept == ([bench.JKU] if answer == b'{"keys": []}' else [])


# --- where keys may come from: the card has a host of its own


@pytest.mark.parametrize(
    "jku",
    [
        "https://agent.example.com/keys",
        "https://agent.example.com:8443/keys?set=1",
        "https://keys.example.com/jwks.json",
        "https://example.com/jwks.json",
    ],
)
def test_the_cards_own_site_may_publish_its_keys(bench, jku):
    signer = bench.Signer(jku=jku)

    report = bench.judged(signer.signed(bench.card()), bench.World({jku: bench.jwks(signer)}), require=Trust.SIGNED)

    assert (report.level, report.verified.key_source) == (Trust.SIGNED, "same-site-jku")


@pytest.mark.parametrize(
    ("jku", "reason"),
    [
        ("https://evil.example/jwks.json", "its jku is on another site than the card"),
        ("https://example.com.evil.example/jwks.json", "its jku is on another site than the card"),
        ("http://agent.example.com/jwks.json", "its jku is not https"),
        ("https://user:pass@agent.example.com/jwks.json", "its jku has userinfo"),
        ("file:///etc/keys.json", "its jku is no URL that we use: it is not absolute"),
        ("/.well-known/jwks.json", "its jku is no URL that we use: it is not absolute"),
        ("data:application/json,1", "its jku is no URL that we use: it is not absolute"),
        (
            "https://agent.example.com\\@evil.example/",
            "its jku is no URL that we use: it has characters that no URL has",
        ),
        ("https://127.0.0.1/jwks.json", "its jku is on another site than the card"),
    ],
)
def test_a_jku_that_the_signer_chose_freely_is_never_asked(bench, jku, reason):
    signer = bench.Signer(jku=jku)
    world = bench.World({jku: bench.jwks(signer)})

    assert status(bench, signer.signed(bench.card()), world) == ("untrusted-key-host", reason)
    assert world.asked == []


def test_a_public_suffix_is_no_site(bench):
    """Two tenants of one platform share a suffix, not a site; the private part of the list says so."""
    signer = bench.Signer(jku="https://mallory.github.io/jwks.json")
    provenance = bench.Provenance(authority="alice.github.io", asked="alice.github.io", channel="tls")

    check = bench.check(signer.signed(bench.card()), bench.World({signer.jku: bench.jwks(signer)}), provenance)

    assert check.status == "untrusted-key-host"


def test_a_redirect_of_the_card_to_another_site_takes_its_jku_away(bench, signer, world):
    provenance = bench.Provenance(authority=bench.HOST, asked="other.example", channel="tls", crossed_site=True)

    assert status(bench, signer.signed(bench.card()), world, provenance=provenance) == (
        "untrusted-key-host",
        "a redirect to another site led to the card, so its jku does not count",
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"redirects": ("https://agent.example.com/jwks",), "url": "https://keys.example.com/jwks"}, "verified"),
        ({"redirects": ("https://agent.example.com/jwks",), "url": "https://evil.example/jwks"}, "untrusted-key-host"),
        ({"redirects": ("https://evil.example/",), "url": "https://agent.example.com/jwks"}, "untrusted-key-host"),
        ({"redirects": ("https://evil.example/",)}, "untrusted-key-host"),
        ({"type": "text/plain"}, "verified"),
        ({"channel": "plain"}, "untrusted-key-host"),
        ({"channel": "loopback"}, "untrusted-key-host"),
    ],
    ids=str,
)
def test_how_the_keys_came_counts_too(bench, signer, answer, expected):
    world = bench.World({bench.JKU: bench.jwks(signer, **answer)})

    assert status(bench, signer.signed(bench.card()), world)[0] == expected
    assert bool(world.kept) == (expected == "verified")


def local(bench, **more):
    return bench.Provenance(**{
        "authority": "localhost", "asked": "localhost", "channel": "loopback", "local": True, "loopback": True, **more
    })  # fmt: skip


def test_loopback_keys_count_for_a_card_from_loopback(bench):
    signer = bench.Signer(jku="http://127.0.0.1:9000/jwks")
    world = bench.World({signer.jku: bench.jwks(signer, channel="loopback")})
    card = signer.signed(bench.card())

    assert bench.check(card, world, local(bench)).status == "verified"


@pytest.mark.parametrize("more", [{"local": False}, {"loopback": False}])
def test_loopback_keys_count_for_no_other_card(bench, more):
    signer = bench.Signer(jku="http://localhost:9000/jwks")
    world = bench.World({signer.jku: bench.jwks(signer, channel="loopback")})

    assert bench.check(signer.signed(bench.card()), world, local(bench, **more)).status == "untrusted-key-host"
    assert world.asked == []


def test_plain_http_is_for_loopback_alone_even_where_the_caller_lists_it(bench):
    signer = bench.Signer(jku="http://keys.example/jwks")
    world = bench.World({signer.jku: bench.jwks(signer)})

    check = bench.check(signer.signed(bench.card()), world, local(bench), jku_hosts={"localhost": (signer.jku,)})

    assert (check.status, check.reason) == ("untrusted-key-host", "its jku is not https")


@pytest.mark.parametrize(
    "header",
    [
        {"jwk": "the key itself"},
        {"x5c": ["AAAA"]},
        {"x5u": "https://agent.example.com/x5u"},
    ],
    ids=["jwk", "x5c", "x5u"],
)
def test_a_key_in_the_header_never_counts(bench, header):
    signer = bench.Signer(jku=None)
    header = {"jwk": signer.jwk()} if "jwk" in header else header
    world = bench.World()

    check = bench.check(bench.card(signatures=[signer.sign(bench.card(), **header)]), world)

    assert (check.status, world.asked) == ("no-key", [])


def test_a_jku_or_kid_in_the_unprotected_header_never_counts(bench, world):
    signer = bench.Signer(jku=None, kid=None)
    entry = signer.sign(bench.card()) | {"header": {"jku": bench.JKU, "kid": "k1"}}

    assert bench.check(bench.card(signatures=[entry]), world).status == "no-key"
    assert world.asked == []


# --- a card with no host of its own

SAAS = "https://tenant.saas.example/keys"


def saas_card(bench, *urls):
    urls = urls or ("https://tenant.saas.example/a2a",)
    interfaces = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"} for url in urls]
    return bench.card(supportedInterfaces=interfaces)


@pytest.mark.parametrize("provenance", ["MAPPING", "INLINE"])
def test_the_very_host_of_the_interfaces_may_publish_the_keys(bench, provenance):
    signer = bench.Signer(jku=SAAS)
    card = signer.signed(saas_card(bench))

    report = bench.judged(card, bench.World({SAAS: bench.jwks(signer)}), getattr(bench, provenance))

    assert (report.level, report.authority) == (Trust.SIGNED, "tenant.saas.example")
    assert report.verified.key_source == "interface-host-jku"


@pytest.mark.parametrize(
    ("jku", "urls"),
    [
        ("https://keys.saas.example/keys", ("https://tenant.saas.example/a2a",)),
        (SAAS + "?echo=1", ("https://tenant.saas.example/a2a",)),
        (SAAS, ("https://tenant.saas.example/a2a", "https://other.example/a2a")),
        (SAAS, ("https://tenant.saas.example/a2a", "{{URL}}")),
        (SAAS, ("https://tenant.saas.example/a2a", "{{HOST}}:50051")),
        (SAAS, ("https://tenant.saas.example/a2a", "urn:agents:50051")),
    ],
    ids=["same-site-only", "query", "another-interface-elsewhere", "no-host", "no-grpc-host", "urn"],
)
@pytest.mark.parametrize("provenance", ["MAPPING", "INLINE"])
def test_no_other_place_counts_for_a_card_with_no_host_of_its_own(bench, provenance, jku, urls):
    signer = bench.Signer(jku=jku)
    world = bench.World({jku: bench.jwks(signer)})

    check = bench.check(signer.signed(saas_card(bench, *urls)), world, getattr(bench, provenance))

    assert (check.status, world.asked) == ("untrusted-key-host", [])


@pytest.mark.parametrize(
    "answer",
    [
        {"redirects": (SAAS,), "url": SAAS + "2"},
        {"type": "text/plain"},
        {"type": "application/octet-stream"},
        {"type": "text/x+json"},
        {"type": ""},
    ],
    ids=str,
)
def test_such_keys_come_without_redirect_and_as_json(bench, answer):
    """On a shared host, others can store files and redirects."""
    signer = bench.Signer(jku=SAAS)
    world = bench.World({SAAS: bench.jwks(signer, **answer)})

    assert bench.check(signer.signed(saas_card(bench)), world, bench.MAPPING).status == "untrusted-key-host"
    assert world.kept == []


@pytest.mark.parametrize("media_type", ["application/jwk-set+json", "application/json; charset=utf-8"])
def test_any_json_media_type_is_json(bench, media_type):
    signer = bench.Signer(jku=SAAS)
    world = bench.World({SAAS: bench.jwks(signer, type=media_type)})

    assert bench.check(signer.signed(saas_card(bench)), world, bench.MAPPING).status == "verified"


def test_an_inline_card_at_home_on_its_catalogs_site_may_use_that_site(bench):
    signer = bench.Signer(jku="https://keys.catalog.example/jwks")
    card = signer.signed(saas_card(bench, "https://agents.catalog.example/a2a"))

    report = bench.judged(card, bench.World({signer.jku: bench.jwks(signer)}), bench.INLINE)

    assert (report.verified.key_source, report.authority) == ("same-site-jku", "agents.catalog.example")


@pytest.mark.parametrize(
    "urls", [("https://victim.example/a2a",), ("https://agents.catalog.example", "https://x.example")]
)
def test_an_inline_card_that_is_not_at_home_there_may_not(bench, urls):
    """A catalog that could vouch for others' agents could put its own key under any name."""
    signer = bench.Signer(jku="https://catalog.example/jwks")
    world = bench.World({signer.jku: bench.jwks(signer)})

    check = bench.check(signer.signed(saas_card(bench, *urls)), world, bench.INLINE)

    assert (check.status, world.asked) == ("untrusted-key-host", [])


@pytest.mark.parametrize("url", ["tenant.saas.example:50051", "dns:///tenant.saas.example:50051"])
def test_a_grpc_address_names_a_host_too(bench, url):
    signer = bench.Signer(jku=SAAS)
    card = signer.signed(saas_card(bench, url))

    assert bench.check(card, bench.World({SAAS: bench.jwks(signer)}), bench.MAPPING).status == "verified"


# --- the caller's own choice


def test_a_pinned_key_needs_no_request(bench, signer):
    world = bench.World()

    report = bench.judged(signer.signed(bench.card()), world, require=Trust.PINNED, keys={bench.HOST: signer.jwk()})

    assert (report.level, report.verified.key_source, world.asked) == (Trust.PINNED, "pinned", [])
    assert report.verified.thumbprint is not None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("agent.example.com", "verified"),
        ("*.example.com", "verified"),
        ("example.com", "no-key"),
        ("*.agent.example.com", "no-key"),
        ("other.example", "no-key"),
    ],
)
def test_a_pinned_key_counts_for_its_hosts_alone(bench, pattern, expected):
    signer = bench.Signer(jku=None)

    check = bench.check(signer.signed(bench.card()), keys={pattern: signer.jwk()})

    assert check.status == expected


def test_the_longest_pattern_wins(bench):
    signer, other = bench.Signer(jku=None), bench.Signer(jku=None, name="other")
    keys = {"*.example.com": signer.jwk(), bench.HOST: other.jwk()}

    assert bench.check(signer.signed(bench.card()), keys=keys).status == "bad-signature"
    assert bench.check(other.signed(bench.card()), keys=keys).status == "verified"


def test_a_pinned_key_for_the_host_asked_for_counts_after_a_redirect_within_its_site(bench):
    signer = bench.Signer(jku=None)
    card = signer.signed(bench.card())
    near = bench.Provenance(authority="cdn.example.com", asked="www.example.com", channel="tls")
    far = bench.Provenance(authority="cdn.other.example", asked="www.example.com", channel="tls", crossed_site=True)

    assert bench.check(card, provenance=near, keys={"www.example.com": signer.jwk()}).status == "verified"
    assert bench.check(card, provenance=far, keys={"www.example.com": signer.jwk()}).status == "no-key"


def test_a_pinned_key_verifies_a_signature_without_kid(bench):
    signer = bench.Signer(jku=None, kid=None)

    assert bench.check(signer.signed(bench.card()), keys={bench.HOST: signer.jwk(kid="other")}).status == "verified"


def test_a_published_key_does_not_verify_a_signature_without_kid(bench):
    signer = bench.Signer(kid=None)
    world = bench.World({bench.JKU: bench.jwks(signer)})

    assert bench.check(signer.signed(bench.card()), world).status == "no-key"
    assert world.asked == []


def test_a_card_with_no_host_of_its_own_needs_its_key_pinned_for_every_interface(bench):
    signer = bench.Signer(jku=None)
    card = signer.signed(saas_card(bench, "https://a.example/", "https://b.example/"))
    both = {"a.example": signer.jwk(), "b.example": [signer.jwk()]}

    assert bench.check(card, provenance=bench.MAPPING, keys=both).status == "verified"
    assert bench.check(card, provenance=bench.MAPPING, keys={"a.example": signer.jwk()}).status == "no-key"


def test_an_interface_that_names_no_host_is_nobodys(bench):
    """The card could lead there, so a key or a place for the other interface says nothing about it."""
    signer = bench.Signer(jku=PLATFORM)
    card = signer.signed(saas_card(bench, "https://a.example/", "{{URL}}"))
    world = bench.World({PLATFORM: bench.jwks(signer)})

    for policy in (
        {"keys": {"a.example": signer.jwk()}},
        {"jku_hosts": {"a.example": (PLATFORM,)}},
        {"jku_hosts": ("keys.platform.example",)},
    ):
        assert bench.check(card, world, bench.MAPPING, **policy).status == "untrusted-key-host"
        assert bench.check(card, world, bench.INLINE, **policy).status == "untrusted-key-host"
    assert bench.check(card, keys={bench.HOST: signer.jwk()}).status == "verified"
    assert bench.check(card, world, jku_hosts={bench.HOST: (PLATFORM,)}).status == "verified"


def test_a_catalogs_host_pins_nothing_for_an_inline_card(bench):
    signer = bench.Signer(jku=None)
    card = signer.signed(saas_card(bench))

    assert bench.check(card, provenance=bench.INLINE, keys={"catalog.example": signer.jwk()}).status == "no-key"
    report = bench.judged(card, provenance=bench.INLINE, keys={"tenant.saas.example": signer.jwk()})
    assert (report.level, report.authority) == (Trust.PINNED, "tenant.saas.example")


PLATFORM = "https://keys.platform.example/shop/jwks.json"


@pytest.mark.parametrize(
    ("places", "jku", "expected"),
    [
        ({"agent.example.com": "https://keys.platform.example/shop/"}, PLATFORM, "verified"),
        ({"*.example.com": ("https://keys.platform.example/",)}, PLATFORM, "verified"),
        ({"agent.example.com": (PLATFORM,)}, PLATFORM, "verified"),
        (("keys.platform.example",), PLATFORM, "verified"),
        (("*.platform.example",), PLATFORM, "verified"),
        (("https://keys.platform.example/shop/",), PLATFORM, "verified"),
        ({"agent.example.com": (PLATFORM,)}, PLATFORM + "?x=1", "untrusted-key-host"),
        ({"agent.example.com": ("https://keys.platform.example/shop",)}, PLATFORM, "untrusted-key-host"),
        ({"other.example": ("https://keys.platform.example/",)}, PLATFORM, "untrusted-key-host"),
        ({"agent.example.com": ("https://keys.platform.example/other/",)}, PLATFORM, "untrusted-key-host"),
        (("platform.example",), PLATFORM, "untrusted-key-host"),
        (("*.keys.platform.example",), PLATFORM, "untrusted-key-host"),
        (("*.elsewhere.example",), PLATFORM, "untrusted-key-host"),
        (("keys.platform.example",), "https://keys.platform.example:8443/jwks", "untrusted-key-host"),
        (
            {"agent.example.com": ("https://keys.platform.example/shop/",)},
            "https://keys.platform.example/shop/../mallory/jwks.json",
            "untrusted-key-host",
        ),
        (
            {"agent.example.com": ("https://keys.platform.example/shop/",)},
            "https://keys.platform.example/shop/%2E%2e%2fmallory/jwks.json",
            "untrusted-key-host",
        ),
        (
            {"agent.example.com": ("https://keys.platform.example/shop/",)},
            "https://keys.platform.example/shop/..;/mallory/jwks.json",
            "untrusted-key-host",
        ),
        (
            {"agent.example.com": ("https://keys.platform.example/shop/",)},
            "https://keys.platform.example/shop/..%3Bx/mallory/jwks.json",
            "untrusted-key-host",
        ),
        (
            {"agent.example.com": ("https://keys.platform.example/shop/",)},
            "https://keys.platform.example/shop/%2e%2e%5Cmallory/jwks.json",
            "untrusted-key-host",
        ),
    ],
)
def test_a_listed_place_counts_for_what_it_covers(bench, places, jku, expected):
    signer = bench.Signer(jku=jku)
    world = bench.World({jku: bench.jwks(signer)})

    check = bench.check(signer.signed(bench.card()), world, jku_hosts=places)

    assert check.status == expected
    assert world.asked == ([jku] if expected == "verified" else [])
    if expected == "verified":
        assert check.key_source == "listed-jku"


def test_a_listed_place_is_the_callers_choice(bench):
    signer = bench.Signer(jku=PLATFORM)
    world = bench.World({PLATFORM: bench.jwks(signer)})

    report = bench.judged(signer.signed(bench.card()), world, require=Trust.PINNED, jku_hosts={bench.HOST: (PLATFORM,)})

    assert report.level is Trust.PINNED


def test_a_listed_place_counts_for_a_card_with_no_host_of_its_own_by_every_interface(bench):
    signer = bench.Signer(jku=PLATFORM)
    card = signer.signed(saas_card(bench, "https://a.example/", "https://b.example/"))
    world = bench.World({PLATFORM: bench.jwks(signer)})

    both = {"a.example": (PLATFORM,), "b.example": (PLATFORM,)}
    assert bench.check(card, world, bench.MAPPING, jku_hosts=both).status == "verified"
    assert bench.check(card, world, bench.MAPPING, jku_hosts={"a.example": (PLATFORM,)}).status == "untrusted-key-host"
    assert bench.check(card, world, bench.MAPPING, jku_hosts=("keys.platform.example",)).status == "verified"


def test_pinned_keys_are_tried_before_any_request(bench, signer, world):
    pinned = bench.Signer(kid="k2", jku=None)
    card = bench.card(signatures=[signer.sign(bench.card()), pinned.sign(bench.card())])

    report = bench.judged(card, world, keys={bench.HOST: pinned.jwk()})

    assert [check.status for check in report.signatures] == ["not-tried", "verified"]
    assert (report.level, world.asked) == (Trust.PINNED, [])


def test_a_listed_place_is_asked_before_the_cards_own_site(bench, signer, world):
    listed = bench.Signer(kid="k2", jku=PLATFORM)
    world.pages[PLATFORM] = bench.jwks(listed)
    card = bench.card(signatures=[signer.sign(bench.card()), listed.sign(bench.card())])

    report = bench.judged(card, world, require=Trust.PINNED, jku_hosts={bench.HOST: (PLATFORM,)})

    assert (report.level, world.asked) == (Trust.PINNED, [PLATFORM])


def test_where_no_pinned_key_verifies_the_cards_own_site_is_asked(bench, signer, world):
    stale = bench.Signer(name="the key before").jwk()

    report = bench.judged(signer.signed(bench.card()), world, keys={bench.HOST: stale})

    assert (report.level, report.verified.key_source) == (Trust.SIGNED, "same-site-jku")


# --- rotation, and what it costs


def test_old_and_new_signature_side_by_side_cost_one_request(bench):
    old, new = bench.Signer(kid="old"), bench.Signer(kid="new")
    card = bench.card(signatures=[old.sign(bench.card()), new.sign(bench.card())])
    world = bench.World({bench.JKU: bench.jwks(new)})

    report = bench.judged(card, world, require=Trust.SIGNED)

    assert [check.status for check in report.signatures] == ["no-key", "verified"]
    assert world.asked == [bench.JKU]
    assert world.kept == [bench.JKU]


def cached(bench, *keys, age=120.0, **answer):
    return bench.jwks(*keys, cache="fresh", fetched_at=bench.NOW - age, **answer)


def test_an_unknown_kid_buys_one_fetch_of_a_set_from_the_cache(bench, signer):
    world = bench.World({bench.JKU: [cached(bench, signer.jwk(kid="old")), bench.jwks(signer)]})

    report = bench.judged(signer.signed(bench.card()), world, require=Trust.SIGNED)

    assert report.level is Trust.SIGNED
    assert world.asked == [bench.JKU, ("refresh", bench.JKU)]
    assert world.kept == [bench.JKU]


def test_many_unknown_kids_buy_one_fetch_together(bench, signer):
    unknown = [bench.Signer(kid=f"u{number}", name="k").sign(bench.card()) for number in range(10)]
    world = bench.World({bench.JKU: [cached(bench, signer), bench.jwks(signer)]})

    report = bench.facts(bench.card(signatures=unknown), world).report

    assert {check.status for check in report.signatures} == {"no-key"}
    assert world.asked == [bench.JKU, ("refresh", bench.JKU)]


@pytest.mark.parametrize(
    "answer",
    [
        {"cache": "network"},
        {"cache": "revalidated"},
        {"cache": "fresh", "fetched_at": 1_800_000_000.0 - 59},
        {"cache": "memory", "fetched_at": 1_800_000_000.0},
    ],
    ids=str,
)
def test_a_set_that_was_just_fetched_is_not_fetched_again(bench, signer, answer):
    world = bench.World({bench.JKU: bench.jwks(signer.jwk(kid="other"), **answer)})

    assert bench.check(signer.signed(bench.card()), world).status == "no-key"
    assert world.asked == [bench.JKU]


def test_a_known_kid_that_fails_buys_nothing(bench, signer):
    world = bench.World({bench.JKU: cached(bench, bench.Signer(name="another").jwk())})

    assert bench.check(signer.signed(bench.card()), world).status == "bad-signature"
    assert world.asked == [bench.JKU]


def test_a_refresh_that_fails_changes_nothing(bench, signer):
    world = bench.World({bench.JKU: [cached(bench, signer.jwk(kid="old")), FetchError("connect", "down")]})

    assert status(bench, signer.signed(bench.card()), world) == ("no-key", "none of the 1 keys has its kid")


def test_a_key_that_is_gone_from_a_fresh_set_is_not_used(bench, signer):
    world = bench.World({bench.JKU: bench.jwks(bench.Signer(kid="k2"))})

    assert bench.check(signer.signed(bench.card()), world).status == "no-key"


@pytest.mark.parametrize(
    "failure",
    [
        FetchError("connect", "down"),
        FetchError("timeout", "slow"),
        FetchError("dns", "gone"),
        FetchError("protocol", "odd"),
        FetchError("too-large", "huge"),
        {"status": 500},
        {"status": 429},
        {"body": b"<html>"},
    ],
    ids=str,
)
def test_while_refreshes_fail_the_last_good_set_is_used_for_a_day(bench, signer, failure):
    def world(age):
        page = bench.Answer(**failure) if isinstance(failure, dict) else failure
        stored = bench.jwks(signer, cache="stale", fetched_at=bench.NOW - age, expires_at=bench.NOW - age + 60)
        return bench.World({bench.JKU: page}, {bench.JKU: stored})

    report = bench.judged(signer.signed(bench.card()), day := world(DAY), require=Trust.SIGNED)

    assert report.level is Trust.SIGNED
    assert report.expires_at == bench.NOW - DAY + 60
    assert day.kept == []
    assert bench.check(signer.signed(bench.card()), world(DAY + 1)).status == "no-key"


@pytest.mark.parametrize(
    "failure",
    [FetchError("tls", "bad certificate"), BlockedError("address", "private"), {"status": 404}, {"status": 401}],
    ids=str,
)
def test_a_refusal_by_the_publisher_ends_the_use_of_its_keys(bench, signer, failure):
    page = bench.Answer(**failure) if isinstance(failure, dict) else failure
    world = bench.World({bench.JKU: page}, {bench.JKU: bench.jwks(signer)})

    assert bench.check(signer.signed(bench.card()), world).status == "no-key"
    assert world.asked == [bench.JKU]


def test_a_report_expires_with_the_first_key_set_it_rests_on(bench):
    first, second = bench.Signer(), bench.Signer(kid="k2", jku=f"https://{bench.HOST}/two")
    card = bench.card(signatures=[first.sign(bench.card()), second.sign(bench.card())])
    world = bench.World({
        first.jku: bench.jwks(first, expires_at=bench.NOW + 600),
        second.jku: bench.jwks(second, expires_at=bench.NOW + 300),
    })  # fmt: skip

    assert bench.facts(card, world).report.expires_at == bench.NOW + 600
    assert bench.facts(card, world, required_kids=("k1", "k2")).report.expires_at == bench.NOW + 300
    assert bench.facts(card, keys={bench.HOST: first.jwk()}).report.expires_at is None


def test_no_more_than_a_few_sets_are_fetched_for_one_card_and_together(bench):
    signers = [bench.Signer(kid=f"k{n}", jku=f"https://{bench.HOST}/{n}", name="k") for n in range(12)]
    card = bench.card(signatures=[each.sign(bench.card()) for each in signers])
    world = bench.World()

    report = bench.facts(card, world).report

    assert world.asked == [each.jku for each in signers[:8]]
    assert [check.status for check in report.signatures] == ["no-key"] * 8 + ["not-tried"] * 4


def test_listed_places_and_those_of_the_site_share_one_bound(bench):
    listed = [bench.Signer(kid=f"l{number}", jku=f"https://keys.example/{number}") for number in range(6)]
    own = [bench.Signer(kid=f"o{number}", jku=f"https://{bench.HOST}/{number}") for number in range(6)]
    card = bench.card(signatures=[signer.sign(bench.card()) for signer in (*listed, *own)])
    world = bench.World({signer.jku: bench.jwks() for signer in (*listed, *own)})

    checks = bench.facts(card, world, jku_hosts={bench.HOST: ("https://keys.example/",)}).report.signatures

    assert len(world.asked) == 8
    assert [check.status for check in checks] == ["no-key"] * 8 + ["not-tried"] * 4


def test_the_same_bound_holds_for_fetching_again(bench):
    signers = [bench.Signer(kid=f"k{number}", jku=f"https://{bench.HOST}/{number}") for number in range(6)]
    card = bench.card(signatures=[signer.sign(bench.card()) for signer in signers])
    old = bench.jwks(cache="fresh", fetched_at=bench.NOW - DAY)
    world = bench.World({signer.jku: old for signer in signers})

    bench.facts(card, world, limits=Limits(key_fetches=3))

    assert [url for url in world.asked if isinstance(url, str)] == [signer.jku for signer in signers[:3]]
    assert [url for url in world.asked if not isinstance(url, str)] == [
        ("refresh", signer.jku) for signer in signers[:3]
    ]


def test_the_cache_is_kept_small(bench, signer, world):
    limits = Limits(keys_bytes=1000)
    flow_limit = []

    class Looking(bench.World):
        def answer(self, fetch):
            flow_limit.append((fetch.limit, fetch.local, fetch.method))
            return super().answer(fetch)

    bench.facts(signer.signed(bench.card()), Looking(world.pages), limits=limits)

    assert flow_limit == [(1000, False, "GET")]


# --- reading the caller's store


@pytest.fixture
def public(signer):
    return signer.jwk()


def policy_keys(value):
    return TrustPolicy(keys={"shop.example": value}).keys["shop.example"]


def test_a_key_a_set_and_a_list_are_read(public):
    assert policy_keys(public) == policy_keys({"keys": [public]}) == policy_keys([public]) == (public,)


def test_the_private_part_of_a_key_is_not_kept(public):
    assert policy_keys({**public, "d": "secret"}) == (public,)


@pytest.mark.parametrize("content", ["jwk", "set", "list"])
def test_a_json_file_is_read(tmp_path, public, content):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"jwk": public, "set": {"keys": [public]}, "list": [public]}[content]), "utf-8")

    assert policy_keys(path) == (public,)


@pytest.mark.parametrize("kind", ["public", "private", "certificate"])
def test_a_pem_file_is_read(bench, tmp_path, signer, kind):
    encoding, public = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    if kind == "certificate":
        body = base64.b64decode(certificate(signer.key, until=DAY))
        body = x509.load_der_x509_certificate(body).public_bytes(encoding)
    elif kind == "private":
        none = serialization.NoEncryption()
        body = signer.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, none)
    else:
        body = signer.key.public_key().public_bytes(encoding, public)
    other = bench.Signer(alg="Ed25519").key.public_key().public_bytes(encoding, public)
    path = tmp_path / "keys.pem"
    path.write_bytes(b"two keys\n" + body + other)

    first, second = policy_keys(path)

    assert first == {name: value for name, value in signer.jwk().items() if name != "kid"}
    assert second["crv"] == "Ed25519"
    assert bench.check(signer.signed(bench.card()), keys={bench.HOST: path}).status == "verified"


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"keys": []},
        {"keys": {}},
        {"kid": "x"},
        {"kty": 1},
        {"kty": "oct", "k": "AA"},
        "https://shop.example/jwks.json",
        b"-----BEGIN",
        None,
        7,
        [None],
    ],
    ids=str,
)
def test_what_is_no_public_key_is_a_bad_configuration(value):
    with pytest.raises(UsageError) as caught:
        policy_keys(value)

    assert caught.value.code == "bad-config"
    assert caught.value.hint


@pytest.mark.parametrize(
    "content",
    [b"", b"no keys", b"[" * 5000, b"\xff", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", b"1"],
    ids=["empty", "text", "deep", "bytes", "broken-pem", "number"],
)
def test_a_file_without_keys_is_a_bad_configuration(tmp_path, content):
    path = tmp_path / "keys"
    path.write_bytes(content)

    with pytest.raises(UsageError) as caught:
        policy_keys(path)

    assert caught.value.code == "bad-config"
    assert str(tmp_path) not in str(caught.value)


def test_a_missing_file_is_a_bad_configuration(tmp_path):
    with pytest.raises(UsageError) as caught:
        policy_keys(tmp_path / "none.json")

    assert caught.value.code == "bad-config"


def test_a_key_of_a_kind_that_jws_does_not_know_is_a_bad_configuration(tmp_path):
    from cryptography.hazmat.primitives.asymmetric import dsa

    key = dsa.generate_private_key(1024).public_key()
    path = tmp_path / "dsa.pem"
    path.write_bytes(key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))

    with pytest.raises(UsageError):
        policy_keys(path)


def test_a_curve_that_jws_does_not_know_is_no_key_for_any_algorithm(bench, signer):
    numbers = ec.generate_private_key(ec.SECP256K1()).public_key().public_numbers()
    key = {"kty": "EC", "crv": "secp256k1", "kid": "k1"}
    key |= {"x": bench.base64url(numbers.x.to_bytes(32, "big")), "y": bench.base64url(numbers.y.to_bytes(32, "big"))}

    check = bench.check(signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(key)}))

    assert check.status == "key-not-usable"
