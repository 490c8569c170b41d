"""The entries of ``signatures``: RFC 7515 to the letter, and whatever a stranger may put there instead."""

from __future__ import annotations

import base64
import hmac
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery.policy import Trust


def encoded(header) -> str:
    text = header if isinstance(header, (bytes, str)) else json.dumps(header)
    return base64.urlsafe_b64encode(text if isinstance(text, bytes) else text.encode()).rstrip(b"=").decode()


HEADER = {"alg": "ES256", "kid": "k1", "jku": "https://agent.example.com/.well-known/jwks.json"}


def resigned(bench, signer, header):
    """The card, properly signed under any protected header at all."""
    protected = header if isinstance(header, str) else encoded(header)
    return signer.signed(bench.card(), protected=protected)


@pytest.mark.parametrize(
    ("header", "status", "reason"),
    [
        ({**HEADER, "crit": ["exp"], "exp": 1}, "unsupported", "critical header parameters (crit)"),
        ({**HEADER, "crit": []}, "unsupported", "(crit)"),
        ({**HEADER, "crit": None}, "unsupported", "(crit)"),
        ({**HEADER, "crit": ["b64"], "b64": False}, "unsupported", "(crit)"),
        ({**HEADER, "b64": False}, "unsupported", "(b64)"),
        ({**HEADER, "b64": "true"}, "unsupported", "(b64)"),
        ({**HEADER, "alg": "none"}, "unsupported", "'none'"),
        ({**HEADER, "alg": "None"}, "unsupported", "'None'"),
        ({**HEADER, "alg": "es256"}, "unsupported", "'es256'"),
        ({**HEADER, "alg": "HS256"}, "unsupported", "'HS256'"),
        ({**HEADER, "alg": "ES256K"}, "unsupported", "'ES256K'"),
        ({**HEADER, "alg": ""}, "unsupported", "''"),
        ({**HEADER, "alg": ["ES256"]}, "malformed", "the alg in its protected header is no string"),
        ({"kid": "k1", "jku": HEADER["jku"]}, "malformed", "the protected header has no alg"),
        ({**HEADER, "kid": 1}, "malformed", "the kid in its protected header is no string"),
        ({**HEADER, "kid": None}, "malformed", "the kid in its protected header is no string"),
        ({**HEADER, "kid": ["k1"]}, "malformed", "the kid in its protected header is no string"),
        ({**HEADER, "jku": {}}, "malformed", "the jku in its protected header is no string"),
        ({**HEADER, "typ": 1}, "malformed", "the typ in its protected header is no string"),
        ("null", "malformed", "its protected header is no JSON object"),
        ("[]", "malformed", "its protected header is no JSON object"),
        ('"ES256"', "malformed", "its protected header is no JSON object"),
        ("", "malformed", "its protected header is not base64url"),
        ("{", "malformed", "its protected header is not JSON"),
        ('{"alg":"ES256","alg":"ES256"}', "malformed", "names a member twice"),
        ('{"alg":"ES256","x":NaN}', "malformed", "its protected header is not JSON"),
        (b'{"alg":"ES256","x":"\xff"}', "malformed", "its protected header is not JSON"),
        ('{"alg":"ES256","x":' + "[" * 5000, "malformed", "its protected header is not JSON"),
        ('{"x":' + "[" * 9 + "]" * 9 + "}", "malformed", "its protected header is not JSON"),
        ({**HEADER, "x": "x" * 8192}, "malformed", "too long"),
    ],
)
def test_a_header_that_rfc_7515_or_the_policy_refuses(bench, signer, world, header, status, reason):
    protected = encoded(header)

    check = bench.check(signer.signed(bench.card(), protected=protected), world)

    assert check.status == status
    assert reason in check.reason
    assert world.asked == []


@pytest.mark.parametrize("typ", [..., "JOSE", "jose", "JWT", "jwt"])
def test_the_usual_types_are_fine(bench, signer, world, typ):
    found = bench.facts(bench.card(signatures=[signer.sign(bench.card(), typ=typ)]), world, strict=True)

    assert found.report.level is Trust.SIGNED
    assert found.report.findings == ()


@pytest.mark.parametrize("typ", ["agent-card+jws", "JWS", "", "JOSE+JSON"])
def test_another_type_verifies_with_a_finding_and_not_under_strict(bench, signer, world, typ):
    card = bench.card(signatures=[signer.sign(bench.card(), typ=typ)])

    report = bench.facts(card, world).report
    strict = bench.facts(card, world, strict=True).report

    assert report.level is Trust.SIGNED
    assert [(each.code, each.pointer) for each in report.findings] == [("odd-typ", "/signatures/0/protected")]
    assert [check.status for check in strict.signatures] == ["unsupported"]


def test_a_header_over_512_bytes_verifies(bench, signer, world):
    """The limit of the JOSE library we use is not ours."""
    card = bench.card(signatures=[signer.sign(bench.card(), note="x" * 2000)])

    assert bench.check(card, world).status == "verified"


def test_a_long_card_verifies(bench, signer, world):
    """Nor is its limit for payloads, 128,000 bytes."""
    card = bench.card(description="x" * 200_000)

    assert bench.check(signer.signed(card), world).status == "verified"


def test_padding_is_stripped_in_the_signature(bench, signer, world):
    card = signer.signed(bench.card())
    card["signatures"][0]["signature"] += "=="

    assert bench.check(card, world).status == "verified"


def test_padding_is_refused_in_the_protected_header(bench, signer, world):
    header = json.dumps(HEADER)
    padded = base64.urlsafe_b64encode((header + " " * (1 - len(header) % 3)).encode()).decode()
    assert padded.endswith("=")

    check = bench.check(signer.signed(bench.card(), protected=padded), world)

    assert check.status == "malformed"
    assert "padded" in check.reason


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (None, "it is no JSON object"),
        ("eyJ", "it is no JSON object"),
        ([], "it is no JSON object"),
        ({}, "protected and signature are strings"),
        ({"protected": encoded(HEADER)}, "protected and signature are strings"),
        ({"protected": encoded(HEADER), "signature": None}, "protected and signature are strings"),
        ({"protected": HEADER, "signature": "AAAA"}, "protected and signature are strings"),
        ({"protected": encoded(HEADER), "signature": ""}, "its signature is not base64url"),
        ({"protected": encoded(HEADER), "signature": "===="}, "its signature is not base64url"),
        ({"protected": encoded(HEADER), "signature": "AAAAA"}, "its signature is not base64url"),
        ({"protected": encoded(HEADER), "signature": "AA+/"}, "its signature is not base64url"),
        ({"protected": encoded(HEADER), "signature": "AA AA"}, "its signature is not base64url"),
        ({"protected": encoded(HEADER), "signature": "AAAA\n"}, "its signature is not base64url"),
        ({"protected": encoded(HEADER), "signature": "é"}, "its signature is not base64url"),
        ({"protected": encoded(HEADER) + "\n", "signature": "AAAA"}, "its protected header is not base64url"),
        ({"protected": encoded(HEADER), "signature": "A" * 5000}, "too long"),
        ({"protected": encoded(HEADER), "signature": "AAAA", "header": []}, "unprotected header is no JSON object"),
        ({"protected": encoded(HEADER), "signature": "AAAA", "header": "x"}, "unprotected header is no JSON object"),
        ({"protected": encoded(HEADER), "signature": "AAAA", "header": {"alg": "ES256"}}, "both of its headers"),
        ({"protected": encoded(HEADER), "signature": "AAAA", "header": {"kid": "k1"}}, "both of its headers"),
        ({"protected": encoded(HEADER), "signature": "AAAA", "header": {"crit": ["x"]}}, "crit stands in"),
    ],
    ids=str,
)
def test_an_entry_that_is_no_signature(bench, world, entry, reason):
    check = bench.check(bench.card(signatures=[entry]), world)

    assert check.status == "malformed"
    assert reason in check.reason


@pytest.mark.parametrize("header", [None, {}, {"kidHint": "did:web:x", "nonce": 1, "signatures": [], "typ2": "x"}])
def test_an_unprotected_header_changes_nothing(bench, signer, world, header):
    card = signer.signed(bench.card())
    card["signatures"][0]["header"] = header

    assert bench.check(card, world).status == "verified"


def test_an_alg_in_the_unprotected_header_alone_does_not_count(bench, signer, world):
    protected = encoded({"kid": "k1", "jku": bench.JKU})
    card = signer.signed(bench.card(), protected=protected)
    card["signatures"][0]["header"] = {"alg": "ES256"}

    assert bench.check(card, world).status == "malformed"


def test_a_public_key_is_no_secret_for_hmac(bench, signer, world):
    from a2a_discovery._trust.canonical import canonical

    protected = encoded({**HEADER, "alg": "HS256"})
    signing_input = f"{protected}.{encoded(canonical(bench.card(), 'spec'))}".encode()
    secret = json.dumps(signer.jwk()).encode()
    entry = {"protected": protected, "signature": encoded(hmac.digest(secret, signing_input, "sha256"))}

    check = bench.check(bench.card(signatures=[entry]), world)

    assert check.status == "unsupported"


@pytest.mark.parametrize("alg", ["ES256", "ES384", "ES512"])
def test_a_der_signature_is_bad_and_the_reason_says_so(bench, alg):
    signer = bench.Signer(alg=alg)
    card = signer.signed(bench.card(), der=True)

    check = bench.check(card, bench.World({bench.JKU: bench.jwks(signer)}))

    assert check.status == "bad-signature"
    assert "DER" in check.reason


def test_a_signature_of_another_key_is_bad(bench, signer):
    other = bench.Signer(name="other")

    check = bench.check(other.signed(bench.card()), bench.World({bench.JKU: bench.jwks(signer)}))

    assert check.status == "bad-signature"
    assert "DER" not in check.reason


def test_a_signature_over_another_header_is_bad(bench, signer, world):
    card = signer.signed(bench.card())
    card["signatures"][0]["protected"] = encoded({**HEADER, "x": 1})

    assert bench.check(card, world).status == "bad-signature"


def test_an_algorithm_that_the_policy_does_not_name_is_unsupported(bench, signer, world):
    check = bench.check(signer.signed(bench.card()), world, algorithms=frozenset({"EdDSA"}))

    assert (check.status, world.asked) == ("unsupported", [])


# --- several


def test_a_bad_signature_beside_a_good_one_is_told_and_does_no_harm(bench, signer, world):
    bad = {**signer.sign(bench.card(name="Other"))}
    card = bench.card(signatures=[bad, None, signer.sign(bench.card())])

    report = bench.judged(card, world, require=Trust.SIGNED)

    assert [check.status for check in report.signatures] == ["bad-signature", "malformed", "verified"]


def test_of_sixty_signatures_the_last_may_be_the_good_one(bench, signer, world):
    bad = signer.sign(bench.card(name="Other"))
    card = bench.card(signatures=[bad] * 59 + [signer.sign(bench.card())])

    report = bench.judged(card, world, require=Trust.SIGNED)

    assert [check.status for check in report.signatures] == ["bad-signature"] * 59 + ["verified"]
    assert world.asked == [bench.JKU]


def test_of_five_hundred_signatures_a_bounded_number_is_looked_at(bench, signer, world):
    places = [bench.Signer(jku=f"https://{bench.HOST}/{number}").sign(bench.card()) for number in range(500)]

    report = bench.facts(bench.card(signatures=places), world).report

    assert len(world.asked) == 8
    assert [check.status for check in report.signatures] == ["no-key"] * 8 + ["not-tried"] * 492
    assert "64 signatures" in report.signatures[64].reason


def test_the_work_for_one_card_is_bounded(bench, signer):
    """Sixty-four signatures, each over four forms, each with eight keys of its kid."""
    keys = [bench.Signer(name=f"other-{number}").jwk() for number in range(8)]
    four_forms = {"extra": 1, "documentationUrl": "", "securityRequirements": []}
    card = bench.card(**four_forms, signatures=[signer.sign(bench.card())] * 64)

    report = bench.facts(card, bench.World({bench.JKU: bench.jwks(*keys)})).report

    statuses = [check.status for check in report.signatures]
    assert statuses == ["bad-signature"] * 16 + ["not-tried"] * 48


def test_thousands_of_keys_that_are_none_cost_no_more_than_real_ones(bench, signer):
    """Sixty-four signatures select each of them, and each must be read to be refused."""
    keys = [{"kty": "EC", "crv": "P-256", "x": f"x{number:x}", "y": "y"} for number in range(4000)]
    card = bench.card(signatures=[signer.sign(bench.card())] * 64)

    started = time.process_time()
    report = bench.facts(card, bench.World({bench.JKU: bench.jwks(*keys)})).report

    assert {check.status for check in report.signatures} == {"not-tried"}
    assert time.process_time() - started < 5  # all of them are read in twelve


def test_a_card_of_a_megabyte_may_ask_for_fewer_operations(bench, signer):
    """Each hashes a million and a third bytes, which takes 11 of 512; two forms differ, so the 24th is the last."""
    card = bench.card(description="x" * 1_000_000, extra=1)
    card["signatures"] = [signer.sign(bench.card())] * 64

    report = bench.facts(card, bench.World({bench.JKU: bench.jwks(signer.jwk())})).report

    statuses = [check.status for check in report.signatures]
    assert statuses == ["bad-signature"] * 24 + ["not-tried"] * 40


@pytest.mark.parametrize("signatures", [None, ...])
def test_no_signatures_are_no_signatures(bench, signatures):
    card = bench.card() if signatures is ... else bench.card(signatures=signatures)

    report = bench.judged(card)

    assert (report.level, report.signatures, report.findings) == (Trust.CHANNEL, (), ())


def test_an_empty_list_is_no_signature(bench):
    assert bench.judged(bench.card(signatures=[])).level is Trust.CHANNEL


@pytest.mark.parametrize("signatures", ["x", 1, {"protected": "x"}])
def test_signatures_that_are_no_list_are_malformed(bench, signatures):
    (check,) = bench.facts(bench.card(signatures=signatures)).report.signatures

    assert check.status == "malformed"


# --- whatever comes in: facts, never an exception

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["alg", "kid", "jku", "typ", "crit", "b64", "jwk", "x5c", "x5u", "x"])
HEADERS = st.dictionaries(NAMES, ANYTHING | st.sampled_from(["ES256", "EdDSA", "RS256", "none", "k1", HEADER["jku"]]))


@given(header=HEADERS | ANYTHING, signature=st.text(max_size=90), unprotected=ANYTHING)
def test_any_header_and_signature_are_facts(bench, header, signature, unprotected):
    world = bench.World({bench.JKU: bench.jwks(bench.Signer())})
    entry = {"protected": encoded(header), "signature": signature, "header": unprotected}

    (check,) = bench.facts(bench.card(signatures=[entry]), world).report.signatures

    assert check.status != "verified"


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=200))
def test_any_bytes_are_facts(bench, header, signature):
    entry = {"protected": bench.base64url(header), "signature": bench.base64url(signature)}

    assert bench.check(bench.card(signatures=[entry])).status == "malformed"


@given(st.binary(min_size=1, max_size=140), st.sampled_from(["ES256", "ES384", "ES512", "RS256", "PS512", "EdDSA"]))
def test_any_signature_is_a_fact(bench, signature, alg):
    signer = bench.Signer(alg=alg)
    entry = {**signer.sign(bench.card()), "signature": bench.base64url(signature)}

    check = bench.check(bench.card(signatures=[entry]), bench.World({bench.JKU: bench.jwks(signer)}))

    assert check.status == "bad-signature"


@given(st.binary(max_size=200))
def test_any_answer_of_a_jku_is_a_fact(bench, body):
    check = bench.check(bench.Signer().signed(bench.card()), bench.World({bench.JKU: body}))

    assert check.status == "no-key"


MEMBERS = st.sampled_from(
    ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use", "key_ops", "nbf", "exp", "revoked", "x5c", "d", "k"]
)


@given(st.dictionaries(MEMBERS, ANYTHING, max_size=4), st.sampled_from(["ES256", "RS256", "EdDSA"]))
def test_any_key_is_a_fact(bench, changes, alg):
    signer = bench.Signer(alg=alg)
    world = bench.World({bench.JKU: bench.jwks({**signer.jwk(), **changes})})

    check = bench.check(signer.signed(bench.card()), world)

    assert check.status in ("verified", "no-key", "key-not-usable", "bad-signature")


@given(st.text(max_size=40) | st.from_regex(r"https?://[^\s]{0,30}", fullmatch=True))
def test_any_jku_is_a_fact_and_only_our_own_site_is_asked(bench, jku):
    from a2a_discovery._hosts import same_site
    from a2a_discovery._urls import host_of

    world = bench.World()

    check = bench.check(bench.Signer(jku=jku).signed(bench.card()), world)

    assert check.status in ("no-key", "untrusted-key-host")
    assert all(same_site(str(host_of(url)), bench.HOST) for url in world.asked)
