"""Choosing among offers: the card's order, the caller's abilities, and a reason for each that is left out."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import Discovery, InterfaceError, NetworkPolicy
from a2a_discovery.testing import FakeAgent


async def test_of_two_equal_offers_the_first_wins_and_the_other_stays_at_hand(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B080, B083"""
    offers = [interface(f"https://a.example/{number}") for number in (1, 2, 3)]

    found = await find("a.example", serve(card(supportedInterfaces=offers)))

    assert found.interface.url == "https://a.example/1"
    assert [each.url for each in found.alternatives] == ["https://a.example/2", "https://a.example/3"]


async def test_an_agent_that_speaks_http_alone_is_usable_by_default(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B082"""
    found = await find("a.example", serve(card(supportedInterfaces=[interface(binding="HTTP+JSON")])))

    assert found.interface.protocol_binding == "HTTP+JSON"


async def test_what_is_offered_and_what_is_spoken_stand_side_by_side(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B082"""
    offers = [interface("https://a.example:50051", "GRPC"), interface("https://a.example/rest", "HTTP+JSON")]

    with pytest.raises(InterfaceError) as caught:
        await find("a.example", serve(card(supportedInterfaces=offers)), bindings=("JSONRPC",))

    assert "the caller speaks JSONRPC, the card offers GRPC, HTTP+JSON" in str(caught.value.hint)
    assert [(each.code, each.pointer) for each in caught.value.skipped] == [
        ("unsupported-binding", "/supportedInterfaces/0/protocolBinding"),
        ("unsupported-binding", "/supportedInterfaces/1/protocolBinding"),
    ]


async def test_no_interface_is_tried_by_discovery_itself(find: Any, serve: Any, card: Any, asked: Any) -> None:
    """B083: which of them is up is seen by whoever calls; discovering sends nothing there."""
    agent = serve(card())

    await find("a.example", agent)

    assert asked(agent) == ["/.well-known/agent-card.json"]


async def test_a_grpc_agent_is_used_from_a_card_that_was_handed_over(card: Any, interface: Any, find: Any) -> None:
    """B085"""
    found = await find(card(supportedInterfaces=[interface("dns:///a.example:50051", "GRPC")]), bindings=("GRPC",))

    assert (found.interface.url, found.source.url) == ("dns:///a.example:50051", None)


async def test_a_required_extension_is_told_before_the_first_call_and_an_optional_one_is_not(
    find: Any, serve: Any, card: Any
) -> None:
    """B086"""
    uri = "https://ext.example/payments"
    declared = [{"uri": "https://ext.example/other"}, {"uri": uri, "required": True}]
    agent = serve(card(capabilities={"extensions": declared}))

    with pytest.raises(InterfaceError) as caught:
        await find("a.example", agent)
    found = await find("a.example", agent, extensions=(uri,))

    assert [(each.code, each.pointer) for each in caught.value.skipped] == [
        ("required-extension", "/capabilities/extensions/1")
    ]
    assert "extensions=" in str(caught.value.hint)
    assert found.headers()["A2A-Extensions"] == uri
    assert (found.findings, found.skipped) == ((), ())


async def test_one_configuration_serves_every_request_and_cannot_be_edited() -> None:
    """B087"""
    agent = FakeAgent("a.example", extended=True)
    network = NetworkPolicy(timeout=3)
    discovery = Discovery(transport=agent, network=network)

    await discovery.discover("a.example")

    assert discovery.settings.network is network
    assert {request.kind for request in agent.requests} == {"card", "keys"}
    with pytest.raises(AttributeError):
        network.timeout = 30
    with pytest.raises(AttributeError):
        discovery.settings.bindings = ("GRPC",)
