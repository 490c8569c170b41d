"""What comes to a fake agent, and what it answers: values."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

Kind = Literal["card", "keys", "extended", "other"]
"""What a request asked for: the card, the JWK Set, the extended card, or anything else."""

Body = bytes | Iterable[bytes] | AsyncIterable[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, as the agent received it."""

    method: str
    url: str
    """Scheme, host and target as the client sent them."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Lower-case names, credentials included: it is a test that reads them."""
    body: bytes = field(default=b"", repr=False)
    kind: Kind = "other"
    status: int | None = None
    """What was answered; ``None`` while it is being answered, or where the connection was dropped first."""
    connection: int | None = None
    """Number of the TCP connection it came by; ``None`` without sockets."""

    @property
    def path(self) -> str:
        """The path alone, as sent."""
        return urlsplit(self.url).path

    @property
    def query(self) -> str:
        """What follows the ``?``."""
        return urlsplit(self.url).query

    @property
    def host(self) -> str:
        """The host asked for, without port, lower case."""
        return urlsplit(self.url).hostname or ""

    @property
    def authorization(self) -> str | None:
        """The ``Authorization`` field, or ``None``."""
        return self.headers.get("authorization")

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, good or bad.

    The class methods make the usual ones; every field may also be given directly.
    """

    status: int = 200
    headers: Mapping[str, str | None] = field(default_factory=dict)
    """``None`` leaves out a field that would be added: ``date``, ``content-type``, ``etag``, ..."""
    body: Body = b""
    """The bytes as they go over the wire. An iterable goes out chunk by chunk, for as long as somebody reads."""
    drop: bool = False
    """Close the connection unfinished: after the body where there is one, else before a byte of the answer."""
    conditional: bool = True
    """Answer 304 where the request's condition matches this reply's ``etag`` or ``last-modified``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", {name.lower(): value for name, value in dict(self.headers).items()})

    @classmethod
    def json(cls, value: Any, *, status: int = 200, headers: Mapping[str, str | None] | None = None) -> Reply:
        """A JSON value, as ``application/json`` unless the headers say otherwise."""
        return cls(status=status, headers={"content-type": "application/json", **(headers or {})}, body=encode(value))

    @classmethod
    def html(cls, *, status: int = 200, content_type: str = "text/html; charset=utf-8") -> Reply:
        """The page that a site shows for everything; ``content_type`` can claim that it is JSON."""
        page = b"<!doctype html><html><head><title>Shop</title></head><body><p>Welcome.</p></body></html>"
        return cls(status=status, headers={"content-type": content_type}, body=page)

    @classmethod
    def text(cls, text: str, *, status: int = 200, headers: Mapping[str, str | None] | None = None) -> Reply:
        """Plain text."""
        return cls(status=status, headers={"content-type": "text/plain", **(headers or {})}, body=text.encode())

    @classmethod
    def error(cls, status: int, *, retry_after: int | str | None = None) -> Reply:
        """An HTTP error without a body, with ``Retry-After`` (seconds or an HTTP date) where given."""
        return cls(status=status, headers={} if retry_after is None else {"retry-after": str(retry_after)})

    @classmethod
    def redirect(cls, location: str, *, status: int = 302) -> Reply:
        """A redirect to a URL or a path."""
        return cls(status=status, headers={"location": location})

    @classmethod
    def endless(cls, chunk: bytes = b" " * 16_384, *, content_type: str = "application/json") -> Reply:
        """A body that never ends."""
        return cls(headers={"content-type": content_type}, body=itertools.repeat(chunk))

    @classmethod
    def gzip_bomb(cls, size: int = 64 * 1024 * 1024) -> Reply:
        """A small gzip body of valid JSON that inflates to ``size`` bytes."""
        return cls(headers={"content-type": "application/json", "content-encoding": "gzip"}, body=_bomb(size))

    @classmethod
    def dropped(cls, after: bytes = b"") -> Reply:
        """The connection is closed: before the answer, or in the middle of a JSON body that began with ``after``."""
        return cls(headers={"content-type": "application/json"}, body=after, drop=True)


Answer = Reply | Callable[[Request], Reply | Awaitable[Reply | None] | None]
"""What may stand in ``FakeAgent.replies``: a reply, or a function (plain or async) of the request that returns one, or
``None`` to let the agent answer as usual."""


def encode(value: Any) -> bytes:
    """JSON as it goes over the wire: compact, UTF-8, a lone surrogate as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


@functools.lru_cache(maxsize=8)
def _bomb(size: int) -> bytes:
    deflate = zlib.compressobj(9, wbits=31)
    block = b" " * min(size, 1024 * 1024)
    whole, rest = divmod(size - 2, len(block))
    parts = [deflate.compress(block) for _ in range(whole)]
    parts += [deflate.compress(b" " * rest + b"{}"), deflate.flush()]
    return b"".join(parts)


def finish(request: Request, reply: Reply, *, now: float) -> Reply:
    """The reply as it goes out: ``Date``, conditions (RFC 9110 section 13), no body for HEAD and 304."""
    fields = {
        name: value
        for name, value in {"date": formatdate(now, usegmt=True), **reply.headers}.items()
        if value is not None
    }
    if reply.drop:
        # A length that is never reached: the client sees that something is missing.
        length = str(len(reply.body) + 1) if isinstance(reply.body, bytes) else None
        return _with(reply, fields | ({"content-length": length} if length else {}))
    if _unchanged(request, reply, fields):
        kept = ("date", "etag", "last-modified", "cache-control", "expires", "vary", "content-location")
        return Reply(status=304, headers={name: value for name, value in fields.items() if name in kept})
    if isinstance(reply.body, bytes) and reply.status != 204:
        fields.setdefault("content-length", str(len(reply.body)))
    return _with(reply, fields, body=b"" if request.method == "HEAD" else reply.body)


def _with(reply: Reply, headers: Mapping[str, str], *, body: Body | None = None) -> Reply:
    return Reply(status=reply.status, headers=headers, body=reply.body if body is None else body, drop=reply.drop)


def _unchanged(request: Request, reply: Reply, fields: Mapping[str, str]) -> bool:
    if not reply.conditional or reply.status != 200 or request.method not in ("GET", "HEAD"):
        return False
    tags = request.headers.get("if-none-match")
    if tags is not None:  # it wins over If-Modified-Since, and compares weakly
        current = fields.get("etag", "").removeprefix("W/")
        given = [tag.strip().removeprefix("W/") for tag in tags.split(",")]
        return bool(current) and (current in given or given == ["*"])
    since, modified = request.headers.get("if-modified-since"), fields.get("last-modified")
    if since is None or modified is None:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False


async def chunks(body: Body) -> AsyncIterator[bytes]:
    """A body in the pieces in which it is sent."""
    if isinstance(body, bytes):
        if body:
            yield body
    elif hasattr(body, "__aiter__"):
        async for chunk in body:
            yield chunk
    else:
        for chunk in body:
            yield chunk
            await asyncio.sleep(0)  # an endless body must not starve the one who wants to stop reading it
