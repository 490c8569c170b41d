"""Edges of the rules, one step to either side: each of these was once the only thing that told two rules apart."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448
from cryptography.x509.oid import NameOID

from a2a_discovery import Trust, TrustError, TrustPolicy, UsageError
from a2a_discovery._card.read import read_card
from a2a_discovery._trust.canonical import Forms, canonical
from a2a_discovery._trust.continuity import Past, compare, judge_continuity, location_of, remember, rolled_back
from a2a_discovery._trust.coverage import _differences, _interfaces, _means_absence
from a2a_discovery._trust.covered import is_covered
from a2a_discovery._trust.jws import read_entry
from a2a_discovery._trust.keys import valid_until, verifies, why_not
from a2a_discovery._trust.places import Ground, Place, interface_host, refused
from a2a_discovery._trust.presence import MESSAGES
from a2a_discovery._trust.report import SignatureCheck, TrustReport
from a2a_discovery._trust.verify import _remember_form, _usual_form

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
        ({"x": {"y": "a", "z": True}}, {"x": {"y": "a", "z": 1}}),
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


def test_a_key_of_a_map_is_no_name_of_a_member():
    """A scheme may be called like a member of a scheme, and an empty one of that name is there all the same."""
    for name, value in itertools.product(MESSAGES["SecurityScheme"], ({}, None)):
        assert differences({"securitySchemes": {name: value}}, {"securitySchemes": {}}) == [("securitySchemes", name)]


def test_a_member_of_a_message_is_read_by_its_own_message_and_not_by_the_one_around_it():
    """No extension has extensions, so nobody knows what an empty list of them says there."""
    first = {"capabilities": {"extensions": [{"uri": "x", "extensions": []}]}}
    second = {"capabilities": {"extensions": [{"uri": "x"}]}}

    assert differences(first, second) == [("capabilities", "extensions", 0, "extensions")]


def test_a_number_is_no_default_of_a_flag():
    field = MESSAGES["AuthorizationCodeOAuthFlow"]["pkceRequired"]

    assert (_means_absence(False, field), _means_absence(0, field)) == (True, False)


@pytest.mark.parametrize("name", ["url", "protocolBinding", "tenant", "protocolVersion"])
def test_each_member_that_says_where_to_call_makes_another_interface(name):
    interface = {"url": "https://a.example/", "protocolBinding": "JSONRPC", "tenant": "a", "protocolVersion": "1.0"}
    other = {**interface, name: "other"}

    assert _interfaces({"supportedInterfaces": [interface]}) != _interfaces({"supportedInterfaces": [other]})


# --- what is signed


@pytest.mark.parametrize("form", ["spec", "spec+unknown", "sdk", "received"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("iconUrl", 0), ("iconUrl", False), ("securityRequirements", 0)],
)
def test_a_member_of_another_type_is_no_default(bench, form, name, value):
    """Left out of the signed bytes as if it were a default, anybody could add it."""
    signer = bench.Signer(form=form)
    card = signer.signed(bench.card(capabilities={"streaming": True})) | {name: value}
    world = bench.World({bench.JKU: bench.jwks(signer)})

    report = bench.facts(card, world).report

    assert report.verified is None or report.uncovered == (f"/{name}",)


def test_of_a_member_in_both_spellings_the_json_name_is_signed(bench):
    """ProtoJSON reads either; a signer that meets both reads the first by its JSON name."""
    card = bench.card(documentationUrl="https://shop.example/")

    for odd in ({**card, "documentation_url": "https://other.example/"}, {"documentation_url": "x", **card}):
        assert canonical(odd, "sdk") == canonical(card, "sdk")


def test_a_value_of_another_shape_is_signed_as_it_is(bench):
    card = bench.card(provider=[{"organization": "Shop", "later": 1}])

    assert json.loads(canonical(card, "spec"))["provider"] == [{"organization": "Shop", "later": 1}]


def test_a_number_in_the_place_of_a_flag_is_signed():
    extension = {"uri": "https://x.example/", "required": 0}

    assert json.loads(canonical({"capabilities": {"extensions": [extension]}}, "spec")) == {
        "capabilities": {"extensions": [extension]}
    }


def test_a_card_that_a_form_cannot_carry_has_no_payload_in_it():
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    too_deep = {"name": "x", "capabilities": {"extensions": [{"params": deep}]}}
    too_large = {"name": "x", "capabilities": {"extensions": [{"params": {"number": 10**400}}]}}

    for card in (too_deep, too_large):
        assert list(Forms(card, ("sdk", "spec", "received", "python-json")).payloads()) == []


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


def test_a_version_that_went_back_is_a_warning_at_the_version():
    (finding,) = rolled_back("1.9", Past(version="1.10"))

    assert (finding.code, finding.severity, finding.pointer) == ("rolled-back", "warning", "/version")


def test_a_key_that_raised_no_level_is_not_remembered():
    """It verifies, yet the card is another publisher's than it was asked for under."""
    past = Past(level=Trust.SIGNED, thumbprints=("T1",), jku_hosts=("keys.shop.example",))
    elsewhere = TrustReport(
        level=Trust.CHANNEL,
        authority="other.example",
        other_publisher=True,
        signatures=(verified(thumbprint="T2", jku="https://other.example/jwks", key_source="same-site-jku"),),
    )

    left = remember(elsewhere, "1", past)

    assert (left.level, left.thumbprints, left.jku_hosts) == (Trust.SIGNED, ("T1",), ("keys.shop.example",))


def test_a_card_that_stays_at_its_pinned_level_continues_its_past(bench):
    past = Past(level=Trust.PINNED, thumbprints=("T1",))
    now = TrustReport(
        level=Trust.PINNED, authority="shop.example", signatures=(verified(key_source="pinned", thumbprint="T1"),)
    )
    policy = TrustPolicy(keys={"shop.example": bench.Signer().jwk()})

    assert compare(now, past, policy, ("shop.example",)) is None


def test_a_policy_that_gave_up_on_trust_asks_for_no_continuity(bench):
    past = Past(level=Trust.SIGNED, thumbprints=("T1",))
    now = TrustReport(level=Trust.CHANNEL, authority=bench.HOST)

    with pytest.raises(TrustError) as caught:
        judge_continuity(now, past, bench.FROM_HOST, TrustPolicy())
    assert (caught.value.code, caught.value.step) == ("downgraded", "verify")
    assert caught.value.report.refusal == "downgraded"

    judge_continuity(now, past, bench.FROM_HOST, TrustPolicy(unsafe_reason="a test of a broken signer"))


@pytest.mark.parametrize("letter", "/abcXYZ019.-_~")
def test_each_path_is_a_location_of_its_own_but_for_a_closing_slash(letter):
    same = location_of(f"https://shop.example/agent{letter}") == location_of("https://shop.example/agent")

    assert same is (letter == "/")


def test_a_key_pinned_for_the_host_that_was_asked_keeps_its_level(bench):
    """The card answers from www; the caller pinned its keys for the name that he uses."""
    provenance = bench.Provenance(authority="www.shop.example", asked="shop.example", channel="tls")
    now = TrustReport(level=Trust.SIGNED, authority="www.shop.example", signatures=(verified(thumbprint="T1"),))
    past = Past(level=Trust.PINNED, thumbprints=("T1",))
    policy = TrustPolicy(keys={"shop.example": bench.Signer().jwk()})

    with pytest.raises(TrustError) as caught:
        judge_continuity(now, past, provenance, policy)

    assert caught.value.code == "downgraded"


# --- signatures


@pytest.mark.parametrize(("depth", "fits"), [(8, True), (9, False)])
def test_how_deep_a_header_may_nest(bench, depth, fits):
    """The header itself is the first level."""
    nested = "[" * (depth - 1) + "]" * (depth - 1)
    protected = bench.base64url(f'{{"alg":"ES256","x":{nested}}}'.encode())

    read = read_entry(0, {"protected": protected, "signature": "AAAA"}, algorithms={"ES256"})

    assert (getattr(read, "status", None) == "malformed") is not fits


def test_whatever_a_library_raises_nothing_was_verified():
    assert verifies({"kty": "EC", "crv": "P-256", "x": "!", "y": "!"}, "ES256", b"a", b"b") is False
    assert verifies({}, "RS256", b"a", b"b") is False


@pytest.mark.parametrize("alg", ["none", "HS256", "ES256K"])
def test_an_algorithm_that_is_not_ours_verifies_nothing_even_below_the_policy(bench, signer, alg):
    """A library would say yes to ``none``; no policy can name it, and nothing hangs by that alone."""
    assert verifies(signer.jwk(), alg, b"a", b"") is False


@pytest.mark.parametrize("more", ["A", "AA", "X", "XX", "XXXX", "-", "__"])
def test_a_signature_with_something_after_it_is_another_signature(bench, signer, more):
    card = signer.signed(bench.card())
    world = bench.World({bench.JKU: bench.jwks(signer)})
    assert bench.facts(card, world).report.verified is not None

    card["signatures"][0]["signature"] += more

    assert bench.facts(card, world).report.verified is None


@pytest.mark.parametrize(
    ("pinned", "published", "status"),
    [
        ("another", "right", "verified"),
        ("another", "another", "bad-signature"),
        ("another", "unusable", "bad-signature"),
        ("another", "none", "bad-signature"),
        ("another", "elsewhere", "bad-signature"),
        ("unusable", "right", "verified"),
        ("unusable", "another", "bad-signature"),
        ("unusable", "none", "key-not-usable"),
        ("unusable", "elsewhere", "key-not-usable"),
    ],
)
def test_of_two_attempts_at_a_signature_the_one_that_says_most_counts(bench, signer, pinned, published, status):
    """Else a key that nobody may use would hide that a pinned one refutes the signature."""
    keys = {"right": signer.jwk(), "another": bench.Signer(name="another").jwk(), "unusable": signer.jwk(use="enc")}
    jku = "https://elsewhere.example/jwks" if published == "elsewhere" else bench.JKU
    world = bench.World({bench.JKU: bench.jwks(*([keys[published]] if published in keys else []))})

    check = bench.check(signer.signed(bench.card(), jku=jku), world, keys={bench.HOST: keys[pinned]})

    assert check.status == status


def test_of_the_form_that_each_key_signs_in_no_more_is_remembered_than_of_1024_keys():
    """A stranger may publish as many keys as there are cards."""
    for number in range(3000):
        _remember_form(f"a thumbprint, {number}", "sdk")
        assert len(_usual_form) <= 1024

    assert len(_usual_form) > 100


def test_the_authority_of_a_card_with_a_host_is_that_host_wherever_its_interfaces_are(bench, signer):
    interface = {"url": "https://api.elsewhere.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    card = signer.signed(bench.card(supportedInterfaces=[interface]))

    report = bench.facts(card, bench.World({bench.JKU: bench.jwks(signer)})).report

    assert (report.level, report.authority, report.hosts) == (Trust.SIGNED, bench.HOST, (bench.HOST,))


def test_where_the_findings_about_signatures_point(bench):
    signer = bench.Signer(form="sdk")
    signed = signer.signed(bench.card(), typ="other")
    world = bench.World({bench.JKU: bench.jwks(signer)})

    def findings(card, world):
        return {(each.code, each.severity, each.pointer) for each in bench.facts(card, world).report.findings}

    assert findings(signed, world) == {("odd-typ", "advice", "/signatures/0/protected")}
    assert findings(signed, bench.World()) == {("unverified-signature", "warning", "/signatures")}


def test_a_policy_that_requires_a_signature_accepts_none_that_it_cannot_verify(bench, signer):
    """Whatever it says about cards that nobody can verify."""
    policy = TrustPolicy(require=Trust.SIGNED, unverifiable="accept")

    with pytest.raises(TrustError) as caught:
        bench.judged(signer.signed(bench.card()), bench.World({}), policy=policy)

    assert caught.value.code == "unverifiable"


def test_a_card_of_which_nothing_could_be_tried_is_unverifiable(bench, signer):
    """Reading 512 keys that are none is all the work that a card may ask for."""
    odd = [signer.jwk(x=bench.base64url(number.to_bytes(32, "big"))) for number in range(512)]

    with pytest.raises(TrustError) as caught:
        bench.judged(signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(*odd, signer)}))

    assert [check.status for check in caught.value.report.signatures] == ["not-tried"]
    assert caught.value.code == "unverifiable"


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


@pytest.mark.parametrize(("alg", "named"), [("EdDSA", "Ed448"), ("EdDSA", "Ed25519"), ("Ed25519", "EdDSA")])
def test_the_older_and_the_newer_name_of_an_algorithm_are_one(bench, alg, named):
    """RFC 9864 section 2.2."""
    signer = bench.Signer(alg=alg)

    world = bench.World({bench.JKU: bench.jwks(signer.jwk(alg=named))})
    assert bench.check(signer.signed(bench.card()), world).status == "verified"


@pytest.mark.parametrize(
    ("bits", "exponent", "problem"),
    [
        (8192, 65537, None),
        (8193, 65537, "the most is 8192"),
        (2047, 65537, "asks for 2048"),
        (2048, 2**32 - 1, None),
        (2048, 2**32 + 1, "exponent is too large"),
    ],
)
def test_the_sizes_of_an_rsa_key(bench, bits, exponent, problem):
    def number(value: int) -> str:
        return bench.base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))

    said = why_not({"kty": "RSA", "n": number(2 ** (bits - 1) + 1), "e": number(exponent)}, "RS256", bench.NOW)

    assert said is None if problem is None else problem in str(said)


def test_a_certificate_says_how_long_its_key_may_be_used(bench, signer):
    chain = chained(bench, signer.key, leaf_until=bench.NOW + DAY, issuer_until=bench.NOW + 9 * DAY)

    assert valid_until(signer.jwk(x5c=chain)) == [bench.NOW + DAY]
    assert valid_until(signer.jwk(x5c=chain, exp=bench.NOW + 5)) == [bench.NOW + 5, bench.NOW + DAY]
    assert valid_until(signer.jwk()) == []


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


def test_a_card_without_any_interface_is_at_home_nowhere(bench, signer):
    ground = Ground(
        provenance=bench.INLINE,
        policy=TrustPolicy(keys={"catalog.example": signer.jwk()}, jku_hosts={"catalog.example": (bench.JKU,)}),
        interface_hosts=(),
    )

    assert ground.pinned() == ()
    for jku in ("https://catalog.example/jwks", bench.JKU):
        assert isinstance(ground.place(jku), str)


@pytest.mark.parametrize(("exact", "told"), [(True, True), (False, False)])
def test_an_answer_from_another_url_is_a_redirect_however_it_came_about(bench, exact, told):
    place = Place(url="https://a.example/jwks", source="interface-host-jku", exact=exact)
    same_site = bench.Answer(url="https://a.example/other", type="application/json").fetched(place.url)
    elsewhere = bench.Answer(url="https://b.example/jwks").fetched(place.url)
    there_and_back = replace(same_site, url=place.url, redirects=(place.url, "https://a.example/other"))

    assert ("redirected" in (refused(place, there_and_back, bench.INLINE) or "")) is told
    assert ("redirected" in (refused(place, same_site, bench.INLINE) or "")) is told
    assert "another site" in (refused(place, elsewhere, bench.INLINE) or "")


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


def test_what_the_sdks_form_deletes_inside_of_a_card_is_read_as_the_empty_value_it_was(bench):
    """The interface's empty URL is not in the signed bytes; read without it, the whole card would be another one."""
    interface = {"url": "", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    signer = bench.Signer(form="sdk")
    card = signer.signed(bench.card(supportedInterfaces=[interface], defaultInputModes=None))

    report = bench.facts(card, bench.World({bench.JKU: bench.jwks(signer)})).report

    assert (report.verified.form, report.uncovered) == ("sdk", ())


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ({"alg": ["ES256"]}, "its alg is"),
        ({"x5c": ["!"]}, "its x5c cannot be read"),
        ({"x5c": ["AAAA"]}, "its x5c cannot be read"),
        ({"x5c": [7]}, "its x5c is no list of certificates"),
        ({"x5c": []}, "its x5c is no list of certificates"),
    ],
    ids=str,
)
def test_an_odd_member_of_a_key_is_a_reason_against_it(bench, signer, member, reason):
    assert reason in str(why_not(signer.jwk(**member), "ES256", bench.NOW))


def test_a_list_is_no_other_name_of_an_algorithm(bench):
    jwk = bench.Signer(alg="EdDSA", kid="k").jwk(alg=["Ed25519"])

    assert why_not(jwk, "EdDSA", bench.NOW) == "its alg is no string"


def test_a_certificate_in_any_other_base64_is_none(bench, signer):
    """RFC 7517 section 4.7: base64 without line breaks, and not base64url."""
    chain = chained(bench, signer.key, leaf_until=bench.NOW + DAY, issuer_until=bench.NOW + DAY)
    broken = [f"{chain[0][:64]}\n{chain[0][64:]}"]

    assert why_not(signer.jwk(x5c=chain), "ES256", bench.NOW) is None
    assert why_not(signer.jwk(x5c=broken), "ES256", bench.NOW) == "its x5c cannot be read"


@pytest.mark.parametrize("url", ["ftp://localhost/jwks", "ws://localhost/jwks", "file://localhost/jwks"])
def test_keys_come_over_http_alone_even_from_loopback(bench, url):
    provenance = bench.Provenance(
        authority="localhost", asked="localhost", channel="loopback", local=True, loopback=True
    )
    ground = Ground(provenance=provenance, policy=TrustPolicy(), interface_hosts=("localhost",))

    assert isinstance(ground.place("http://localhost/jwks"), Place)
    assert ground.place(url) == "its jku is not https"


def test_a_listed_pattern_of_https_hosts_lists_nothing_that_is_http(bench):
    provenance = bench.Provenance(
        authority="localhost", asked="localhost", channel="loopback", local=True, loopback=True
    )
    policy = TrustPolicy(jku_hosts=("*.localhost",))
    ground = Ground(provenance=provenance, policy=policy, interface_hosts=("localhost",))

    sources = [ground.place(f"{scheme}://keys.localhost/jwks").source for scheme in ("https", "http")]

    assert sources == ["listed-jku", "same-site-jku"]


@pytest.mark.parametrize(
    "path", ["./jwks", "a/../jwks", "%2e/jwks", ".;x/jwks", "a%2f../jwks", "a%5C../jwks", "..%3Bx/jwks"]
)
def test_a_dot_segment_is_in_no_listed_place(bench, path):
    policy = TrustPolicy(jku_hosts={bench.HOST: ("https://keys.example/shop/",)})
    ground = Ground(provenance=bench.FROM_HOST, policy=policy, interface_hosts=(bench.HOST,))

    assert isinstance(ground.place("https://keys.example/shop/jwks"), Place)
    assert isinstance(ground.place(f"https://keys.example/shop/{path}"), str)


@pytest.mark.parametrize(
    "url",
    ["a b:443", "-a.example:443", "a..example:443", "dns:///é..é:443", "x y", "443", "a/b:443", "a@b:443", "a?b#c:443"],
)
def test_what_is_no_host_name_is_nobodys(url):
    assert interface_host(url) is None
