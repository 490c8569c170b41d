"""How the fake agent serves its card: RFC 9110 as raw httpx sees it."""

import hashlib
import json

import pytest
from a2a.client.card_resolver import parse_agent_card

from a2a_discovery.testing import Clock, FakeAgent

CARD = "https://shop.example/.well-known/agent-card.json"
OLD = "https://shop.example/.well-known/agent.json"
TUESDAY = "Tue, 06 Jan 2026 10:00:00 GMT"
WEDNESDAY = "Wed, 07 Jan 2026 10:00:00 GMT"


@pytest.fixture
def agent():
    return FakeAgent(signers=(), clock=Clock(1_767_780_000.0))


async def test_the_default_card_is_one_that_the_python_sdk_reads(agent, get):
    card = parse_agent_card((await get(agent)).json())

    assert card.name == "Shop"
    assert [each.url for each in card.supported_interfaces] == [
        "https://shop.example/a2a/v1",
        "https://shop.example/a2a/rest",
    ]


async def test_a_card_has_the_headers_of_a_good_server(agent, get):
    answer = await get(agent)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "max-age=300"
    assert answer.headers["date"] == WEDNESDAY  # 1767780000 by hand
    assert int(answer.headers["content-length"]) == len(answer.content)


async def test_the_same_card_is_304_by_its_etag_with_an_empty_body(agent, get):
    first = await get(agent)
    again = await get(agent, if_none_match=first.headers["etag"])

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == "max-age=300"
    assert "content-type" not in again.headers


@pytest.mark.parametrize("condition", ["W/{tag}", '"other", {tag}', "*"])
async def test_an_etag_is_compared_weakly_and_in_a_list(agent, get, condition):
    tag = (await get(agent)).headers["etag"]

    assert (await get(agent, if_none_match=condition.format(tag=tag))).status_code == 304


async def test_an_edited_card_is_200_again(agent, get):
    tag = (await get(agent)).headers["etag"]
    agent.card["name"] = "Shop and more"
    again = await get(agent, if_none_match=tag)

    assert (again.status_code, again.json()["name"]) == (200, "Shop and more")


@pytest.mark.parametrize(("since", "status"), [(TUESDAY, 200), (WEDNESDAY, 304), ("yesterday", 200)])
async def test_if_modified_since_is_compared_with_last_modified(agent, get, since, status):
    agent.headers["card"] |= {"etag": None, "last-modified": WEDNESDAY}

    assert (await get(agent, if_modified_since=since)).status_code == status


async def test_if_none_match_wins_over_if_modified_since(agent, get):
    agent.headers["card"]["last-modified"] = TUESDAY

    assert (await get(agent, if_none_match='"other"', if_modified_since=WEDNESDAY)).status_code == 200


async def test_a_header_set_to_none_is_left_out(agent, get):
    agent.headers["card"] = {"Cache-Control": None, "ETag": None, "Content-Type": None, "date": None}

    assert (await get(agent)).headers.keys() == {"content-length"}


async def test_a_weak_etag_begins_with_w(agent, get):
    agent.etag = "weak"

    assert (await get(agent)).headers["etag"].startswith('W/"')


async def test_an_etag_can_leave_out_the_signatures_as_the_python_sdk_does(get):
    agent = FakeAgent()
    agent.etag = "unsigned"
    first = await get(agent)
    agent.rotate_keys()

    assert agent.document()["signatures"] != first.json()["signatures"]
    assert (await get(agent, if_none_match=first.headers["etag"])).status_code == 304


async def test_signing_each_answer_never_gives_304_as_the_js_sdk_does(get):
    agent = FakeAgent()
    agent.sign_each_answer = True
    first = await get(agent)

    assert (await get(agent, if_none_match=first.headers["etag"])).status_code == 200


async def test_head_has_the_headers_of_get_and_no_body(agent, client):
    asking = await client(agent)
    whole, head = await asking.get(CARD), await asking.head(CARD)

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == whole.headers


async def test_another_method_is_405(agent, client):
    answer = await (await client(agent)).post(CARD, json={})

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_another_path_is_served_only_when_told(agent, get):
    assert (await get(agent, OLD)).status_code == 404
    agent.card_paths.add("/.well-known/agent.json")

    assert (await get(agent, OLD)).json() == agent.card
    assert agent.count("card") == 1


async def test_a_card_of_ones_own_is_served_as_it_is_and_copied(get):
    mine = {"name": "Mine", "skills": None, "odd": [1.5, "é", {}]}
    agent = FakeAgent(card=mine, signers=[])
    agent.card["name"] = "Edited"

    assert mine["name"] == "Mine"
    assert json.loads((await get(agent)).content) == {"name": "Edited", "skills": None, "odd": [1.5, "é", {}]}


@pytest.mark.parametrize("status", [401, 404])
async def test_a_private_card_needs_the_token(agent, get, status):
    agent.private = status

    stranger = await get(agent)
    friend = await get(agent, authorization="Bearer let-me-in")

    assert (stranger.status_code, friend.status_code) == (status, 200)
    assert ("www-authenticate" in stranger.headers) == (status == 401)


async def test_every_request_is_recorded_with_what_was_answered(agent, get):
    tag = (await get(agent)).headers["etag"]
    await get(agent, if_none_match=tag, a2a_version="1.0", authorization="Bearer x")
    await get(agent, "https://shop.example/nowhere?a=1")

    assert [(each.method, each.kind, each.status) for each in agent.requests] == [
        ("GET", "card", 200),
        ("GET", "card", 304),
        ("GET", "other", 404),
    ]
    second, third = agent.requests[1:]
    assert second.headers["if-none-match"] == tag
    assert second.headers["a2a-version"] == "1.0"
    assert (second.host, second.path, second.authorization) == (
        "shop.example",
        "/.well-known/agent-card.json",
        "Bearer x",
    )
    assert (third.url, third.query) == ("https://shop.example/nowhere?a=1", "a=1")


async def test_requests_are_counted_by_kind_path_and_status(agent, get):
    tag = (await get(agent)).headers["etag"]
    await get(agent, if_none_match=tag)
    await get(agent, "https://shop.example/.well-known/jwks.json")

    assert (agent.count("card"), agent.count("card", status=304), agent.count("keys")) == (2, 1, 1)
    assert agent.count("/.well-known/agent-card.json") == 2
    agent.requests.clear()
    assert agent.count() == 0


async def test_a_record_shows_no_credentials_when_it_is_printed(agent, get):
    await get(agent, authorization="Bearer let-me-in")

    assert "let-me-in" not in repr(agent.requests)


async def test_the_etag_is_over_what_is_served(agent, get):
    first, second = await get(agent), await get(FakeAgent("shop.example", signers=()))

    assert first.headers["etag"] == second.headers["etag"]
    assert hashlib.sha256(first.content).digest() == hashlib.sha256(second.content).digest()


def test_a_clock_stands_still_until_it_is_advanced():
    clock = Clock()
    clock.advance(2.5)

    assert (clock(), clock()) == (1_800_000_002.5, 1_800_000_002.5)
