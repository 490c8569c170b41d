"""Bodies, read whole and never further than their limit, which counts inflated bytes."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any

import httpx

from a2a_discovery.errors import FetchError

if TYPE_CHECKING:
    from a2a_discovery._effects import Kind

_STEP = 64 * 1024
"""Bytes inflated at once: what a bomb can make of us beyond the limit."""
_DRAINED = 16 * 1024
"""Bytes of an unwanted body that are read, so that its connection can be used again."""
_LIMITS = {"catalog": "catalog_bytes", "keys": "keys_bytes", "profile": "profile_bytes"}
_GZIP, _ZLIB, _DEFLATE = 31, 15, -15  # zlib's `wbits`


async def read_body(response: httpx.Response, limit: int, kind: Kind) -> bytes:
    """Read and inflate a body, and close the answer.

    Args:
        response: an answer whose stream nobody read, or one that was made whole.
        limit: most bytes, inflated.
        kind: what is fetched, for the hint.

    Raises:
        FetchError: ``too-large``, or ``protocol`` for an encoding we don't know or that is broken.
    """
    try:
        encoding = _encoding(response)
        length = response.headers.get("content-length", "")
        if encoding is None and length.isdecimal() and len(length) < 20 and int(length) > limit:
            raise _too_large(limit, kind, f"{int(length)} bytes")
        inflater = None if encoding is None else _Inflater(encoding)
        parts: list[bytes] = []
        size = 0
        async with contextlib.aclosing(_raw(response)) as chunks:
            async for chunk in chunks:
                for part in (chunk,) if inflater is None else inflater.feed(chunk):
                    size += len(part)
                    if size > limit:
                        raise _too_large(limit, kind, "it goes on")
                    parts.append(part)
        if inflater is not None:
            inflater.finish()
        return b"".join(parts)
    finally:
        await response.aclose()


async def skip_body(response: httpx.Response) -> None:
    """Close an answer whose body nobody wants, keeping its connection where the body is short."""
    size = 0
    try:
        async with contextlib.aclosing(_raw(response)) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > _DRAINED:
                    break
    finally:
        await response.aclose()


async def _raw(response: httpx.Response) -> AsyncGenerator[Any, None]:  # an async generator: it can be closed
    # Not `aiter_raw()`: an answer made of `content=` counts as read, and gives its raw bytes only here.
    stream = response.stream
    if isinstance(stream, httpx.AsyncByteStream):
        async for chunk in stream:
            yield chunk
    elif isinstance(stream, httpx.SyncByteStream):
        for chunk in stream:
            yield chunk


def _encoding(response: httpx.Response) -> str | None:
    named = response.headers.get("content-encoding", "").lower().split(",")
    names = [name.strip() for name in named if name.strip() not in ("", "identity")]
    if not names:
        return None
    if len(names) == 1 and names[0] in ("gzip", "x-gzip", "deflate"):
        return "deflate" if names[0] == "deflate" else "gzip"
    raise FetchError("protocol", f"the body's encoding {', '.join(names)[:40]!r} was not asked for")


def _too_large(limit: int, kind: Kind, size: str) -> FetchError:
    option = _LIMITS.get(kind, "card_bytes")
    return FetchError(
        "too-large",
        f"the body is larger than the limit of {limit} bytes ({size})",
        hint=f"if that is right: limits=Limits({option}=...)",
    )


class _Inflater:
    """Inflates piece by piece, never more than `_STEP` bytes at once."""

    def __init__(self, encoding: str) -> None:
        self._gzip = encoding == "gzip"
        self._inflater = zlib.decompressobj(_GZIP if self._gzip else _ZLIB)
        self._begun = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for start in range(0, len(chunk), _STEP):
            yield from self._feed(chunk[start : start + _STEP])

    def finish(self) -> None:
        if self._begun and not self._inflater.eof:
            raise FetchError("protocol", "the compressed body ends too early")

    def _feed(self, data: bytes) -> Iterator[bytes]:
        full = False
        while data or full:
            part = self._inflate(data)
            self._begun = True
            if part:
                yield part
            # A full step may have left output behind although all input is used up.
            full = len(part) == _STEP and not self._inflater.eof
            data = self._inflater.unconsumed_tail
            if self._inflater.eof and self._gzip:
                data = self._inflater.unused_data.lstrip(b"\0")
                if data:  # RFC 1952 section 2.2: members follow one another
                    self._inflater = zlib.decompressobj(_GZIP)

    def _inflate(self, data: bytes) -> bytes:
        try:
            return self._inflater.decompress(data, _STEP)
        except zlib.error as exc:
            if self._gzip or self._begun:
                raise FetchError("protocol", "the compressed body is broken") from exc
        # "deflate" means zlib's format (RFC 9110 section 8.4.1.2), and some servers send the bare stream.
        self._gzip, self._inflater, self._begun = False, zlib.decompressobj(_DEFLATE), True
        return self._inflate(data)
