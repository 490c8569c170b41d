"""A proxy of the caller's: it resolves and connects, and what is written in a URL is still judged here."""

import asyncio
import base64

import pytest

from a2a_discovery.errors import BlockedError, FetchError
from a2a_discovery.policy import NetworkPolicy


@pytest.fixture
async def proxy(serve):
    """A CONNECT proxy on loopback that leads every name to one port here."""
    tasks = set()

    async def start(port, *, status=200, tls=None):
        async def pipe(reader, writer):
            while data := await reader.read(65_536):
                writer.write(data)

        async def talk(head, reader, writer):
            if status != 200 or not head.startswith("CONNECT "):
                return f"HTTP/1.1 {status} Th3 words of a proxy\r\ncontent-length: 0\r\n\r\n".encode()
            there = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            tasks.add(asyncio.create_task(pipe(there[0], writer)))
            await pipe(reader, there[1])
            there[1].transport.abort()
            return None

        return await serve(talk, tls=tls)

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def shop(serve, http, server_context):
    async def talk(head, reader, writer):
        return http(body=b'{"a": 1}')

    return await serve(talk, tls=server_context("shop.example", "10.0.0.1"))


async def failed(exchange, fetch):
    with pytest.raises((FetchError, BlockedError)) as caught:
        await exchange(fetch)
    return caught.value


async def test_a_name_is_resolved_by_the_proxy_and_proves_itself_through_it(exchange, card, trusting, proxy, shop):
    through = await proxy(shop.port)
    network = NetworkPolicy(proxy=f"http://127.0.0.1:{through.port}", ssl_context=trusting)
    asking = exchange(network)

    first = await asking(card("https://shop.example/card.json"))
    second = await asking(card("https://shop.example/other.json"))

    assert (first.body, first.channel, second.status) == (b'{"a": 1}', "tls", 200)
    assert [head.split("\r\n")[0] for head in through.requests] == ["CONNECT shop.example:443 HTTP/1.1"]
    assert [head.split(" ")[1] for head in shop.requests] == ["/card.json", "/other.json"]


async def test_a_host_behind_the_proxy_must_prove_its_name(exchange, card, trusting, proxy, shop):
    through = await proxy(shop.port)
    network = NetworkPolicy(proxy=f"http://127.0.0.1:{through.port}", ssl_context=trusting)

    error = await failed(exchange(network), card("https://other.example/"))

    assert error.code == "tls"
    assert shop.requests == []


async def test_a_proxy_may_itself_speak_tls(exchange, card, trusting, proxy, shop, server_context):
    through = await proxy(shop.port, tls=server_context("127.0.0.1"))
    network = NetworkPolicy(proxy=f"https://127.0.0.1:{through.port}", ssl_context=trusting)

    assert (await exchange(network)(card("https://shop.example/"))).status == 200


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://10.0.0.1/", "address"),
        ("https://169.254.169.254/", "address"),
        ("https://0x7f.1/", "address"),
        ("https://localhost/", "address"),
        ("https://a.localhost/", "address"),
        ("http://shop.example/", "scheme"),
        ("https://127.0.0.08/", "host"),
    ],
)
async def test_what_is_written_is_judged_before_the_proxy_hears_of_it(exchange, card, trusting, proxy, shop, url, code):
    through = await proxy(shop.port)
    network = NetworkPolicy(proxy=f"http://127.0.0.1:{through.port}", ssl_context=trusting)

    error = await failed(exchange(network), card(url))

    assert error.code == code
    assert through.connections == 0


async def test_credentials_for_the_proxy_go_to_it_and_into_no_error(exchange, card, trusting, proxy, shop):
    through = await proxy(shop.port, status=407)
    network = NetworkPolicy(proxy=f"http://m%40e:s3cret@127.0.0.1:{through.port}", ssl_context=trusting)

    error = await failed(exchange(network), card("https://shop.example/"))

    assert "Proxy-Authorization: Basic " + base64.b64encode(b"m@e:s3cret").decode() in through.requests[0]
    assert error.code == "connect"
    assert "407" in error.message
    assert "Th3" not in str(error)
    assert "s3cret" not in f"{error!r} {error.__dict__} {error.__cause__!r}"


async def test_a_proxy_that_is_not_there_is_a_connect_error(exchange, card, trusting, unused_tcp_port):
    network = NetworkPolicy(proxy=f"http://127.0.0.1:{unused_tcp_port}", ssl_context=trusting)

    assert (await failed(exchange(network), card("https://shop.example/"))).code == "connect"


async def test_plain_http_is_forwarded_where_it_is_allowed(exchange, card, serve, http):
    async def talk(head, reader, writer):
        return http(body=b"forwarded")

    through = await serve(talk)
    network = NetworkPolicy(proxy=f"http://127.0.0.1:{through.port}", allow_http=True)

    answer = await exchange(network)(card("http://shop.example/card.json"))

    assert (answer.body, answer.channel) == (b"forwarded", "plain")
    assert through.requests[0].startswith("GET http://shop.example/card.json HTTP/1.1")


async def test_under_local_this_machine_is_not_asked_through_the_proxy(exchange, card, serve, http, unused_tcp_port):
    async def talk(head, reader, writer):
        return http()

    server = await serve(talk)
    network = NetworkPolicy.local(proxy=f"http://127.0.0.1:{unused_tcp_port}")

    answer = await exchange(network)(card(f"http://localhost:{server.port}/", local=True))

    assert answer.channel == "loopback"


async def test_a_cancelled_tunnel_is_closed(exchange, card, trusting, serve):
    begun = asyncio.Event()

    async def talk(head, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while await reader.read(1_000):
            begun.set()  # the handshake through the tunnel

    through = await serve(talk)
    network = NetworkPolicy(proxy=f"http://127.0.0.1:{through.port}", ssl_context=trusting)
    task = asyncio.create_task(exchange(network)(card("https://shop.example/")))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await through.until_closed(1)

    assert through.closed == 1
