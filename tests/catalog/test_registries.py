"""Registries as values: which request a query becomes."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from a2a_discovery import CatalogEntry, NotFoundError, UsageError
from a2a_discovery.registries import REGISTRIES, Call, Query, Registry, named, offset, token

BASE = "https://r.example/base/"
A2A = "application/a2a-agent-card+json"


def request(call: Call, base: str = BASE) -> tuple[str, Any]:
    return call.url(base), None if call.content is None else json.loads(call.content)


@pytest.mark.parametrize(
    ("name", "url", "body"),
    [
        ("ard", "https://r.example/base/agents?pageSize=100", None),
        (
            "agntcy",
            "https://r.example/base/v1/agents?page_size=100&filter=type%3Dapplication%2Fa2a-agent-card%2Bjson",
            None,
        ),
        ("apicurio", "https://r.example/.well-known/agents?limit=100", None),
        ("a2aregistry", "https://r.example/base/api/agents?limit=100", None),
        ("litellm", "https://r.example/base/public/agent_hub", None),
        ("google", "https://r.example/base/agents?pageSize=100", None),
        ("aws", "https://r.example/base/registry-records/search", {"searchQuery": "agent", "maxResults": 20}),
        ("ans", "https://r.example/base/v1/agents?protocol=A2A&limit=100", None),
    ],
)
def test_the_first_page_of_all_agents(name: str, url: str, body: Any) -> None:
    assert request(named(name).first(Query())) == (url, body)


@pytest.mark.parametrize(
    ("name", "url", "body"),
    [
        (
            "ard",
            "https://r.example/base/search",
            {"query": {"text": "a b", "filter": {"type": [A2A]}}, "federation": "none", "pageSize": 100},
        ),
        ("agntcy", "https://r.example/base/v1/search", {"query": "a b", "page_size": 100}),
        ("apicurio", "https://r.example/.well-known/agents?name=a%20b&limit=100", None),
        ("a2aregistry", "https://r.example/base/api/agents?search=a%20b&limit=100", None),
        ("litellm", "https://r.example/base/public/agent_hub", None),
        (
            "google",
            "https://r.example/base/agents:search",
            {"searchString": "a b", "searchType": "SEMANTIC", "pageSize": 100},
        ),
        ("aws", "https://r.example/base/registry-records/search", {"searchQuery": "a b", "maxResults": 20}),
        ("ans", "https://r.example/base/v1/agents?protocol=A2A&limit=100", None),
    ],
)
def test_a_search_for_a_text(name: str, url: str, body: Any) -> None:
    assert request(named(name).first(Query(text="a b"))) == (url, body)


def test_federation_is_said_as_the_caller_says_it() -> None:
    call = named("ard").first(Query(text="x", federation="referrals"))

    assert json.loads(call.content or b"")["federation"] == "referrals"


def test_a_lookup_escapes_the_whole_identifier() -> None:
    call = named("ard").lookup("urn:air:a.example:x/y?z")

    assert call is not None
    assert call.url(BASE) == "https://r.example/base/agents/urn%3Aair%3Aa.example%3Ax%2Fy%3Fz"
    assert named("google").lookup("x") is None


def test_a_token_goes_where_the_call_has_its_parameters() -> None:
    following = token("pageToken", "nextPageToken", "pageToken")

    get = following({"pageToken": "a b"}, Call(path="agents", parameters={"pageSize": 5}))
    post = following({"nextPageToken": "n", "pageToken": "p"}, Call(path="search", body={"query": "x"}))

    assert request(get or Call()) == ("https://r.example/base/agents?pageSize=5&pageToken=a%20b", None)
    assert request(post or Call()) == ("https://r.example/base/search", {"query": "x", "pageToken": "n"})


@pytest.mark.parametrize("page", [{}, {"pageToken": ""}, {"pageToken": None}, {"pageToken": 7}, [], None, "x"])
def test_without_a_token_there_is_no_next_page(page: Any) -> None:
    assert token("t", "pageToken")(page, Call()) is None


@pytest.mark.parametrize(
    ("page", "following"),
    [
        ({"agents": [1, 2]}, 12),
        ({"agents": [1, 2], "total": 13}, 12),
        ({"agents": [1, 2], "total": 12}, None),
        ({"agents": [1, 2], "hasMore": False}, None),
        ({"agents": [1, 2], "total": "many"}, 12),
    ],
)
def test_an_offset_counts_the_rows_so_far(page: Any, following: int | None) -> None:
    call = offset()(page, Call(path="a", parameters={"offset": 10}))

    assert (None if call is None else call.parameters["offset"]) == following


def test_an_unknown_registry_is_named_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="ard, agntcy") as caught:
        named("nacos")

    assert caught.value.code == "bad-config"


def test_every_registry_goes_by_its_name() -> None:
    assert {name: registry.name for name, registry in REGISTRIES.items()} == {name: name for name in REGISTRIES}
    mine = Registry(name="mine")
    assert named(mine) is mine


async def test_what_an_error_or_an_entry_carries_can_be_pickled(web: Any, discovery: Any, card: Any) -> None:
    rows = [{"identifier": name, "type": A2A, "data": card()} for name in "ab"]
    web.put("https://c.example/c.json", {"entries": rows})

    with pytest.raises(NotFoundError) as caught:
        await discovery().discover("https://c.example/c.json")

    again = pickle.loads(pickle.dumps(caught.value))
    assert again.entries == caught.value.entries
    assert isinstance(again.entries[0], CatalogEntry)
    assert again.entries[0].via == ("https://c.example/c.json",)
    assert len({*again.entries, *caught.value.entries}) == 2
