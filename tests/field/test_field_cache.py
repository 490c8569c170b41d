"""What is kept, for how long, for whom; and that nobody sees anything else than what the origin said."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import a2a_discovery
from a2a_discovery import (
    AuthError,
    Cache,
    CatalogEntry,
    Credentials,
    Discovery,
    DiscoveryError,
    FetchError,
    SyncDiscovery,
    TrustError,
)
from a2a_discovery.testing import Clock, FakeAgent, Reply

NEW = "/.well-known/agent-card.json"
DAY = 86_400


async def test_a_second_call_makes_no_request(serve: Any, card: Any, clock: Clock) -> None:
    """B088"""
    agent = serve(card())
    async with Discovery(transport=agent, clock=clock) as d:
        first, second = await d.discover("a.example"), await d.discover("a.example")

    assert (first.source.cache, second.source.cache, len(agent.requests)) == ("network", "memory", 1)


async def test_an_answer_without_any_caching_header_has_a_default_lifetime(serve: Any, card: Any, clock: Clock) -> None:
    """B089"""
    agent = serve(card())
    agent.headers["card"] = {"cache-control": None, "etag": None, "last-modified": None, "date": None}
    async with Discovery(transport=agent, clock=clock) as d:
        found = await d.discover("a.example")
        assert found.source.expires_at == clock() + 300
        clock.advance(299)
        await d.discover("a.example")
        assert len(agent.requests) == 1

        clock.advance(2)
        await d.discover("a.example")
        await d.discover("a.example", refresh=True)

    assert len(agent.requests) == 3
    conditions = {"if-none-match", "if-modified-since"}
    assert all(conditions.isdisjoint(request.headers) for request in agent.requests)


@pytest.mark.parametrize("tag", ['W/"x"', '"x, y"', '"\\"', "unquoted"])
async def test_one_validator_goes_back_exactly_as_it_came(serve: Any, card: Any, clock: Clock, tag: str) -> None:
    """B090: and a 200 in place of a 304 is fine."""
    agent = serve(card())
    agent.replies["card"] = Reply(
        body=json.dumps(card()).encode(), headers={"etag": tag, "cache-control": "max-age=60"}, conditional=False
    )
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("a.example")
        clock.advance(61)
        found = await d.discover("a.example")

    assert agent.requests[1].headers.get("if-none-match") == tag
    assert found.source.cache == "network"


async def test_asking_anew_asks_anew_through_every_entry(serve: Any, card: Any, clock: Clock) -> None:
    """B091"""
    agent = serve(card())
    options = {"transport": agent, "clock": clock, "agents": {"tides": "https://a.example"}}
    entry = CatalogEntry(identifier="urn:x:tides", source="https://b.example/c.json", url=f"https://a.example{NEW}")
    async with Discovery(**options) as d:
        found = await d.discover("a.example")
        before = len(agent.requests)
        await found.refresh()
        for target in ("a.example", "tides", f"https://a.example{NEW}", entry):
            await d.discover(target, refresh=True)
        async for outcome in d.discover_many(["a.example"], refresh=True):
            assert outcome.error is None
        assert len(agent.requests) == before + 6
    with SyncDiscovery(**options) as s:
        s.discover("a.example")
        before = len(agent.requests)
        s.discover("a.example", refresh=True)
        assert len(agent.requests) == before + 1


async def test_with_the_cache_off_every_call_asks(serve: Any, card: Any, clock: Clock) -> None:
    """B091"""
    agent = serve(card())
    async with Discovery(transport=agent, clock=clock, cache=Cache.off()) as d:
        for _ in range(3):
            assert (await d.discover("a.example")).source.cache == "network"

    assert len(agent.requests) == 3


async def test_an_extended_card_that_is_refused_changes_nothing(find: Any) -> None:
    """B093"""
    agent = FakeAgent("a.example", extended=True)
    found = await find("a.example", agent)
    before = found.card
    agent.replies["extended"] = Reply.json(
        {"jsonrpc": "2.0", "id": "1", "result": {**agent.document(extended=True), "name": "Mallory"}}
    )

    with pytest.raises(TrustError) as caught:
        await found.upgrade(Credentials(bearer="let-me-in"))

    assert caught.value.code == "bad-signature"
    assert (found.card, found.extended) == (before, False)


def test_nothing_that_runs_code_when_it_is_read_is_ever_stored() -> None:
    """B095"""
    root = Path(a2a_discovery.__file__).parent
    imported = {
        alias.name.partition(".")[0]
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
    }

    assert imported.isdisjoint({"pickle", "marshal", "shelve", "dill"})


async def test_what_is_stored_is_the_body_as_it_came(serve: Any, card: Any, clock: Clock, tmp_path: Path) -> None:
    """B095"""
    body = json.dumps(card(), indent=3).encode()
    agent = serve(card())
    agent.replies["card"] = Reply(body=body, headers={"cache-control": "max-age=60"})
    file = tmp_path / "cards.db"
    async with Discovery(transport=agent, clock=clock, cache=Cache.sqlite(file)) as d:
        await d.discover("a.example")

    assert any(body in each.read_bytes() for each in tmp_path.iterdir())


async def test_an_hour_of_outage_is_lived_through_and_marked(serve: Any, card: Any, clock: Clock) -> None:
    """B096"""
    agent = serve(card())
    async with Discovery(transport=agent, clock=clock) as d:
        good = await d.discover("a.example")
        agent.fail("card", 500)
        clock.advance(3600)
        stale = await d.discover("a.example")
        assert (stale.source.cache, stale.card) == ("stale", good.card)
        assert stale.source.fetched_at == good.source.fetched_at

        clock.advance(DAY)
        with pytest.raises(FetchError) as caught:
            await d.discover("a.example")
    assert caught.value.status == 500


async def test_a_200_in_place_of_a_304_is_what_later_calls_get(serve: Any, card: Any, clock: Clock) -> None:
    """B098"""
    agent = serve(card())
    agent.headers["card"]["cache-control"] = "max-age=10"
    async with Discovery(transport=agent, clock=clock) as d:
        await d.discover("a.example")
        clock.advance(11)
        agent.card["version"] = "2.2.0"
        changed = await d.discover("a.example")
        clock.advance(9)
        again = await d.discover("a.example")

    assert (changed.card.version, changed.source.cache) == ("2.2.0", "network")
    assert (again.card.version, again.source.cache) == ("2.2.0", "memory")
    assert len(agent.requests) == 2


async def test_an_answer_that_must_not_be_stored_says_so_by_its_expiry(serve: Any, card: Any, clock: Clock) -> None:
    """B099"""
    agent = serve(card())
    agent.headers["card"]["cache-control"] = "no-store"
    async with Discovery(transport=agent, clock=clock) as d:
        for number in range(1, 4):
            found = await d.discover("a.example")
            assert found.source.cache == "network"
            assert found.source.expires_at == found.source.fetched_at == clock()
            assert len(agent.requests) == number


async def test_two_objects_share_what_they_are_told_to_share(serve: Any, card: Any, clock: Clock) -> None:
    """B099"""
    agent, cache = serve(card()), Cache.memory()

    for _ in range(3):
        await Discovery(transport=agent, clock=clock, cache=cache).discover("a.example")
    assert len(agent.requests) == 1

    await Discovery(transport=agent, clock=clock, cache=Cache.memory()).discover("a.example")
    assert len(agent.requests) == 2


def by_user(card: Any) -> Any:
    def answer(request: Any) -> Reply:
        name = {"Bearer ann": "Ann's", "Bearer bob": "Bob's"}.get(request.authorization or "")
        return Reply.error(401) if name is None else Reply.json(card(name=name), headers={"etag": '"same"'})

    return answer


async def test_what_one_user_is_shown_is_never_another_users_answer(
    serve: Any, card: Any, clock: Clock, tmp_path: Path
) -> None:
    """B100, B102: with one store between them."""
    for cache in (Cache.memory(), Cache.sqlite(tmp_path / "cards.db")):
        agent = serve(card())
        agent.replies["card"] = by_user(card)
        for user, name in (("ann", "Ann's"), ("bob", "Bob's"), ("ann", "Ann's")):
            credentials = {"a.example": Credentials(bearer=user)}
            async with Discovery(transport=agent, clock=clock, cache=cache, credentials=credentials) as d:
                assert (await d.discover("a.example")).card.name == name
        async with Discovery(transport=agent, clock=clock, cache=cache) as d:
            with pytest.raises(AuthError):
                await d.discover("a.example")
    assert b"Ann's" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())


async def test_a_new_secret_makes_a_new_request(serve: Any, card: Any, clock: Clock) -> None:
    """B102"""
    agent, cache = serve(card()), Cache.memory()
    agent.private = 401
    for token in ("let-me-in", "let-me-in", "rotated"):
        agent.tokens = {"let-me-in", "rotated"}
        credentials = {"a.example": Credentials(client_id="one", bearer=token)}
        await Discovery(transport=agent, clock=clock, cache=cache, credentials=credentials).discover("a.example")

    assert [request.authorization for request in agent.requests] == ["Bearer let-me-in", "Bearer rotated"]


@pytest.mark.parametrize("status", [401, 403])
async def test_after_a_refusal_no_private_copy_stands_in(serve: Any, card: Any, clock: Clock, status: int) -> None:
    """B100"""
    agent = serve(card())
    agent.private = 401
    credentials = {"a.example": Credentials(bearer="let-me-in")}
    async with Discovery(transport=agent, clock=clock, credentials=credentials) as d:
        await d.discover("a.example")
        clock.advance(301)
        agent.fail("card", status)
        with pytest.raises(AuthError):
            await d.discover("a.example")
        agent.fail("card", 500)
        clock.advance(2)
        with pytest.raises(DiscoveryError):
            await d.discover("a.example")
