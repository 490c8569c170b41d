"""Fake agents without sockets, and on a real loopback port."""

import asyncio
import socket
import ssl
import subprocess
import sys

import httpx
import pytest

from a2a_discovery.testing import FakeAgent, FakeNetwork, Reply

CARD = "/.well-known/agent-card.json"


@pytest.fixture
def agent():
    return FakeAgent(signers=())


async def test_another_host_port_or_scheme_is_not_reached(agent, get):
    for url in ("https://other.example/", "https://shop.example:8443/", "http://shop.example/"):
        with pytest.raises(httpx.ConnectError):
            await get(agent, url)
    assert agent.requests == []
    assert (await get(agent, f"https://SHOP.example:443{CARD}")).status_code == 200


@pytest.mark.parametrize(
    ("given", "url", "host"),
    [
        ("shop.example", "https://shop.example", "shop.example"),
        ("shop.example:8443", "https://shop.example:8443", "shop.example"),
        ("http://localhost:9999", "http://localhost:9999", "localhost"),
        ("tienda-ñ.example", "https://xn--tienda--b0a.example", "xn--tienda--b0a.example"),
    ],
)
async def test_an_agent_is_on_one_origin(get, given, url, host):
    agent = FakeAgent(given, signers=())

    assert (agent.url, agent.host) == (url, host)
    assert (await get(agent, url + CARD)).status_code == 200


async def test_several_agents_share_a_transport_each_under_its_host(get):
    shop, bank = FakeAgent("shop.example"), FakeAgent("bank.example")
    bank.card["name"] = "Bank"
    network = FakeNetwork(shop, bank)

    assert (await get(network, f"https://shop.example{CARD}")).json()["name"] == "Shop"
    assert (await get(network, f"https://bank.example{CARD}")).json()["name"] == "Bank"
    assert (shop.count("card"), bank.count("card")) == (1, 1)
    with pytest.raises(httpx.ConnectError, match=r"third\.example"):
        await get(network, "https://third.example/")


async def test_over_tls_a_plain_client_reads_the_card_by_the_authority(agent, client):
    async with agent.serve() as running:
        asking = await client(verify=running.ssl_context)
        answer = await asking.get(running.url + CARD)

        assert running.url == f"https://localhost:{running.port}"
        assert answer.status_code == 200
        assert answer.json()["supportedInterfaces"][0]["url"] == f"{running.url}/a2a/v1"
        again = await asking.get(running.url + CARD, headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert agent.count("card", status=304) == 1
        assert (await asking.head(running.url + CARD)).headers["etag"] == answer.headers["etag"]
        assert {each.connection for each in agent.requests} == {1}


async def test_over_tls_a_client_without_the_authority_refuses(agent, client):
    async with agent.serve() as running:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await (await client()).get(running.url + CARD)
    assert agent.requests == []


async def test_the_certificate_names_localhost_the_address_and_the_agents_own_name(agent):
    async with agent.serve(name="shop.example") as running:
        for name in ("shop.example", "localhost", "127.0.0.1"):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", running.port, ssl=running.ssl_context, server_hostname=name
            )
            writer.transport.abort()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(
                "127.0.0.1", running.port, ssl=running.ssl_context, server_hostname="bank.example"
            )
        assert running.url == f"https://shop.example:{running.port}"
        assert await running.network.resolve("shop.example", running.port) == ["127.0.0.1"]
        with pytest.raises(socket.gaierror):
            await running.network.resolve("bank.example", running.port)


async def test_the_authority_can_be_written_to_a_file(agent, client, tmp_path):
    async with agent.serve() as running:
        running.ca.cert_pem.write_to_path(tmp_path / "ca.pem")
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))

        assert (await (await client(verify=context)).get(running.url + CARD)).status_code == 200


async def test_plain_http_on_loopback(agent, client):
    async with agent.serve(tls=False) as running:
        answer = await (await client()).get(running.url + CARD)

        assert running.url == f"http://localhost:{running.port}"
        assert (running.ca, running.ssl_context) == (None, None)
        assert answer.json()["supportedInterfaces"][0]["url"].startswith(running.url + "/")


async def test_what_is_served_on_loopback_is_signed_for_loopback(client):
    agent = FakeAgent("shop.example")
    async with agent.serve() as running:
        answer = await (await client(verify=running.ssl_context)).get(running.url + CARD)

        assert answer.json() == agent.document(places={"https://shop.example": running.url})
        assert answer.json() != agent.document()


async def test_only_urls_of_the_agents_own_origin_are_moved(agent, client):
    agent.card["documentationUrl"] = "https://shop.example.evil.example/docs"
    agent.card["provider"] = {"organization": "Shop", "url": "https://shop.example"}
    async with agent.serve(tls=False) as running:
        card = (await (await client()).get(running.url + CARD)).json()

    assert card["documentationUrl"] == "https://shop.example.evil.example/docs"
    assert card["provider"]["url"] == running.url


async def test_several_agents_are_served_on_one_port_by_their_names(client):
    shop, bank = FakeAgent("shop.example", signers=()), FakeAgent("bank.example", signers=())
    shop.card["documentationUrl"] = "https://bank.example/docs"
    async with FakeNetwork(shop, bank).serve() as running:
        asking = await client(verify=running.ssl_context)
        local = f"https://localhost:{running.port}{CARD}"
        card = await asking.get(local, headers={"host": f"shop.example:{running.port}"})
        astray = await asking.get(local)

    assert card.json()["documentationUrl"] == f"https://bank.example:{running.port}/docs"
    assert (shop.count(), bank.count()) == (1, 0)
    assert astray.status_code == 421


async def test_each_host_has_a_certificate_of_its_own():
    names = [f"shop-{number}.example" for number in range(3)]
    async with FakeNetwork(*(FakeAgent(name, signers=()) for name in names)).serve() as running:
        for name in names[1:]:
            _, writer = await asyncio.open_connection(
                "127.0.0.1", running.port, ssl=running.ssl_context, server_hostname=name
            )
            certificate = writer.get_extra_info("ssl_object").getpeercert()
            writer.transport.abort()

            assert certificate["subjectAltName"] == (("DNS", name),)


async def test_a_call_with_a_body_arrives_whole(client):
    agent = FakeAgent(extended=True)
    async with agent.serve() as running:
        asking = await client(verify=running.ssl_context)
        call = {"jsonrpc": "2.0", "id": "é" * 50_000, "method": "GetExtendedAgentCard"}
        headers = {"authorization": "Bearer let-me-in", "a2a-version": "1.0"}
        answer = await asking.post(f"{running.url}/a2a/v1", json=call, headers=headers)

    assert answer.json()["id"] == call["id"]
    assert answer.json()["result"]["skills"][1]["id"] == "refunds"


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("after", [b"", b'{"name":'])
async def test_a_dropped_connection_is_seen_by_a_real_client(agent, client, tls, after):
    agent.fail("card", Reply.dropped(after), times=1)
    async with agent.serve(tls=tls) as running:
        asking = await client(verify=running.ssl_context or True)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await asking.get(running.url + CARD)

        assert (await asking.get(running.url + CARD)).status_code == 200


async def test_an_endless_answer_ends_when_the_client_leaves_or_the_server_stops(agent, client):
    agent.replies["card"] = Reply.endless()
    async with agent.serve() as running:
        asking = await client(verify=running.ssl_context)
        for _ in range(2):
            async with asking.stream("GET", running.url + CARD) as answer:
                assert len(await anext(answer.aiter_raw())) > 0
        stream = asking.stream("GET", running.url + CARD)
        await stream.__aenter__()
    await asking.aclose()


async def test_a_server_stops_while_a_request_waits(agent, client):
    gate = agent.hold("card")
    async with agent.serve() as running:
        asking = await client(verify=running.ssl_context)
        task = asyncio.create_task(asking.get(running.url + CARD))
        await gate.arrived()

    with pytest.raises(httpx.TransportError):
        await task


async def test_a_server_stops_while_a_client_never_finishes_its_handshake(agent):
    async with agent.serve() as running:
        _, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"\x16")
        await writer.drain()
        await asyncio.sleep(0)
    writer.close()
    await writer.wait_closed()


async def test_a_function_that_raises_drops_the_connection_and_is_logged(agent, client, caplog):
    def broken(request):
        raise RuntimeError("a mistake in a test")

    agent.replies["card"] = broken
    async with agent.serve(tls=False) as running:
        with pytest.raises(httpx.RemoteProtocolError):
            await (await client()).get(running.url + CARD)

    assert "a mistake in a test" in caplog.text


async def test_nonsense_instead_of_http_ends_that_connection_alone(agent, client):
    async with agent.serve(tls=False) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"\x00\x01\x02 nonsense\r\n\r\n")
        assert await reader.read() == b""
        writer.close()

        assert (await (await client()).get(running.url + CARD)).status_code == 200


async def test_one_agent_is_served_in_two_ways_at_once(agent, client, get):
    async with agent.serve() as first, agent.serve(tls=False) as second:
        for running in (first, second):
            answer = await (await client(verify=first.ssl_context)).get(running.url + CARD)
            assert answer.json()["supportedInterfaces"][0]["url"].startswith(running.url)
        assert (await get(agent)).json()["supportedInterfaces"][0]["url"].startswith("https://shop.example")

    assert first.ca is not None
    assert agent.count("card") == 3


def test_without_asyncio_it_is_served_by_a_thread(agent):
    with agent.serve_in_thread() as running:
        answer = httpx.get(running.url + CARD, verify=running.ssl_context)

    assert answer.status_code == 200
    assert agent.count("card") == 1
    with pytest.raises(httpx.ConnectError):
        httpx.get(running.url + CARD, verify=running.ssl_context)


def test_a_gate_is_opened_from_another_thread(agent):
    gate = agent.hold("card")
    with agent.serve_in_thread(tls=False) as running:

        async def main():
            async with httpx.AsyncClient() as asking:
                task = asyncio.create_task(asking.get(running.url + CARD))
                await gate.arrived()
                gate.open()
                return await task

        assert asyncio.run(main()).status_code == 200


def test_two_loops_use_one_agent_as_their_transport(agent):
    async def main():
        async with httpx.AsyncClient(transport=agent) as asking:
            return (await asking.get(f"https://shop.example{CARD}")).status_code

    assert [asyncio.run(main()), asyncio.run(main())] == [200, 200]


def test_without_trustme_the_error_names_the_extra():
    script = (
        "import sys; sys.modules['trustme'] = None\n"
        "from a2a_discovery.testing import FakeAgent\n"
        "try:\n"
        "    with FakeAgent().serve_in_thread(): pass\n"
        "except ImportError as exc: print(exc)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert 'pip install "a2a_discovery[testing]"' in said
