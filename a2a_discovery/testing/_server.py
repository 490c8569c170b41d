"""A small HTTP/1.1 server on loopback: h11 speaks, asyncio carries.

It exists because a fake peer must be able to do what a good server refuses: drop a connection before the first byte,
stop in the middle of a body, promise a length and not keep it. And it is gone, sockets and tasks, when its block ends.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import h11

from a2a_discovery.testing._reply import Reply, Request, chunks

log = logging.getLogger("a2a_discovery.testing")

_LARGEST_REQUEST = 1024 * 1024
"""Bytes of a request's body that are read; what this server is sent are JSON-RPC calls."""


@asynccontextmanager
async def listening(
    answer: Callable[[Request], Awaitable[Reply]],
    listener: socket.socket,
    *,
    scheme: str,
    tls: ssl.SSLContext | None,
) -> AsyncIterator[None]:
    """Answer every request that comes to a listening socket while the block lasts."""
    tasks: set[asyncio.Task[None]] = set()
    numbers = itertools.count(1)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(reader, writer, scheme=scheme, number=next(numbers))
        task = asyncio.get_running_loop().create_task(connection.run(answer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    # Without limits, a client that never greets, or never answers the farewell, keeps its transport for a minute.
    options = {"ssl": tls, "ssl_shutdown_timeout": 1.0, "ssl_handshake_timeout": 5.0} if tls else {}
    server = await asyncio.start_server(connected, sock=listener, **options)  # type: ignore[arg-type]
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # The aborted sockets close in the loop's next turn. `wait_closed` would also wait for a client that never
        # finishes its TLS handshake.
        await asyncio.sleep(0)


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, scheme: str, number: int) -> None:
        self._reader = reader
        self._writer = writer
        self._scheme = scheme
        self._number = number
        self._http = h11.Connection(h11.SERVER)

    async def run(self, answer: Callable[[Request], Awaitable[Reply]]) -> None:
        try:
            while (request := await self._receive()) is not None:
                if not await self._send(request, await answer(request)):
                    break
                self._http.start_next_cycle()
            self._writer.close()
            await self._writer.wait_closed()
        except (OSError, h11.ProtocolError):
            pass  # what the peer does wrong ends its connection and nothing else
        except Exception:
            log.exception("a2a.fake.reply_failed")  # a test's own function: the client sees a dropped connection
        finally:
            self._writer.transport.abort()

    async def _receive(self) -> Request | None:
        head: h11.Request | None = None
        body = b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(65_536))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _LARGEST_REQUEST:
                    return None
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return self._request(head, body)
            else:  # the client has gone
                return None

    def _request(self, head: h11.Request, body: bytes) -> Request:
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        target = head.target.decode("latin-1")
        return Request(
            method=head.method.decode("ascii"),
            url=target if "://" in target else f"{self._scheme}://{headers.get('host', '')}{target}",
            headers=headers,
            body=body,
            connection=self._number,
        )

    async def _send(self, request: Request, reply: Reply) -> bool:
        """Send it, and say whether the connection may go on."""
        if reply.drop and not reply.body:
            return False
        fields = [(name, value) for name, value in reply.headers.items() if value is not None]
        reason = HTTPStatus(reply.status).phrase if reply.status in HTTPStatus.__members__.values() else ""
        self._write(h11.Response(status_code=reply.status, headers=fields, reason=reason))
        if request.method != "HEAD":
            async for chunk in chunks(reply.body):
                self._write(h11.Data(data=chunk))
                await self._writer.drain()
        if reply.drop:
            return False
        self._write(h11.EndOfMessage())
        await self._writer.drain()
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
