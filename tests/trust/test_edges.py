"""Edges of the rules, one step to either side: each of these was once the only thing that told two rules apart."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448
from cryptography.x509.oid import NameOID

from a2a_discovery import Trust, TrustError, TrustPolicy, UsageError
from a2a_discovery._card.read import read_card
from a2a_discovery._trust.continuity import Past, remember, rolled_back
from a2a_discovery._trust.coverage import _differences
from a2a_discovery._trust.covered import is_covered
from a2a_discovery._trust.jws import read_entry
from a2a_discovery._trust.places import interface_host
from a2a_discovery._trust.presence import MESSAGES
from a2a_discovery._trust.report import SignatureCheck, TrustReport

DAY = 86_400.0


def differences(first: Any, second: Any) -> list[Any]:
    return list(_differences(first, second, MESSAGES["AgentCard"], ()))


# --- what is the same, and what is not


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"x": ["a", True]}, {"x": ["a", 1]}),
        ({"x": {"y": ["a", 0]}}, {"x": {"y": ["a", False]}}),
        ({"x": ["a", 1.0]}, {"x": ["a", True]}),
    ],
    ids=str,
)
def test_a_flag_beside_texts_is_no_number(first, second):
    assert differences(first, second) != []


def test_what_a_list_lacks_is_told_alone():
    one, two, three = ({"id": each, "name": each} for each in "abc")

    assert differences({"skills": [one, two, three]}, {"skills": [one, three]}) == [("skills", 1)]
    assert differences({"skills": [one, two]}, {"skills": [one, two, three]}) == [("skills",)]


@pytest.mark.parametrize(("value", "same"), [(None, True), ("", True), ("x", False)])
def test_an_optional_text_that_says_nothing_is_as_good_as_absent(value, same):
    assert (differences({"iconUrl": value}, {}) == []) is same


# --- what is remembered


def verified(**changes: Any) -> SignatureCheck:
    return SignatureCheck(
        **{"index": 0, "status": "verified", "kid": "k", "alg": "ES256", "interfaces_covered": True, **changes}
    )


def test_a_key_that_is_seen_again_pushes_no_other_out():
    past = Past(level=Trust.SIGNED, thumbprints=tuple(f"T{number}" for number in range(32)))
    report = TrustReport(level=Trust.SIGNED, authority="shop.example", signatures=(verified(thumbprint="T7"),))

    assert remember(report, "1", past).thumbprints == past.thumbprints


@pytest.mark.parametrize(("now", "before"), [("1", "1.0"), ("1.0", "1"), ("2.0.0", "2"), ("v2", "2.0")])
def test_a_version_with_more_or_fewer_zeros_is_the_same_version(now, before):
    assert rolled_back(now, Past(version=before)) == ()


# --- signatures


@pytest.mark.parametrize(
    ("header", "signature", "fits"),
    [(8192, 2048, True), (8193, 2048, False), (8192, 2049, False)],
)
def test_the_longest_header_and_signature_that_are_read(bench, header, signature, fits):
    """8 KiB and 2 KiB, as characters of base64url. 6,144 bytes are 8,192 characters."""
    text = b'{"alg":"ES256","x":"' + b"a" * (6144 - 22) + b'"}'
    protected = (bench.base64url(text) + "A")[:header] if header > 8192 else bench.base64url(text)
    assert len(protected) == header

    read = read_entry(0, {"protected": protected, "signature": "A" * signature}, algorithms={"ES256"})

    assert ("too long" in getattr(read, "reason", "")) is not fits


def test_eight_keys_of_one_kid_are_tried_and_not_nine(bench, signer):
    others = [bench.Signer(name=f"other-{number}").jwk() for number in range(8)]
    card = signer.signed(bench.card())

    def status(*keys):
        return bench.check(card, bench.World({bench.JKU: bench.jwks(*keys)})).status

    assert status(*others[:7], signer) == "verified"
    assert status(*others, signer) == "bad-signature"


def test_a_required_signature_that_leaves_the_interfaces_open_is_not_enough(bench):
    """The interface has its version from the root, which the form of 1.0 does not cover."""
    partly, whole = bench.Signer(kid="required"), bench.Signer(kid="k2", form="received")
    interface = {"url": f"https://{bench.HOST}/a2a", "protocolBinding": "JSONRPC"}
    card = bench.card(supportedInterfaces=[interface], protocolVersion="1.0")
    card["signatures"] = [partly.sign(card), whole.sign(card)]
    world = bench.World({bench.JKU: bench.jwks(partly, whole)})

    assert bench.judged(card, world, require=Trust.SIGNED).verified.kid == "k2"
    with pytest.raises(TrustError):
        bench.judged(card, world, required_kids=("required",))


# --- keys


def test_a_key_on_ed448_verifies_eddsa_and_not_ed25519(bench):
    """RFC 8037 section 3.1: EdDSA is for both curves. RFC 9864 section 2.2: Ed25519 is for one."""
    key = ed448.Ed448PrivateKey.generate()
    public = {"kty": "OKP", "crv": "Ed448", "kid": "k1", "x": bench.base64url(key.public_key().public_bytes_raw())}

    class On448(bench.Signer):
        def raw(self, signing_input: bytes, *, der: bool = False) -> bytes:
            return key.sign(signing_input)

    def check(alg):
        card = On448(alg=alg, kid="k1").signed(bench.card())
        return bench.check(card, bench.World({bench.JKU: bench.jwks(public)}))

    assert (check("EdDSA").status, check("Ed25519").status) == ("verified", "key-not-usable")


def chained(bench, leaf, *, leaf_until: float, issuer_until: float) -> list[str]:
    import base64

    authority = ec.generate_private_key(ec.SECP256R1())

    def made(key, subject, until):
        names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (subject, "authority")]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(names[0])
            .issuer_name(names[1])
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(dt.datetime.fromtimestamp(bench.NOW - 2 * DAY, dt.UTC))
            .not_valid_after(dt.datetime.fromtimestamp(until, dt.UTC))
            .sign(authority, hashes.SHA256())
        )
        return base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()

    return [made(leaf, "agent.example.com", leaf_until), made(authority, "authority", issuer_until)]


def test_of_a_chain_the_first_certificate_is_the_keys_own(bench, signer):
    """RFC 7517 section 4.7."""
    later, earlier = bench.NOW + DAY, bench.NOW - DAY

    def status(leaf_until):
        chain = chained(bench, signer.key, leaf_until=leaf_until, issuer_until=2 * later - leaf_until)
        world = bench.World({bench.JKU: bench.jwks(signer.jwk(x5c=chain))})
        return bench.check(signer.signed(bench.card()), world).status

    assert (status(later), status(earlier)) == ("verified", "key-not-usable")


@pytest.mark.parametrize("member", ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
def test_no_private_member_of_a_key_is_kept(bench, signer, member):
    """RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1."""
    public = signer.jwk()

    assert TrustPolicy(keys={"shop.example": {**public, member: "secret"}}).keys["shop.example"] == (public,)


def test_a_set_whose_keys_are_no_list_says_so():
    with pytest.raises(UsageError, match="a list"):
        TrustPolicy(keys={"shop.example": {"keys": {"a": {"kty": "EC"}}}})


# --- hosts


@pytest.mark.parametrize("url", ["host.example:port", "host.example:", "host.example:50051x", "dns:///host.example:x"])
def test_what_has_no_port_is_no_grpc_address(url):
    assert interface_host(url) is None


def test_a_card_of_nobody_is_not_of_a_publisher_who_is_asked_for(bench):
    provenance = bench.Provenance(authority=None, asked=None, channel=None, publisher="shop.example")

    report = bench.facts(bench.card(), provenance=provenance).report

    assert (report.other_publisher, report.level) == (True, Trust.CHANNEL)


@pytest.mark.parametrize(("place", "covered"), [("uri", False), ("x-later", True), ("params/a", False)])
def test_a_message_in_a_list_is_covered_where_all_that_is_read_of_it_is(bench, place, covered):
    extension = {"uri": "https://shop.example/x", "params": {"a": 1}, "x-later": 1}
    reading = read_card(bench.card(capabilities={"extensions": [extension]}), url=None)
    uncovered = [f"/capabilities/extensions/0/{place}"]

    assert is_covered(reading, uncovered, "AgentCapabilities", "capabilities") is covered
