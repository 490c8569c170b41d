"""Published cards: what a person concluded from each by hand is what checking concludes."""

from __future__ import annotations

import pytest

from a2a_discovery import check_card

OLD = ("version-assumed", "/protocolVersion", "warning")
AUTH = ("legacy-auth", "/authentication", "warning")


def warn(code, *pointers):
    return tuple((code, pointer, "warning") for pointer in pointers)


def bad(code, *pointers):
    return tuple((code, pointer, "error") for pointer in pointers)


def advice(code, *pointers):
    return tuple((code, pointer, "advice") for pointer in pointers)


UPGRADEABLE, VALID, REJECT = "upgradeable", "valid", "reject"

MODES = warn("missing-required", "/defaultInputModes", "/defaultOutputModes")
NO_SKILLS = warn("missing-required", "/skills")
NO_URL = bad("missing-required", "/url")
NO_INTERFACES = bad("missing-required", "/supportedInterfaces")
CAPABILITIES = bad("wrong-type", "/capabilities")
LOOPBACK = warn("loopback-url", "/url")

CONCLUSIONS = {
    "001": (UPGRADEABLE, advice("unknown-member", "/x-vendor")),
    "002": (UPGRADEABLE, (OLD,)),
    "004": (UPGRADEABLE, ()),
    "005": (UPGRADEABLE, warn("old-version", "/protocolVersion")),
    "006": (UPGRADEABLE, ()),
    "007": (UPGRADEABLE, (OLD, AUTH, *LOOPBACK)),
    "009": (
        REJECT,
        bad("missing-required", "/supportedInterfaces/0/protocolBinding", "/supportedInterfaces/1/protocolBinding")
        + warn("missing-required", "/supportedInterfaces/0/protocolVersion")
        + MODES
        + warn("misplaced-extension", "/extensions/0"),
    ),
    "010": (REJECT, NO_INTERFACES + NO_URL + NO_SKILLS),
    "012": (REJECT, CAPABILITIES + bad("missing-required", "/version") + NO_SKILLS),
    "013": (REJECT, NO_URL + CAPABILITIES),
    "014": (REJECT, bad("not-an-agent-card", "/ahp")),
    "016": (UPGRADEABLE, (*warn("missing-required", "/skills/0/tags", "/skills/1/tags"), *LOOPBACK)),
    "017": (REJECT, CAPABILITIES + NO_SKILLS),
    "019": (UPGRADEABLE, MODES + warn("missing-required", "/skills/0/tags")),
    "020": (REJECT, NO_URL + bad("missing-required", "/skills/0/id")),
    "021": (REJECT, CAPABILITIES + NO_SKILLS),
    "023": (UPGRADEABLE, advice("unknown-member", "/extensions")),
    "024": (VALID, advice("unknown-member", "/catalogUrl", "/doi", "/explicitly_not")),
    "025": (REJECT, bad("missing-required", "/version", "/capabilities")),
    "027": (VALID, warn("relative-url", "/supportedInterfaces/0/url")),
    "028": (UPGRADEABLE, (OLD, *LOOPBACK)),
    "029": (UPGRADEABLE, (OLD, *LOOPBACK)),
    "031": (REJECT, bad("not-an-agent-card", "/type")),
    "033": (VALID, ()),
    "035": (UPGRADEABLE, advice("unknown-member", "/docUrl")),
    "036": (UPGRADEABLE, ()),
    "037": (REJECT, bad("invalid-url", "/url")),
    "038": (REJECT, NO_URL + CAPABILITIES),
    "040": (UPGRADEABLE, (OLD,)),
    "041": (REJECT, bad("placeholder-url", "/supportedInterfaces/0/url")),
    "042": (REJECT, bad("missing-required", "/name")),
    "043": (REJECT, NO_INTERFACES + NO_SKILLS),
    "045": (UPGRADEABLE, (("ambiguous-generation", "/protocolVersion", "warning"), AUTH)),
    "046": (UPGRADEABLE, ()),
    "047": (REJECT, CAPABILITIES + NO_INTERFACES),
    "048": (UPGRADEABLE, (AUTH,)),
    "050": (UPGRADEABLE, (AUTH,)),
    "051": (REJECT, bad("not-an-agent-card", "/schema_version") + warn("text-for-a-model", "/agent_instructions")),
    "052": (REJECT, bad("not-an-agent-card", "/$schema")),
    "054": (REJECT, bad("missing-required", "/name")),
    "055": (UPGRADEABLE, (OLD,)),
    "057": (REJECT, NO_INTERFACES + warn("missing-required", "/provider/organization")),
    "058": (REJECT, CAPABILITIES + bad("wrong-type", "/supported_interfaces/0")),
    "059": (VALID, warn("null-required", "/defaultInputModes", "/defaultOutputModes", "/skills")),
    "061": (VALID, warn("missing-required", "/supportedInterfaces/0/protocolVersion")),
    "063": (UPGRADEABLE, warn("renamed-member", "/securitySchemes/api_key/in_")),
    "064": (REJECT, bad("unroutable-host", "/url")),
    "066": (UPGRADEABLE, ()),
    "068": (UPGRADEABLE, warn("transport-folded", "/preferredTransport")),
}

STRICT = {
    "016": bad("missing-required", "/skills/0/tags", "/skills/1/tags"),
    "019": bad("missing-required", "/defaultInputModes", "/defaultOutputModes", "/skills/0/tags"),
    "027": bad("relative-url", "/supportedInterfaces/0/url"),
    "045": NO_INTERFACES,
    "059": bad("null-required", "/defaultInputModes", "/defaultOutputModes", "/skills"),
    "061": bad("missing-required", "/supportedInterfaces/0/protocolVersion"),
    "063": bad("missing-required", "/securitySchemes/api_key/in"),
}


def concluded(body, **options):
    findings = check_card(body, **options)
    codes = {each.code for each in findings}
    if any(each.severity == "error" for each in findings):
        verdict = REJECT
    else:
        verdict = UPGRADEABLE if "legacy-card" in codes else VALID
    return verdict, {(each.code, each.pointer, each.severity) for each in findings}


def test_every_card_has_a_conclusion(published):
    assert sorted(CONCLUSIONS) == [name[:3] for name in published]


@pytest.mark.parametrize("number", CONCLUSIONS)
def test_a_published_card_is_concluded_as_by_hand(number, published):
    [body] = [body for name, body in published.items() if name.startswith(number)]
    verdict, expected = CONCLUSIONS[number]

    assert concluded(body)[0] == verdict
    assert set(expected) <= concluded(body)[1]


@pytest.mark.parametrize("number", STRICT)
def test_under_strict_nothing_is_repaired(number, published):
    [body] = [body for name, body in published.items() if name.startswith(number)]

    verdict, found = concluded(body, strict=True)

    assert verdict == REJECT
    assert set(STRICT[number]) <= found
