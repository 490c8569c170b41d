"""Which dialect an interface is spoken to in, and how anybody can see why."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import Credentials, Discovery, ExtendedCardError, InterfaceError
from a2a_discovery.testing import FakeAgent, Reply


def told(agent: Any) -> set[tuple[str, str]]:
    return {(finding.code, finding.pointer) for finding in agent.findings}


async def test_an_interface_without_version_inherits_the_cards_and_else_speaks_0_3(
    find: Any, serve: Any, card: Any
) -> None:
    """B068, B069"""
    bare = [{"url": "https://a.example/a2a", "protocolBinding": "JSONRPC"}]

    alone = await find("a.example", serve(card(supportedInterfaces=bare)))
    inherits = await find("a.example", serve(card(supportedInterfaces=bare, protocolVersion="1.0")))

    assert (alone.interface.protocol_version, alone.headers()["A2A-Version"]) == ("0.3", "0.3")
    assert (inherits.interface.protocol_version, inherits.headers()["A2A-Version"]) == ("1.0", "1.0")
    for found in (alone, inherits):
        assert ("version-assumed", "/supportedInterfaces/0/protocolVersion") in told(found)


@pytest.mark.parametrize(
    ("written", "spoken", "code"),
    [
        (None, "0.3", "version-assumed"),
        ("0.2.5", "0.3", "old-version"),
        ("1.0", "0.3", "ambiguous-generation"),
        ("0.3.0", "0.3", None),
    ],
)
async def test_the_dialect_of_an_old_card_is_told_with_its_reason(
    find: Any, serve: Any, old_card: Any, written: str | None, spoken: str, code: str | None
) -> None:
    """B069"""
    found = await find("a.example", serve(old_card(protocolVersion=written)))

    assert found.interface.protocol_version == found.headers()["A2A-Version"] == spoken
    assert {each.code for each in found.findings if each.pointer == "/protocolVersion"} == {code} - {None}


async def test_a_card_is_read_alike_however_it_comes(find: Any, serve: Any, old_card: Any, tmp_path: Any) -> None:
    """B070"""
    import json

    document = old_card(protocolVersion="0.2.5", preferredTransport=None)
    file = tmp_path / "card.json"
    file.write_text(json.dumps(document), "utf-8")

    fetched = await find("a.example", serve(document))
    handed, read = await find(document), await find(file)

    assert fetched.card == handed.card == read.card
    assert fetched.interface == handed.interface == read.interface
    assert told(fetched) == told(handed) == told(read)


async def test_in_a_hybrid_card_the_new_half_counts(
    find: Any, serve: Any, card: Any, old_card: Any, interface: Any
) -> None:
    """B072"""
    hybrid = old_card(url="https://a.example/old") | card(supportedInterfaces=[interface("https://a.example/new")])

    found = await find("a.example", serve(hybrid))

    assert [each.url for each in found.card.supported_interfaces] == ["https://a.example/new"]
    assert (found.interface.url, found.interface.protocol_version) == ("https://a.example/new", "1.0")


async def test_the_next_interface_is_at_hand_where_one_refuses_its_version(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B073, B083"""
    offers = [interface("https://a.example/old", version="0.3"), interface("https://a.example/new")]

    found = await find("a.example", serve(card(supportedInterfaces=offers)))

    assert found.interface.url == "https://a.example/old"
    assert [(each.url, each.protocol_version) for each in found.alternatives] == [("https://a.example/new", "1.0")]


@pytest.mark.parametrize(
    ("versions", "chosen"), [(("1.0", "0.3"), "0.3"), (("1.0",), "1.0"), (("0.3",), "0.3"), (("0.3", "1.0"), "0.3")]
)
async def test_the_card_orders_and_the_caller_only_leaves_out(
    find: Any, serve: Any, card: Any, interface: Any, versions: tuple[str, ...], chosen: str
) -> None:
    """B074, B077"""
    offers = [interface("https://a.example/3", version="0.3"), interface("https://a.example/1", "HTTP+JSON")]

    found = await find("a.example", serve(card(supportedInterfaces=offers)), versions=versions)

    assert found.interface.protocol_version == chosen


async def test_binding_and_version_are_judged_together(find: Any, serve: Any, card: Any, interface: Any) -> None:
    """B077"""
    offers = [interface("https://a.example/3", version="0.3"), interface("https://a.example/1", "HTTP+JSON")]

    found = await find("a.example", serve(card(supportedInterfaces=offers)), versions=("1.0",))
    assert (found.interface.url, found.interface.protocol_binding) == ("https://a.example/1", "HTTP+JSON")
    assert [(each.code, each.pointer) for each in found.skipped] == [
        ("unsupported-version", "/supportedInterfaces/0/protocolVersion")
    ]

    with pytest.raises(InterfaceError):
        await find("a.example", serve(card(supportedInterfaces=offers)), versions=("1.0",), bindings=("JSONRPC",))


async def test_a_server_that_answers_by_version_is_asked_for_ours_every_time(
    serve: Any, card: Any, old_card: Any, clock: Any
) -> None:
    """B075, B076: with ``Vary`` or without."""
    for vary in (None, "A2A-Version"):
        agent = serve(card())

        def by_version(request: Any, vary: str | None = vary) -> Reply:
            document = card() if request.headers.get("a2a-version") == "1.0" else old_card()
            return Reply.json(document, headers={"vary": vary, "cache-control": "max-age=60", "etag": '"1"'})

        agent.replies["card"] = by_version
        async with Discovery(transport=agent, clock=clock) as d:
            for _ in range(3):
                assert (await d.discover("a.example")).interface.protocol_version == "1.0"
                clock.advance(61)
        assert {request.headers.get("a2a-version") for request in agent.requests} == {"1.0"}


async def test_the_version_goes_with_every_request(find: Any) -> None:
    """B076"""
    agent = FakeAgent("a.example", extended=True)

    found = await find("a.example", agent)
    await found.upgrade(Credentials(bearer="let-me-in"))

    assert [request.kind for request in agent.requests[:3]] == ["card", "keys", "extended"]
    assert {request.headers.get("a2a-version") for request in agent.requests} == {"1.0"}
    assert found.headers()["A2A-Version"] == "1.0"


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("supportsExtendedAgentCard", True, "renamed-member"),
        ("supportsAuthenticatedExtendedCard", True, "renamed-member"),
        ("protocolVersions", ["1.0", "0.3"], "version-assumed"),
    ],
)
async def test_names_of_the_drafts_are_read_with_a_finding(
    find: Any, serve: Any, card: Any, member: str, value: Any, code: str
) -> None:
    """B078, B135"""
    bare = [{"url": "https://a.example/a2a", "protocolBinding": "JSONRPC"}]

    found = await find("a.example", serve(card(supportedInterfaces=bare, **{member: value})))

    assert code in {each.code for each in found.findings}
    if member == "protocolVersions":
        assert found.interface.protocol_version == "1.0"
    else:
        assert found.card.capabilities.extended_agent_card is True


async def test_a_server_that_refuses_the_version_of_its_own_card_is_told_as_that(find: Any) -> None:
    """B079"""
    agent = FakeAgent("a.example", extended=True)
    error = {"code": -32009, "message": "version not supported"}
    agent.replies["extended"] = Reply.json({"jsonrpc": "2.0", "id": "1", "error": error})

    found = await find("a.example", agent)
    with pytest.raises(ExtendedCardError) as caught:
        await found.upgrade(Credentials(bearer="let-me-in"))

    assert caught.value.code == "unsupported"
    assert "that its own card names" in str(caught.value)
