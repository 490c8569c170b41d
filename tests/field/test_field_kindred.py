"""What clients of neighbouring protocols stumble over, where the same shape of bug is possible here."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import AuthError, Credentials, NotFoundError, UsageError
from a2a_discovery.testing import Reply

NEW = "/.well-known/agent-card.json"


async def test_the_path_stands_before_the_well_known_part_and_never_after_it(
    find: Any, serve: Any, card: Any, asked: Any
) -> None:
    """B166"""
    agent = serve(card(), f"{NEW}/mcp")

    with pytest.raises(NotFoundError):
        await find("https://a.example/mcp", agent)

    assert asked(agent) == [f"/mcp{NEW}", "/mcp", NEW, "/.well-known/agent.json"]


@pytest.mark.parametrize("typed", ["https://a.example/mcp", "https://a.example/mcp/"])
@pytest.mark.parametrize("named", ["https://a.example/mcp", "https://a.example/mcp/"])
async def test_a_final_slash_is_no_other_agent_and_the_cards_own_spelling_is_called(
    find: Any, serve: Any, card: Any, interface: Any, typed: str, named: str
) -> None:
    """B170"""
    found = await find(typed, serve(card(supportedInterfaces=[interface(named)])))

    assert found.interface.url == named
    assert found.source.requested == typed


async def test_two_hosts_that_look_alike_are_told_apart_in_an_error(find: Any, serve: Any, card: Any) -> None:
    """B171: the second host begins with a Cyrillic letter."""
    lookalike = [{"url": "https://\u0430.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    agent = serve(card(supportedInterfaces=lookalike, capabilities={"extendedAgentCard": True}))
    found = await find("a.example", agent)

    with pytest.raises(AuthError) as caught:
        await found.upgrade(Credentials(bearer="let-me-in"))

    assert caught.value.code == "no-credential"
    assert "xn--80a.example" in str(caught.value)
    assert "authority is a.example" in str(caught.value)


async def test_a_target_that_cannot_be_read_is_shown_with_what_nobody_sees(find: Any) -> None:
    """B171"""
    with pytest.raises(UsageError) as caught:
        await find("a.example\u200b/card")

    assert "\\u200b" in str(caught.value)


async def test_a_root_card_is_found_where_everything_below_the_path_fails_to_be_there(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B172"""
    agent = serve(card(supportedInterfaces=[interface("https://a.example/mcp")]))
    agent.replies |= {f"/mcp{NEW}": Reply.html(), "/mcp": Reply.error(406)}

    found = await find("https://a.example/mcp", agent)

    assert found.source.url == f"https://a.example{NEW}"
