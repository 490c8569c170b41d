"""Bodies, read whole and never further than their limit, which counts inflated bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

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
_COUNT = re.compile(r"[0-9]{1,19}\Z")


@dataclass(slots=True, kw_only=True)
class Reply:
    """One answer of a server, whose body nobody read yet: what an exchange goes by, whoever sent for it."""

    status: int
    fields: tuple[tuple[str, str], ...]
    """Header fields in order, names in lower case."""
    stream: object
    """The body as it came; to be closed with `aclose`."""
    aclose: Callable[[], Awaitable[None]]

    @classmethod
    def of(cls, response: httpx.Response) -> Self:
        """What a transport of httpx's answered."""
        asynchronous = isinstance(response.stream, httpx.AsyncByteStream)
        return cls(
            status=response.status_code,
            fields=tuple(response.headers.multi_items()),
            stream=response.stream,
            aclose=response.aclose if asynchronous else _nothing,
        )

    def each(self, name: str) -> list[str]:
        """The values of a field, in order."""
        return [value for other, value in self.fields if other == name]

    def field(self, name: str) -> str | None:
        """The value of a field; several of one name are joined by a comma (RFC 9110 section 5.3)."""
        return ", ".join(self.each(name)) or None


async def _nothing() -> None:
    pass


async def read_body(reply: Reply, limit: int, kind: Kind) -> bytes:
    """Read and inflate a body, and close the answer.

    Args:
        reply: an answer whose stream nobody read, or one that was made whole.
        limit: most bytes, inflated.
        kind: what is fetched, for the hint.

    Raises:
        FetchError: ``too-large``, or ``protocol`` for an encoding we don't know or that is broken.
    """
    try:
        encoding = _encoding(reply)
        length = reply.field("content-length") or ""
        if encoding is None and _COUNT.match(length) and int(length) > limit:
            raise _too_large(limit, kind, f"{int(length)} bytes")
        inflater = None if encoding is None else _Inflater(encoding)
        parts: list[bytes] = []
        size = 0
        async with _raw(reply) as chunks:
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
        await reply.aclose()


async def skip_body(reply: Reply) -> None:
    """Close an answer whose body nobody wants, keeping its connection where the body is short."""
    size = 0
    try:
        async with _raw(reply) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > _DRAINED:
                    break
    finally:
        await reply.aclose()


class Chunks:
    """The parts of a stream, for one block: its iterator is closed with the block, not when it is collected.

    A class, since a generator around each of the streams that stand in one another costs a turn for every part.
    """

    __slots__ = ("_parts",)

    def __init__(self, stream: AsyncIterable[bytes]) -> None:
        self._parts = aiter(stream)

    async def __aenter__(self) -> AsyncIterator[bytes]:
        return self._parts

    async def __aexit__(self, *_: object) -> None:
        if isinstance(self._parts, AsyncGenerator):
            await self._parts.aclose()


def _raw(reply: Reply) -> Chunks:
    # Not `aiter_raw()` of httpx's: an answer made of `content=` counts as read, and gives its raw bytes only here.
    if not isinstance(reply.stream, AsyncIterable):
        raise FetchError("protocol", "the transport answered with a stream that is not asynchronous")
    return Chunks(reply.stream)


def _encoding(reply: Reply) -> str | None:
    named = reply.field("content-encoding")
    names = [name for each in (named or "").lower().split(",") if (name := each.strip()) not in ("", "identity")]
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
        self._inflater = zlib.decompressobj(_GZIP) if self._gzip else None
        self._held = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            self._held += chunk
            if len(self._held) < 2:
                return
            chunk, self._inflater = self._held, zlib.decompressobj(_deflate(self._held))
        for start in range(0, len(chunk), _STEP):
            yield from self._feed(self._inflater, chunk[start : start + _STEP])

    def finish(self) -> None:
        """The body is over: is what was compressed?

        Raises:
            FetchError: ``protocol``.
        """
        if self._held and (self._inflater is None or not self._inflater.eof):
            raise FetchError("protocol", "the compressed body ends too early")

    def _feed(self, inflater: Any, data: bytes) -> Iterator[bytes]:
        self._held = data or self._held
        full = False
        while data or full:
            try:
                part = inflater.decompress(data, _STEP)
            except zlib.error as exc:
                raise FetchError("protocol", "the compressed body is broken") from exc
            if part:
                yield part
            # A full step may have left output behind although all input is used up.
            full = len(part) == _STEP and not inflater.eof
            data = inflater.unconsumed_tail
            if inflater.eof and self._gzip:
                data = inflater.unused_data.lstrip(b"\0")
                if data:  # RFC 1952 section 2.2: members follow one another
                    inflater = self._inflater = zlib.decompressobj(_GZIP)


def _deflate(head: bytes) -> int:
    # "deflate" means zlib's format (RFC 9110 section 8.4.1.2), and some servers send the bare stream. RFC 1950 section
    # 2.2 has the method, 8, in the first byte, and makes both bytes a multiple of 31.
    return _ZLIB if head[0] & 15 == 8 and int.from_bytes(head[:2], "big") % 31 == 0 else _DEFLATE
