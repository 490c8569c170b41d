"""One exchange above a transport of the caller's: headers, redirects, retries, credentials, errors."""

import asyncio
import base64
import socket
import ssl

import httpx
import pytest

from a2a_discovery._http.exchange import ACCEPT, Condition
from a2a_discovery.errors import BlockedError, FetchError
from a2a_discovery.policy import NetworkPolicy

HERE = "https://shop.example/card.json"


def ok(request):
    return httpx.Response(200, json={"url": str(request.url)})


def routes(table):
    """A handler that answers by URL: a string redirects there, else a response."""
    seen = []

    def handler(request):
        seen.append(request)
        found = table[str(request.url)]
        return httpx.Response(302, headers={"location": found}) if isinstance(found, str) else found

    handler.seen = seen
    return handler


async def refused(exchange, fetch):
    with pytest.raises((FetchError, BlockedError)) as caught:
        await exchange(fetch)
    return caught.value


# What is sent, what comes back


async def test_a_request_says_who_asks_for_what(exchange, card):
    handler = routes({HERE: httpx.Response(200, json={})})

    await exchange(handler=handler)(card(HERE))

    headers = handler.seen[0].headers
    assert headers["a2a-version"] == "1.0"
    assert headers["accept"] == ACCEPT
    assert headers["accept-encoding"] == "gzip"
    assert headers["user-agent"].startswith("a2a-discovery/")
    assert headers["host"] == "shop.example"


async def test_a_header_of_the_fetch_replaces_ours_whatever_its_case(exchange, card):
    handler = routes({HERE: httpx.Response(200)})

    await exchange(handler=handler)(card(HERE, headers=(("accept", "text/x"), ("USER-AGENT", "me"))))

    raw = [name.lower() for name, _ in handler.seen[0].headers.raw]
    assert len(raw) == len(set(raw))
    assert handler.seen[0].headers["accept"] == "text/x"
    assert handler.seen[0].headers["user-agent"] == "me"


async def test_an_answer_tells_what_came(exchange, card):
    response = httpx.Response(200, headers=[("X-A", "1"), ("x-a", "2"), ("ETag", '"e"')], content=b"{}")

    answer = await exchange(handler=lambda _: response)(card("https://Shop.Example:443/card.json#part"))

    assert (answer.url, answer.status, answer.body, answer.channel, answer.redirects) == (HERE, 200, b"{}", "tls", ())
    assert answer.headers == (("x-a", "1"), ("x-a", "2"), ("etag", '"e"'), ("content-length", "2"))


@pytest.mark.parametrize("status", [201, 204, 300, 304, 400, 401, 403, 404, 410, 418, 500, 501])
async def test_a_status_is_an_answer_not_an_error(exchange, card, status):
    answer = await exchange(handler=lambda _: httpx.Response(status))(card())

    assert answer.status == status


@pytest.mark.parametrize(
    ("url", "network", "channel"),
    [
        ("http://shop.example/", NetworkPolicy(allow_http=True), "plain"),
        ("http://127.0.0.1/", NetworkPolicy(allow_http=True, allow_private=True), "plain"),
        ("http://localhost:1/", NetworkPolicy.local(), "loopback"),
        ("https://localhost:1/", NetworkPolicy.local(), "tls"),
        ("https://shop.example/", NetworkPolicy.local(), "tls"),
    ],
)
async def test_the_channel_says_who_could_have_changed_the_answer(exchange, card, url, network, channel):
    answer = await exchange(network, handler=ok)(card(url, local=True))

    assert answer.channel == channel


async def test_a_post_sends_its_body(exchange, card):
    handler = routes({HERE: httpx.Response(200)})
    fetch = card(HERE, kind="extended", method="POST", body=b"{}", headers=(("Content-Type", "application/json"),))

    await exchange(handler=handler)(fetch)

    assert handler.seen[0].method == "POST"
    assert handler.seen[0].content == b"{}"
    assert handler.seen[0].headers["content-type"] == "application/json"


async def test_a_condition_is_sent_only_where_its_answer_came_from(exchange, card):
    there = "https://www.shop.example/card.json"
    handler = routes({HERE: there, there: httpx.Response(304)})
    condition = Condition(url=there, headers=(("If-None-Match", '"e"'),))

    answer = await exchange(handler=handler)(card(HERE), condition=condition)

    assert answer.status == 304
    assert ["if-none-match" in request.headers for request in handler.seen] == [False, True]


async def test_an_etag_beyond_ascii_is_sent_back(exchange, card):
    handler = routes({HERE: httpx.Response(304)})
    condition = Condition(url=HERE, headers=(("If-None-Match", '"ñ"'),))

    await exchange(handler=handler)(card(HERE), condition=condition)

    assert (b"If-None-Match", '"ñ"'.encode()) in handler.seen[0].headers.raw


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_within_the_site_is_followed_and_told(exchange, card, status):
    def handler(request):
        if request.url.path == "/card.json":
            return httpx.Response(status, headers={"location": "https://www.shop.example/new#part"})
        return httpx.Response(200)

    answer = await exchange(handler=handler)(card(HERE))

    assert answer.url == "https://www.shop.example/new"
    assert answer.redirects == (HERE,)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/a?b=c", "https://shop.example/a?b=c"),
        ("other.json", "https://shop.example/other.json"),
        ("?q", "https://shop.example/card.json?q"),
        ("//api.shop.example/x", "https://api.shop.example/x"),
        ("https://SHOP.example:443/x", "https://shop.example/x"),
        ("https://shop.example:8443/x", "https://shop.example:8443/x"),
    ],
)
async def test_a_location_is_read_against_the_url_it_came_from(exchange, card, location, url):
    handler = routes({HERE: location, url: httpx.Response(200)})

    assert (await exchange(handler=handler)(card(HERE))).url == url


async def test_as_many_redirects_as_allowed_are_followed_and_no_more(exchange, card):
    table = {f"https://shop.example/{n}": f"https://shop.example/{n + 1}" for n in range(10)}
    table["https://shop.example/3"] = httpx.Response(200)

    answer = await exchange(handler=routes(table))(card("https://shop.example/0"))
    assert answer.redirects == tuple(f"https://shop.example/{n}" for n in range(3))

    error = await refused(
        exchange(NetworkPolicy(max_redirects=2), handler=routes(table)), card("https://shop.example/0")
    )
    assert error.code == "redirect-refused"
    assert "max_redirects" in error.hint


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("https://other.example/card.json", "redirect-refused"),
        ("http://shop.example/card.json", "redirect-refused"),
        ("https://169.254.169.254/latest", "address"),
        ("https://10.0.0.1/", "address"),
        ("https://localhost/", "address"),
        ("https://me:s3cret@shop.example/", "host"),
        ("ftp://shop.example/", "scheme"),
        ("javascript:alert(1)", "protocol"),
        ("https://[::1", "protocol"),
        ("https://shop.example:port/", "protocol"),
        ("https://shop.example/\x7f", "protocol"),
    ],
)
async def test_a_redirect_to_what_may_not_be_asked_is_refused(exchange, card, location, code):
    handler = routes({HERE: location})

    error = await refused(exchange(handler=handler), card(HERE))

    assert error.code == code
    assert "s3cret" not in repr(error.__dict__)
    assert len(handler.seen) == 1


async def test_a_redirect_never_leads_from_https_down_to_http(exchange, card):
    network = NetworkPolicy(allow_http=True, cross_site_redirects=True)

    error = await refused(exchange(network, handler=routes({HERE: "http://shop.example/card.json"})), card(HERE))

    assert error.code == "redirect-refused"


async def test_a_redirect_from_http_up_to_https_is_fine(exchange, card):
    handler = routes({"http://shop.example/": HERE, HERE: httpx.Response(200)})

    assert (
        await exchange(NetworkPolicy(allow_http=True), handler=handler)(card("http://shop.example/"))
    ).channel == "tls"


@pytest.mark.parametrize("headers", [[], [("location", HERE), ("location", "https://shop.example/2")]])
async def test_a_redirect_that_does_not_say_where_is_no_protocol(exchange, card, headers):
    error = await refused(exchange(handler=lambda _: httpx.Response(302, headers=headers)), card())

    assert error.code == "protocol"


async def test_another_site_is_followed_only_when_allowed(exchange, card):
    table = {HERE: "https://other.example/x", "https://other.example/x": httpx.Response(200)}
    network = NetworkPolicy(cross_site_redirects=True)

    error = await refused(exchange(handler=routes(table)), card(HERE))
    answer = await exchange(network, handler=routes(table))(card(HERE))

    assert error.code == "redirect-refused"
    assert "cross_site_redirects=True" in error.hint
    assert answer.url == "https://other.example/x"
    assert (await refused(exchange(network, handler=routes(table)), card(HERE, kind="keys"))).code == "redirect-refused"


async def test_two_customers_of_one_platform_are_two_sites(exchange, card):
    here, there = "https://alice.github.io/card.json", "https://mallory.github.io/card.json"

    error = await refused(exchange(handler=routes({here: there})), card(here))

    assert error.code == "redirect-refused"


@pytest.mark.parametrize("options", [{"kind": "profile"}, {"kind": "extended", "method": "POST"}])
@pytest.mark.parametrize("status", [302, 307, 308])
async def test_profiles_and_posts_follow_no_redirect(exchange, card, options, status):
    sent = []

    def handler(request):
        sent.append(request)
        return httpx.Response(status, headers={"location": "https://shop.example/2"})

    error = await refused(exchange(handler=handler), card(HERE, **options))

    assert error.code == "redirect-refused"
    assert len(sent) == 1


async def test_under_local_only_loopback_leads_to_loopback(exchange, card):
    network = NetworkPolicy.local(cross_site_redirects=True)
    near = routes({"http://localhost:1/a": "http://127.0.0.1:2/b", "http://127.0.0.1:2/b": httpx.Response(200)})
    far = routes({HERE: "https://localhost:1/a"})

    assert (await exchange(network, handler=near)(card("http://localhost:1/a", local=True))).channel == "loopback"
    error = await refused(exchange(network, handler=far), card(HERE, local=True))
    assert error.code == "address"


async def test_a_document_from_elsewhere_leads_not_to_loopback_under_local(exchange, card):
    handler = routes({})

    error = await refused(exchange(NetworkPolicy.local(), handler=handler), card("http://localhost:1/", local=False))

    assert error.code == "address"
    assert handler.seen == []


# Credentials


class Bearer(httpx.Auth):
    def __init__(self, token):
        self.token = token

    def auth_flow(self, request):
        request.headers["authorization"] = f"Bearer {self.token}"
        yield request


async def test_each_hop_gets_the_credential_of_its_own_host(exchange, card):
    there, last = "https://www.shop.example/", "https://cdn.shop.example/"
    handler = routes({HERE: there, there: last, last: httpx.Response(200)})
    tokens = {"shop.example": Bearer("one"), "www.shop.example": Bearer("two")}

    await exchange(handler=handler)(card(HERE, auth_for=tokens.get))

    sent = [request.headers.get("authorization") for request in handler.seen]
    assert sent == ["Bearer one", "Bearer two", None]


async def test_a_credential_stays_at_the_port_it_was_meant_for(exchange, card):
    there = "https://shop.example:8443/"
    handler = routes({HERE: there, there: httpx.Response(200)})

    await exchange(handler=handler)(card(HERE, auth_for={"shop.example": Bearer("one")}.get))

    assert [request.headers.get("authorization") for request in handler.seen] == ["Bearer one", None]


async def test_headers_of_the_fetch_stay_with_its_origin_too(exchange, card):
    there = "https://www.shop.example/"
    handler = routes({HERE: there, there: httpx.Response(200)})
    headers = (("X-Api-Key", "s3cret"), ("Authorization", "s3cret"), ("Accept-Language", "es"))

    await exchange(handler=handler)(card(HERE, headers=headers))

    assert handler.seen[0].headers["x-api-key"] == "s3cret"
    assert "s3cret" not in str(handler.seen[1].headers.raw)
    assert handler.seen[1].headers["accept-language"] == "es"


async def test_an_auth_of_httpx_may_ask_more_than_once(exchange, card):
    sent = []

    def handler(request):
        sent.append(request.headers.get("authorization", ""))
        if not sent[-1]:
            challenge = 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
            return httpx.Response(401, headers={"www-authenticate": challenge}, content=b"no")
        return httpx.Response(200, content=b"{}")

    answer = await exchange(handler=handler)(card(auth_for=lambda _: httpx.DigestAuth("me", "secret")))

    assert answer.status == 200
    assert sent[1].startswith('Digest username="me", realm="r"')


class ByToken(httpx.Auth):
    """Asks another host for a token, and reads its answer."""

    requires_response_body = True

    def __init__(self, url):
        self.url = url

    def auth_flow(self, request):
        response = yield httpx.Request("POST", self.url, data={"grant_type": "client_credentials"})
        request.headers["authorization"] = "Bearer " + response.json()["access_token"]
        yield request


async def test_an_auth_may_ask_a_token_from_another_host(exchange, card):
    login = "https://login.example/token"
    handler = routes(
        {login: httpx.Response(200, json={"access_token": "abc"}), HERE: httpx.Response(200, content=b"{}")}
    )

    answer = await exchange(handler=handler)(card(HERE, auth_for=lambda _: ByToken(login)))

    assert answer.body == b"{}"
    assert handler.seen[1].headers["authorization"] == "Bearer abc"


@pytest.mark.parametrize(
    ("login", "code"),
    [
        ("https://169.254.169.254/token", "address"),
        ("http://login.example/token", "scheme"),
        ("https://localhost/", "address"),
    ],
)
async def test_where_an_auth_asks_is_guarded_as_well(exchange, card, login, code):
    handler = routes({})

    error = await refused(exchange(handler=handler), card(HERE, auth_for=lambda _: ByToken(login)))

    assert error.code == code
    assert handler.seen == []


async def test_what_an_auth_reads_is_bounded(exchange, card):
    login = "https://login.example/token"
    handler = routes({login: httpx.Response(200, content=b"x" * 2_000)})

    error = await refused(exchange(handler=handler), card(HERE, limit=1_000, auth_for=lambda _: ByToken(login)))

    assert error.code == "too-large"


async def test_an_auth_that_stops_midway_is_closed(exchange, card):
    closed = []

    class Failing(httpx.Auth):
        async def async_auth_flow(self, request):
            try:
                yield request
            finally:
                closed.append(True)

    def handler(request):
        raise httpx.ReadError("gone")

    await refused(exchange(handler=handler), card(auth_for=lambda _: Failing()))

    assert closed == [True]


async def test_basic_credentials_are_sent_as_http_has_them(exchange, card):
    handler = routes({HERE: httpx.Response(200)})

    await exchange(handler=handler)(card(HERE, auth_for=lambda _: httpx.BasicAuth("me", "pw")))

    assert handler.seen[0].headers["authorization"] == "Basic " + base64.b64encode(b"me:pw").decode()


# Retries


def failing(times, failure):
    """A handler that fails a few times first, by a status or an exception."""
    calls = []

    def handler(request):
        calls.append(request)
        if len(calls) > times:
            return httpx.Response(200)
        if isinstance(failure, Exception):
            raise failure
        return failure()

    handler.calls = calls
    return handler


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_server_that_is_away_for_a_moment_is_asked_again(exchange, card, status):
    handler = failing(2, lambda: httpx.Response(status))
    asking = exchange(handler=handler)

    assert (await asking(card())).status == 200
    assert asking.waits == [0.1, 0.2]


async def test_waits_are_shortened_by_chance_to_a_half_at_least(exchange, card):
    asking = exchange(handler=failing(2, lambda: httpx.Response(503)), jitter=lambda: 0.0)

    await asking(card())

    assert asking.waits == [0.05, 0.1]


async def test_after_two_retries_the_status_is_the_answer(exchange, card):
    handler = failing(9, lambda: httpx.Response(503, headers={"retry-after": "1"}))
    asking = exchange(handler=handler)

    answer = await asking(card())

    assert (answer.status, answer.retry_after, len(handler.calls)) == (503, 1.0, 3)


async def test_a_connection_that_fails_is_tried_again(exchange, card):
    handler = failing(1, httpx.ConnectError("refused"))

    assert (await exchange(handler=handler)(card())).status == 200


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ReadError("reset"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("odd"),
        lambda: httpx.Response(500),
        lambda: httpx.Response(429),
        lambda: httpx.Response(429, headers={"retry-after": "11"}),
        lambda: httpx.Response(503, headers={"retry-after": "11"}),
    ],
)
async def test_nothing_else_is_tried_again(exchange, card, failure):
    handler = failing(1, failure)
    asking = exchange(handler=handler)

    try:
        status = (await asking(card())).status
    except FetchError:
        status = None

    assert status != 200
    assert (len(handler.calls), asking.waits) == (1, [])


async def test_a_busy_server_is_given_the_time_it_asks_for(exchange, card):
    asking = exchange(handler=failing(1, lambda: httpx.Response(429, headers={"retry-after": "3"})))

    assert (await asking(card())).status == 200
    assert asking.waits == [3.0]


async def test_a_post_is_never_sent_twice(exchange, card):
    handler = failing(1, lambda: httpx.Response(503))

    answer = await exchange(handler=handler)(card(method="POST", kind="extended", body=b"{}"))

    assert (answer.status, len(handler.calls)) == (503, 1)


async def test_retries_are_counted_over_the_whole_fetch(exchange, card):
    calls = []

    def handler(request):
        calls.append(request.url.path)
        if calls.count(request.url.path) < 3:
            return httpx.Response(503)
        return httpx.Response(302, headers={"location": request.url.path + "x"})

    answer = await exchange(handler=handler)(card("https://shop.example/"))

    assert (answer.status, calls) == (503, ["/", "/", "/", "/x"])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Mon, 12 Jan 1970 13:47:40 GMT", 60.0),  # the clock stands at 1,000,000 s: 13:46:40
        ("Mon, 12 Jan 1970 13:46:00 GMT", 0.0),
        ("Monday, 12-Jan-70 13:47:40 GMT", 60.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("9" * 400, None),
        ("٣", None),
        ("Mon, 12 Jan 99999 13:47:40 GMT", None),
    ],
)
async def test_retry_after_is_read_as_seconds_or_a_date(exchange, card, value, seconds):
    response = httpx.Response(404, headers=[("retry-after", value.encode())])

    answer = await exchange(handler=lambda _: response)(card())

    assert answer.retry_after == seconds


# Time, and what goes wrong


async def test_the_whole_fetch_has_one_timeout(exchange, card):
    async def handler(request):
        await asyncio.sleep(0.04)
        return httpx.Response(302, headers={"location": request.url.path + "x"})

    error = await refused(
        exchange(NetworkPolicy(timeout=0.1, max_redirects=9), handler=handler), card("https://shop.example/")
    )

    assert error.code == "timeout"
    assert error.url.startswith("https://shop.example/x")
    assert "timeout=" in error.hint


async def test_a_body_that_drips_meets_the_timeout(exchange, card):
    async def drip():
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    error = await refused(
        exchange(NetworkPolicy(timeout=0.1), handler=lambda _: httpx.Response(200, content=drip())), card()
    )

    assert error.code == "timeout"


async def test_a_caller_who_is_cancelled_is_cancelled_and_nothing_else(exchange, card):
    begun = asyncio.Event()

    async def handler(request):
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(exchange(handler=handler)(card()))
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_of_the_callers_own_stays_his(exchange, card):
    async def handler(request):
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.02):
            await exchange(handler=handler)(card())

    assert type(caught.value) is TimeoutError


def caused(exc, cause):
    exc.__cause__ = cause
    return exc


BAD_CERTIFICATE = ssl.SSLCertVerificationError(1, "verify failed")
BAD_CERTIFICATE.verify_message = "self-signed certificate"


@pytest.mark.parametrize(
    ("failure", "code", "says"),
    [
        (caused(httpx.ConnectError("x"), socket.gaierror(-2, "unknown")), "dns", "does not resolve"),
        (caused(httpx.ConnectError("x"), ConnectionRefusedError(111, "refused")), "connect", "nobody listens"),
        (httpx.ConnectError("x"), "connect", "no connection"),
        (httpx.ConnectTimeout("x"), "connect", "no connection"),
        (caused(httpx.ConnectError("x"), BAD_CERTIFICATE), "tls", "self-signed certificate"),
        (caused(httpx.ConnectError("x"), ssl.SSLError(1, "handshake")), "tls", "TLS"),
        (caused(httpx.ReadError("x"), ssl.SSLError(1, "certificate required")), "tls", "TLS"),
        (httpx.ReadTimeout("x"), "timeout", "no answer"),
        (httpx.PoolTimeout("x"), "timeout", "no answer"),
        (httpx.ReadError("x"), "connect", "broke off"),
        (httpx.WriteError("x"), "connect", "broke off"),
        (httpx.ProxyError("407 Say the m4gic word"), "connect", "407"),
        (httpx.RemoteProtocolError("x"), "protocol", "no HTTP"),
        (httpx.LocalProtocolError("x"), "protocol", "no HTTP"),
        (httpx.UnsupportedProtocol("x"), "protocol", "no HTTP"),
        (httpx.DecodingError("x"), "protocol", "no HTTP"),
        (httpx.InvalidURL("x"), "protocol", "no HTTP"),
        (ConnectionResetError(104, "x"), "connect", "broke off"),
    ],
)
async def test_each_failure_has_its_code(exchange, card, failure, code, says):
    def handler(request):
        raise failure

    error = await refused(exchange(handler=handler), card(HERE))

    assert (error.code, error.url, error.step) == (code, HERE, "fetch")
    assert says in error.message
    assert "m4gic" not in str(error)


async def test_an_error_page_without_end_is_still_only_a_status(exchange, card):
    answer = await exchange(handler=lambda _: httpx.Response(404, content=b"x" * 2_000))(card(limit=1_000))

    assert (answer.status, answer.body) == (404, b"")


async def test_a_transport_of_the_callers_is_not_closed(exchange, card):
    class Borrowed(httpx.AsyncBaseTransport):
        closed = False

        async def handle_async_request(self, request):
            return httpx.Response(200)

        async def aclose(self):
            self.closed = True

    borrowed = Borrowed()
    asking = exchange(transport=borrowed)
    await asking(card())
    await asking.aclose()

    assert not borrowed.closed


async def test_with_a_transport_of_the_callers_no_name_is_resolved_and_the_written_rules_hold(exchange, card):
    async def resolve(host, port):
        raise AssertionError("resolved")

    network = NetworkPolicy(resolve=resolve)

    assert (await exchange(network, handler=ok)(card("https://no-such-name.invalid/"))).status == 200
    assert (await refused(exchange(network, handler=ok), card("https://10.0.0.1/"))).code == "address"
    assert (await refused(exchange(network, handler=ok), card("https://localhost/"))).code == "address"
    assert (await refused(exchange(network, handler=ok), card("http://shop.example/"))).code == "scheme"
