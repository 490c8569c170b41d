"""Real sockets on loopback: resolving, TLS, connections kept and closed, time."""

import asyncio
import concurrent.futures
import contextlib
import gzip
import socket
import ssl

import pytest

from a2a_discovery._http.exchange import Exchange
from a2a_discovery._http.pool import KEPT, PooledTransport
from a2a_discovery.errors import BlockedError, FetchError
from a2a_discovery.policy import NetworkPolicy


class Names:
    """A resolver: name → addresses, and who asked."""

    def __init__(self, **names):
        self.names = {name.replace("_", "."): found for name, found in names.items()}
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        found = self.names.get(host)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return found.pop(0) if found and isinstance(found[0], list) else found


@pytest.fixture
def inside(trusting):
    """A policy for names that stand for loopback, with the tests' certificate authority."""

    def make(resolve=None, **options):
        return NetworkPolicy(**({"allow_private": True, "ssl_context": trusting, "resolve": resolve} | options))

    return make


async def failed(exchange, fetch):
    with pytest.raises((FetchError, BlockedError)) as caught:
        await exchange(fetch)
    return caught.value


@pytest.fixture
def says(http):
    """A server's talk: always this body."""

    def make(body=b"{}", **fields):
        async def talk(head, reader, writer):
            return http(body=body, **fields)

        return talk

    return make


# Names and addresses


async def test_a_private_ca_and_an_internal_dns_can_be_used(serve, says, server_context, exchange, inside, card):
    server = await serve(says(b'{"a": 1}'), tls=server_context("shop.example"))
    names = Names(shop_example=["127.0.0.1"])

    answer = await exchange(inside(names))(card(f"https://shop.example:{server.port}/card.json"))

    assert (answer.status, answer.body, answer.channel) == (200, b'{"a": 1}', "tls")
    assert f"Host: shop.example:{server.port}" in server.requests[0]
    assert names.asked == ["shop.example"]


@pytest.mark.parametrize(
    ("addresses", "blocked"),
    [
        (["127.0.0.1"], "127.0.0.1"),
        (["93.184.216.34", "10.0.0.1"], "10.0.0.1"),
        (["10.0.0.1", "93.184.216.34"], "10.0.0.1"),
        (["93.184.216.34", "::ffff:127.0.0.1"], "::ffff:7f00:1"),
        (["169.254.169.254"], "169.254.169.254"),
        (["fe80::1%eth0"], "fe80::1"),
        (["0.0.0.0"], "0.0.0.0"),
        (["::"], "::"),
        (["100.64.0.1"], "100.64.0.1"),
        (["64:ff9b::a00:1"], "64:ff9b::a00:1"),
    ],
)
async def test_a_name_with_one_address_that_is_not_public_is_refused_whole(exchange, card, addresses, blocked):
    error = await failed(exchange(NetworkPolicy(resolve=Names(shop_example=addresses))), card())

    assert (error.code, error.url) == ("address", "https://shop.example/card.json")
    assert error.address in (blocked, "::ffff:127.0.0.1")
    assert "shop.example" in error.message
    assert error.hint


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "224.0.0.1", "0.0.0.0"])
async def test_private_networks_may_be_opened_and_these_stay_closed(exchange, inside, card, address):
    error = await failed(exchange(inside(Names(shop_example=[address]))), card())

    assert error.code == "address"


async def test_under_local_a_name_that_stands_for_loopback_stays_blocked(serve, says, exchange, card):
    server = await serve(says())
    network = NetworkPolicy.local(resolve=Names(shop_example=["127.0.0.1"]))

    error = await failed(exchange(network), card(f"https://shop.example:{server.port}/", local=True))

    assert error.code == "address"
    assert "localhost" in error.hint
    assert server.connections == 0


@pytest.mark.parametrize("host", ["localhost", "agent.localhost", "127.0.0.1", "LOCALHOST."])
async def test_under_local_this_machine_is_reached_without_any_resolver(serve, says, exchange, card, host):
    server = await serve(says())
    names = Names()

    answer = await exchange(NetworkPolicy.local(resolve=names))(card(f"http://{host}:{server.port}/", local=True))

    assert (answer.status, answer.channel) == (200, "loopback")
    assert names.asked == []


async def test_localhost_is_looked_for_on_both_kinds_of_loopback(serve, says, exchange, card):
    try:
        server = await serve(says(), host="::1")
    except OSError:
        pytest.skip("no IPv6 here")

    answer = await exchange(NetworkPolicy.local())(card(f"http://localhost:{server.port}/", local=True))

    assert answer.status == 200


async def test_a_name_is_resolved_once_for_each_connection(serve, says, server_context, exchange, inside, card):
    server = await serve(says(connection="close"), tls=server_context("shop.example"))
    names = Names(shop_example=[["127.0.0.1"], ["169.254.169.254"]])  # rebinding: the second look finds another
    asking = exchange(inside(names))

    first = await asking(card(f"https://shop.example:{server.port}/"))
    error = await failed(asking, card(f"https://shop.example:{server.port}/"))

    assert first.status == 200
    assert (error.code, error.address) == ("address", "169.254.169.254")
    assert names.asked == ["shop.example"] * 2
    assert server.connections == 1


async def test_addresses_are_tried_in_order(serve, says, server_context, exchange, inside, card):
    server = await serve(says(), tls=server_context("shop.example"))
    names = Names(shop_example=["127.0.0.2", "127.0.0.1"])  # nobody listens at the first

    answer = await exchange(inside(names))(card(f"https://shop.example:{server.port}/"))

    assert answer.status == 200


@pytest.mark.parametrize("found", [None, [], ["shop.example"], ["127.0.0.1", "x"], [""]])
async def test_a_name_without_an_address_is_a_dns_error(exchange, inside, card, found):
    asking = exchange(inside(Names(shop_example=found)))

    error = await failed(asking, card())

    assert (error.code, error.url) == ("dns", "https://shop.example/card.json")
    assert asking.waits == []


async def test_a_resolver_that_breaks_is_a_dns_error(exchange, inside, card):
    async def resolve(host, port):
        raise KeyError(host)

    assert (await failed(exchange(inside(resolve)), card())).code == "dns"


async def test_where_nobody_listens_is_a_connect_error_after_two_retries(exchange, inside, card):
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{free.getsockname()[1]}/"
        asking = exchange(inside())

        error = await failed(asking, card(url))

    assert (error.code, error.hint) == ("connect", None)
    assert "nobody listens" in error.message
    assert asking.waits == [0.1, 0.2]


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_an_unused_proxy_of_the_environment_is_mentioned(exchange, inside, card, variable, monkeypatch):
    monkeypatch.setenv(variable, "http://me:s3cret@proxy.example:3128")

    error = await failed(exchange(inside(Names())), card())

    assert error.code == "dns"
    assert variable in error.hint
    assert "s3cret" not in str(error)


# TLS


async def test_two_hosts_on_one_address_never_share_a_tls_connection(
    serve, says, server_context, exchange, inside, card
):
    server = await serve(says(), tls=server_context("a.example"))
    names = Names(a_example=["127.0.0.1"], b_example=["127.0.0.1"])
    asking = exchange(inside(names))

    assert (await asking(card(f"https://a.example:{server.port}/"))).status == 200
    error = await failed(asking, card(f"https://b.example:{server.port}/"))

    assert error.code == "tls"
    assert len(server.requests) == 1


async def test_each_host_proves_its_own_name(serve, says, server_context, exchange, inside, card):
    contexts = {host: server_context(host) for host in ("a.example", "b.example")}
    asked = []

    def choose(connection, name, _):
        asked.append(name)
        connection.context = contexts[name]

    context = server_context("neither.example")
    context.sni_callback = choose
    server = await serve(says(), tls=context)
    asking = exchange(inside(Names(a_example=["127.0.0.1"], b_example=["127.0.0.1"])))

    for host in ("a.example", "b.example", "a.example", "b.example"):
        assert (await asking(card(f"https://{host}:{server.port}/"))).status == 200
    assert asked == ["a.example", "b.example"]
    assert server.connections == 2


async def test_a_stranger_is_not_believed(serve, says, server_context, exchange, card):
    server = await serve(says(), tls=server_context("localhost"))

    error = await failed(exchange(NetworkPolicy.local()), card(f"https://localhost:{server.port}/", local=True))

    assert error.code == "tls"
    assert "certificate" in error.message
    assert "ssl_context" in error.hint


async def test_a_server_without_tls_is_a_tls_error(serve, http, exchange, inside, card):
    server = await serve(None)

    async def talk(reader, writer):
        await reader.read(10)
        writer.write(http())
        writer.close()

    plain = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with plain:
        error = await failed(exchange(inside()), card(f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/"))

    assert error.code == "tls"
    assert server.connections == 0


async def test_a_server_that_hangs_up_in_the_handshake_is_a_tls_error(exchange, inside, card):
    async def talk(reader, writer):
        writer.close()

    plain = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with plain:
        error = await failed(exchange(inside()), card(f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/"))

    assert error.code == "tls"


async def test_a_server_that_wants_a_client_certificate_is_a_tls_error(server_context, exchange, inside, card):
    context = server_context("127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED

    def shake_hands(listening):
        connection, _ = listening.accept()
        with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as tls:
            with pytest.raises(ssl.SSLError):
                tls.do_handshake()
            tls.shutdown(socket.SHUT_WR)
            while socket.socket.recv(tls, 10_000):  # to the end, so that its alert is not lost in a reset
                pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(5)
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/"
        _, error = await asyncio.gather(
            asyncio.to_thread(shake_hands, listening), failed(exchange(inside()), card(url))
        )

    assert error.code == "tls"


# Bodies, protocol, time


async def test_a_compressed_answer_is_inflated(serve, says, exchange, card):
    server = await serve(says(gzip.compress(b"{}" * 500), content_encoding="gzip"))

    answer = await exchange(NetworkPolicy.local())(card(f"http://localhost:{server.port}/", local=True))

    assert answer.body == b"{}" * 500
    assert {"content-encoding", "content-length"}.isdisjoint(name for name, _ in answer.headers)
    assert "Accept-Encoding: gzip\r\n" in server.requests[0]


async def test_an_endless_answer_is_cut_off_and_its_connection_closed(serve, http, exchange, card):
    async def talk(head, reader, writer):
        writer.write(http(body=b"", length=False, transfer_encoding="chunked"))
        while True:
            writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            await writer.drain()

    server = await serve(talk)
    asking = exchange(NetworkPolicy.local())

    error = await failed(asking, card(f"http://localhost:{server.port}/", local=True))
    await server.until_closed(1)

    assert error.code == "too-large"


@pytest.mark.parametrize(
    "sent",
    [
        b"HELLO\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nbroken header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
        b"",
    ],
)
async def test_what_is_no_http_is_a_protocol_error(serve, exchange, card, sent):
    async def talk(head, reader, writer):
        writer.write(sent)
        await writer.drain()

    server = await serve(talk)

    error = await failed(exchange(NetworkPolicy.local()), card(f"http://localhost:{server.port}/", local=True))

    assert error.code in ("protocol", "connect")  # what lies unread when a server hangs up may be lost in a reset
    assert error.code == "protocol" or len(sent) > 100_000


async def test_a_server_that_drips_its_header_meets_the_timeout(serve, exchange, card):
    async def talk(head, reader, writer):
        while True:
            writer.write(b"H")
            await asyncio.sleep(0.02)

    server = await serve(talk)
    network = NetworkPolicy.local(timeout=0.1)

    error = await failed(exchange(network), card(f"http://localhost:{server.port}/", local=True))

    assert error.code == "timeout"


async def test_a_handshake_that_never_ends_meets_the_timeout_and_leaves_nothing_open(exchange, inside, card):
    gone = asyncio.Event()

    async def talk(reader, writer):
        while await reader.read(1_000):
            pass
        gone.set()
        writer.close()

    plain = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with plain:
        url = f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/"
        error = await failed(exchange(inside(timeout=0.1)), card(url))
        await asyncio.wait_for(gone.wait(), 5)

    assert error.code == "timeout"
    assert "timeout=" in error.hint


async def test_a_timeout_before_any_answer_mentions_an_unused_proxy(serve, exchange, card, monkeypatch):
    async def talk(head, reader, writer):
        await reader.read(1)

    server = await serve(talk)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    network = NetworkPolicy.local(timeout=0.05)

    error = await failed(exchange(network), card(f"http://localhost:{server.port}/", local=True))

    assert error.code == "timeout"
    assert "https_proxy" in error.hint


async def test_a_first_address_that_never_answers_leaves_time_for_the_second(
    serve, says, server_context, exchange, inside, card
):
    server = await serve(says(), tls=server_context("shop.example"))
    silent = socket.socket()
    try:
        silent.bind(("127.0.0.3", server.port))
    except OSError:
        silent.close()
        pytest.skip("127.0.0.1 is the only loopback address here")
    silent.listen(0)
    full = [socket.socket() for _ in range(4)]  # a backlog that is full swallows what comes next
    with contextlib.ExitStack() as stack:
        for each in (silent, *full):
            stack.callback(each.close)
        for each in full:
            each.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                each.connect(("127.0.0.3", server.port))
        await asyncio.sleep(0)
        names = Names(shop_example=["127.0.0.3", "127.0.0.1"])

        answer = await exchange(inside(names, timeout=0.5))(card(f"https://shop.example:{server.port}/"))

    assert answer.status == 200


# Connections


@pytest.mark.parametrize("path", ["", "/.well-known/agent-card.json", "/a/../b", "/%7Eme", "/ñ", "?q=1", "/a?q=a%20b"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_get_is_sent_and_read_as_by_way_of_httpx(serve, http, exchange, card, host, path):
    async def talk(head, reader, writer):
        return http(X_Two="1", x_two="2").replace(b"X-Two: 1", "X-Two: ñ".encode())

    server, network = await serve(talk), NetworkPolicy.local()
    fetch = card(f"http://{host}:{server.port}{path}", local=True, headers=(("X-Me", "1"),))

    sockets = PooledTransport(network)
    ours = await exchange(network)(fetch)
    by_httpx = await exchange(network, transport=sockets)(fetch)
    await sockets.aclose()

    assert ours == by_httpx
    assert ("x-two", "ñ") in ours.headers
    assert ("x-two", "2") in ours.headers
    assert server.requests[0] == server.requests[1]


async def test_a_connection_serves_again(serve, says, server_context, exchange, inside, card):
    server = await serve(says(), tls=server_context("shop.example"))
    asking = exchange(inside(Names(shop_example=["127.0.0.1"])))

    for _ in range(3):
        await asking(card(f"https://shop.example:{server.port}/"))

    assert (server.connections, len(server.requests)) == (1, 3)


async def test_a_redirect_on_one_host_needs_one_connection(serve, http, exchange, card):
    async def talk(head, reader, writer):
        return http(302, b"moved", location="/b") if head.startswith("GET /a ") else http()

    server = await serve(talk)

    answer = await exchange(NetworkPolicy.local())(card(f"http://localhost:{server.port}/a", local=True))

    assert (answer.redirects, server.connections) == ((f"http://localhost:{server.port}/a",), 1)


async def test_a_connection_that_the_server_closed_is_replaced(serve, says, exchange, card):
    async def once(head, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()

    server = await serve(once)
    asking = exchange(NetworkPolicy.local())

    for _ in range(3):
        assert (await asking(card(f"http://localhost:{server.port}/", local=True))).body == b"{}"
    assert server.connections == 3


async def test_a_connection_that_is_closed_as_it_is_reused_is_replaced_for_a_get_alone(serve, http, exchange, card):
    async def talk(head, reader, writer):
        # The second request on a connection finds nobody any more.
        return None if writer in seen else seen.append(writer) or http()

    seen = []
    server = await serve(talk)
    asking = exchange(NetworkPolicy.local())
    fetch = card(f"http://localhost:{server.port}/", local=True)
    post = card(f"http://localhost:{server.port}/", local=True, method="POST", body=b"", kind="extended")

    assert (await asking(fetch)).status == 200
    assert (await asking(fetch)).status == 200
    assert (await failed(asking, post)).code == "protocol"
    assert len(server.requests) == 4


async def test_few_idle_connections_are_kept(serve, says, exchange, card):
    server = await serve(says())
    asking = exchange(NetworkPolicy.local())
    urls = [f"http://a{number}.localhost:{server.port}/" for number in range(KEPT + 5)]

    await asyncio.gather(*(asking(card(url, local=True)) for url in urls))
    await server.until_closed(5)

    assert server.connections - server.closed == KEPT


async def test_a_cancelled_fetch_leaves_no_connection(serve, http, exchange, card):
    begun = asyncio.Event()

    async def talk(head, reader, writer):
        begun.set()
        await reader.read(1)  # until the other side hangs up

    server = await serve(talk)
    task = asyncio.create_task(exchange(NetworkPolicy.local())(card(f"http://localhost:{server.port}/", local=True)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.until_closed(1)

    assert server.connections == server.closed == 1


@pytest.mark.parametrize("tls", [False, True])
async def test_wherever_a_fetch_is_cancelled_nothing_stays_open(
    serve, says, server_context, exchange, inside, card, tls
):
    server = await serve(says(), tls=server_context("127.0.0.1") if tls else None)
    network = inside(allow_http=True)
    asking = exchange(network)
    fetch = card(f"{'https' if tls else 'http'}://127.0.0.1:{server.port}/")
    finished = 0
    for steps in range(60):
        task = asyncio.create_task(asking(fetch))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
            finished += 1
        except asyncio.CancelledError:
            pass
        assert not asking._transport._kept.busy
    await asking.aclose()
    await server.until_closed(server.connections)

    assert (await exchange(network)(fetch)).status == 200


async def test_a_closed_exchange_closes_its_connections(serve, says, exchange, card):
    server = await serve(says())
    asking = exchange(NetworkPolicy.local())
    await asking(card(f"http://localhost:{server.port}/", local=True))

    await asking.aclose()
    await server.until_closed(1)

    assert server.closed == 1


def test_an_exchange_nobody_closed_leaves_nothing_open_when_its_loop_ends(http, card):
    asking = Exchange(NetworkPolicy.local())

    def answer(listening):
        connection, _ = listening.accept()
        with connection:
            while not connection.recv(10_000).endswith(b"\r\n\r\n"):
                pass
            connection.sendall(http())
            return connection.recv(1)  # until the other side hangs up

    with socket.create_server(("127.0.0.1", 0)) as listening, concurrent.futures.ThreadPoolExecutor() as threads:
        listening.settimeout(5)
        fetch = card(f"http://localhost:{listening.getsockname()[1]}/", local=True)
        for _ in range(3):  # one exchange on three loops, one after another
            rest = threads.submit(answer, listening)
            assert asyncio.run(asking(fetch)).status == 200
            assert rest.result(timeout=5) == b""


async def test_a_hundred_at_once_are_answered(serve, says, exchange, card):
    server = await serve(says())
    asking = exchange(NetworkPolicy.local())

    answers = await asyncio.gather(
        *(asking(card(f"http://localhost:{server.port}/{number}", local=True)) for number in range(100))
    )

    assert [answer.url.rpartition("/")[2] for answer in answers] == [str(number) for number in range(100)]
    assert len(server.requests) == 100
