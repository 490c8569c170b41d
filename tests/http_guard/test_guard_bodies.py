"""Bodies are inflated by us, and cut off at their limit while they are."""

import gzip
import tracemalloc
import zlib

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._http.body import Reply, read_body, skip_body
from a2a_discovery.errors import FetchError

TEXT = b'{"name": "' + b"agent " * 500 + b'"}'


def raw_deflate(data):
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


def answer(body, encoding=None, step=1_000, status=200, **headers):
    """An answer that arrives in chunks of ``step`` bytes."""

    async def chunks():
        for start in range(0, len(body), step):
            yield body[start : start + step]

    if encoding is not None:
        headers["content-encoding"] = encoding
    return httpx.Response(status, headers=headers, content=chunks())


async def read(response, limit, kind):
    return await read_body(Reply.of(response), limit, kind)


async def skip(response):
    await skip_body(Reply.of(response))


@pytest.mark.parametrize("step", [1, 7, 1_000, 1_000_000])
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (None, TEXT),
        ("identity", TEXT),
        ("", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("GZIP", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("identity, gzip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
        ("gzip", gzip.compress(TEXT) + b"\0" * 50),
        ("gzip", gzip.compress(TEXT, compresslevel=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
    ],
)
async def test_a_body_is_read_in_every_encoding_http_knows_by_heart(encoding, body, step):
    assert await read(answer(body, encoding, step), 100_000, "card") == TEXT


async def test_an_answer_made_whole_is_inflated_once():
    response = httpx.Response(200, headers={"content-encoding": "gzip"}, content=gzip.compress(TEXT))

    assert await read(response, 100_000, "card") == TEXT


async def test_an_empty_body_needs_no_encoding():
    assert await read(answer(b"", "gzip", status=304), 100, "card") == b""


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "m4lice" * 100])
async def test_an_encoding_nobody_asked_for_is_refused(encoding):
    with pytest.raises(FetchError) as caught:
        await read(answer(TEXT, encoding), 100_000, "card")

    assert caught.value.code == "protocol"
    assert len(caught.value.message) < 150


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", TEXT),
        ("gzip", gzip.compress(TEXT)[:-9]),
        ("gzip", gzip.compress(TEXT)[:20]),
        ("gzip", gzip.compress(TEXT) + b"more"),
        ("gzip", gzip.compress(TEXT)[:-8] + b"\1" * 8),
        ("gzip", b"\x1f"),
        ("deflate", b"\xff" * 100),
        ("deflate", zlib.compress(TEXT)[:-5]),
    ],
)
async def test_a_broken_encoding_is_no_body(encoding, body):
    with pytest.raises(FetchError) as caught:
        await read(answer(body, encoding), 100_000, "card")

    assert caught.value.code == "protocol"


@pytest.mark.parametrize("encode", [lambda body: (None, body), lambda body: ("gzip", gzip.compress(body))])
@pytest.mark.parametrize("step", [1, 999, 1_000_000])
async def test_the_limit_counts_inflated_bytes_to_the_byte(encode, step):
    encoding, body = encode(TEXT)

    assert await read(answer(body, encoding, step), len(TEXT), "card") == TEXT
    with pytest.raises(FetchError) as caught:
        await read(answer(body, encoding, step), len(TEXT) - 1, "card")
    assert caught.value.code == "too-large"
    assert str(len(TEXT) - 1) in caught.value.message


@pytest.mark.parametrize(
    ("kind", "option"),
    [("card", "card_bytes"), ("extended", "card_bytes"), ("keys", "keys_bytes"), ("catalog", "catalog_bytes")],
)
async def test_the_hint_names_the_limit_to_raise(kind, option):
    with pytest.raises(FetchError) as caught:
        await read(answer(TEXT), 10, kind)

    assert option in caught.value.hint


async def test_a_length_over_the_limit_is_refused_before_reading():
    async def never():
        raise AssertionError("read")
        yield

    response = httpx.Response(200, headers={"content-length": "5000000000"}, content=never())

    with pytest.raises(FetchError) as caught:
        await read(response, 1_000, "card")

    assert caught.value.code == "too-large"
    assert "5000000000" in caught.value.message


@pytest.mark.parametrize("length", ["-1", "x", "9" * 5_000, "٣", "10, 10"])
async def test_a_length_that_is_none_decides_nothing(length):
    response = answer(TEXT)
    response.headers = httpx.Headers([(b"content-length", length.encode())])

    assert await read(response, 100_000, "card") == TEXT


def bomb(megabytes):
    compressor = zlib.compressobj(9, wbits=31)
    parts = [compressor.compress(b"\0" * 1_000_000) for _ in range(megabytes)]
    return b"".join([*parts, compressor.flush()])


@pytest.mark.parametrize("step", [64 * 1024, 10_000_000])
async def test_a_bomb_costs_no_more_memory_than_its_limit(step):
    body = bomb(100)  # 100 kB of gzip
    response = answer(body, "gzip", step)
    tracemalloc.start()
    try:
        with pytest.raises(FetchError) as caught:
            await read(response, 1_000_000, "card")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert caught.value.code == "too-large"
    assert peak < 2_500_000


class Endless(httpx.AsyncByteStream):
    sent = 0
    ended = closed = False

    async def __aiter__(self):
        try:
            while True:
                self.sent += 1_000
                yield b"x" * 1_000
        finally:
            self.ended = True

    async def aclose(self):
        self.closed = True


async def test_a_stream_without_end_is_cut_off_and_closed():
    stream = Endless()

    with pytest.raises(FetchError) as caught:
        await read(httpx.Response(200, stream=stream), 10_000, "card")

    assert caught.value.code == "too-large"
    assert stream.sent == 11_000
    assert stream.ended
    assert stream.closed


async def test_a_short_body_nobody_wants_is_read_so_that_its_connection_serves_again():
    read = []

    async def chunks():
        for _ in range(3):
            yield b"x"
        read.append("to the end")

    await skip(httpx.Response(302, content=chunks()))

    assert read == ["to the end"]


async def test_a_long_body_nobody_wants_is_not_read():
    stream = Endless()

    await skip(httpx.Response(302, stream=stream))

    assert stream.sent < 20_000
    assert stream.closed


async def test_a_stream_that_is_not_asynchronous_is_said_to_be_so():
    with pytest.raises(FetchError) as caught:
        await read(httpx.Response(200, content=iter([b"{}"])), 100, "card")

    assert "asynchronous" in caught.value.message


@given(st.binary(max_size=400), st.sampled_from(["gzip", "deflate", None]), st.integers(1, 50), st.integers(1, 500))
async def test_any_bytes_are_a_body_within_the_limit_or_our_error(body, encoding, step, limit):
    try:
        inflated = await read(answer(body, encoding, step), limit, "card")
    except FetchError as exc:
        assert exc.code in ("protocol", "too-large")
    else:
        assert len(inflated) <= limit


@given(st.lists(st.binary(max_size=300), max_size=4), st.integers(1, 60))
async def test_members_of_gzip_join_however_they_arrive(members, step):
    body = b"".join(map(gzip.compress, members))

    assert await read(answer(body, "gzip", step), 10_000, "card") == b"".join(members)
