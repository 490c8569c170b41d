"""Cards that real SDKs signed, and what an editor on the way can do to them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from a2a_discovery import Discovery, Trust, TrustError, TrustPolicy
from a2a_discovery.testing import FakeAgent, Reply

VECTORS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent.parent / "data" / "vectors").glob("*.json"))
}
OLD_PYTHON_ONLY = {"py112-full"}
SPEC_VERIFIES = {  # the column "as-is" of the peers' cross verification: section 8.4.1 to the letter
    "py-eddsa", "jsraw-eddsa", "js-eddsa", "py-minimal", "jsraw-minimal", "js-minimal", "spec-minimal", "py-multisig",
    "jsraw-multisig", "js-multisig", "jsraw-multisig-unknown-first", "py-noparams-ext", "jsraw-noparams-ext",
    "js-noparams-ext", "spec-null-params", "py-numbers", "jsraw-numbers", "js-numbers", "spec-numbers",
    "jsraw-numbers-unsafe", "js-numbers-unsafe", "py-rs256", "js-rs256", "py-security-only", "jsraw-security-only",
    "py-unicode", "jsraw-unicode", "spec-unicode", "jsraw-unknown-fields", "js-unknown-fields", "py112-minimal",
    "spec-full", "spec-empty-requirement",
}  # fmt: skip
RECEIVED_VERIFIES = {  # its column "naive"
    "py-eddsa", "jsraw-eddsa", "py-minimal", "jsraw-minimal", "spec-minimal", "py-multisig", "jsraw-multisig",
    "jsraw-multisig-unknown-first", "py-noparams-ext", "jsraw-noparams-ext", "spec-null-params", "py-numbers",
    "jsraw-numbers", "spec-numbers", "jsraw-numbers-unsafe", "py-rs256", "py-security-only", "jsraw-security-only",
    "py-unicode", "jsraw-unicode", "spec-unicode", "py112-minimal",
}  # fmt: skip


def world_of(bench, vector):
    return bench.World({bench.JKU: vector["jwks"]})


def card_of(name):
    return json.loads(VECTORS[name]["body"])


def policy_of(name, *forms):
    """The old SDK wrote no jku, so its keys are pinned."""
    forms = forms or (("python-json",) if name in OLD_PYTHON_ONLY else ())
    keys = {"keys": {"agent.example.com": VECTORS[name]["jwks"]}} if name.startswith("py112") else {}
    return {**keys, **({"forms": forms} if forms else {})}


def form_of(name):
    return "python-json" if name in OLD_PYTHON_ONLY else "spec" if name in SPEC_VERIFIES else "sdk"


@pytest.mark.parametrize("name", VECTORS)
def test_every_vector_verifies_in_the_form_that_its_signer_used(bench, name):
    world = world_of(bench, VECTORS[name])

    report = bench.judged(card_of(name), world, require=Trust.SIGNED, **policy_of(name))

    old = name.startswith("py112")
    assert (report.level, report.authority) == (Trust.PINNED if old else Trust.SIGNED, bench.HOST)
    assert (report.verified.form, report.verified.key_source) == (form_of(name), "pinned" if old else "same-site-jku")
    assert world.asked == ([] if old else [bench.JKU])


# --- through the whole line, as their servers sent them


def served(bench, name):
    """The very bytes and header fields that the SDK's server answered, and the keys at the host of its jku."""
    agent = FakeAgent(bench.HOST, signers=[])
    agent.replies["card"] = Reply(body=VECTORS[name]["body"].encode(), headers=VECTORS[name].get("headers", {}))
    agent.replies["keys"] = Reply.json(VECTORS[name]["jwks"])
    return agent


def opened(agent, name, **policy):
    required = [
        extension["uri"]
        for extension in card_of(name)["capabilities"].get("extensions", ())
        if extension.get("required")
    ]
    return Discovery(transport=agent, extensions=required, trust=TrustPolicy(**policy))


@pytest.mark.parametrize("name", VECTORS)
async def test_every_vector_is_discovered_as_its_server_sent_it(bench, name):
    agent, old = served(bench, name), name.startswith("py112")

    async with opened(agent, name, require=Trust.SIGNED, **policy_of(name)) as d:
        found = await d.discover(bench.HOST)

    assert (found.trust.level, found.trust.authority) == (Trust.PINNED if old else Trust.SIGNED, bench.HOST)
    assert (found.trust.verified.form, found.trust.verified.interfaces_covered) == (form_of(name), True)
    assert found.trust.verified.key_source == ("pinned" if old else "same-site-jku")
    assert found.interface.url == "https://agent.example.com/a2a/v1"
    assert agent.count("keys") == (0 if old else 1)


@pytest.mark.parametrize("name", VECTORS)
async def test_the_old_python_form_is_found_where_it_is_asked_for_and_nowhere_else(bench, name):
    forms = ("spec", "sdk", "received", "python-json")
    policy = policy_of(name, *forms)

    async with opened(served(bench, name), name, **policy) as d:
        found = await d.discover(bench.HOST)
    assert found.trust.verified.form == form_of(name)

    if name in OLD_PYTHON_ONLY:
        async with opened(served(bench, name), name, **policy_of(name, *forms[:3])) as d:
            with pytest.raises(TrustError) as refused:
                await d.discover(bench.HOST)
        assert refused.value.code == "bad-signature"


@pytest.mark.parametrize("name", VECTORS)
async def test_a_vector_that_names_another_agent_is_refused(bench, name):
    agent, body = served(bench, name), VECTORS[name]["body"].replace("/a2a/v1", "/a2a/v2")
    agent.replies["card"] = Reply(body=body.encode(), headers={"content-type": "application/json"})

    async with opened(agent, name, **policy_of(name)) as d:
        with pytest.raises(TrustError) as refused:
            await d.discover(bench.HOST)

    assert refused.value.code == "bad-signature"


# --- the forms, one by one


@pytest.mark.parametrize("form", ["spec", "sdk", "received", "python-json"])
@pytest.mark.parametrize("name", VECTORS)
def test_the_matrix_of_forms_is_that_of_the_peers(bench, name, form):
    report = bench.facts(card_of(name), world_of(bench, VECTORS[name]), **policy_of(name, form)).report

    expected = {
        "spec": name in SPEC_VERIFIES,
        "sdk": not name.startswith("spec") or name in {"spec-minimal", "spec-numbers", "spec-unicode"},
        "received": name in RECEIVED_VERIFIES,
    }
    if name in OLD_PYTHON_ONLY:
        expected = {"spec": False, "sdk": False, "received": False, "python-json": True}
    if form in expected:
        assert (report.verified is not None) == expected[form]


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_with_one_byte_of_its_meaning_changed_is_noticed(bench, name):
    """Every text, flag and number of the card, one at a time."""
    vector, noticed = VECTORS[name], 0
    for path, changed in _edits(card_of(name)):
        report = bench.facts(changed, world_of(bench, vector), **policy_of(name)).report

        if report.verified is not None:  # then the form does not cover the place, and the report says so
            pointer = "".join(f"/{step}" for step in path)
            assert any(pointer == place or pointer.startswith(place + "/") for place in report.uncovered), pointer
        noticed += 1
    assert noticed >= 5


def _edits(card):
    for path, value in _leaves(card, ()):
        if path[0] == "signatures":
            continue
        changed = copy.deepcopy(card)
        place = changed
        for step in path[:-1]:
            place = place[step]
        if isinstance(value, bool):
            place[path[-1]] = not value
        elif isinstance(value, (int, float)):
            place[path[-1]] = value + 1 if abs(value) < 2**50 else value * 2
        elif isinstance(value, str) and value:
            place[path[-1]] = value[:-1] + ("x" if value[-1] != "x" else "y")
        else:
            continue
        yield path, changed


def _leaves(value, path):
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _leaves(part, (*path, index))
    else:
        yield path, value


def test_the_first_of_several_signatures_is_enough_and_the_rest_is_not_tried(bench):
    report = bench.facts(card_of("py-multisig"), world_of(bench, VECTORS["py-multisig"])).report

    assert [check.status for check in report.signatures] == ["verified", "not-tried", "not-tried"]


def test_a_signature_with_an_unknown_kid_does_not_hide_the_good_one(bench):
    name = "jsraw-multisig-unknown-first"

    report = bench.facts(card_of(name), world_of(bench, VECTORS[name])).report

    assert [check.status for check in report.signatures] == ["no-key", "verified"]


@pytest.mark.parametrize("alg", ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
def test_every_algorithm_verifies(bench, alg):
    signer = bench.Signer(alg=alg)

    check = bench.check(signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(signer)}))

    assert (check.status, check.alg) == ("verified", alg)


@pytest.mark.parametrize("alg", ["EdDSA", "Ed25519"])
@pytest.mark.parametrize("named", ["EdDSA", "Ed25519", ...])
def test_both_names_of_edwards_signatures_verify_without_a_warning(bench, alg, named):
    signer = bench.Signer(alg=alg)

    check = bench.check(signer.signed(bench.card()), bench.World({bench.JKU: bench.jwks(signer.jwk(alg=named))}))

    assert check.status == "verified"


# --- edits after signing, all of which an official SDK lets through (or once did)

FULL = card_of("py-full")


def _requirements(card):
    return card["securityRequirements"]


def _params(card):
    return card["capabilities"]["extensions"][0]["params"]


def _scheme(card, member):
    return next(name for name, scheme in card["securitySchemes"].items() if member in scheme)


def _flow(card):
    for scheme in card["securitySchemes"].values():
        flows = scheme.get("oauth2SecurityScheme", {}).get("flows", {})
        for flow in flows.values():
            if flow.get("scopes"):
                return flow
    raise AssertionError("no flow with scopes")


def _rename_scheme(card):
    for requirement in _requirements(card):
        for name, scopes in list(requirement["schemes"].items()):
            if not scopes.get("list"):
                requirement["schemes"]["renamed"] = requirement["schemes"].pop(name)
                return


def _drop_scopeless(card):
    card["securityRequirements"] = [
        each for each in _requirements(card) if any(scopes.get("list") for scopes in each["schemes"].values())
    ]


NOTICED = {
    "anonymous-requirement": (lambda card: _requirements(card).append({}), "/securityRequirements"),
    "renamed-scheme-in-requirement": (_rename_scheme, "/securityRequirements"),
    "empty-scheme": (lambda card: card["securitySchemes"].update(x={}), "/securitySchemes/x"),
    "added-mtls": (
        lambda card: card["securitySchemes"].update(x={"mtlsSecurityScheme": {}}),
        "/securitySchemes/x",
    ),
    "empty-string-in-params": (lambda card: _params(card).update(x=""), "/capabilities/extensions/0/params/x"),
    "null-in-params": (lambda card: _params(card).update(x=None), "/capabilities/extensions/0/params/x"),
    "empty-skill": (lambda card: card["skills"].append({}), "/skills"),
    "empty-interface-first": (lambda card: card["supportedInterfaces"].insert(0, {}), "/supportedInterfaces"),
    "empty-tag": (lambda card: card["skills"][0]["tags"].append(""), "/skills/0/tags"),
    "unknown-member": (lambda card: card.update(extra=1), "/extra"),
    "legacy-members": (
        lambda card: card.update(url="https://evil.example", preferredTransport="GRPC"),
        "/url",
    ),
    "scope-without-description": (lambda card: _flow(card)["scopes"].update(admin=""), "/securitySchemes"),
    "empty-extension": (lambda card: card["capabilities"]["extensions"].append({}), "/capabilities/extensions"),
    "legacy-security": (lambda card: card.update(security=[{}]), "/security"),
    "case-spelling": (
        lambda card: card["securitySchemes"].update(x={"scheme": {"$case": "httpAuthSecurityScheme", "value": {}}}),
        "/securitySchemes/x",
    ),
}


@pytest.mark.parametrize("edit", NOTICED)
def test_an_edit_that_the_sdks_let_through_is_refused_or_uncovered(bench, edit):
    change, place = NOTICED[edit]
    card = copy.deepcopy(FULL)
    change(card)
    assert card != FULL

    try:
        found = bench.facts(card, world_of(bench, VECTORS["py-full"]))
    except bench.CardError:
        return  # no card at all
    report = found.report

    if report.verified is not None:
        assert any(each.startswith(place) for each in report.uncovered)


HARMLESS = {
    "default-tenant": lambda card: card["supportedInterfaces"][1].update(tenant=""),
    "unprotected-header": lambda card: card["signatures"][0].update(header={"x": 1}),
    "a-number-spelled-otherwise": lambda card: _params(card).update(int=float(_params(card)["int"])),
    "no-scopes-spelled-out": lambda card: _requirements(card)[1]["schemes"]["apiKey"].update(list=[]),
}


@pytest.mark.parametrize("edit", HARMLESS)
def test_an_edit_that_means_the_same_changes_nothing(bench, edit):
    card = copy.deepcopy(FULL)
    HARMLESS[edit](card)
    before = bench.facts(FULL, world_of(bench, VECTORS["py-full"])).report

    report = bench.facts(card, world_of(bench, VECTORS["py-full"])).report

    assert report.verified is not None
    assert set(report.uncovered) == set(before.uncovered)


REFUSED = {
    "name": lambda card: card.update(name="Other"),
    "url": lambda card: card["supportedInterfaces"][0].update(url="https://evil.example"),
    "optional-flag-dropped": lambda card: card["capabilities"].pop("pushNotifications"),
    "second-interface": lambda card: card["supportedInterfaces"].append(
        {"url": "https://evil.example", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    ),
}


@pytest.mark.parametrize("edit", REFUSED)
def test_an_edit_that_every_form_covers_breaks_the_signature(bench, edit):
    card = copy.deepcopy(FULL)
    REFUSED[edit](card)

    check = bench.check(card, world_of(bench, VECTORS["py-full"]))

    assert check.status == "bad-signature"
