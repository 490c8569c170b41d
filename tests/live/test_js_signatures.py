"""Cards that the installed JavaScript SDK signs while the test runs, and cards that it verifies."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from a2a_discovery import Discovery, Trust, TrustError, TrustPolicy
from a2a_discovery.policy import ALGORITHMS
from a2a_discovery.testing import FakeAgent, Reply, Signer

HOST = "agent.example.com"
OURS = ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "Ed25519"]
REFUSED = ["HS256", "HS384", "HS512"]
KID = "js-1"

PLAIN = FakeAgent(HOST, signers=[]).card
# What the forms treat differently: empty members, names beyond the Latin ones, numbers.
ODD = PLAIN | {
    "name": "Café \u2028 ﬁ",
    "documentationUrl": "",
    "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}, "m": {"mtlsSecurityScheme": {}}},
    "securityRequirements": [{"schemes": {"b": {}}}],
    "capabilities": {
        "streaming": False,
        "extensions": [{"uri": "u:x", "params": {"\uff01": 1, "\U0001f600": 1e-7, "n": 1e21}}],
    },
}
CARDS = {"plain": PLAIN, "odd": ODD}


class Signed(NamedTuple):
    """What the SDK made: a card, and the key as it would stand in a JWK Set."""

    card: dict[str, Any]
    jwk: dict[str, Any]


Run = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def run_js(node: str) -> Run:
    """Gives the SDK orders, and returns their results."""

    def run(orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
        command = [node, str(Path(__file__).parent / "js" / "sign.mjs")]
        done = subprocess.run(command, input=json.dumps(orders).encode(), capture_output=True, check=True)
        results = json.loads(done.stdout)
        assert len(results) == len(orders)
        return list(results)

    return run


@pytest.fixture(scope="session")
def results(run_js: Run) -> dict[tuple[str, str, str], dict[str, Any]]:
    """(algorithm, card, how the SDK holds it) → what signing gave; one run of node for all of them."""
    places = [
        (alg, name, held) for alg in (*OURS, *REFUSED, "ES256K", "none") for name in CARDS for held in ("json", "typed")
    ]
    header = {"kid": KID, "typ": "JOSE", "jku": f"https://{HOST}/.well-known/jwks.json"}
    orders = [{"sign": CARDS[name], "header": {"alg": alg, **header}, "as": held} for alg, name, held in places]
    return dict(zip(places, run_js(orders), strict=True))


@pytest.fixture
def signed(results: dict[tuple[str, str, str], dict[str, Any]]) -> Callable[..., Signed]:
    def get(alg: str, name: str = "plain", held: str = "json") -> Signed:
        return Signed(**copy.deepcopy(results[alg, name, held]))

    return get


def serving(card: dict[str, Any], *keys: dict[str, Any]) -> FakeAgent:
    agent = FakeAgent(HOST, signers=[])
    agent.replies["card"] = Reply.json(card)
    agent.extra_keys = list(keys)
    return agent


async def find(agent: FakeAgent, **policy: Any) -> Any:
    async with Discovery(transport=agent, trust=TrustPolicy(**policy)) as d:
        return await d.discover(HOST)


def test_every_algorithm_of_ours_is_asked_of_the_sdk() -> None:
    assert set(OURS) == ALGORITHMS


@pytest.mark.parametrize("held", ["json", "typed"])
@pytest.mark.parametrize(("name", "form"), [("plain", "spec"), ("odd", "sdk")])
@pytest.mark.parametrize("alg", OURS)
async def test_what_the_sdk_signs_verifies_with_the_key_that_its_site_publishes(
    signed: Any, alg: str, name: str, form: str, held: str
) -> None:
    card, jwk = signed(alg, name, held)
    agent = serving(card, jwk)

    found = await find(agent, require=Trust.SIGNED)

    assert found.trust.level is Trust.SIGNED
    assert (found.trust.verified.alg, found.trust.verified.form) == (alg, form)
    assert found.trust.verified.key_source == "same-site-jku"
    # The SDK does not read its own typed schemes, so it signs as if there were none.
    assert ("/securitySchemes" in found.trust.uncovered) == (held == "typed" and name == "odd")
    assert agent.count("keys") == 1


@pytest.mark.parametrize("alg", OURS)
async def test_what_the_sdk_signs_verifies_with_a_pinned_key(signed: Any, alg: str) -> None:
    card, jwk = signed(alg, "odd")
    agent = serving(card)

    found = await find(agent, require=Trust.PINNED, keys={HOST: jwk})

    assert (found.trust.level, found.trust.verified.key_source) == (Trust.PINNED, "pinned")
    assert agent.count("keys") == 0


@pytest.mark.parametrize("alg", OURS)
async def test_a_card_that_was_changed_after_the_sdk_signed_it_is_refused(signed: Any, alg: str) -> None:
    card, jwk = signed(alg, "odd")
    card["supportedInterfaces"][0]["url"] = f"https://{HOST}/elsewhere"

    with pytest.raises(TrustError) as refused:
        await find(serving(card, jwk))

    assert refused.value.code == "bad-signature"


@pytest.mark.parametrize("alg", REFUSED)
async def test_a_shared_secret_of_the_sdk_is_refused_though_the_site_publishes_it(signed: Any, alg: str) -> None:
    card, secret = signed(alg)
    assert secret["kty"] == "oct"

    with pytest.raises(TrustError) as refused:
        await find(serving(card, secret))

    assert refused.value.code == "unverifiable"
    assert [each.status for each in refused.value.report.signatures] == ["unsupported"]


@pytest.mark.parametrize("alg", ["ES256K", "none"])
def test_of_the_algorithms_that_we_refuse_the_sdk_itself_does_not_offer_these(results: Any, alg: str) -> None:
    """Where it comes to offer one, it belongs among those whose cards are refused above."""
    assert all("error" in result for (each, _, _), result in results.items() if each == alg)


def test_the_sdk_verifies_what_a_fake_agent_signs_in_its_form(run_js: Run) -> None:
    agents = {alg: FakeAgent(HOST, card=ODD, signers=[Signer(alg=alg, form="sdk")]) for alg in OURS}

    verified = run_js([{"verify": agent.document(), "keys": agent.jwks["keys"]} for agent in agents.values()])

    assert dict(zip(agents, verified, strict=True)) == {alg: {"verified": True} for alg in OURS}


def test_the_sdk_does_not_verify_what_is_signed_in_another_form_or_changed_or_by_another(run_js: Run) -> None:
    good = FakeAgent(HOST, card=ODD, signers=[Signer(form="sdk", kid=KID)])
    literal = FakeAgent(HOST, card=ODD, signers=[Signer(form="spec", kid=KID)])
    stranger = FakeAgent(HOST, card=ODD, signers=[Signer(form="sdk", kid=KID)])
    changed = good.document() | {"name": "Another"}
    keys, others = good.jwks["keys"], stranger.jwks["keys"]

    results = run_js(
        [
            {"verify": good.document(), "keys": keys},
            {"verify": literal.document(), "keys": literal.jwks["keys"]},
            {"verify": changed, "keys": keys},
            {"verify": good.document(), "keys": others},
        ]
    )

    assert ["error" in result for result in results] == [False, True, True, True]
