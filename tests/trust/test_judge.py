"""Facts in, verdict out: the policy, the report, and the line that would accept a card."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path

import pytest

from a2a_discovery._trust.report import SignatureCheck, TrustReport
from a2a_discovery.errors import TrustError, UsageError
from a2a_discovery.policy import Trust, TrustPolicy, UnsafeTrustAnyCard, all_of, any_of


def refused(bench, card, world=None, provenance=None, **policy):
    with pytest.raises(TrustError) as caught:
        bench.judged(card, world, provenance or bench.FROM_HOST, **policy)
    error = caught.value
    assert error.step == "verify"
    assert error.report.refusal == error.code
    return error


def plain(bench, **more):
    return bench.Provenance(authority=bench.HOST, asked=bench.HOST, channel="plain", **more)


# --- no signature


@pytest.mark.parametrize("channel", ["tls", "loopback"])
def test_an_unsigned_card_has_the_level_of_its_channel(bench, channel):
    provenance = bench.Provenance(authority=bench.HOST, asked=bench.HOST, channel=channel)

    report = bench.judged(bench.card(), provenance=provenance)

    assert (report.level, report.authority, report.verified) == (Trust.CHANNEL, bench.HOST, None)


@pytest.mark.parametrize("require", [Trust.SIGNED, Trust.PINNED])
def test_an_unsigned_card_is_refused_where_a_signature_is_required(bench, require):
    error = refused(bench, bench.card(), require=require)

    assert error.code == "unsigned"
    assert "require=Trust.CHANNEL" in error.hint


def test_a_card_over_plain_http_has_nobody_behind_it(bench):
    error = refused(bench, bench.card(), provenance=plain(bench))

    assert error.code == "no-channel"
    assert "allow_http" in error.hint
    assert "require=Trust.NONE" in error.hint
    assert bench.judged(bench.card(), provenance=plain(bench), require=Trust.NONE).level is Trust.NONE


def test_a_signature_makes_up_for_a_plain_channel(bench, signer, world):
    report = bench.judged(signer.signed(bench.card()), world, plain(bench), require=Trust.SIGNED)

    assert report.level is Trust.SIGNED


def test_a_signature_that_leaves_the_interfaces_open_does_not(bench, signer, world):
    interface = {"url": f"https://{bench.HOST}/a2a", "protocolBinding": "JSONRPC"}
    card = signer.signed(bench.card(supportedInterfaces=[interface])) | {"protocolVersion": "1.0"}

    assert refused(bench, card, world, plain(bench)).code == "no-channel"
    assert refused(bench, card, world, plain(bench), require=Trust.SIGNED).code == "uncovered"


def test_a_card_that_the_caller_handed_over_is_the_callers(bench):
    report = bench.judged(bench.card(), provenance=bench.MAPPING)

    assert (report.level, report.authority) == (Trust.CHANNEL, None)


# --- signatures, none verified


def test_a_bad_signature_is_refused_whatever_else_is_accepted(bench, signer, world):
    card = {**signer.signed(bench.card()), "name": "Other"}

    for policy in ({}, {"unverifiable": "accept"}, {"require": Trust.NONE}):
        error = refused(bench, card, world, **policy)
        assert error.code == "bad-signature"
        assert "'k1'" in str(error)
    assert refused(bench, card, provenance=bench.MAPPING, keys={bench.HOST: signer.jwk()}).code == "bad-signature"


def test_an_untrusted_key_is_refused_with_the_line_that_would_accept_it(bench):
    signer = bench.Signer(jku="https://keys.platform.example/shop/jwks.json")
    card = signer.signed(bench.card())

    error = refused(bench, card)

    assert error.code == "untrusted-key-host"
    assert (
        error.hint == "trust=TrustPolicy(jku_hosts="
        "{'agent.example.com': ('https://keys.platform.example/shop/jwks.json',)})"
    )
    policy = {"jku_hosts": {"agent.example.com": ("https://keys.platform.example/shop/jwks.json",)}}
    assert bench.judged(card, bench.World({signer.jku: bench.jwks(signer)}), **policy).level is Trust.PINNED


@pytest.mark.parametrize(
    "jku",
    [
        "http://agent.example.com/keys",
        "https://u:p@agent.example.com/keys",
        "keys.json",
        "https://x.example/" + "k" * 300,
    ],
    ids=["http", "userinfo", "relative", "long"],
)
def test_the_line_never_lists_a_place_that_could_not_be_listed(bench, jku):
    error = refused(bench, bench.Signer(jku=jku).signed(bench.card()))

    assert error.code == "untrusted-key-host"
    assert error.hint == "trust=TrustPolicy(keys={'agent.example.com': Path(\"keys.json\")})  # with the key 'k1'"


def test_the_line_never_lists_a_place_that_leads_elsewhere(bench, signer):
    away = bench.jwks(signer, redirects=(bench.JKU,), url="https://evil.example/keys")

    error = refused(bench, signer.signed(bench.card()), bench.World({bench.JKU: away}))

    assert (error.code, error.hint.startswith("trust=TrustPolicy(keys=")) == ("untrusted-key-host", True)


def test_the_line_for_a_card_with_no_host_of_its_own_names_the_hosts_of_all_its_interfaces(bench):
    signer = bench.Signer(jku="https://keys.example/jwks.json")
    urls = ["https://a.example/", "https://b.example/1", "https://b.example/2"]
    interfaces = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"} for url in urls]
    card = signer.signed(bench.card(supportedInterfaces=interfaces))

    error = refused(bench, card, provenance=bench.INLINE)

    place = "('https://keys.example/jwks.json',)"
    assert error.hint == f"trust=TrustPolicy(jku_hosts={{'a.example': {place}, 'b.example': {place}}})"
    policy = {"jku_hosts": {"a.example": signer.jku, "b.example": signer.jku}}
    world = bench.World({signer.jku: bench.jwks(signer)})
    assert bench.judged(card, world, bench.INLINE, **policy).level is Trust.PINNED


def test_a_signature_without_a_key_is_refused_with_the_line_that_would_accept_it(bench):
    signer = bench.Signer(jku=None)

    error = refused(bench, signer.signed(bench.card()))

    assert error.code == "unverifiable"
    assert error.hint == "trust=TrustPolicy(keys={'agent.example.com': Path(\"keys.json\")})  # with the key 'k1'"


@pytest.mark.parametrize(
    "entries",
    [
        [None],
        ["x", {"protected": "e30", "signature": "AAAA"}],
        [{"protected": "eyJhbGciOiJub25lIn0", "signature": "AAAA"}],
    ],
    ids=["null", "no-alg", "none"],
)
def test_a_signature_that_is_none_is_refused(bench, entries):
    error = refused(bench, bench.card(signatures=entries))

    assert error.code == "unverifiable"


def test_an_unusable_key_is_told_before_all_else(bench, signer):
    card = bench.card(signatures=[None, signer.sign(bench.card())])

    error = refused(bench, card, bench.World({bench.JKU: bench.jwks(signer.jwk(use="enc"))}))

    assert error.code == "unverifiable"
    assert "its use is 'enc'" in error.message


def test_an_unverifiable_card_may_be_accepted_at_the_level_of_its_channel(bench):
    signer = bench.Signer(jku="https://elsewhere.example/jwks.json")

    report = bench.judged(signer.signed(bench.card()), unverifiable="accept")

    assert report.level is Trust.CHANNEL
    assert [(each.code, each.severity) for each in report.findings] == [("unverified-signature", "warning")]
    assert refused(bench, signer.signed(bench.card()), unverifiable="accept", require=Trust.SIGNED).code == (
        "untrusted-key-host"
    )


def test_for_a_card_that_the_caller_handed_over_a_missing_key_is_only_a_finding(bench):
    signer = bench.Signer(jku="https://elsewhere.example/jwks.json")
    card = signer.signed(bench.card())

    report = bench.judged(card, provenance=bench.MAPPING)

    assert report.level is Trust.CHANNEL
    assert [each.code for each in report.findings] == ["unverified-signature"]
    assert refused(bench, card, provenance=bench.INLINE).code == "untrusted-key-host"
    in_a_catalog_handed_over = bench.Provenance(authority=None, asked=None, channel=None, inline=True)
    assert refused(bench, card, provenance=in_a_catalog_handed_over).code == "untrusted-key-host"
    assert refused(bench, card, provenance=bench.MAPPING, require=Trust.SIGNED).code == "untrusted-key-host"


# --- verified, yet not enough


def test_a_key_of_the_cards_own_site_is_no_pinned_key(bench, signer, world):
    error = refused(bench, signer.signed(bench.card()), world, require=Trust.PINNED)

    assert error.code == "untrusted-key-host"
    assert "PINNED" in error.message
    assert error.report.level is Trust.SIGNED


def test_every_required_kid_must_verify(bench):
    one, two = bench.Signer(kid="one"), bench.Signer(kid="two")
    world = bench.World({bench.JKU: bench.jwks(one, two)})
    card = bench.card(signatures=[one.sign(bench.card()), two.sign(bench.card())])

    report = bench.judged(card, world, required_kids=("one", "two"))

    assert [check.status for check in report.signatures] == ["verified", "verified"]
    error = refused(bench, one.signed(bench.card()), world, required_kids=("one", "two"))
    assert (error.code, "'two'" in error.message) == ("unverifiable", True)
    assert refused(bench, bench.card(), required_kids=("one",)).code == "unsigned"


def test_a_required_kid_that_fails_is_not_made_up_for_by_another(bench):
    one, two = bench.Signer(kid="one"), bench.Signer(kid="two")
    world = bench.World({bench.JKU: bench.jwks(one, two)})
    card = bench.card(signatures=[one.sign(bench.card()), two.sign(bench.card(name="Other"))])

    assert refused(bench, card, world, required_kids=("two",)).code == "unverifiable"


@pytest.mark.parametrize(
    ("publisher", "code"),
    [("other.example", "other-publisher"), (None, None), ("agent.example.com", None), ("example.com", None)],
)
def test_a_card_of_another_publisher_reaches_its_channel_at_most(bench, signer, world, publisher, code):
    provenance = bench.Provenance(authority=bench.HOST, asked=bench.HOST, channel="tls", publisher=publisher)
    card = signer.signed(bench.card())

    report = bench.judged(card, world, provenance)

    assert report.level is (Trust.SIGNED if code is None else Trust.CHANNEL)
    assert report.other_publisher == (code is not None)
    assert [each.code for each in report.findings] == ([] if code is None else [code])
    if code is not None:
        assert refused(bench, card, world, provenance, require=Trust.SIGNED).code == code


def test_the_walk_may_say_itself_that_it_ended_elsewhere(bench):
    provenance = bench.Provenance(authority=bench.HOST, asked=bench.HOST, channel="tls", other_publisher=True)

    assert bench.judged(bench.card(), provenance=provenance).other_publisher
    assert refused(bench, bench.card(), provenance=provenance, require=Trust.SIGNED).code == "other-publisher"


@pytest.mark.parametrize(
    ("start", "elsewhere"), [("agent.example.com", False), ("example.com", False), ("other.example", True)]
)
def test_a_walk_from_a_domain_ends_on_its_site_or_elsewhere(bench, signer, world, start, elsewhere):
    provenance = bench.Provenance(authority=bench.HOST, asked=bench.HOST, channel="tls", walked_from=start)

    report = bench.judged(signer.signed(bench.card()), world, provenance)

    assert (report.other_publisher, report.level) == (elsewhere, Trust.CHANNEL if elsewhere else Trust.SIGNED)


def test_a_walk_that_ends_at_a_card_of_nobody_ends_elsewhere(bench):
    provenance = bench.Provenance(authority=None, asked=None, channel=None, walked_from=bench.HOST)

    assert bench.judged(bench.card(), provenance=provenance).other_publisher


def test_the_hosts_of_a_report_are_those_that_a_pattern_has_to_match(bench):
    elsewhere = bench.card(supportedInterfaces=[
        {"url": f"https://{host}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        for host in ("one.example", "two.example", "one.example")
    ])  # fmt: skip

    assert bench.judged(elsewhere).hosts == (bench.HOST,)
    assert bench.judged(elsewhere, provenance=bench.INLINE).hosts == ("one.example", "two.example")
    assert bench.judged(elsewhere, provenance=bench.MAPPING).hosts == ("one.example", "two.example")


def test_a_proven_inline_card_is_its_own_publishers_and_no_other(bench):
    signer = bench.Signer()
    world = bench.World({bench.JKU: bench.jwks(signer)})

    def inline(publisher):
        catalog = "catalog.example"
        return bench.Provenance(authority=catalog, asked=catalog, channel="tls", inline=True, publisher=publisher)

    card = signer.signed(bench.card())
    assert bench.judged(card, world, inline(bench.HOST), require=Trust.SIGNED).level is Trust.SIGNED
    assert refused(bench, card, world, inline("victim.example"), require=Trust.SIGNED).code == "other-publisher"
    assert bench.judged(bench.card(), world, inline(bench.HOST)).other_publisher


# --- the caller's own judgement


def test_a_check_may_refuse(bench, signer, world):
    card = signer.signed(bench.card())

    assert bench.judged(card, world, check=lambda report: None).level is Trust.SIGNED
    error = refused(bench, card, world, check=lambda report: f"not {report.verified.alg}")
    assert (error.code, "not ES256" in error.message) == ("refused", True)


def test_a_check_that_raises_refuses(bench):
    error = refused(bench, bench.card(), check=lambda report: report.verified.kid)

    assert (error.code, "AttributeError" in error.message) == ("refused", True)


def test_a_check_that_gives_an_empty_reason_refuses(bench):
    assert refused(bench, bench.card(), check=lambda report: "").code == "refused"


def test_checks_compose(bench):
    yes, no, never = (lambda report: None), (lambda report: "no"), (lambda report: "never")

    assert all_of(yes, yes)(None) is None
    assert all_of(yes, no, never)(None) == "no"
    assert any_of(no, yes)(None) is None
    assert any_of(no, never)(None) == "no; never"
    assert refused(bench, bench.card(), check=all_of(yes, any_of(no, never))).code == "refused"


@pytest.mark.parametrize("compose", [all_of, any_of])
def test_nothing_at_all_is_no_check(compose):
    with pytest.raises(UsageError) as caught:
        compose()

    assert caught.value.code == "bad-config"


# --- the policy itself


@pytest.mark.parametrize(
    "options",
    [
        {"require": 2},
        {"require": None},
        {"keys": [{"kty": "EC"}]},
        {"keys": {"*": {"kty": "EC"}}},
        {"keys": {"shop.example/x": {"kty": "EC"}}},
        {"jku_hosts": "keys.example"},
        {"jku_hosts": Path("x")},
        {"jku_hosts": ("*",)},
        {"jku_hosts": {"*": ("https://keys.example/",)}},
        {"jku_hosts": {"shop.example": ("keys.example",)}},
        {"jku_hosts": {"shop.example": ("https://user@keys.example/",)}},
        {"jku_hosts": {"shop.example": ("https://keys.example/#x",)}},
        {"algorithms": ()},
        {"algorithms": "ES256"},
        {"algorithms": ("ES256", "none")},
        {"algorithms": ("HS256",)},
        {"forms": ()},
        {"forms": ("jcs",)},
        {"unverifiable": "maybe"},
        {"required_kids": "k1"},
    ],
    ids=str,
)
def test_a_policy_that_says_nothing_or_too_much_is_a_bad_configuration(options):
    with pytest.raises(UsageError) as caught:
        TrustPolicy(**options)

    assert caught.value.code == "bad-config"


def test_forms_keep_their_order_and_the_old_python_form_is_off(bench):
    assert TrustPolicy().forms == ("spec", "sdk", "received")
    assert TrustPolicy(forms=("python-json", "received", "sdk")).forms == ("sdk", "received", "python-json")


def test_a_sequence_of_key_hosts_is_logged(caplog):
    with caplog.at_level(logging.WARNING, "a2a_discovery"):
        TrustPolicy(jku_hosts=("keys.example",))

    assert [record.message for record in caplog.records] == ["a2a.trust.jku_hosts_for_every_card"]


def test_turning_the_checks_off_takes_a_reason_and_is_logged(bench, signer, world, caplog):
    with caplog.at_level(logging.WARNING, "a2a_discovery"):
        policy = UnsafeTrustAnyCard(reason="a demonstration")
    broken = {**signer.signed(bench.card()), "name": "Other"}

    report = bench.judged(broken, world, plain(bench), policy=policy)

    assert (report.level, report.signatures[0].status) == (Trust.NONE, "bad-signature")
    assert [(record.message, vars(record)["a2a.reason"]) for record in caplog.records] == [
        ("a2a.trust.disabled", "a demonstration")
    ]


@pytest.mark.parametrize("reason", ["", "  "])
def test_no_reason_is_no_reason(reason):
    with pytest.raises(UsageError):
        UnsafeTrustAnyCard(reason=reason)


# --- the report


def test_a_report_is_a_paragraph_for_a_person(bench, signer, world):
    report = bench.judged(signer.signed(bench.card(extra=1)), world)

    assert str(report) == (
        "SIGNED: agent.example.com vouches for this card, by a key of its own site; signature 0 ('k1') verified with "
        "ES256 by a key that its own site publishes, in the form spec; not covered: '/extra'."
    )


@pytest.mark.parametrize(
    ("provenance", "text"),
    [
        (
            "FROM_HOST",
            "CHANNEL: whoever runs agent.example.com vouches for this card, by TLS alone; it has no signature.",
        ),
        ("MAPPING", "CHANNEL: the caller handed this card over, and nobody else vouches for it; it has no signature."),
    ],
)
def test_a_report_of_an_unsigned_card_says_who_vouches(bench, provenance, text):
    assert str(bench.judged(bench.card(), provenance=getattr(bench, provenance))) == text


def test_a_report_explains_a_refusal(bench):
    error = refused(bench, bench.Signer(jku=None).signed(bench.card()))

    assert str(error.report) == (
        "CHANNEL: whoever runs agent.example.com vouches for this card, by TLS alone; signature 0 ('k1') is no-key: "
        "no key of the caller fits it, and its protected header has no jku; refused as unverifiable."
    )


def test_a_report_of_plain_http_says_so(bench):
    report = bench.judged(bench.card(), provenance=plain(bench), require=Trust.NONE)

    assert str(report).startswith("NONE: nobody vouches for this card: it came over plain http;")


def test_a_long_report_stays_short(bench):
    checks = tuple(SignatureCheck(index=index, status="no-key", kid="k" * 5000) for index in range(500))
    places = tuple(f"/x{number}" for number in range(500))
    report = TrustReport(level=Trust.CHANNEL, authority="a.example", signatures=checks, uncovered=places)

    assert len(str(report)) < 1200
    assert "495 more signatures" in str(report)
    assert "and 495 more" in str(report)


def test_a_report_is_plain_data(bench, signer, world):
    report = bench.judged(signer.signed(bench.card(extra=1)), world)

    data = json.loads(json.dumps(report.as_dict()))

    assert data["level"] == "SIGNED"
    assert data["authority"] == bench.HOST
    assert data["uncovered"] == ["/extra"]
    assert data["signatures"][0]["status"] == "verified"
    assert data["signatures"][0]["form"] == "spec"


def test_a_refusal_pickles_with_its_report(bench):
    error = refused(bench, bench.Signer(jku=None).signed(bench.card()))

    again = pickle.loads(pickle.dumps(error))

    assert (again.code, again.report, again.hint) == (error.code, error.report, error.hint)


@pytest.mark.parametrize("policy", [{}, {"require": Trust.SIGNED}, {"require": Trust.PINNED}])
def test_no_message_quotes_the_card(bench, policy):
    secret = "text-of-the-card"
    card = bench.card(name=secret, description=secret, extra=secret, documentationUrl=f"https://{secret}.example/")
    card["signatures"] = [bench.Signer().sign(bench.card())]
    world = bench.World({bench.JKU: bench.jwks(bench.Signer())})

    error = refused(bench, card, world, **policy)

    assert secret not in f"{error} {error.hint} {error.report} {error.report.as_dict()}"


def test_a_strangers_long_strings_are_cut(bench):
    signer = bench.Signer(kid="k" * 4000, jku="https://elsewhere.example/" + "j" * 3000)

    error = refused(bench, signer.signed(bench.card()))

    assert len(str(error)) < 1000
    assert "\n" not in str(error)
