"""The walks of a domain, a document and a base URL, and what "not here" means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from a2a_discovery.errors import AuthError, CardError, FetchError, NotFoundError
from a2a_discovery.policy import NetworkPolicy

CARD = "https://shop.example/.well-known/agent-card.json"
OLD = "https://shop.example/.well-known/agent.json"
PAGE = (200, b"<!doctype html><title>Shop</title>", "text/html; charset=utf-8")


def test_a_domain_is_asked_at_the_well_known_place_first(world: Any, find: Any, card: Any) -> None:
    world.answers[CARD] = card()

    found = find("shop.example")

    assert found.reading.card.name == "Orders"
    assert world.urls == [CARD]
    assert world.kept == [CARD]
    assert (found.source.requested, found.source.url, found.source.via) == ("shop.example", CARD, ())


@pytest.mark.parametrize("miss", [404, 405, 410, PAGE, (200, b" \n<html>", "text/plain"), (200, b"<p>", "")])
def test_where_it_is_not_here_the_old_name_is_tried(world: Any, find: Any, card: Any, miss: Any) -> None:
    world.answers |= {CARD: miss, OLD: card()}

    found = find("shop.example")

    assert found.source.url == OLD
    assert found.source.via == (CARD,)
    assert world.kept == [OLD]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthError),
        (403, AuthError),
        (429, FetchError),
        (503, FetchError),
        (400, FetchError),
        (204, FetchError),
        (418, FetchError),
    ],
)
def test_any_other_status_ends_the_walk_and_is_the_error(
    world: Any, find: Any, card: Any, status: int, kind: type[Any]
) -> None:
    world.answers |= {CARD: status, OLD: card()}

    with pytest.raises(kind) as caught:
        find("shop.example")

    assert caught.value.status == status
    assert caught.value.url == CARD
    assert world.urls == [CARD]
    assert [(each.url, each.status) for each in caught.value.attempts] == [(CARD, status)]
    assert world.kept == []


def test_a_network_failure_ends_the_walk(world: Any, find: Any, card: Any, refused: FetchError) -> None:
    world.answers |= {CARD: 404, OLD: refused}

    with pytest.raises(FetchError) as caught:
        find("shop.example")

    assert caught.value.code == "connect"
    assert [(each.url, each.status, each.reason) for each in caught.value.attempts] == [
        (CARD, 404, "not found"),
        (OLD, None, "connect"),
    ]


def test_where_nothing_is_here_every_url_is_listed_with_its_status(world: Any, find: Any) -> None:
    world.answers |= {CARD: PAGE, OLD: 410}

    with pytest.raises(NotFoundError) as caught:
        find("shop.example")

    assert caught.value.code == "no-card"
    assert [(each.url, each.status) for each in caught.value.attempts] == [
        (CARD, 200),
        (OLD, 410),
        ("https://shop.example/.well-known/ucp", 404),
        ("https://shop.example/.well-known/ard.json", 404),
        ("https://shop.example/.well-known/ai-catalog.json", 404),
    ]
    assert f"{CARD} (200 an HTML page)" in str(caught.value)
    assert f"{OLD} (410 gone)" in str(caught.value)


def test_a_404_without_credentials_hints_that_the_card_may_be_private(world: Any, find: Any) -> None:
    with pytest.raises(NotFoundError) as caught:
        find("shop.example")
    assert "private" in (caught.value.hint or "")

    with pytest.raises(NotFoundError) as caught:
        find("shop.example", auth_for=lambda host: None)
    assert "private" not in (caught.value.hint or "")


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"{",
        b"\xff\xfe{\x00}\x00",
        b"",
        b'{"a":NaN}',
        b'{"a":1,"a":1}',
        b"[" * 10_000 + b"]" * 10_000,
        b"<html>",
    ],
)
def test_json_that_is_none_at_a_well_known_place_is_an_error(world: Any, find: Any, body: bytes) -> None:
    world.answers[CARD] = (200, body, "application/json")

    with pytest.raises(CardError) as caught:
        find("shop.example")

    assert (caught.value.code, caught.value.url) == ("not-json", CARD)


@pytest.mark.parametrize("body", [b"[]", b"{}", b"null", b'"card"', b"7", b'{"message":"not found"}'])
def test_json_that_is_no_card_at_a_well_known_place_is_an_error(world: Any, find: Any, body: bytes) -> None:
    world.answers[CARD] = (200, body, "application/json")

    with pytest.raises(CardError) as caught:
        find("shop.example")

    assert caught.value.code in ("not-a-card", "invalid-card")
    assert world.kept == []


def test_a_card_with_a_byte_order_mark_or_a_wrong_type_is_read(world: Any, find: Any, card: Any) -> None:
    import json

    for kind in ("text/plain", "text/html", "", "application/a2a+json", "application/octet-stream"):
        world.answers[CARD] = (200, b"\xef\xbb\xbf" + json.dumps(card()).encode(), kind)

        assert find("shop.example").reading.card.name == "Orders"


def test_a_document_is_fetched_exactly_as_given_and_html_there_is_not_json(world: Any, find: Any, card: Any) -> None:
    url = "https://h.example/a2a/agent.json?v=2"
    world.answers[url] = card()
    assert find(url).source.url == url

    world.answers[url] = PAGE
    with pytest.raises(CardError) as caught:
        find(url)
    assert caught.value.code == "not-json"
    assert world.urls == [url, url]


def test_a_document_that_is_not_there_is_no_card(world: Any, find: Any) -> None:
    with pytest.raises(NotFoundError) as caught:
        find("https://h.example/v1/card")

    assert [each.url for each in caught.value.attempts] == ["https://h.example/v1/card"]


BASE = "https://h.example/agents/orders"


def test_a_base_url_keeps_its_path(world: Any, find: Any, card: Any) -> None:
    world.answers[BASE + "/.well-known/agent-card.json"] = card()

    assert find(BASE).source.url == BASE + "/.well-known/agent-card.json"
    assert find(BASE + "/").source.url == BASE + "/.well-known/agent-card.json"


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415, 422])
def test_at_the_base_url_itself_a_4xx_is_a_miss(world: Any, find: Any, status: int) -> None:
    world.answers[BASE] = status

    with pytest.raises(NotFoundError) as caught:
        find(BASE)

    assert [each.url for each in caught.value.attempts] == [
        BASE + "/.well-known/agent-card.json",
        BASE,
        "https://h.example/.well-known/agent-card.json",
        "https://h.example/.well-known/agent.json",
    ]


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_at_the_base_url_itself_other_statuses_end_the_walk(world: Any, find: Any, status: int) -> None:
    world.answers[BASE] = status

    with pytest.raises((AuthError, FetchError)) as caught:
        find(BASE)

    assert caught.value.status == status


def test_the_base_url_itself_may_answer_with_the_card(world: Any, find: Any, card: Any) -> None:
    world.answers[BASE] = card()

    assert find(BASE).source.url == BASE


@pytest.mark.parametrize(
    "answer",
    [(200, b'{"jsonrpc":"2.0","error":{"code":-32600}}', "application/json"), (200, b"hello", "text/plain"), PAGE],
)
def test_what_is_no_card_at_the_base_url_itself_is_a_miss(world: Any, find: Any, card: Any, answer: Any) -> None:
    root = "https://h.example/.well-known/agent-card.json"
    interfaces = [{"url": BASE, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    world.answers |= {BASE: answer, root: card(supportedInterfaces=interfaces)}

    assert find(BASE).source.url == root


@pytest.mark.parametrize(
    ("named", "counts"), [(BASE, True), (BASE + "/", True), ("https://h.example/agents/other", False)]
)
def test_the_root_card_counts_only_if_it_names_the_base_url(
    world: Any, find: Any, card: Any, named: str, counts: bool
) -> None:
    interfaces = [{"url": named, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    world.answers["https://h.example/.well-known/agent-card.json"] = card(supportedInterfaces=interfaces)

    if counts:
        assert find(BASE).reading.card.name == "Orders"
    else:
        with pytest.raises(NotFoundError):
            find(BASE)


def test_a_root_card_of_the_old_generation_counts_where_it_names_the_base_url(world: Any, find: Any) -> None:
    world.answers["https://h.example/.well-known/agent.json"] = {
        "name": "Old",
        "description": "d",
        "url": BASE,
        "version": "1",
        "capabilities": {},
        "skills": [],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "protocolVersion": "0.2.9",
    }

    found = find(BASE)

    assert found.selection.interface.url == BASE
    assert found.selection.interface.protocol_version == "0.3"


def test_a_handed_over_card_makes_no_request(world: Any, find: Any, card: Any) -> None:
    found = find(card())

    assert world.urls == []
    assert world.kept == []
    assert found.source.url is None
    assert found.report.authority is None
    assert found.report.level.name == "CHANNEL"


def test_the_whole_walk_may_reach_loopback_only_under_local(world: Any, find: Any, card: Any) -> None:
    world.answers["http://localhost:9999/.well-known/agent-card.json"] = card(
        supportedInterfaces=[{"url": "http://localhost:9999/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    )

    found = find("localhost:9999", network=NetworkPolicy.local())

    assert found.selection.interface.url == "http://localhost:9999/"
    assert world.asked[0].local
    assert found.report.level.name == "CHANNEL"


def test_refresh_asks_for_revalidation(world: Any, find: Any, card: Any, tmp_path: Path) -> None:
    world.answers[CARD] = card()

    find("shop.example", refresh=True)

    assert [each.mode for each in world.asked] == ["refresh"]
