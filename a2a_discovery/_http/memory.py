"""The memory of a process, behind hishel's interface."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from hishel import Entry, Headers, Request, Response

from a2a_discovery._http.shelf import Record, Shelf
from a2a_discovery._http.store import Body, Store, arrived, size_of, variant


class MemoryStore(Store):
    """What one `Cache.memory()` holds, for those that share it. It does no I/O and never fails."""

    def __init__(self, shelf: Shelf, *, bound: int) -> None:
        super().__init__()
        self._shelf = shelf
        self._bound = bound

    async def get_entries(self, key: str) -> list[Entry]:
        """The entries under a key, each with a stream of its own."""
        return [_entry(record) for record in self._shelf.get(key)]

    async def replace(
        self,
        entry: Entry,
        body: bytes,
        key: str,
        *,
        ttl: float | None,
        old: Sequence[uuid.UUID],
        note: object = None,
    ) -> None:
        """Write an entry in the place of older ones. What is never asked for again goes first when room is short."""
        for each in old:
            self._shelf.remove(each)
        self._shelf.put(key, variant(entry.request, entry.response), _record(entry, body), bound=self._bound)

    async def update_headers(self, id: uuid.UUID, headers: Headers) -> None:  # noqa: A002  (hishel's word)
        """Renew an entry's header fields, if it is still there."""
        record = self._shelf.find(id)
        if record is not None:
            request, response, body = record.value
            renewed = Entry(id=id, request=request, response=replace(response, headers=headers))
            self._shelf.renew(_record(renewed, body))

    async def remove_entry(self, id: uuid.UUID) -> None:  # noqa: A002
        """Remove an entry, if it is still there."""
        self._shelf.remove(id)


def _record(entry: Entry, body: bytes) -> Record:
    value = (entry.request, replace(entry.response, stream=None), body)
    size = len(body) + size_of(entry.request, entry.response)
    return Record(id=entry.id, at=arrived(entry.response.headers), size=size, value=value)


def _entry(record: Record) -> Entry:
    value: tuple[Request, Response, bytes] = record.value
    request, response, body = value
    return Entry(
        id=record.id,
        request=request,
        response=Response(status_code=response.status_code, headers=response.headers, stream=Body(body)),
    )
