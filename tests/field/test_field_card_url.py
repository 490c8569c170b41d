"""The card is fine, and the address it gives is not: it is told, skipped or left alone, never mended in silence."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import CardError, InterfaceError, NetworkPolicy, TrustPolicy, discover
from a2a_discovery.testing import FakeAgent, FakeNetwork, Reply

NEW = "/.well-known/agent-card.json"


@pytest.mark.parametrize(
    "url", ["http://0.0.0.0:8000/", "https://0.0.0.0/a2a", "http://[::]:8080/invoke", "https://0/a2a"]
)
async def test_a_wildcard_host_is_no_address_to_call(find: Any, serve: Any, old_card: Any, url: str) -> None:
    """B029, B030, B038"""
    with pytest.raises(InterfaceError) as caught:
        await find("a.example", serve(old_card(url=url)))

    assert [(each.code, each.pointer) for each in caught.value.skipped] == [("unroutable-host", "/url")]
    assert "replace_local_hosts=True" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://0.0.0.0:8000/", "https://a.example:8000/"),
        ("https://[::]:8080/invoke", "https://a.example:8080/invoke"),
        ("https://localhost/a2a", "https://a.example/a2a"),
        ("https://127.0.0.1:9000/a2a?x=1", "https://a.example:9000/a2a?x=1"),
    ],
)
async def test_a_caller_may_have_it_replaced_by_the_host_the_card_came_from(
    find: Any, serve: Any, old_card: Any, written: str, read: str
) -> None:
    """B029, B030, B031, B038: the path is kept, and so is the port, since another agent may listen on ours."""
    found = await find("a.example", serve(old_card(url=written)), replace_local_hosts=True)

    assert found.interface.url == read
    assert "host-replaced" in [each.code for each in found.findings]


async def test_a_port_of_the_container_is_noticed(find: Any, serve: Any, card: Any, interface: Any) -> None:
    """B031"""
    named = card(supportedInterfaces=[interface("http://localhost:8000/")])

    found = await find("localhost:8001", serve(named, host="http://localhost:8001"), network=NetworkPolicy.local())
    same = await find("localhost:8000", serve(named, host="http://localhost:8000"), network=NetworkPolicy.local())

    assert found.interface.url == "http://localhost:8000/"
    assert [(each.code, each.pointer) for each in found.findings] == [("other-port", "/supportedInterfaces/0/url")]
    assert same.findings == ()


async def test_an_interface_on_another_site_is_used_or_skipped_as_the_caller_says(
    find: Any, serve: Any, card: Any, interface: Any
) -> None:
    """B032, B143"""
    agent = serve(card(supportedInterfaces=[interface("https://inner.balancer.test/a2a"), interface()]))

    found = await find("a.example", agent)
    kept_home = await find("a.example", agent, trust=TrustPolicy(same_site_interfaces=True))

    assert found.interface.url == "https://inner.balancer.test/a2a"
    assert kept_home.interface.url == "https://a.example/a2a"
    assert [each.code for each in kept_home.skipped] == ["other-site"]


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/srv/tides",
        "https://a.example/a2a/tick/a2a/tock/",
        "https://a.example/calc/",
        "https://a.example/calc",
        "https://a.example//calc//",
        "https://A.Example:443/Calc/../x?y=%7E#z",
    ],
)
async def test_a_url_is_used_byte_for_byte_wherever_the_card_was(
    find: Any, serve: Any, card: Any, interface: Any, url: str
) -> None:
    """B034, B036, B046"""
    agent = serve(card(supportedInterfaces=[interface(url)]), f"/api/srv{NEW}")

    found = await find("https://a.example/api/srv", agent)

    assert found.interface.url == url
    assert found.source.url == f"https://a.example/api/srv{NEW}"


async def test_a_refused_address_is_told_by_its_field_its_rule_and_the_url_of_the_card(
    find: Any, serve: Any, old_card: Any
) -> None:
    """B035"""
    with pytest.raises(InterfaceError) as caught:
        await find("a.example", serve(old_card(url="http://172.19.0.2:9090/a2a")))

    assert [(each.pointer, each.code) for each in caught.value.skipped] == [("/url", "private-address")]
    assert "/url: the address is private" in str(caught.value)
    assert caught.value.url == f"https://a.example{NEW}"
    assert "allow_private=True" in str(caught.value.hint)


@pytest.mark.parametrize(
    "host", ["backend:8443", "tides.prod.svc.cluster.local", "tides.internal", "printer.local", "nas.home.arpa"]
)
async def test_a_name_of_a_private_network_is_called_only_by_whoever_is_in_it(
    find: Any, serve: Any, card: Any, interface: Any, host: str
) -> None:
    """B032, B036"""
    agent = serve(card(supportedInterfaces=[interface(f"https://{host}/a2a"), interface()]))

    found = await find("a.example", agent)
    inside = await find("a.example", agent, network=NetworkPolicy(allow_private=True))

    assert found.interface.url == "https://a.example/a2a"
    assert [(each.code, each.pointer) for each in found.skipped] == [("internal-host", "/supportedInterfaces/0/url")]
    assert inside.interface.url == f"https://{host}/a2a"


async def test_an_inner_address_in_the_old_half_of_a_hybrid_card_is_seen_as_well(
    find: Any, serve: Any, card: Any, old_card: Any, interface: Any
) -> None:
    """B037"""
    more = [{"url": "https://10.1.2.3/a2a", "transport": "HTTP+JSON"}]
    legacy = await find("a.example", serve(old_card(additionalInterfaces=more)))
    hybrid = old_card(additionalInterfaces=more) | card(supportedInterfaces=[interface("https://a.example/v1")])
    current = await find("a.example", serve(hybrid))

    assert [(each.code, each.pointer) for each in legacy.skipped] == [
        ("private-address", "/additionalInterfaces/0/url")
    ]
    assert (current.interface.url, current.alternatives) == ("https://a.example/v1", ())


@pytest.mark.parametrize("url", ["https://a.example/v1/message:stream", "https://a.example/v1/message:send/"])
async def test_the_url_of_one_operation_is_explained(
    find: Any, serve: Any, card: Any, old_card: Any, interface: Any, url: str
) -> None:
    """B040"""
    found = await find("a.example", serve(card(supportedInterfaces=[interface(url)])))
    older = await find("a.example", serve(old_card(url=url)))

    assert [(each.code, each.pointer) for each in found.findings] == [("operation-url", "/supportedInterfaces/0/url")]
    assert [(each.code, each.pointer) for each in older.findings] == [("operation-url", "/url")]
    assert found.interface.url == older.interface.url == url


async def test_a_relative_url_is_read_against_the_url_that_answered(find: Any, serve: Any, old_card: Any) -> None:
    """B041"""
    agent = serve(old_card())
    agent.replies[NEW] = Reply.redirect("https://eu.a.example/moved/card.json")
    moved = serve(old_card(url="/a2a"), "/moved/card.json", host="eu.a.example")

    found = await find("a.example", FakeNetwork(agent, moved))

    assert found.interface.url == "https://eu.a.example/a2a"
    assert [(each.code, each.pointer) for each in found.findings] == [("relative-url", "/url")]


async def test_under_strict_a_relative_url_is_told_at_its_place(find: Any, serve: Any, old_card: Any) -> None:
    """B041"""
    with pytest.raises(InterfaceError) as caught:
        await find("a.example", serve(old_card(url="/a2a")), strict=True)

    assert [(each.code, each.pointer) for each in caught.value.skipped] == [("relative-url", "/url")]


@pytest.mark.parametrize("generation", ["old_card", "card"])
async def test_a_card_without_address_is_refused_and_none_is_guessed(
    find: Any, serve: Any, request: Any, generation: str
) -> None:
    """B042, B044, B054"""
    make = request.getfixturevalue(generation)
    agent = serve(make(url=None, supportedInterfaces=None))

    with pytest.raises(CardError) as caught:
        await find("a.example", agent)

    assert caught.value.code == "invalid-card"
    wanted = "/url" if generation == "old_card" else "/supportedInterfaces"
    assert wanted in [each.pointer for each in caught.value.findings if each.severity == "error"]
    assert {request.method for request in agent.requests} == {"GET"}


async def test_each_generation_is_known_before_it_is_checked(find: Any, serve: Any, card: Any, old_card: Any) -> None:
    """B043"""
    for document, version in ((card(), "1.0"), (old_card(), "0.3")):
        found = await find("a.example", serve(document))

        assert found.interface.url == "https://a.example/a2a"
        assert found.interface.protocol_version == version
        assert found.findings == ()


async def test_a_caller_of_one_generation_gets_no_address_from_a_card_of_the_other(
    find: Any, serve: Any, card: Any, asked: Any
) -> None:
    """B043, B044"""
    agent = serve(card())

    with pytest.raises(InterfaceError) as caught:
        await find("a.example", agent, versions=("0.3",))

    assert [each.code for each in caught.value.skipped] == ["unsupported-version"]
    assert asked(agent) == [NEW]


async def test_a_loopback_address_in_a_public_card_is_never_called(find: Any, serve: Any, old_card: Any) -> None:
    """B031, B038"""
    for network in (NetworkPolicy(), NetworkPolicy.local()):
        with pytest.raises(InterfaceError) as caught:
            await find("a.example", serve(old_card(url="http://localhost:8000/")), network=network)
        assert [each.code for each in caught.value.skipped] == ["loopback-url"]


async def test_a_card_from_a_container_on_this_machine_is_read_as_meant() -> None:
    """B029, B038"""
    agent = FakeAgent("http://localhost:9999", signers=[])
    async with agent.serve(tls=False) as running:
        agent.card["supportedInterfaces"] = [
            {"url": f"http://0.0.0.0:{running.port}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ]
        found = await discover(running.url, network=running.network)

    assert found.interface.url == f"http://localhost:{running.port}/a2a"
