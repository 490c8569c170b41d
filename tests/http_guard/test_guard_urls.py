"""Which URL may be asked at all, by what is written in it."""

import pickle
import time

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._hosts import address_kind, is_loopback, literal
from a2a_discovery._http.guard import check_url, request_url, target_of
from a2a_discovery._urls import _split_any, _split_plain, join, split, without_userinfo
from a2a_discovery.errors import BlockedError
from a2a_discovery.policy import NetworkPolicy

STRICT = NetworkPolicy()
LOCAL = NetworkPolicy.local()
PRIVATE = NetworkPolicy(allow_private=True)
HTTP = NetworkPolicy(allow_http=True)


@pytest.mark.parametrize(
    ("url", "network", "local"),
    [
        ("https://shop.example/card.json", STRICT, False),
        ("HTTPS://Shop.Example:8443/x?y#z", STRICT, False),
        ("https://1.1.1.1/", STRICT, False),
        ("https://[2606:4700::1111]/", STRICT, False),
        ("https://tienda-ñ.example/", STRICT, False),
        ("http://shop.example/", HTTP, False),
        ("http://localhost:9999/", LOCAL, True),
        ("https://localhost/", LOCAL, True),
        ("http://agent.localhost/", LOCAL, True),
        ("http://127.0.0.1:80/", LOCAL, True),
        ("http://127.8.9.1/", LOCAL, True),
        ("http://[::1]:9999/", LOCAL, True),
        ("http://2130706433/", LOCAL, True),
        ("https://shop.example/", LOCAL, False),
        ("https://10.0.0.1/", PRIVATE, False),
        ("https://127.0.0.1/", PRIVATE, False),
        ("https://localhost/", PRIVATE, False),
        ("https://[fd00::1]/", PRIVATE, False),
        ("http://10.0.0.1/", NetworkPolicy(allow_private=True, allow_http=True), False),
    ],
)
def test_these_may_be_asked(url, network, local):
    assert check_url(url, network, local=local).host


@pytest.mark.parametrize(
    ("url", "network", "local", "code"),
    [
        ("http://shop.example/", STRICT, True, "scheme"),
        ("http://shop.example/", LOCAL, True, "scheme"),
        ("http://10.0.0.1/", PRIVATE, True, "scheme"),
        ("ftp://shop.example/", STRICT, True, "scheme"),
        ("ws://shop.example/", HTTP, True, "scheme"),
        ("javascript://shop.example/%0aalert(1)", STRICT, True, "scheme"),
        ("https://user@shop.example/", STRICT, True, "host"),
        ("https://user:secret@shop.example/", STRICT, True, "host"),
        ("https://@shop.example/", STRICT, True, "host"),
        ("https://shop.example@10.0.0.1/", PRIVATE, True, "host"),
        ("file:///etc/passwd", STRICT, True, "host"),
        ("https:///x", STRICT, True, "host"),
        ("https:shop.example", STRICT, True, "host"),
        ("//shop.example/", STRICT, True, "host"),
        ("", STRICT, True, "host"),
        ("https://shop.example:0/", STRICT, True, "host"),
        ("https://shop.example:99999/", STRICT, True, "host"),
        ("https://shop.example:8x/", STRICT, True, "host"),
        ("https://shop.example\\@evil.example/", STRICT, True, "host"),
        ("https://shop.example /", STRICT, True, "host"),
        ("https://shop.exa\tmple/", STRICT, True, "host"),
        ("https://shop%2eexample/", STRICT, True, "host"),
        ("https://[::1%25lo]/", LOCAL, True, "host"),
        ("https://127.0.0.08/", LOCAL, True, "host"),
        ("https://localhost/", STRICT, True, "address"),
        ("http://localhost:9999/", STRICT, True, "address"),
        ("https://sub.localhost/", STRICT, True, "address"),
        ("https://localhost./", STRICT, True, "address"),
        ("https://127.0.0.1/", STRICT, True, "address"),
        ("https://0x7f.1/", STRICT, True, "address"),
        ("https://[::ffff:127.0.0.1]/", STRICT, True, "address"),
        ("https://localhost/", LOCAL, False, "address"),
        ("http://127.0.0.1/", LOCAL, False, "address"),
        ("https://10.0.0.1/", STRICT, True, "address"),
        ("https://10.0.0.1/", LOCAL, True, "address"),
        ("https://0.0.0.0/", LOCAL, True, "address"),
        ("https://0.0.0.0/", PRIVATE, True, "address"),
        ("https://169.254.169.254/", PRIVATE, True, "address"),
        ("https://[fd00:ec2::254]/", PRIVATE, True, "address"),
        ("https://2852039166/", PRIVATE, True, "address"),  # 169.254.169.254 as one number
    ],
)
def test_these_may_not(url, network, local, code):
    with pytest.raises(BlockedError) as caught:
        check_url(url, network, local=local)

    assert caught.value.code == code
    assert caught.value.hint


def test_the_error_for_this_machine_names_the_address_and_the_one_argument():
    with pytest.raises(BlockedError) as caught:
        check_url("http://localhost:9999", STRICT, local=True)

    assert caught.value.address == "127.0.0.1"
    assert "localhost:9999" in str(caught.value)
    assert "127.0.0.1" in str(caught.value)
    assert "network=NetworkPolicy.local()" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("url", "network", "argument"),
    [
        ("https://10.0.0.1/", STRICT, "allow_private=True"),
        ("http://shop.example/", STRICT, "allow_http=True"),
        ("https://127.0.0.1/", STRICT, "NetworkPolicy.local()"),
        ("https://localhost/", LOCAL, "a target you type"),
        ("https://169.254.169.254/", STRICT, "no setting opens it"),
    ],
)
def test_the_hint_is_what_would_allow_it(url, network, argument):
    with pytest.raises(BlockedError) as caught:
        check_url(url, network, local=False)

    assert argument in caught.value.hint


@pytest.mark.parametrize(
    "url", ["https://me:s3cret@shop.example/", "https://me:s3cret@shop .example/", "me:s3cret@shop"]
)
def test_a_password_in_a_url_is_in_no_error(url):
    with pytest.raises(BlockedError) as caught:
        check_url(url, STRICT, local=True)

    assert "s3cret" not in f"{caught.value!r} {caught.value.__dict__} {caught.value.__cause__}"


def test_a_long_url_does_not_fill_the_error():
    with pytest.raises(BlockedError) as caught:
        check_url("https://shop.example/ " + "x" * 10_000, STRICT, local=True)

    assert len(str(caught.value)) < 300


hosts = st.one_of(
    st.from_regex(r"\A[a-z0-9.-]{1,20}\Z"),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.integers(0, 2**33).map(str),
    st.integers(0, 2**32).map(hex),
    st.text(max_size=12),
    st.sampled_from(["localhost", "a.localhost", "127.1", "0x7f.1", "[::1%25lo]", "127。0。0。1", "user@shop.example"]),
)
urls = st.one_of(
    st.text(max_size=40),
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["https", "http", "HTTPS", "ftp", "file", ""]),
        hosts,
        st.sampled_from(["", ":", ":443", ":80", ":8443", ":0", ":65536", ":x", ":٤"]),
        st.one_of(st.just(""), st.text(max_size=12).map("/{}".format), st.text(max_size=8).map("?{}".format)),
    ),
)
policies = st.builds(NetworkPolicy, allow_private=st.booleans(), allow_http=st.booleans(), loopback=st.booleans())


@given(urls, policies, st.booleans())
def test_any_url_is_blocked_or_read_as_httpx_reads_it(url, network, local):
    try:
        parts = check_url(url, network, local=local)
        sent = request_url(parts)
    except BlockedError:
        return

    assert sent.raw_host == parts.host.encode("ascii")
    assert sent.raw_path == target_of(parts)
    assert sent.netloc == parts.authority.encode("ascii")
    assert (sent.port or {"https": 443, "http": 80}[sent.scheme]) == parts.port
    if literal(httpx.URL(url).raw_host.decode()) is None:
        assert httpx.URL(url).raw_host.removesuffix(b".") == parts.host.encode()


@given(urls, policies, st.booleans())
def test_no_url_that_passes_names_an_address_the_policy_blocks(url, network, local):
    try:
        parts = check_url(url, network, local=local)
    except BlockedError:
        return

    address = literal(parts.host)
    allowed = {"public"} | ({"private", "loopback"} if network.allow_private else set())
    if network.loopback and local:
        allowed.add("loopback")
    assert address is None or address_kind(address) in allowed
    assert "loopback" in allowed or not is_loopback(parts.host)
    assert parts.scheme == "https" or network.allow_http or (network.loopback and local and is_loopback(parts.host))


# Nearly plain: each part is now and then what the short way must leave to the long one.
labels = st.one_of(
    st.from_regex(r"\A[a-z0-9-]{0,4}\Z"), st.sampled_from(["0x7f", "a" * 63, "a" * 64, "xn--e1afmkfd", "A"])
)
nearly_plain = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["https", "http", "HTTPS", "ftp"]),
    st.lists(labels, min_size=1, max_size=5).map(".".join),
    st.sampled_from(["", ":", ":443", ":80", ":8443", ":0", ":08", ":65535", ":65536", ":99999"]),
    st.one_of(
        st.just(""), st.from_regex(r"\A/[A-Za-z0-9._~/%@:;?#\n-]{0,8}\Z"), st.just("/.well-known/agent-card.json")
    ),
)


@given(nearly_plain)
def test_a_plain_url_has_the_same_parts_by_the_short_way(url):
    by_the_short_way = _split_plain(url)
    if by_the_short_way is not None:
        assert by_the_short_way == _split_any(url)


@given(nearly_plain.filter(lambda url: url.startswith("http")))
def test_what_is_sent_for_a_nearly_plain_url_is_what_httpx_sends(url):
    try:
        parts = check_url(url, NetworkPolicy(allow_http=True), local=True)
        sent = request_url(parts)
    except BlockedError:
        return

    assert (target_of(parts), parts.authority.encode()) == (sent.raw_path, sent.netloc)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("", b"/"),
        ("/.well-known/agent-card.json", b"/.well-known/agent-card.json"),
        ("/a/./b/../c", b"/a/c"),  # RFC 3986 section 5.2.4
        ("/a/..", b"/"),
        ("/a%2Fb", b"/a%2Fb"),
        ("/ñ?q=ñ", b"/%C3%B1?q=%C3%B1"),
    ],
)
def test_path_and_query_are_sent_as_the_url_standard_has_them(path, target):
    assert target_of(split(f"https://shop.example{path}")) == target


@pytest.mark.parametrize(
    "url", ["https://shop.example", "http://localhost:8080/a/b", "https://a-1.shop.example:65535/.well-known/x.json"]
)
def test_what_most_urls_are_goes_the_short_way(url):
    assert _split_plain(url) == _split_any(url)


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1/", "https://0x7f.1/", "https://shop.example:0/", "https://shop.example:65536/"),
        *("https://-shop.example/", "https://shop.example./", "https://" + "a." * 127 + "example/"),
        *("https://me@shop.example/", "https://shop.example/\n", "https://shop.example\n", "https://shop.example/?a=1"),
    ],
)
def test_what_is_not_plain_goes_the_long_way(url):
    assert _split_plain(url) is None


LONG = "a" + "\u0301\u0316" * 40_000  # marks out of order: normalising them takes a time that grows with its square


@pytest.mark.parametrize("form", ["https://{}/x", "https://u:{}@shop.example/", "https://{}", "wss://x@{}:443/"])
def test_an_endless_host_of_marks_is_refused_at_once(form):
    started = time.process_time()
    with pytest.raises(ValueError, match="authority is too long"):
        split(form.format(LONG))
    assert time.process_time() - started < 1


@pytest.mark.parametrize("reference", ["//{}/x", "/\t/{}", " //{}", "ht\ntps://{}", "x://{}"])
def test_an_endless_host_in_a_reference_is_refused_at_once(reference):
    started = time.process_time()
    with pytest.raises(ValueError, match="authority is too long"):
        join("https://shop.example/card.json", reference.format(LONG))
    assert time.process_time() - started < 1


@pytest.mark.parametrize("url", ["https://tienda-ñ.example/" + "ñ" * 2000, "https://shop.example/?q=//" + "ñ" * 2000])
def test_a_long_path_that_is_not_ascii_stays_a_url(url):
    assert split(url).host.endswith(".example")
    assert join("https://shop.example/", url) == url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pa/ss@shop.example/x", "https://shop.example/x"),
        ("user:pa/ss@shop.example", "shop.example"),
        ("https://user:p?a#s@shop.example/", "https://shop.example/"),
        ("https://shop.example/@user", "https://shop.example/@user"),
        ("https://shop.example:8443/a@b", "https://shop.example:8443/a@b"),
        ("https://[::1]:8443/a@b", "https://[::1]:8443/a@b"),
    ],
)
def test_a_password_is_cut_out_of_a_url_though_it_is_not_escaped(url, shown):
    assert without_userinfo(url) == shown


@pytest.mark.parametrize(
    "url",
    ["https://u:S3CRET/x@shop.example/", "https://shop.example:S3CRET", "https://S3CRET\u2100@shop.example/",
     "https://[S3CRET/x", "https://[S3CRET]/", "https://shop.example:S3CRET" + "9" * 100_000],
)  # fmt: skip
def test_why_a_url_is_none_repeats_nothing_of_it(url):
    for take in (split, lambda each: join("https://shop.example/", each)):
        try:
            take(url)
        except ValueError as exc:
            assert "S3CRET" not in str(exc)
            assert len(str(exc)) < 100
            assert exc.__cause__ is None
            assert exc.__suppress_context__
