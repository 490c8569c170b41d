"""The fake agent misbehaves when it is told to, and only then."""

import asyncio
import zlib

import httpx
import pytest

from a2a_discovery.testing import FakeAgent, Reply

CARD = "https://shop.example/.well-known/agent-card.json"
KEYS = "https://shop.example/.well-known/jwks.json"


@pytest.fixture
def agent():
    return FakeAgent(signers=())


async def test_a_failure_lasts_as_often_as_told(agent, get):
    agent.fail("card", 503, times=2, retry_after=7)
    answers = [await get(agent) for _ in range(3)]

    assert [each.status_code for each in answers] == [503, 503, 200]
    assert answers[0].headers["retry-after"] == "7"


async def test_a_failure_without_a_number_lasts_until_it_is_forgotten(agent, get):
    agent.fail("card")
    assert [(await get(agent)).status_code for _ in range(3)] == [503] * 3
    agent.replies.clear()

    assert (await get(agent)).status_code == 200


async def test_one_place_fails_and_the_others_do_not(agent, get):
    agent.fail("keys", 500)
    agent.fail("/elsewhere", Reply.json([1]))

    assert (await get(agent)).status_code == 200
    assert (await get(agent, KEYS)).status_code == 500
    assert (await get(agent, "https://shop.example/elsewhere")).json() == [1]


async def test_a_reply_may_be_a_function_of_the_request(agent, get):
    agent.replies["card"] = lambda request: Reply.html() if request.headers.get("a2a-version") == "0.3" else None

    assert (await get(agent, a2a_version="0.3")).headers["content-type"].startswith("text/html")
    assert (await get(agent)).json()["name"] == "Shop"


async def test_a_reply_may_be_an_async_function(agent, get):
    async def later(request):
        await asyncio.sleep(0)
        return Reply.redirect("https://other.example/card")

    agent.replies["card"] = later
    answer = await get(agent)

    assert (answer.status_code, answer.headers["location"]) == (302, "https://other.example/card")


async def test_a_reply_with_an_etag_is_conditional_unless_told_otherwise(agent, get):
    agent.replies["card"] = Reply.json({}, headers={"ETag": '"x"'})
    assert (await get(agent, if_none_match='"x"')).status_code == 304

    agent.replies["card"] = Reply(headers={"etag": '"x"'}, body=b"{}", conditional=False)
    assert (await get(agent, if_none_match='"x"')).status_code == 200


async def test_html_may_claim_to_be_json(agent, get):
    agent.replies["card"] = Reply.html(content_type="application/json")
    answer = await get(agent)

    assert answer.headers["content-type"] == "application/json"
    assert answer.text.startswith("<!doctype html>")


async def test_an_endless_body_goes_on_for_as_long_as_it_is_read(agent, client):
    agent.replies["card"] = Reply.endless()
    seen = 0
    async with (await client(agent)).stream("GET", CARD) as answer:
        async for chunk in answer.aiter_raw():
            seen += len(chunk)
            if seen > 10_000_000:
                break

    assert "content-length" not in answer.headers


async def test_an_endless_body_lets_a_timeout_happen(agent, get):
    agent.replies["card"] = Reply.endless(b"")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await get(agent)


async def test_a_gzip_bomb_is_small_and_inflates_to_valid_json(agent, client):
    agent.replies["card"] = Reply.gzip_bomb(8 * 1024 * 1024)
    async with (await client(agent)).stream("GET", CARD) as answer:
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    whole = zlib.decompress(raw, wbits=31)

    assert answer.headers["content-encoding"] == "gzip"
    assert len(raw) < 20_000
    assert (len(whole), whole.strip()) == (8 * 1024 * 1024, b"{}")


@pytest.mark.parametrize("after", [b"", b'{"name":'])
async def test_a_dropped_connection_is_a_protocol_error(agent, get, after):
    agent.replies["card"] = Reply.dropped(after)

    with pytest.raises(httpx.RemoteProtocolError):
        await get(agent)
    assert agent.requests[0].status == (200 if after else None)


async def test_a_function_may_raise_what_httpx_would(agent, get):
    def refuse(request):
        raise httpx.ConnectTimeout("too slow")

    agent.replies["card"] = refuse

    with pytest.raises(httpx.ConnectTimeout):
        await get(agent)
    assert agent.count("card") == 1


async def test_requests_wait_at_a_gate_until_it_opens(agent, get):
    gate = agent.hold("card")
    waiting = [asyncio.create_task(get(agent)) for _ in range(3)]
    await gate.arrived(3)
    assert [each.status for each in agent.requests] == [None] * 3
    assert not any(task.done() for task in waiting)

    gate.open()

    assert [(await task).status_code for task in waiting] == [200] * 3
    assert (await get(agent)).status_code == 200


async def test_a_cancelled_request_leaves_the_gate_to_the_others(agent, get):
    gate = agent.hold("card")
    first, second = asyncio.create_task(get(agent)), asyncio.create_task(get(agent))
    await gate.arrived(2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.open()

    assert (await second).status_code == 200
    assert [each.status for each in agent.requests] == [None, 200]


async def test_a_tampered_card_is_the_signed_one_edited(get):
    agent = FakeAgent()
    agent.replies["card"] = Reply.json({**agent.document(), "name": "Mallory"})
    answer = (await get(agent)).json()

    assert answer["name"] == "Mallory"
    assert answer["signatures"] == agent.document()["signatures"]


async def test_a_lone_surrogate_can_be_sent(agent, get):
    agent.card["name"] = "\ud800"

    assert b'"name":"\xed\xa0\x80"' in (await get(agent)).content
