"""The way to the card, over real sockets where it matters: redirects, TLS, failures told apart, endless bodies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Any

import pytest

from a2a_discovery import (
    CardError,
    Credentials,
    DiscoveryError,
    FetchError,
    Limits,
    NetworkPolicy,
    TrustError,
    UsageError,
    discover,
)
from a2a_discovery.testing import FakeAgent, FakeNetwork, Reply

NEW = "/.well-known/agent-card.json"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_within_the_site_is_followed_and_recorded(status: int) -> None:
    """B151"""
    agent = FakeAgent("a.example")
    agent.card_paths = {"/cards/1"}
    agent.replies[NEW] = Reply.redirect("/cards/1", status=status)
    async with agent.serve(name="a.example") as running:
        found = await discover(f"a.example:{running.port}", network=running.network)

    base = f"https://a.example:{running.port}"
    assert found.source.url == f"{base}/cards/1"
    assert found.source.via == (f"{base}{NEW}",)
    assert found.trust.level.name == "SIGNED"


async def test_a_gateway_that_fails_is_told_by_status_and_url(find: Any, serve: Any, card: Any) -> None:
    """B152"""
    agent = serve(card())
    agent.fail("card", 502)

    with pytest.raises(FetchError) as caught:
        await find("a.example", agent)

    assert (caught.value.code, caught.value.status, caught.value.url) == ("http-status", 502, f"https://a.example{NEW}")
    assert [(each.url, each.status) for each in caught.value.attempts] == [(f"https://a.example{NEW}", 502)]


async def test_a_private_ca_is_trusted_by_a_context_and_by_nothing_less() -> None:
    """B154"""
    agent = FakeAgent("a.example")
    async with agent.serve() as running:
        with pytest.raises(FetchError) as caught:
            await discover(running.url, network=NetworkPolicy.local())
        found = await discover(running.url, network=NetworkPolicy.local(ssl_context=running.ssl_context))

    assert caught.value.code == "tls"
    assert "ssl_context=" in str(caught.value.hint)
    assert found.trust.level.name == "SIGNED"

    blind = ssl.create_default_context()
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE
    with pytest.raises(UsageError):
        NetworkPolicy(ssl_context=blind)


@contextlib.asynccontextmanager
async def listener(talk: Any) -> Any:
    """A raw server on loopback, and its port."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await talk(reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n")
    writer.write(b"220 mail.a.example ESMTP\r\n")
    await writer.drain()


async def unreachable(port: int) -> DiscoveryError:
    network = NetworkPolicy.local(timeout=0.5)
    with pytest.raises(DiscoveryError) as caught:
        await discover(f"http://localhost:{port}", network=network)
    return caught.value


async def test_each_failure_has_a_code_of_its_own() -> None:
    """B155"""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    assert (await unreachable(free)).code == "connect"

    async with listener(silent) as port:
        assert (await unreachable(port)).code == "timeout"
    async with listener(plain) as port:
        assert (await unreachable(port)).code == "protocol"

    async def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(FetchError) as caught:
        await discover("a.example", network=NetworkPolicy(resolve=unknown))
    assert caught.value.code == "dns"

    agent = FakeAgent("a.example")
    async with agent.serve(tls=False) as running:
        with pytest.raises(FetchError) as caught:
            await discover(f"https://localhost:{running.port}", network=running.network)
        assert caught.value.code == "tls"

        agent.fail("card", 500)
        assert (await unreachable(running.port)).code == "http-status"
        agent.replies["card"] = Reply.text("hello")
        assert isinstance(await unreachable(running.port), CardError)


HUGE = [Reply.endless(), Reply.gzip_bomb()]


@pytest.mark.parametrize("reply", HUGE)
@pytest.mark.parametrize("target", ["a.example", f"https://a.example{NEW}", "https://a.example/catalog.json#urn:x"])
async def test_a_body_without_end_is_cut_off_wherever_a_card_may_be(
    find: Any, serve: Any, card: Any, reply: Reply, target: str
) -> None:
    """B157"""
    agent = serve(card(), NEW, "/catalog.json")
    agent.replies["card"] = reply

    with pytest.raises(FetchError) as caught:
        await find(target, agent, limits=Limits(catalog_bytes=2_000_000))

    assert caught.value.code == "too-large"


@pytest.mark.parametrize("reply", HUGE)
async def test_a_body_without_end_is_cut_off_at_every_other_fetch_too(find: Any, reply: Reply) -> None:
    """B157"""
    agent = FakeAgent("a.example", extended=True)
    found = await find("a.example", agent)
    agent.replies |= {"extended": reply, "keys": reply}

    with pytest.raises(FetchError) as caught:
        await found.upgrade(Credentials(bearer="let-me-in"))
    assert caught.value.code == "too-large"

    with pytest.raises(TrustError) as refused:
        await find("a.example", agent)
    assert "[too-large]" in refused.value.report.signatures[0].reason


async def test_a_body_without_end_over_a_real_socket() -> None:
    """B157"""
    agent = FakeAgent("a.example", signers=[])
    agent.replies["card"] = Reply.endless()
    async with agent.serve() as running:
        with pytest.raises(FetchError) as caught:
            await discover(running.url, network=running.network)

    assert caught.value.code == "too-large"


async def test_a_big_honest_card_is_read_and_the_limit_can_be_moved(find: Any, serve: Any, card: Any) -> None:
    """B158"""
    skill = {"id": "s", "name": "n", "description": "d" * 990, "tags": ["t"]}
    agent = serve(card(skills=[skill] * 300))

    assert len((await find("a.example", agent)).card.skills) == 300
    with pytest.raises(FetchError) as caught:
        await find("a.example", agent, limits=Limits(card_bytes=256 * 1024))

    assert caught.value.code == "too-large"
    assert "262144 bytes" in str(caught.value)
    assert f"{len(Reply.json(agent.card).body)} bytes" in str(caught.value)
    assert "card_bytes" in str(caught.value.hint)


async def test_a_card_is_asked_for_with_few_header_fields(find: Any, serve: Any, card: Any) -> None:
    """B159, B130: and with a name of our own."""
    agent = serve(card())

    await find("a.example", agent)

    (request,) = agent.requests
    sent = {name for name in request.headers if name not in ("host", "connection")}
    assert sent == {"accept", "accept-encoding", "a2a-version", "user-agent"}
    assert request.headers["user-agent"].startswith("a2a-discovery/")


async def test_a_firewalls_403_says_that_it_may_be_one(find: Any, serve: Any, card: Any) -> None:
    """B130"""
    agent = serve(card())
    agent.fail("card", Reply.html(status=403))

    with pytest.raises(DiscoveryError) as caught:
        await find("a.example", agent)

    assert caught.value.code == "forbidden"
    assert "firewall" in str(caught.value.hint)


async def test_every_request_goes_the_way_that_the_caller_chose(find: Any) -> None:
    """B131, B087"""
    agent, elsewhere = FakeAgent("a.example", extended=True), FakeAgent("keys.a.example")
    agent.signers[:] = [type(agent.signers[0])(jku="https://keys.a.example/.well-known/jwks.json")]
    elsewhere.signers[:] = agent.signers

    found = await find("a.example", FakeNetwork(agent, elsewhere))
    await found.upgrade(Credentials(bearer="let-me-in"))

    assert [request.kind for request in agent.requests] == ["card", "extended"]
    assert [request.kind for request in elsewhere.requests][:1] == ["keys"]
    assert all(request.authorization is None for request in elsewhere.requests)
