"""What a signature leaves open, and what a caller then sees."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._trust.coverage import _differences
from a2a_discovery._trust.presence import MESSAGES
from a2a_discovery.errors import TrustError
from a2a_discovery.policy import Trust

SAAS = "https://tenant.saas.example/keys"


@pytest.fixture(params=["MAPPING", "INLINE"])
def homeless(request, bench):
    """The provenance of a card with no host of its own."""
    return getattr(bench, request.param)


def shop(bench, **changes):
    """A card whose interfaces are on the host that publishes its keys."""
    interfaces = [{"url": "https://tenant.saas.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    schemes = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    requirements = [{"schemes": {"bearer": {}}}]
    card = bench.card(supportedInterfaces=interfaces, securitySchemes=schemes, securityRequirements=requirements)
    return {**card, **changes}


def signed(bench, form, card=None, **signer):
    signer = bench.Signer(jku=SAAS, form=form, **signer)
    return signer.signed(shop(bench) if card is None else card), bench.World({SAAS: bench.jwks(signer)})


def seen(found):
    """The card that a caller gets, as data."""
    return found.reading.card.model_dump(by_alias=True, exclude={"signatures"})


# --- which places are listed


@pytest.mark.parametrize("form", ["spec", "spec+unknown", "sdk", "received"])
def test_a_card_with_nothing_empty_is_covered_whole(bench, form):
    signer = bench.Signer(form=form)

    report = bench.facts(signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(signer)})).report

    assert (report.uncovered, report.findings) == ((), ())
    assert report.verified.interfaces_covered is True


def uncovered(bench, form, card):
    signer = bench.Signer(form=form)
    world = bench.World({bench.JKU: bench.jwks(signer)})
    report = bench.facts(signer.signed(card), world, forms=(form.partition("+")[0],)).report
    assert report.verified.form == form
    return set(report.uncovered)


def test_the_specifications_form_leaves_unknown_members_open(bench):
    card = bench.card(extra={"a": 1}, skills=[{**bench.card()["skills"][0], "rank": 3}])

    assert uncovered(bench, "spec", card) == {"/extra", "/skills/0/rank"}


def test_a_form_that_keeps_unknown_members_covers_them(bench):
    card = bench.card(extra={"a": 1}, securityRequirements=[])

    assert uncovered(bench, "spec+unknown", card) == set()


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"securityRequirements": [{"schemes": {"b": {}}}]}, {"/securityRequirements"}),
        ({"securitySchemes": {"m": {"mtlsSecurityScheme": {}}}}, {"/securitySchemes"}),
        ({"provider": {"url": "", "organization": ""}}, {"/provider"}),
        (
            {"capabilities": {"extensions": [{"uri": "u:x", "params": {"a": "", "b": 1, "c": None}}]}},
            {"/capabilities/extensions/0/params/a", "/capabilities/extensions/0/params/c"},
        ),
    ],
    ids=lambda changes: "+".join(changes) if isinstance(changes, dict) else "",
)
def test_the_sdks_form_leaves_open_what_is_empty_and_yet_says_something(bench, changes, places):
    assert uncovered(bench, "sdk", bench.card(**changes)) == places


@pytest.mark.parametrize(
    "changes",
    [
        {"description": ""},
        {"skills": []},
        {"capabilities": {}},
        {"defaultInputModes": []},
        {"documentationUrl": "", "iconUrl": ""},
        {"securitySchemes": {}, "securityRequirements": []},
        {"iconUrl": None, "skills": None},
    ],
    ids=str,
)
def test_a_default_that_means_the_same_as_absence_is_not_listed(bench, changes):
    assert uncovered(bench, "sdk", bench.card(**changes)) == set()


def test_empty_members_inside_lists_are_matched_to_their_own_element(bench):
    skill = bench.card()["skills"][0]
    skills = [{**skill, "tags": [], "description": ""}, {**skill, "id": "two", "examples": []}]

    assert uncovered(bench, "sdk", bench.card(skills=skills)) == set()


def test_the_place_is_that_in_the_document_whatever_its_spelling(bench):
    """The requirement stands under the name that 0.x gave it; the signed form does not know that name."""
    card = bench.card(security=[{"b": []}], securitySchemes={"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}})

    assert uncovered(bench, "spec", card) == {"/security"}


def test_a_default_beside_an_unknown_member_may_say_something(bench):
    """An empty list of requirements hides those under the older name, and the form drops the empty list."""
    card = bench.card(security=[{"b": []}], securitySchemes={"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}})

    places = uncovered(bench, "spec+unknown", {**card, "securityRequirements": []})

    assert places
    assert places <= {"/securityRequirements", "/security"}


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ({"securitySchemes": {}}, {"securitySchemes": {"a": {}}}, ("securitySchemes",)),
        ({"skills": []}, {"skills": [{"id": "a"}]}, ("skills",)),
        ({}, {"provider": {}}, ()),
        ({"provider": None}, {"provider": {}}, ("provider",)),
    ],
    ids=["in-a-map", "in-a-list", "in-a-message", "null"],
)
def test_what_only_the_signed_bytes_have_is_told_at_the_nearest_place_in_the_document(first, second, place):
    assert list(_differences(first, second, MESSAGES["AgentCard"], ())) == [place]


@pytest.mark.parametrize("value", [1, 0])
def test_a_number_is_no_flag(bench, value):
    params = {"uri": "u:x", "params": {"list": [[value, "x"], {"a": [None]}]}}

    assert uncovered(bench, "spec", bench.card(extra=[bool(value)], capabilities={"extensions": [params]})) == {
        "/extra"
    }


def test_a_number_beyond_a_double_is_not_covered(bench):
    """RFC 8785 writes 2**53 + 1 as 2**53, so one can be exchanged for the other."""
    card = bench.card(capabilities={"extensions": [{"uri": "u:x", "params": {"a": 2**53 + 1, "b": 2**53}}]})

    assert uncovered(bench, "spec", card) == {"/capabilities/extensions/0/params/a"}


def test_a_card_of_an_earlier_version_is_covered_as_received(bench):
    card = {
        "protocolVersion": "0.3.0",
        "name": "n",
        "description": "",
        "version": "1",
        "url": f"https://{bench.HOST}/a2a",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
        "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}},
        "security": [{"b": []}],
    }

    assert uncovered(bench, "received", card) == set()


def test_a_card_of_an_earlier_version_is_not_covered_by_the_form_of_1_0(bench):
    """Its endpoint is under names that 1.0 does not know: what was signed is no card."""
    signer = bench.Signer()
    old = {"protocolVersion": "0.3.0", "url": f"https://{bench.HOST}/a2a", "preferredTransport": "JSONRPC"}
    card = {name: value for name, value in bench.card().items() if name != "supportedInterfaces"} | old

    report = bench.facts(signer.signed(card), bench.World({bench.JKU: bench.jwks(signer)})).report

    assert (report.level, report.uncovered) == (Trust.CHANNEL, ("",))
    assert [each.code for each in report.findings] == ["uncovered-interfaces"]


# --- a card with a host of its own


def edited(bench, form, **changes):
    signer = bench.Signer(form=form)
    card = {**signer.signed(bench.card()), **changes}
    return card, bench.World({bench.JKU: bench.jwks(signer)})


def test_an_interface_that_inherits_its_version_from_outside_the_signature_is_not_covered(bench):
    """The root's `protocolVersion` is unknown to 1.0, and yet it says how to speak to the interface."""
    interface = {"url": f"https://{bench.HOST}/a2a", "protocolBinding": "JSONRPC"}
    signer = bench.Signer()
    world = bench.World({bench.JKU: bench.jwks(signer)})
    card = signer.signed(bench.card(supportedInterfaces=[interface])) | {"protocolVersion": "1.0"}

    report = bench.judged(card, world)
    assert (report.level, report.verified.interfaces_covered) == (Trust.CHANNEL, False)
    assert [(each.code, each.pointer) for each in report.findings] == [("uncovered-interfaces", "/supportedInterfaces")]
    with pytest.raises(TrustError) as caught:
        bench.judged(card, world, require=Trust.SIGNED)

    assert caught.value.code == "uncovered"
    assert caught.value.report.refusal == "uncovered"


def test_a_later_signature_may_cover_what_the_first_does_not(bench):
    signer, whole = bench.Signer(), bench.Signer(kid="k2", form="received")
    interface = {"url": f"https://{bench.HOST}/a2a", "protocolBinding": "JSONRPC"}
    card = bench.card(supportedInterfaces=[interface], protocolVersion="1.0")
    card["signatures"] = [signer.sign(card), whole.sign(card)]

    report = bench.judged(card, bench.World({bench.JKU: bench.jwks(signer, whole)}), require=Trust.SIGNED)

    assert [check.status for check in report.signatures] == ["verified", "verified"]
    assert (report.verified.kid, report.uncovered) == ("k2", ())


def test_the_reading_of_a_hosted_card_is_that_of_the_document(bench):
    card, world = edited(bench, "spec", extra=1)

    found = bench.facts(card, world)

    assert found.report.uncovered == ("/extra",)
    assert found.reading.value["extra"] == 1
    assert found.report.findings == ()


# --- a card with no host of its own is handed out as it was signed

EDITS = {
    "security": lambda card: card.update(security=[{}]),
    "security-in-a-skill": lambda card: card["skills"][0].update(security=[{}]),
    "proto-name": lambda card: card.update(security_requirements=[{}]),
    "proto-interfaces": lambda card: card.update(
        supported_interfaces=[{"url": "https://evil.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    ),
    "legacy-url": lambda card: card.update(url="https://evil.example/", preferredTransport="JSONRPC"),
    "legacy-interfaces": lambda card: card.update(
        additionalInterfaces=[{"url": "https://evil.example/", "transport": "GRPC"}]
    ),
    "legacy-version": lambda card: card.update(protocolVersion="0.3.0"),
    "case": lambda card: card["securitySchemes"].update(
        x={"scheme": {"$case": "httpAuthSecurityScheme", "value": {"scheme": "Basic"}}}
    ),
    "legacy-scheme": lambda card: card["securitySchemes"].update(x={"type": "http", "scheme": "basic"}),
    "legacy-scheme-member": lambda card: card["securitySchemes"]["bearer"].update(type="apiKey", name="k"),
    "extended": lambda card: card.update(supportsAuthenticatedExtendedCard=True),
    "unknown": lambda card: card.update({"x-endpoint": "https://evil.example"}),
    "unknown-in-interface": lambda card: card["supportedInterfaces"][0].update(transport="GRPC"),
    "proto-name-in-interface": lambda card: card["supportedInterfaces"][0].update(protocol_binding="GRPC"),
    "authentication": lambda card: card.update(authentication={"schemes": ["Basic"]}),
}


@pytest.mark.parametrize("form", ["spec", "sdk"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_in_another_spelling_changes_nothing_a_caller_sees_or_is_refused(bench, homeless, form, edit):
    card, world = signed(bench, form)
    before = bench.facts(card, world, homeless)
    assert before.report.level is Trust.SIGNED
    changed = copy.deepcopy(card)
    EDITS[edit](changed)
    assert changed != card

    after = bench.facts(changed, world, homeless)

    if after.report.verified is None:
        assert after.report.signatures[0].status == "bad-signature"
    elif after.report.verified.interfaces_covered:
        assert seen(after) == seen(before)
        assert after.reading.document == changed
    else:
        with pytest.raises(TrustError) as caught:
            bench.judged(changed, world, homeless)
        assert caught.value.code == "uncovered"


@pytest.mark.parametrize(
    "edit",
    [
        lambda card: card["securityRequirements"].append({}),
        lambda card: card["securityRequirements"].clear(),
        lambda card: card["securityRequirements"][0]["schemes"].update(other={}),
        lambda card: card["securitySchemes"].update(x={"mtlsSecurityScheme": {}}),
    ],
    ids=["anonymous", "removed", "renamed", "mtls"],
)
def test_requirements_that_the_sdks_form_does_not_cover_are_not_handed_out(bench, homeless, edit):
    card, world = signed(bench, "sdk")
    before = seen(bench.facts(card, world, homeless))
    edit(card)

    found = bench.facts(card, world, homeless)

    assert found.report.verified is not None
    assert seen(found) == before
    assert not before["securityRequirements"]


def test_what_was_left_out_is_a_finding(bench, homeless):
    card, world = signed(bench, "spec")

    found = bench.facts({**card, "extra": 1}, world, homeless)

    assert [(each.code, each.pointer) for each in found.report.findings] == [("uncovered", "/extra")]
    assert found.report.authority == "tenant.saas.example"
    assert "extra" not in found.reading.value


def test_a_form_that_covers_all_hands_out_all(bench, homeless):
    card, world = signed(bench, "received", shop(bench, extra=1, security=[{}]))

    found = bench.facts(card, world, homeless)

    assert found.reading.value["extra"] == 1
    assert found.report.findings == ()


def test_an_unproven_card_is_handed_out_as_it_came(bench, homeless):
    card = shop(bench, extra=1)

    found = bench.facts(card, provenance=homeless)

    assert found.reading.value["extra"] == 1
    assert (found.report.level, found.report.authority) == (Trust.CHANNEL, homeless.authority)


@pytest.mark.parametrize("proven", [None, "tenant.saas.example"])
def test_an_extended_card_keeps_the_authority_and_the_reading_of_its_document(bench, homeless, proven):
    card, world = signed(bench, "spec")

    found = bench.facts({**card, "extra": 1}, world, replace(homeless, proven=proven), extended=True)

    assert found.report.level is Trust.SIGNED
    assert found.report.authority == (proven or homeless.authority)
    assert found.reading.value["extra"] == 1


def test_signed_bytes_that_are_no_card_prove_nothing_of_one(bench, homeless):
    signer = bench.Signer(jku=SAAS)
    old = {"protocolVersion": "0.3.0", "url": "https://tenant.saas.example/a2a", "preferredTransport": "JSONRPC"}
    card = {name: value for name, value in bench.card().items() if name != "supportedInterfaces"} | old
    world = bench.World({SAAS: bench.jwks(signer)})

    with pytest.raises(TrustError) as caught:
        bench.judged(signer.signed(card), world, homeless)

    assert (caught.value.code, caught.value.report.uncovered) == ("uncovered", ("",))


def test_relative_interfaces_read_the_same_in_both_readings(bench):
    signer = bench.Signer()
    interfaces = [{"url": "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    card = signer.signed(bench.card(supportedInterfaces=interfaces, extra=1))

    report = bench.judged(card, bench.World({bench.JKU: bench.jwks(signer)}), require=Trust.SIGNED)

    assert report.uncovered == ("/extra",)


# --- any edit at all

NAMES = [
    "name", "security", "securityRequirements", "security_requirements", "securitySchemes", "security_schemes", "url",
    "supportedInterfaces", "supported_interfaces", "protocolVersion", "protocol_version", "preferredTransport",
    "additionalInterfaces", "capabilities", "skills", "tenant", "provider", "extra", "authentication", "schemes",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["", "x", "https://evil.example/", "JSONRPC", "1.0", 0, 1]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from([*NAMES, "bearer", "$case", "value", "type", "scheme", "list", "transport"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(
    st.sampled_from(["spec", "sdk"]),
    st.sampled_from(["", "supportedInterfaces/0", "securitySchemes", "securitySchemes/bearer", "skills/0"]),
    st.sampled_from(NAMES),
    VALUES,
)
def test_no_edit_changes_a_proven_card_with_no_host_of_its_own(bench, form, place, name, value):
    card, world = signed(bench, form)
    before = seen(bench.facts(card, world, bench.INLINE))
    changed = json.loads(json.dumps(card))
    target = changed
    for step in place.split("/") if place else ():
        target = target[int(step)] if isinstance(target, list) else target[step]
    target[name] = value

    try:
        found = bench.facts(changed, world, bench.INLINE)
    except bench.CardError:
        return

    if found.report.level is Trust.SIGNED:
        assert seen(found) == before


def test_an_endless_name_makes_no_endless_list(bench, signer):
    """Half a megabyte before each of five thousand members would be two gigabytes: the place above says it for all."""
    scheme = {"mtlsSecurityScheme": {f"x{number}": number for number in range(5_000)}}
    card = bench.card(securitySchemes={"k" * 500_000: scheme})
    card["signatures"] = [signer.sign(card)]

    report = bench.judged(card, bench.World({bench.JKU: bench.jwks(signer)}))

    assert (report.level, report.uncovered) == (Trust.SIGNED, ("/securitySchemes",))
