"""Where the card is: names, paths, prefixes, and what is said when it is nowhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery import AuthError, CardError, Credentials, Discovery, FetchError, NotFoundError
from a2a_discovery._locate import OLD_WELL_KNOWN, WELL_KNOWN, places
from a2a_discovery._target import Base, Document, Domain, read_target
from a2a_discovery.policy import NetworkPolicy
from a2a_discovery.testing import FakeAgent, Reply

NEW, OLD = "/.well-known/agent-card.json", "/.well-known/agent.json"


async def test_a_server_with_the_old_name_alone_is_found(find: Any, serve: Any, old_card: Any, asked: Any) -> None:
    """B001, B168"""
    agent = serve(old_card(), OLD)

    found = await find("a.example", agent)

    assert found.source.url == f"https://a.example{OLD}"
    assert asked(agent) == [NEW, OLD]


async def test_the_name_of_the_file_says_nothing_about_the_version(
    find: Any, serve: Any, card: Any, old_card: Any
) -> None:
    """B002"""
    assert (await find("a.example", serve(card(), OLD))).interface.protocol_version == "1.0"
    assert (await find("a.example", serve(old_card(), NEW))).interface.protocol_version == "0.3"


async def test_a_server_with_the_new_name_alone_is_found_at_once(find: Any, serve: Any, card: Any, asked: Any) -> None:
    """B003"""
    agent = serve(card(), NEW)

    await find("a.example", agent)

    assert asked(agent) == [NEW]


async def test_whoever_wants_the_old_name_alone_writes_its_url(find: Any, serve: Any, card: Any, asked: Any) -> None:
    """B003"""
    agent = serve(card(), NEW, OLD)

    found = await find(f"https://a.example{OLD}", agent)

    assert found.source.url == f"https://a.example{OLD}"
    assert asked(agent) == [OLD]


async def test_the_peer_of_this_package_is_found_by_this_package(find: Any) -> None:
    """B004: one constant on either side would not show that they are the same."""
    agent = FakeAgent("a.example")

    found = await find("a.example", agent)

    assert found.source.url == f"https://a.example{WELL_KNOWN}"
    assert (WELL_KNOWN, OLD_WELL_KNOWN) == (NEW, OLD)


async def test_the_urls_in_an_error_are_those_that_were_asked(find: Any, serve: Any, card: Any, asked: Any) -> None:
    """B005, B021, B025"""
    agent = serve(card(), "/elsewhere")

    with pytest.raises(NotFoundError) as caught:
        await find("a.example", agent)

    assert [each.url for each in caught.value.attempts] == [f"https://a.example{path}" for path in asked(agent)]
    assert {each.status for each in caught.value.attempts} == {404}
    assert all(f"{each.url} (404 not found)" in str(caught.value) for each in caught.value.attempts)


async def test_a_strict_server_accepts_what_we_accept_and_we_any_type_it_sends(
    find: Any, serve: Any, card: Any
) -> None:
    """B006"""
    agent = serve(card())

    def picky(request: Any) -> Reply | None:
        if "*/*" not in request.headers.get("accept", ""):
            return Reply.error(406)
        return Reply.json(card(), headers={"content-type": "application/octet-stream"})

    agent.replies["card"] = picky

    assert (await find("a.example", agent)).card.name == "Tides"


async def test_a_missing_card_is_not_asked_for_again_and_again(serve: Any, card: Any, clock: Any) -> None:
    """B008"""
    agent = serve(card(), "/elsewhere")
    async with Discovery(transport=agent, clock=clock) as d:
        for _ in range(1000):  # an hour, at a call every 3.6 s
            with pytest.raises(NotFoundError):
                await d.discover("a.example")
            clock.advance(3.6)

    # 1, 2, 4, ... 32 s, then one a minute
    assert agent.count(NEW) == agent.count(OLD) <= 70


async def test_a_base_url_keeps_its_path(find: Any, serve: Any, card: Any, asked: Any) -> None:
    """B009"""
    agent = serve(card(), f"/it{NEW}")

    found = await find("https://a.example/it", agent)

    assert found.source.url == f"https://a.example/it{NEW}"
    assert asked(agent) == [f"/it{NEW}"]


async def test_the_card_at_the_origins_root_is_the_other_reading(
    find: Any, serve: Any, card: Any, interface: Any, asked: Any
) -> None:
    """B010, B166, B172"""
    agent = serve(card(supportedInterfaces=[interface("https://a.example/it")]), NEW)

    found = await find("https://a.example/it", agent)

    assert found.source.url == f"https://a.example{NEW}"
    assert found.source.via == (f"https://a.example/it{NEW}", "https://a.example/it")
    assert asked(agent) == [f"/it{NEW}", "/it", NEW]


segments = st.text("abcdefghijklmnopqrstuvwxyz0123456789-~._", min_size=1, max_size=8).filter(
    lambda text: text not in (".", "..")
)


@given(path=st.lists(segments, max_size=4), slash=st.booleans())
def test_no_part_of_a_path_is_lost_or_doubled_whatever_the_slashes(path: list[str], slash: bool) -> None:
    """B011, B013"""
    written = "https://a.example" + "".join(f"/{each}" for each in path) + ("/" if slash else "")

    target = read_target(written, network=NetworkPolicy())

    assert isinstance(target, (Domain, Document, Base))
    urls = [place.url for place in places(target)]
    base = written.removesuffix("/")
    if isinstance(target, Document):
        assert urls == [written]
    elif not path:
        assert urls == [base + NEW, base + OLD]
    else:
        assert urls == [base + NEW, written, f"https://a.example{NEW}", f"https://a.example{OLD}"]
    assert all("//" not in url.removeprefix("https://") for url in urls)


async def test_a_final_slash_makes_no_other_domain_and_is_never_added_to_a_card_url(
    find: Any, serve: Any, card: Any, asked: Any
) -> None:
    """B013"""
    agent = serve(card(), NEW, "/cards/tides.json")

    for target in ("a.example", "https://a.example", "https://a.example/", "https://a.example/cards/tides.json"):
        await find(target, agent)

    assert asked(agent) == [NEW, NEW, NEW, "/cards/tides.json"]


async def test_an_endpoint_leads_to_the_card_at_the_root(find: Any, serve: Any, card: Any) -> None:
    """B015"""
    agent = serve(card(), NEW)
    agent.replies["/a2a"] = Reply.error(405)

    found = await find("https://a.example/a2a", agent)

    assert found.interface.url == "https://a.example/a2a"
    assert found.source.url == f"https://a.example{NEW}"


@pytest.mark.parametrize("mount", ["", "/agent", "/agent/a2a", "/eu/west/agent"])
async def test_a_mounted_agent_gives_its_card_and_its_own_path(
    find: Any, serve: Any, card: Any, interface: Any, mount: str
) -> None:
    """B016"""
    agent = serve(card(supportedInterfaces=[interface(f"https://a.example{mount}/rpc")]), f"{mount}{NEW}")

    found = await find(f"https://a.example{mount}", agent)

    assert found.source.url == f"https://a.example{mount}{NEW}"
    assert found.interface.url == f"https://a.example{mount}/rpc"


async def test_a_card_url_that_only_takes_posts_is_said_to_be_an_endpoint(find: Any, serve: Any, card: Any) -> None:
    """B017"""
    agent = serve(card())
    agent.replies["/rpc.json"] = Reply(status=405, headers={"allow": "POST"})

    with pytest.raises(NotFoundError) as caught:
        await find("https://a.example/rpc.json", agent)

    assert "endpoint" in str(caught.value.hint)
    assert caught.value.attempts[0].status == 405


@pytest.mark.parametrize("url", ["/a2a/7f3c.json", "/v1/card", "/cards?agent=7", "/.well-known/agents/7/agent.json"])
async def test_a_card_has_any_url_and_is_fetched_exactly_there(
    find: Any, serve: Any, card: Any, asked: Any, url: str
) -> None:
    """B018"""
    agent = serve(card(), url.partition("?")[0])

    found = await find(f"https://a.example{url}", agent)

    assert found.source.url == f"https://a.example{url}"
    assert asked(agent) == [url.partition("?")[0]]


async def test_a_card_behind_a_token_is_fetched_with_the_one_of_its_host(find: Any, serve: Any, card: Any) -> None:
    """B020, B140"""
    agent = serve(card(), "/v1/card")
    agent.private = 401

    with pytest.raises(AuthError) as caught:
        await find("https://a.example/v1/card", agent)
    assert (caught.value.code, caught.value.status) == ("auth-required", 401)
    assert "credentials=" in str(caught.value.hint)

    found = await find("https://a.example/v1/card", agent, credentials={"a.example": Credentials(bearer="let-me-in")})
    assert found.card.name == "Tides"


async def test_a_404_to_a_stranger_may_hide_a_private_card(find: Any, serve: Any, card: Any) -> None:
    """B023"""
    agent = serve(card())
    agent.private = 404

    with pytest.raises(NotFoundError) as caught:
        await find("a.example", agent)
    assert "private" in str(caught.value.hint)

    found = await find("a.example", agent, credentials={"a.example": Credentials(bearer="let-me-in")})
    assert found.card.name == "Tides"


async def test_what_is_called_is_what_the_card_says_and_cannot_be_set(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B024"""
    typed = "https://a.example/tides/by/name"
    agent = serve(card(supportedInterfaces=[interface("https://a.example/rpc")]), "/tides/by/name")

    found = await find(typed, agent)

    assert found.interface.url == "https://a.example/rpc"
    with pytest.raises(AttributeError):
        found.interface = typed
    with pytest.raises(ValueError, match="frozen"):
        found.interface.url = typed


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.error(500), FetchError),
        (Reply.error(401), AuthError),
        (Reply.dropped(), FetchError),
        (Reply.text("nothing"), CardError),
        (Reply.json({"error": "no"}), CardError),
        (Reply.json({}), CardError),
    ],
)
async def test_every_error_names_the_url_it_is_about(
    find: Any, serve: Any, card: Any, reply: Reply, kind: type[Any]
) -> None:
    """B025"""
    agent = serve(card())
    agent.replies["card"] = reply

    with pytest.raises(kind) as caught:
        await find("a.example", agent)

    assert caught.value.url == f"https://a.example{NEW}"
    assert caught.value.step in ("fetch", "read")


async def test_a_card_that_is_handed_over_needs_no_request(
    find: Any, serve: Any, card: Any, tmp_path: Any, asked: Any
) -> None:
    """B026, B085"""
    agent = serve(card(), "/elsewhere")
    file = tmp_path / "tides.json"
    file.write_text(json.dumps(card()), "utf-8")

    for target in (card(), file):
        found = await find(target, agent)
        assert found.interface.url == "https://a.example/a2a"

    configured = Discovery(transport=agent, agents={"tides": card()})
    for _ in range(3):
        assert (await configured.discover("tides")).card.name == "Tides"
    assert asked(agent) == []


async def test_of_two_names_the_first_is_fetched_and_recorded(find: Any, serve: Any, card: Any, asked: Any) -> None:
    """B027"""
    agent = serve(card(), NEW, OLD)

    found = await find("a.example", agent)

    assert (found.source.url, found.source.via) == (f"https://a.example{NEW}", ())
    assert asked(agent) == [NEW]
