"""Cards as people publish them, and what reading concludes: the table is what a person concluded from each by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from a2a_discovery.errors import CardError

CARDS = sorted((Path(__file__).parent.parent / "data" / "cards").glob("*.json"))

V10, V03, INVALID, FOREIGN = "1.0", "0.3", "invalid-card", "not-a-card"


class Concludes(NamedTuple):
    """What a reader makes of a card."""

    verdict: str
    """The dialect its interfaces speak, or the code of the error."""
    found: tuple[str, ...] = ()
    """``code @ pointer`` of what must be among the findings."""


def at(code: str, *pointers: str) -> tuple[str, ...]:
    return tuple(f"{code} @ {pointer}" for pointer in pointers)


ASSUMED = at("version-assumed", "/protocolVersion")
OLD = at("old-version", "/protocolVersion")
AUTH = at("legacy-auth", "/authentication")
NO_INTERFACE = at("missing-required", "/supportedInterfaces")
NO_SKILLS = at("missing-required", "/skills")
BAD_CAPABILITIES = at("wrong-type", "/capabilities")
NO_MODES = at("missing-required", "/defaultInputModes", "/defaultOutputModes")
GO_NULLS = at("null-required", "/defaultInputModes", "/defaultOutputModes", "/skills")
NO_VERSION = at("missing-required", "/supportedInterfaces/0/protocolVersion")

TOLERANT = {
    "001": Concludes(V03, at("unknown-member", "/x-vendor")),
    "002": Concludes(V03, ASSUMED),
    "004": Concludes(V03),
    "005": Concludes(V03, OLD),
    "006": Concludes(V03),
    "007": Concludes(V03, ASSUMED + AUTH),
    "009": Concludes(
        INVALID,
        at("missing-required", "/supportedInterfaces/0/protocolBinding", "/supportedInterfaces/1/protocolBinding")
        + NO_VERSION
        + NO_MODES
        + at("misplaced-extension", "/extensions/0"),
    ),
    "010": Concludes(INVALID, NO_INTERFACE + at("missing-required", "/url") + NO_SKILLS),
    "012": Concludes(INVALID, BAD_CAPABILITIES + at("missing-required", "/version") + NO_SKILLS),
    "013": Concludes(INVALID, at("missing-required", "/url") + BAD_CAPABILITIES),
    "014": Concludes(FOREIGN, at("not-an-agent-card", "/ahp")),
    "016": Concludes(V03, at("missing-required", "/skills/0/tags", "/skills/1/tags")),
    "017": Concludes(INVALID, BAD_CAPABILITIES + NO_SKILLS),
    "019": Concludes(V03, NO_MODES + at("missing-required", "/skills/0/tags")),
    "020": Concludes(INVALID, at("missing-required", "/url", "/skills/0/id")),
    "021": Concludes(INVALID, BAD_CAPABILITIES + NO_SKILLS),
    "023": Concludes(V03, at("unknown-member", "/extensions")),
    "024": Concludes(V10),
    "025": Concludes(INVALID, at("missing-required", "/version", "/capabilities")),
    "027": Concludes(V10, at("relative-url", "/supportedInterfaces/0/url")),
    "028": Concludes(V03, ASSUMED),
    "029": Concludes(V03, ASSUMED),
    "031": Concludes(FOREIGN, at("not-an-agent-card", "/type")),
    "033": Concludes(V03),
    "035": Concludes(V03, at("unknown-member", "/docUrl")),
    "036": Concludes(V03),
    "037": Concludes(V03),  # the URL is a placeholder: no endpoint, yet a readable card
    "038": Concludes(INVALID, at("missing-required", "/url") + BAD_CAPABILITIES),
    "040": Concludes(V03, ASSUMED),
    "041": Concludes(V10, NO_VERSION),  # likewise
    "042": Concludes(INVALID, at("missing-required", "/name")),
    "043": Concludes(INVALID, NO_INTERFACE + NO_SKILLS),
    "045": Concludes(V03, at("ambiguous-generation", "/protocolVersion") + AUTH),
    "046": Concludes(V03),
    "047": Concludes(INVALID, BAD_CAPABILITIES + NO_INTERFACE),
    "048": Concludes(V03, AUTH),
    "050": Concludes(V03, AUTH),
    "051": Concludes(FOREIGN, at("not-an-agent-card", "/schema_version")),
    "052": Concludes(FOREIGN, at("not-an-agent-card", "/$schema")),
    "054": Concludes(INVALID, at("missing-required", "/name")),
    "055": Concludes(V03, ASSUMED),
    "057": Concludes(INVALID, NO_INTERFACE + at("missing-required", "/provider/organization")),
    "058": Concludes(INVALID, at("wrong-type", "/supported_interfaces/0", "/capabilities")),
    "059": Concludes(V10, GO_NULLS),
    "061": Concludes(V10, NO_VERSION),
    "063": Concludes(V03, OLD + at("renamed-member", "/securitySchemes/api_key/in_")),
    "064": Concludes(V03),  # a wildcard host: no endpoint, yet a readable card
    "066": Concludes(V03),
    "068": Concludes(V03, at("transport-folded", "/preferredTransport")),
}

STRICT = TOLERANT | {
    "016": Concludes(INVALID, at("missing-required", "/skills/0/tags", "/skills/1/tags")),
    "019": Concludes(INVALID, NO_MODES + at("missing-required", "/skills/0/tags")),
    "041": Concludes(INVALID, NO_VERSION),
    "045": Concludes(INVALID, NO_INTERFACE),
    "058": Concludes(INVALID, BAD_CAPABILITIES + at("renamed-member", "/supported_interfaces")),
    "059": Concludes(INVALID, GO_NULLS),
    "061": Concludes(INVALID, NO_VERSION),
    "063": Concludes(INVALID, at("missing-required", "/securitySchemes/api_key/in")),
    "068": Concludes(V03),
}

TOLERANT_ERRORS = {
    # what alone makes the card unreadable
    "009": at("missing-required", "/supportedInterfaces/0/protocolBinding", "/supportedInterfaces/1/protocolBinding"),
    "010": NO_INTERFACE + at("missing-required", "/url"),
    "012": BAD_CAPABILITIES + at("missing-required", "/version"),
    "017": BAD_CAPABILITIES,
    "021": BAD_CAPABILITIES,
    "025": at("missing-required", "/version", "/capabilities"),
    "058": BAD_CAPABILITIES + at("wrong-type", *(f"/supported_interfaces/{index}" for index in range(3))),
}

STRICT_ERRORS = {
    "016": at("missing-required", "/skills/0/tags", "/skills/1/tags"),
    "019": NO_MODES + at("missing-required", "/skills/0/tags"),
    "027": at("relative-url", "/supportedInterfaces/0/url"),
    "041": NO_VERSION,
    "045": NO_INTERFACE,
    "059": GO_NULLS,
    "061": NO_VERSION,
    "063": at("missing-required", "/securitySchemes/api_key/in") + at("renamed-member", "/securitySchemes/api_key/in_"),
}


def listed(findings: Any, *severities: str) -> set[str]:
    return {f"{each.code} @ {each.pointer}" for each in findings if not severities or each.severity in severities}


def number(path: Path) -> str:
    return path.name[:3]


def concluded(read, document, *, strict: bool) -> tuple[str, Any]:
    try:
        reading = read(document, strict=strict)
    except CardError as refusal:
        return refusal.code, refusal.findings
    return reading.card.supported_interfaces[0].protocol_version, reading.findings


def test_every_card_has_a_conclusion():
    assert [number(path) for path in CARDS] == sorted(TOLERANT)


@pytest.mark.parametrize("strict", [False, True], ids=["tolerant", "strict"])
@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_published_card_is_concluded_as_by_hand(path, strict, read, published):
    expected = (STRICT if strict else TOLERANT)[number(path)]

    verdict, findings = concluded(read, published(f"cards/{path.name}"), strict=strict)

    assert verdict == expected.verdict
    assert set(expected.found) <= listed(findings)


@pytest.mark.parametrize(
    ("card", "strict", "errors"),
    [(card, False, errors) for card, errors in TOLERANT_ERRORS.items()]
    + [(card, True, errors) for card, errors in STRICT_ERRORS.items()],
)
def test_the_errors_are_these_and_no_others(card, strict, errors, read, published):
    name = next(path.name for path in CARDS if number(path) == card)

    _, findings = concluded(read, published(f"cards/{name}"), strict=strict)

    assert listed(findings, "error") == set(errors)


@pytest.mark.parametrize(
    ("card", "pointer", "hint"),
    [
        ("020-foreign-serviceUrl-no-skill-id.json", "/url", "/serviceUrl"),
        ("042-foreign-identity-io-sections.json", "/name", "/identity"),
        ("057-foreign-interfaces-type-key.json", "/supportedInterfaces", "/interfaces"),
        ("009-broken-v1-interfaces-no-binding.json", "/supportedInterfaces/0/protocolBinding",
         "/supportedInterfaces/0/protocol"),
    ],
)  # fmt: skip
def test_a_gap_names_what_was_perhaps_meant(card, pointer, hint, read, published):
    with pytest.raises(CardError) as refusal:
        read(published(f"cards/{card}"))

    [finding] = [each for each in refusal.value.findings if each.pointer == pointer and each.severity == "error"]
    assert f"misspelt? {hint})" in finding.message


def test_text_that_instructs_the_reader_is_not_repeated(read, published):
    with pytest.raises(CardError) as refusal:
        read(published("cards/051-foreign-agent-instructions.json"))

    assert "tells the reading agent" not in str(refusal.value) + str(refusal.value.findings)


def test_a_relative_url_is_resolved_against_the_card_except_under_strict(read, published):
    card = published("cards/027-v1.0-relative-interface-url.json")
    url = "https://village.example/agents/.well-known/agent-card.json"

    assert read(card, url=url).card.supported_interfaces[0].url == "https://village.example/api/a2a"
    assert read(card, url=url, strict=True).card.supported_interfaces[0].url == "/api/a2a"
    assert read(card, url=None).card.supported_interfaces[0].url == "/api/a2a"


def test_an_url_that_is_no_endpoint_stays_as_written(read, published):
    for name, url in (
        ("037-v0.3-unreplaced-placeholder-url-fr.json", "REMPLACER_PAR_L_ENDPOINT"),
        ("041-v1.0-rc-brace-templates.json", "{BASE_URL}/api/messages"),
        ("064-v0.3-ipv6-wildcard-url.json", "http://[::]:8080/invoke"),
        ("007-v0.2-auth-credentials-null-localhost.json", "http://localhost:3000"),
    ):
        assert read(published(f"cards/{name}")).card.supported_interfaces[0].url == url


def test_the_drafts_flag_for_the_extended_card_is_read(read, published):
    assert read(published("cards/041-v1.0-rc-brace-templates.json")).card.capabilities.extended_agent_card is True
    java = read(published("cards/061-v1.0-rc-java-nulls-empty-tenant.json"))
    assert java.card.capabilities.extended_agent_card is False
    assert java.card.supported_interfaces[0].tenant == ""
    assert java.card.provider is None
