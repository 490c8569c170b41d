"""Cards that the installed Python SDK signs while the test runs, in every algorithm that it offers."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from a2a_discovery.policy import Trust

signing = pytest.importorskip("a2a.utils.signing", reason="the SDK's signing extra is not installed")
json_format = pytest.importorskip("google.protobuf.json_format")
types = pytest.importorskip("a2a.types")

OURS = ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"]


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


@pytest.mark.parametrize("alg", OURS)
def test_what_the_sdk_signs_verifies(bench, alg):
    signer = bench.Signer(alg=alg)
    world = bench.World({bench.JKU: bench.jwks(signer)})

    for card, form in ((bench.card(), "spec"), (odd_card(bench), "sdk")):
        report = bench.judged(signed_by_the_sdk(bench, card, pem(signer.key), alg), world, require=Trust.SIGNED)

        assert (report.verified.alg, report.verified.form) == (alg, form)


def test_a_shared_secret_is_refused(bench):
    card = signed_by_the_sdk(bench, bench.card(), "a secret of thirty-two bytes or more", "HS256")

    assert bench.check(card).status == "unsupported"


def test_the_curve_of_coins_is_refused(bench):
    card = signed_by_the_sdk(bench, bench.card(), pem(ec.generate_private_key(ec.SECP256K1())), "ES256K")

    assert bench.check(card).status == "unsupported"


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
