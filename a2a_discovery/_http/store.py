"""How a copy is written into a hishel storage and read back; and the base of our own storages.

hishel's interface is the seam: any of its storages can be handed in. Ours can do one thing more, `Store.replace`:
write an answer whose body is at hand and remove the ones it replaces, in the same step.
"""

from __future__ import annotations

import abc
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hishel import AsyncBaseStorage, Entry, Headers, Request, Response

from a2a_discovery._http.freshness import RETAINED, Copy, members

if TYPE_CHECKING:
    from a2a_discovery._http.shelf import Note

MARK = "a2a-discovery-copy"
"""Our own field in what is stored: when it came, from which URL, by which redirects, through which channel. A server
that sends this field is not heard."""


class Body:
    """A stored body as the stream that hishel's interface wants, with the bytes at hand."""

    __slots__ = ("_done", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._done = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._done:
            raise StopAsyncIteration
        self._done = True
        return self.data


class Store(AsyncBaseStorage):
    """A hishel storage whose entries are written whole."""

    @abc.abstractmethod
    async def replace(
        self,
        entry: Entry,
        body: bytes,
        key: str,
        *,
        ttl: float | None,
        old: Sequence[uuid.UUID],
        note: Note | None = None,
    ) -> None:
        """Write an entry and remove the ones it replaces, in one step, and there too what to remember of its location.

        An entry that the store got from the origin later than this one stays, and this one is dropped.
        """

    async def renew(self, id: uuid.UUID, key: str, headers: Headers, *, ttl: float | None) -> None:  # noqa: A002
        """Renew an entry's header fields, if it is still there and no newer; it stays stored for so long from now."""
        await self.update_headers(id, headers)

    async def discard(self, ids: Sequence[uuid.UUID], key: str) -> None:
        """Remove entries under a key; those that are gone already are no error."""
        for each in ids:
            await self.remove_entry(each)

    async def create_entry(
        self, request: Request, response: Response, key: str, *, ttl: float | None = None, tti: float | None = None
    ) -> Entry:
        """Write an entry once its body has been read to the end, as hishel's transport does it."""
        entry = Entry(id=uuid.uuid4(), request=request, response=response)
        return replace(entry, response=replace(response, stream=self._saved(entry, key, ttl or self.default_ttl)))

    async def _saved(self, entry: Entry, key: str, ttl: float | None) -> AsyncIterator[bytes]:
        chunks = []
        async for chunk in cast("AsyncIterator[bytes]", entry.response.stream or Body(b"")):
            chunks.append(chunk)
            yield chunk
        await self.replace(entry, b"".join(chunks), key, ttl=ttl, old=())


async def read(storage: AsyncBaseStorage, key: str) -> list[Copy]:
    """The copies under a key, of those entries that we wrote."""
    return await copies(await storage.get_entries(key))


async def copies(entries: Sequence[Entry]) -> list[Copy]:
    """What we wrote of some entries."""
    found = []
    for entry in entries:
        copy = _unpack(entry, await _body(entry.response.stream))
        if copy is not None:
            found.append(copy)
    return found


async def write(
    storage: AsyncBaseStorage,
    key: str,
    copy: Copy,
    *,
    lifetime: float,
    old: Sequence[Copy],
    note: Note | None = None,
) -> None:
    """Store a copy in the place of older ones.

    Args:
        storage: where to.
        key: under which key.
        copy: what to store; with an ``id``, it is a stored one whose fields a 304 renewed.
        lifetime: seconds it stays fresh; it stays stored for longer.
        old: the copies it replaces, if it is none of them.
        note: what to remember of its location, for a new copy in a store of ours.
    """
    request, response = _pack(copy)
    ttl = lifetime + RETAINED
    ids = [each.id for each in old if each.id is not None]
    if not isinstance(storage, Store):
        entry = await storage.create_entry(request, replace(response, stream=_chunks(copy.body)), key, ttl=ttl)
        async for _ in cast("AsyncIterator[bytes]", entry.response.stream):
            pass  # it is saved while it is read
        for each in ids:
            await storage.remove_entry(each)
    elif copy.id is not None:
        await storage.renew(copy.id, key, response.headers, ttl=ttl)
    else:
        entry = Entry(id=uuid.uuid4(), request=request, response=response)
        await storage.replace(entry, copy.body, key, ttl=ttl, old=ids, note=note)


async def remove(storage: AsyncBaseStorage, key: str, copies: Sequence[Copy]) -> None:
    """Remove copies under a key; those that are gone already are no error."""
    ids = [copy.id for copy in copies if copy.id is not None]
    if isinstance(storage, Store):
        await storage.discard(ids, key)
        return
    for each in ids:
        await storage.remove_entry(each)


def lists(headers: Headers) -> dict[str, list[str]]:
    """Header fields as plain values, as our stores write them."""
    return {name: headers.get_list(name) or [] for name in headers}


def unpacked(id_: uuid.UUID, sent: str | bytes, head: str | bytes, body: bytes) -> Entry | None:
    """An entry as our stores write it; ``None`` for what somebody else wrote: it is as if it weren't there.

    Args:
        id_: its name.
        sent: method, URL, the request's header fields, and the status, as a JSON array.
        head: the response's header fields, as a JSON object.
        body: the body.
    """
    try:
        method, url, fields, status = json.loads(sent)
        return Entry(
            id=id_,
            request=Request(method=method, url=url, headers=Headers(fields)),
            response=Response(status_code=status, headers=Headers(json.loads(head)), stream=Body(body)),
        )
    except (ValueError, TypeError, AttributeError):
        return None


def variant(request: Request, response: Response) -> str:
    """Which of the answers under one key this is, by the request fields that its ``Vary`` names."""
    names = sorted(set(members({"vary": response.headers.get_list("vary") or ()}, "vary")))
    return json.dumps([(name, request.headers.get(name)) for name in names])


def arrived(headers: Headers) -> float:
    """When the origin last vouched for an entry with these fields; 0 for one that isn't ours."""
    mark = _mark(headers)
    at = mark.get("at") if mark else None
    return float(at) if isinstance(at, int | float) else 0.0


def size_of(request: Request, response: Response) -> int:
    """Bytes of the header fields and the URL, about."""
    fields = (*request.headers.items(), *response.headers.items())
    return len(request.url) + sum(len(name) + len(value) for name, value in fields)


def _pack(copy: Copy) -> tuple[Request, Response]:
    mark = {"at": copy.at, "url": copy.url, "redirects": copy.redirects, "channel": copy.channel}
    fields = {name: [*lines] for name, lines in copy.headers.items()}
    fields[MARK] = [json.dumps(mark)]
    request = Request(method=copy.method, url=copy.requested, headers=Headers(copy.varied))
    return request, Response(status_code=200, headers=Headers(fields), stream=None)


def _unpack(entry: Entry, body: bytes) -> Copy | None:
    """What `_pack` made; ``None`` for an entry that somebody else wrote."""
    mark = _mark(entry.response.headers)
    if mark is None:
        return None
    fields = entry.response.headers
    try:
        return Copy(
            id=entry.id,
            method=entry.request.method,
            requested=entry.request.url,
            url=mark["url"],
            redirects=tuple(mark["redirects"]),
            channel=mark["channel"],
            at=float(mark["at"]),
            varied=dict(entry.request.headers.items()),
            headers={name: fields.get_list(name) or () for name in fields if name != MARK},
            body=body,
        )
    except (KeyError, TypeError, ValueError):
        return None


def _mark(headers: Headers) -> dict[str, Any] | None:
    text = headers.get(MARK)
    if text is None:
        return None
    try:
        mark = json.loads(text)
    except ValueError:
        return None
    return mark if isinstance(mark, dict) else None


async def _body(stream: Any) -> bytes:
    if isinstance(stream, Body):
        return stream.data
    return b"".join([chunk async for chunk in stream])


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data
