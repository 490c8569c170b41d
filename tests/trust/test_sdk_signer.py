"""Cards that the installed Python SDK signs while the test runs, in every algorithm that it offers."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from a2a_discovery import Discovery, Trust, TrustError, TrustPolicy
from a2a_discovery.policy import ALGORITHMS
from a2a_discovery.testing import FakeAgent, Reply

try:
    import jwt
    from a2a import types
    from a2a.utils import signing
    from google.protobuf import json_format
except ImportError as absent:
    if os.environ.get("A2A_REQUIRE_PEERS"):
        raise
    pytest.skip(f"the SDK's signing extra is not installed: {absent}", allow_module_level=True)

OFFERED = set(jwt.algorithms.get_default_algorithms())
"""By the library that the SDK signs with."""
OURS = sorted(ALGORITHMS & OFFERED)
REFUSED = sorted(OFFERED - ALGORITHMS)


def signed_by_the_sdk(bench, card, key, alg, **header):
    message = json_format.ParseDict(card, types.AgentCard())
    header = {"alg": alg, "kid": "k1", "jku": bench.JKU, "typ": "JOSE", **header}
    return json_format.MessageToDict(signing.create_agent_card_signer(key, header)(message))


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def odd_card(bench):
    """Full of what the forms treat differently."""
    return bench.card(
        name="Café \u2028 ﬁ",
        documentationUrl="",
        securitySchemes={"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}, "m": {"mtlsSecurityScheme": {}}},
        securityRequirements=[{"schemes": {"b": {}}}],
        capabilities={"streaming": False, "extensions": [{"uri": "u:x", "params": {"\uff01": 1, "\U0001f600": 1e-7}}]},
    )


async def discovered(bench, card, *keys, **policy):
    """The card through the whole line, from an agent that publishes these keys."""
    agent = FakeAgent(bench.HOST, signers=[])
    agent.replies["card"] = Reply.json(card)
    agent.extra_keys = list(keys)
    async with Discovery(transport=agent, trust=TrustPolicy(**policy)) as d:
        return await d.discover(bench.HOST)


def test_the_sdk_offers_every_algorithm_of_ours_but_the_newest_name_of_one():
    newest = {"Ed25519"}  # RFC 9864's name of EdDSA with that curve
    assert newest >= ALGORITHMS - OFFERED
    assert {"HS256", "ES256K", "none"} <= set(REFUSED)


@pytest.mark.parametrize("alg", OURS)
async def test_what_the_sdk_signs_verifies(bench, alg):
    signer = bench.Signer(alg=alg)

    for unsigned, form in ((bench.card(), "spec"), (odd_card(bench), "sdk")):
        card = signed_by_the_sdk(bench, unsigned, pem(signer.key), alg)
        published = await discovered(bench, card, signer.jwk(), require=Trust.SIGNED)
        pinned = await discovered(bench, card, require=Trust.PINNED, keys={bench.HOST: signer.jwk()})

        assert (published.trust.level, pinned.trust.level) == (Trust.SIGNED, Trust.PINNED)
        assert published.trust.verified.alg == pinned.trust.verified.alg == alg
        assert published.trust.verified.form == pinned.trust.verified.form == form


def secret_or_key(alg):
    if alg.startswith("HS"):
        return "a secret of sixty-four bytes or more, so that no library warns of it"
    return None if alg == "none" else pem(ec.generate_private_key({"ES521": ec.SECP521R1()}.get(alg, ec.SECP256K1())))


@pytest.mark.parametrize("alg", REFUSED)
async def test_what_the_sdk_signs_in_another_algorithm_is_refused(bench, alg):
    card = signed_by_the_sdk(bench, bench.card(), secret_or_key(alg), alg)

    with pytest.raises(TrustError) as refused:
        await discovered(bench, card)

    assert refused.value.code == "unverifiable"
    assert [each.status for each in refused.value.report.signatures] == [
        "malformed" if alg == "none" else "unsupported"  # `none` has no signature to begin with
    ]


@pytest.mark.parametrize("form", ["sdk", "spec"])
def test_the_sdk_verifies_what_is_signed_in_its_form(bench, form):
    """The other way round: our ``sdk`` form is theirs, and the specification's is not."""
    signer = bench.Signer(form=form)
    card = json_format.ParseDict(signer.signed(odd_card(bench)), types.AgentCard())
    public = signer.key.public_key()
    verifier = signing.create_signature_verifier(lambda kid, jku: public, ["ES256"])

    if form == "sdk":
        verifier(card)
    else:
        with pytest.raises(signing.InvalidSignaturesError):
            verifier(card)
