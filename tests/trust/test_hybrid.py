"""Cards that speak 1.0 and 0.3 at once, signed in the form of the SDKs: which of their schemes may be followed.

The server of a2a-sdk writes the older members of each scheme beside the newer ones. The signature does not cover them,
and nobody reads them.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from a2a_discovery import AuthError, Credentials, Discovery, Trust, TrustPolicy
from a2a_discovery._card.read import read_card
from a2a_discovery._trust.covered import Uncovered, is_covered
from a2a_discovery.testing import FakeAgent, Reply, Signer

KEY = "key-of-the-shop"
HOST = "shop.example"
OLDER = {"in": "header", "name": "X-Key", "type": "apiKey"}
SCHEMES: dict[str, Any] = {
    "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}, **OLDER},
    "machine": {
        "oauth2SecurityScheme": {
            "flows": {"clientCredentials": {"tokenUrl": f"https://{HOST}/token", "scopes": {"r": "Read"}}}
        },
        "flows": {"clientCredentials": {"tokenUrl": f"https://{HOST}/token", "scopes": {"r": "Read"}}},
        "type": "oauth2",
    },
}


@pytest.fixture
def shop():
    agent = FakeAgent(HOST, extended=True, signers=[Signer(form="sdk")])
    for card in (agent.card, agent.extended):
        card["supportedInterfaces"] += [
            {"url": f"https://{HOST}/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}
        ]
        card |= {"url": f"https://{HOST}/a2a/v1", "preferredTransport": "JSONRPC", "protocolVersion": "0.3"}
        card["documentationUrl"] = ""  # which the forms write differently
        card["securitySchemes"] = copy.deepcopy(SCHEMES)
        card["securityRequirements"] = []
    agent.admits = lambda request: 200 if request.headers.get("x-key") == KEY else 401
    return agent


async def upgraded(shop, document=None, **policy):
    if document is not None:
        shop.replies["card"] = Reply.json(document)
    async with Discovery(transport=shop, trust=TrustPolicy(**{"require": Trust.SIGNED, **policy})) as d:
        agent = await d.discover(HOST)
        assert agent.trust.verified.form == "sdk"
        return agent, await agent.upgrade(Credentials(api_key=KEY))


async def test_the_older_members_beside_a_signed_scheme_take_nothing_from_it(shop):
    agent, extended = await upgraded(shop)

    assert {"/securitySchemes/key/in", "/securitySchemes/key/name", "/securitySchemes/key/type"} <= set(
        agent.trust.uncovered
    )
    assert extended.extended
    assert extended.trust.level is Trust.SIGNED
    assert shop.count("extended", status=200) == 1


async def test_at_the_level_of_the_channel_they_are_no_finding_either(shop):
    _, extended = await upgraded(shop, require=Trust.CHANNEL)

    assert "uncovered-security" not in {finding.code for finding in extended.findings}


async def test_older_members_that_an_editor_changed_are_not_followed(shop):
    document = shop.document()
    document["securitySchemes"]["key"] |= {"in": "query", "name": "X-Evil", "type": "http", "scheme": "Bearer"}

    _, extended = await upgraded(shop, document)

    assert extended.extended
    sent = [request for request in shop.requests if request.kind == "extended"]
    assert [request.headers.get("x-key") for request in sent] == [KEY]
    assert [request.query for request in sent] == [""]


def _second_kind(schemes):
    schemes["key"]["mtlsSecurityScheme"] = {}


def _only_older(schemes):
    schemes["key"] = {**OLDER}


@pytest.mark.parametrize("edit", [_second_kind, _only_older])
async def test_members_that_are_read_and_were_not_signed_take_the_scheme_away(shop, edit):
    if edit is _only_older:  # what was signed has no such scheme
        del shop.card["securitySchemes"]["key"]
    document = shop.document()
    edit(document["securitySchemes"])

    with pytest.raises(AuthError) as refused:
        await upgraded(shop, document)

    assert refused.value.code == "no-credential"
    assert not any(request.kind == "extended" for request in shop.requests)


async def test_at_the_level_of_the_channel_such_a_scheme_is_followed_with_a_finding(shop):
    del shop.card["securitySchemes"]["key"]
    document = shop.document()
    _only_older(document["securitySchemes"])

    _, extended = await upgraded(shop, document, require=Trust.CHANNEL)

    assert "uncovered-security" in {finding.code for finding in extended.findings}


# --- place by place


def read(schemes, requirements=()):
    card = FakeAgent(HOST, signers=[]).card | {"securitySchemes": schemes, "securityRequirements": list(requirements)}
    return read_card(card, url=f"https://{HOST}/.well-known/agent-card.json")


@pytest.mark.parametrize(
    ("place", "covered"),
    [
        ("", False),
        ("/securitySchemes", False),
        ("/securitySchemes/machine", False),
        ("/securitySchemes/machine/oauth2SecurityScheme", False),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows", False),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows/clientCredentials", False),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows/clientCredentials/tokenUrl", False),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows/clientCredentials/scopes", False),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows/clientCredentials/scopes/admin", False),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows/clientCredentials/later", True),
        ("/securitySchemes/machine/oauth2SecurityScheme/flows/later", True),
        ("/securitySchemes/machine/oauth2SecurityScheme/later", True),
        ("/securitySchemes/machine/flows", True),
        ("/securitySchemes/machine/flows/clientCredentials", True),
        ("/securitySchemes/machine/type", True),
        ("/securitySchemes/machines", True),
        ("/securitySchemes/mach", True),
        ("/securitySchemes/key", True),
        ("/security", True),
        ("/securityRequirements", True),
    ],
)
def test_a_scheme_is_covered_where_nothing_that_is_read_of_it_is_not(place, covered):
    assert is_covered(read(SCHEMES), (place,), "SecurityScheme", "securitySchemes", "machine") is covered
    assert is_covered(read(SCHEMES), ("/name", place), "SecurityScheme", "securitySchemes", "machine") is covered


@pytest.mark.parametrize(
    ("place", "covered"),
    [
        ("/securitySchemes/old", False),
        ("/securitySchemes/old/in", False),
        ("/securitySchemes/old/name", False),
        ("/securitySchemes/old/later", True),
    ],
)
def test_a_scheme_in_the_words_of_0_3_is_read_by_those(place, covered):
    reading = read({"old": {"type": "apiKey", "in": "header", "name": "X-Key", "later": 1}})

    assert is_covered(reading, (place,), "SecurityScheme", "securitySchemes", "old") is covered


@pytest.mark.parametrize(
    ("place", "covered"),
    [
        ("/securityRequirements", False),
        ("/securityRequirements/1", False),
        ("/securityRequirements/1/schemes", False),
        ("/securityRequirements/1/schemes/machine", False),
        ("/securityRequirements/1/schemes/machine/list", False),
        ("/securityRequirements/1/schemes/machine/list/0", False),
        ("/securityRequirements/1/schemes/machine/later", True),
        ("/securityRequirements/1/later", True),
        ("/securityRequirements/0", True),
        ("/securityRequirements/10", True),
    ],
)
def test_a_requirement_is_covered_likewise(place, covered):
    reading = read(SCHEMES, [{"schemes": {"key": {}}}, {"schemes": {"machine": {"list": ["r"]}}}])

    assert is_covered(reading, (place,), "SecurityRequirement", "securityRequirements", 1) is covered


@pytest.mark.parametrize("place", ["/securityRequirements/0", "/securityRequirements", ""])
def test_a_requirement_of_nothing_is_covered_only_where_it_was_signed(place):
    """It says that nobody need authenticate, and the form of the SDKs leaves it out."""
    assert not is_covered(read(SCHEMES, [{}]), (place,), "SecurityRequirement", "securityRequirements", 0)


def test_a_scheme_that_says_nothing_is_covered_only_where_it_was_signed():
    reading = read({"empty": {}, "mtls": {"mtlsSecurityScheme": {}}})

    for name, inside in (("empty", ""), ("mtls", ""), ("mtls", "/mtlsSecurityScheme")):
        place = f"/securitySchemes/{name}{inside}"
        assert not is_covered(reading, (place,), "SecurityScheme", "securitySchemes", name)


async def test_of_a_card_with_no_host_of_its_own_all_that_is_handed_out_was_signed(shop):
    """Its first requirement is not in what was signed, so the second comes to stand in its place."""
    shop.card["securityRequirements"] = [{"schemes": {"key": {}}}, {"schemes": {"machine": {"list": ["r"]}}}]
    pinned = TrustPolicy(require=Trust.PINNED, keys={HOST: shop.jwks})

    async with Discovery(transport=shop, trust=pinned) as d:
        agent = await d.discover(shop.document())
        assert [list(each.schemes) for each in agent.card.security_requirements] == [["machine"]]
        assert "/securityRequirements/0" in agent.trust.uncovered

        with pytest.raises(AuthError) as refused:
            await agent.upgrade(Credentials(api_key=KEY))

    assert refused.value.code == "no-credential"  # were it taken for uncovered, no requirement would be left


def test_thousands_of_uncovered_places_are_asked_about_at_once():
    places = Uncovered([f"/securitySchemes/{number:x}/x" for number in range(20_000)])

    assert places.holds("/securitySchemes/ff/x/deep")
    assert not places.holds("/securitySchemes/ff")
    assert places.is_below("/securitySchemes/ff")
    assert not places.is_below("/securitySchemes/f/x")
    assert Uncovered([""]).holds("/url")
    assert not Uncovered([]).holds("/url")
