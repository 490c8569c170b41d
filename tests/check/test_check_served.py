"""A card as it is served: each fault of a server, and that a good one has none."""

from __future__ import annotations

import copy
import itertools
import json

import pytest

from a2a_discovery import Cache, Limits, NetworkPolicy, TrustPolicy
from a2a_discovery._check.answers import answers
from a2a_discovery._check.served import How, check_served
from a2a_discovery._http.fetcher import Fetcher
from a2a_discovery._perform import perform
from a2a_discovery._target import read_target
from a2a_discovery.errors import AuthError, CardError, NotFoundError
from a2a_discovery.testing import FakeAgent, Reply, Signer

OLD, NEW = "/.well-known/agent.json", "/.well-known/agent-card.json"
RPC, REST = "/a2a/v1", "/a2a/rest"
NOW = 1_800_000_000.0


@pytest.fixture
def shop():
    """A good agent, whose card has nothing to find fault with."""
    agent = FakeAgent("shop.example", extended=True)
    flows = {"authorizationCode": {
        "authorizationUrl": "https://login.shop.example/a", "tokenUrl": "https://login.shop.example/t",
        "scopes": {"orders": "See orders"}, "pkceRequired": True}}  # fmt: skip
    for card in (agent.card, agent.extended):
        card["name"] = "Shop order desk"
        card["securitySchemes"] = {"login": {"oauth2SecurityScheme": {"flows": copy.deepcopy(flows)}}}
        card["securityRequirements"] = [{"schemes": {"login": {"list": ["orders"]}}}]
    return agent


@pytest.fixture
def check():
    """Check a target on a fake agent."""

    async def check(agent, target="shop.example", *, trust=None, **options):
        how = How(network=NetworkPolicy(), trust=trust or TrustPolicy(), limits=Limits(), now=NOW, **options)
        fetcher = Fetcher(network=how.network, limits=how.limits, cache=Cache.memory(), transport=agent)
        try:
            return await perform(check_served(read_target(target, network=how.network), how), fetcher)
        finally:
            await fetcher.aclose()

    return check


def codes(checked):
    return {f"{each.code} @ {each.pointer}": each.severity for each in checked.findings}


async def test_a_good_agent_has_no_finding(shop, check):
    checked = await check(shop)

    assert codes(checked) == {}
    assert [answer.verdict for answer in answers(checked)] == ["good"] * 5


async def test_the_requests_are_few_and_carry_no_credentials(shop, check):
    await check(shop)

    asked = sorted((each.method, each.path) for each in shop.requests)
    assert asked == sorted(
        [("GET", NEW)] * 4  # once, once more, as a client of 0.3, with the current ETag
        + [("GET", OLD), ("GET", shop.signers[0].jku), ("POST", RPC), ("GET", f"{REST}/extendedAgentCard")]
    )
    assert {each.authorization for each in shop.requests} == {None}
    assert sum("if-none-match" in each.headers for each in shop.requests) == 1
    assert sum(each.headers.get("a2a-version") == "0.3" for each in shop.requests) == 1


async def test_without_probing_the_interfaces_are_left_alone(shop, check):
    await check(shop, probe=False)

    assert {each.path for each in shop.requests} == {NEW, OLD, shop.signers[0].jku}


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"content-type": "text/plain"}, "media-type"),
        ({"content-type": None}, "media-type"),
        ({"content-type": "application/json; charset=iso-8859-1"}, "media-type"),
        ({"cache-control": None}, "no-max-age"),
        ({"cache-control": "public"}, "no-max-age"),
        ({"cache-control": "no-store"}, "not-cacheable"),
        ({"cache-control": "max-age=0, must-revalidate"}, "not-cacheable"),
        ({"etag": None}, "no-etag"),
    ],
)
async def test_what_the_headers_lack_is_found(headers, found, shop, check):
    shop.headers["card"] |= headers

    assert list(codes(await check(shop))) == [f"{found} @ "]


@pytest.mark.parametrize(
    "kind", ["application/a2a+json", "application/json; charset=utf-8", "application/a2a-agent-card+json"]
)
async def test_every_json_type_is_fine(kind, shop, check):
    shop.headers["card"]["content-type"] = kind

    assert codes(await check(shop)) == {}


async def test_signing_anew_for_each_request_changes_the_etag(shop, check):
    shop.sign_each_answer = True

    checked = await check(shop)

    [finding] = [each for each in checked.findings if each.code == "etag-unstable"]
    assert "signed anew" in finding.message
    assert answers(checked)[3].verdict == "fair"


async def test_an_etag_that_is_blind_to_the_signatures_is_found(shop, check):
    shop.sign_each_answer, shop.etag = True, "unsigned"

    assert list(codes(await check(shop))) == ["etag-blind @ "]


async def test_another_card_of_the_same_version_is_found(shop, check):
    numbers = itertools.count()

    def answer(_request):
        card = {**shop.document(), "description": f"Answers questions about orders. Copy {next(numbers)}."}
        return Reply.json(card, headers={"cache-control": "max-age=60", "etag": '"same"'}) if _request else None

    shop.signers.clear()
    shop.replies[NEW] = answer
    found = codes(await check(shop))

    assert {"version-unchanged @ /version", "etag-blind @ "} <= set(found)


async def test_a_condition_that_is_not_honoured_is_found(shop, check):
    reply = Reply(
        headers={"content-type": "application/json", "etag": '"one"', "cache-control": "max-age=60"},
        body=json.dumps(shop.document()).encode(),
        conditional=False,
    )
    shop.replies[NEW] = reply

    assert list(codes(await check(shop))) == ["etag-ignored @ "]


async def test_a_redirect_to_the_card_is_told(shop, check):
    shop.card_paths = {"/agents/shop.json"}
    shop.replies[NEW] = Reply.redirect("/agents/shop.json")

    checked = await check(shop)

    assert "redirected @ " in codes(checked)
    assert checked.url == "https://shop.example/agents/shop.json"


# the other place, and other versions


async def test_the_old_place_alone_is_found(shop, check):
    shop.card_paths = {OLD}

    assert codes(await check(shop)) == {"old-path-only @ ": "warning"}


async def test_the_same_card_at_both_places_is_fine(shop, check):
    shop.card_paths = {OLD, NEW}

    assert codes(await check(shop)) == {}


async def test_another_card_at_the_old_place_is_found(shop, check):
    forgotten = copy.deepcopy(shop.card)
    forgotten["supportedInterfaces"][0]["url"] = "https://shop.example/old"
    shop.replies[OLD] = Reply.json(forgotten)

    assert codes(await check(shop)) == {"old-path-different @ ": "warning"}


async def test_the_card_of_the_older_generation_at_the_old_place_is_fine(shop, check):
    first, second = shop.card["supportedInterfaces"]
    older = {"name": shop.card["name"], "version": shop.card["version"], "protocolVersion": "0.3.0", "capabilities": {}}
    older["url"] = first["url"]
    older["additionalInterfaces"] = [{"url": second["url"], "transport": "HTTP+JSON"}]
    shop.replies[OLD] = Reply.json(older)

    assert codes(await check(shop)) == {}


async def test_an_interface_of_0_3_wants_the_old_place_too(shop, check):
    first = shop.card["supportedInterfaces"][0]
    shop.card["supportedInterfaces"].append({**first, "protocolVersion": "0.3"})

    assert codes(await check(shop)) == {"old-path-missing @ ": "advice"}


def by_version(shop, **headers):
    plain = {"cache-control": "max-age=60", **headers}

    def answer(request):
        card = shop.document()
        if request.headers.get("a2a-version") != "1.0":
            card = {"name": card["name"], "version": card["version"], "protocolVersion": "0.3.0", "capabilities": {}}
            card["url"] = "https://shop.example/a2a/v1"
        body = json.dumps(card).encode()
        return Reply.json(card, headers={**plain, "etag": f'"{len(body)}"'})

    return answer


async def test_a_card_by_version_needs_vary(shop, check):
    shop.replies[NEW] = by_version(shop)
    assert codes(await check(shop)) == {"vary-missing @ ": "warning"}

    shop.replies[NEW] = by_version(shop, vary="Accept-Encoding, A2A-Version")
    assert codes(await check(shop)) == {}


async def test_refusing_clients_of_0_3_is_found(shop, check):
    usual = Reply.json(shop.document(), headers={"etag": '"x"', "cache-control": "max-age=60"})
    shop.replies[NEW] = lambda request: usual if request.headers["a2a-version"] == "1.0" else Reply.error(400)

    assert codes(await check(shop)) == {"version-refused @ ": "warning"}


# keys


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (404, "keys-unreachable"),
        (Reply.dropped(), "keys-unreachable"),
        (Reply.html(), "keys-malformed"),
        (Reply.json({"keys": []}), "keys-malformed"),
        (Reply.json({"keys": [{"kty": "EC", "kid": "another"}]}), "key-missing"),
    ],
)
async def test_keys_that_cannot_be_had_are_found(reply, found, shop, check):
    shop.fail("keys", reply)

    checked = await check(shop)

    assert f"{found} @ /signatures/0/protected" in codes(checked)
    assert "unverified-signature @ /signatures" in codes(checked)
    assert answers(checked)[2].verdict in ("bad", "unknown")


async def test_a_private_key_that_is_published_is_an_error(shop, check):
    shop.extra_keys.append({"kty": "EC", "crv": "P-256", "kid": "leak", "x": "AA", "y": "AA", "d": "c2VjcmV0"})

    checked = await check(shop)

    assert codes(checked) == {"private-key-published @ /signatures/0/protected": "error"}
    assert "c2VjcmV0" not in str(checked.findings)
    assert answers(checked)[4].verdict == "bad"


async def test_an_unsigned_card_is_vouched_for_by_tls_alone(shop, check):
    shop.signers.clear()

    checked = await check(shop)

    assert codes(checked) == {}
    signed = answers(checked)[2]
    assert signed.verdict == "fair"
    assert "shop.example" in signed.said


async def test_a_pinned_key_answers_whose_signature_it_is(shop, check):
    signer = Signer(jku=None)
    shop.signers[:] = [signer]

    checked = await check(shop, trust=TrustPolicy(keys={"shop.example": signer.jwk}))

    assert "a key that the caller pinned" in answers(checked)[2].said


# endpoints


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply.dropped(), "endpoint-silent"),
        (503, "endpoint-silent"),
        (404, "endpoint-not-a2a"),
        (Reply.html(), "endpoint-not-a2a"),
        (Reply.json({"hello": "world"}), "endpoint-not-a2a"),
    ],
)
async def test_an_interface_that_does_not_answer_is_found(reply, code, shop, check):
    shop.fail(RPC, reply)

    assert codes(await check(shop)) == {f"{code} @ /supportedInterfaces/0/url": "warning"}


@pytest.mark.parametrize("code", [-32004, -32007, -32009, -32601, -32001])
async def test_any_answer_in_the_words_of_the_binding_shows_an_endpoint(code, shop, check):
    shop.replies[RPC] = Reply.json({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}})

    assert codes(await check(shop)) == {}


async def test_an_extended_card_that_is_open_is_an_error(shop, check):
    shop.admits = lambda _request: 200

    checked = await check(shop)

    assert codes(checked) == {"extended-open @ /capabilities/extendedAgentCard": "error"}
    assert answers(checked)[4].verdict == "bad"


async def test_the_public_card_for_strangers_is_advice(shop, check):
    shop.strangers = "public"

    assert codes(await check(shop)) == {"extended-public @ /capabilities/extendedAgentCard": "advice"}


async def test_an_extended_card_that_is_not_declared_is_found(shop, check):
    del shop.card["capabilities"]["extendedAgentCard"]
    shop.replies[RPC] = Reply.json({"jsonrpc": "2.0", "id": 1, "result": shop.document(extended=True)})

    assert "extended-undeclared @ /capabilities/extendedAgentCard" in codes(await check(shop))


async def test_a_refusal_without_a_challenge_is_advice(shop, check):
    shop.fail("extended", Reply.error(401))

    assert set(codes(await check(shop))) == {f"challenge-missing @ /supportedInterfaces/{n}/url" for n in (0, 1)}


async def test_interfaces_that_nobody_can_reach_are_not_called(shop, check):
    shop.card["supportedInterfaces"][0]["url"] = "https://10.0.0.1/a2a"
    shop.card["supportedInterfaces"][1]["url"] = "http://localhost/a2a"

    found = codes(await check(shop))

    assert "private-address @ /supportedInterfaces/0/url" in found
    assert "loopback-url @ /supportedInterfaces/1/url" in found
    assert {each.path for each in shop.requests} == {NEW, OLD, shop.signers[0].jku}


# what is not there


async def test_no_card_is_the_error_of_the_walk(shop, check):
    shop.card_paths = set()

    with pytest.raises(NotFoundError):
        await check(shop)


async def test_a_private_card_is_the_error_of_the_walk(shop, check):
    shop.private = 401

    with pytest.raises(AuthError):
        await check(shop)


async def test_a_document_that_is_no_json_is_the_error_of_the_walk(shop, check):
    shop.replies["/card.json"] = Reply.text("{")

    with pytest.raises(CardError):
        await check(shop, "https://shop.example/card.json")


async def test_a_broken_card_is_checked_all_the_same(shop, check):
    shop.signers.clear()
    del shop.card["version"]
    shop.headers["card"]["etag"] = None

    found = codes(await check(shop))

    assert found["missing-required @ /version"] == "error"
    assert "no-etag @ " in found


async def test_a_card_in_a_catalog_is_checked_without_headers(shop, check):
    shop.card_paths = set()
    shop.replies["/catalog.json"] = Reply.json(
        {
            "specVersion": "1.0",
            "entries": [{"identifier": "one", "type": "application/a2a-agent-card+json", "data": shop.card}],
        }
    )

    checked = await check(shop, "https://shop.example/catalog.json#one")

    assert "media-type @ " not in codes(checked)
    assert checked.value["name"] == "Shop order desk"
