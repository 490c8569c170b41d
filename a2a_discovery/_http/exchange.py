"""One guarded exchange: a `Fetch` goes out, an `Answer` comes back, or an error of ours.

Redirects, the whole timeout, the limit on the body, retries, and credentials hop by hop. Nothing is kept here.
"""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from a2a_discovery._effects import Channel, Fetch, retry_after
from a2a_discovery._hosts import is_loopback, same_site
from a2a_discovery._http.body import Reply, read_body, skip_body
from a2a_discovery._http.failures import failure, unconnected, unused_proxy
from a2a_discovery._http.guard import check_url, request_url, shown
from a2a_discovery._http.pool import PooledTransport
from a2a_discovery._urls import Parts, join, split, without_userinfo
from a2a_discovery.errors import DiscoveryError, FetchError

if TYPE_CHECKING:
    from a2a_discovery.policy import NetworkPolicy

RETRIES = 2
"""Further tries of one fetch: a server that restarts is back at the second, and a third would only add load."""
BACKOFF = 0.1
"""Seconds before the first retry at most; it doubles, and each is shortened by chance to a half at least."""

ACCEPT = "application/json, application/a2a+json, application/a2a-agent-card+json;q=0.9, */*;q=0.1"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({502, 503, 504})
# What the caller asked to send to one origin is not meant for another; these carry nothing of his.
_FOLLOWING = frozenset({"accept", "accept-language", "a2a-version", "a2a-extensions", "cache-control", "user-agent"})
# They describe the transfer, and the body in hand is past it; the length counted compressed bytes.
_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer, whatever its status, read whole and inflated."""

    url: str
    """The URL that answered, in normal form, after redirects."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """Fields in order, names in lower case; ``content-encoding`` is gone, since the body is inflated."""
    body: bytes = field(repr=False)
    channel: Channel
    redirects: tuple[str, ...] = ()
    """Every URL that redirected, in order."""
    retry_after: float | None = None
    """Seconds the server asked us to wait, where it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A conditional request: header fields for the one hop that gave the stored answer."""

    url: str
    headers: tuple[tuple[str, str], ...]


class Exchange:
    """Sends what the line asks for, within the network policy. It belongs to the event loop it is first used on.

    Args:
        network: the policy in force.
        transport: replaces the sockets; it stays the caller's, and is not closed here. No name is resolved then.
        clock: seconds since the epoch, for a ``Retry-After`` that is a date.
        sleep: waits before a retry.
        jitter: a number from 0 to 1, drawn for each wait.
    """

    def __init__(
        self,
        network: NetworkPolicy,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._network = network
        self._pool: PooledTransport | None = None
        if transport is None:
            transport = self._pool = PooledTransport(network)
        self._transport = transport
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter

    async def __call__(self, fetch: Fetch, *, condition: Condition | None = None) -> Answer:
        """Fetch one document.

        Args:
            fetch: what to ask for.
            condition: header fields for a conditional request, sent on the hop they belong to.

        Returns:
            The answer, whatever its status; a 304 too.

        Raises:
            FetchError: no answer, or one that cannot be used.
            BlockedError: the policy forbids it, or a hop of it.
        """
        trip = _Trip(fetch=fetch, condition=condition, url=without_userinfo(fetch.url))
        try:
            async with asyncio.timeout(self._network.timeout) as scope:
                trip.ends = scope.when()
                return await self._follow(trip)
        except DiscoveryError as exc:
            exc.at(step="fetch", url=trip.url)
            raise
        except TimeoutError as exc:
            raise FetchError(
                "timeout",
                f"{shown(trip.url)} did not answer whole within {self._network.timeout:g} s",
                url=trip.url,
                step="fetch",
                hint=self._unused_proxy(trip) or "more time: network=NetworkPolicy(timeout=...)",
            ) from exc
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as exc:
            raise failure(exc, trip.url, self._network, sockets=self._pool is not None) from exc

    async def aclose(self) -> None:
        """Close the connections that are ours."""
        if self._pool is not None:
            await self._pool.aclose()

    def _unused_proxy(self, trip: _Trip) -> str | None:
        # A firewall that wants a proxy used mostly swallows packets.
        return unused_proxy() if self._pool is not None and self._network.proxy is None and not trip.answered else None

    async def _follow(self, trip: _Trip) -> Answer:
        fetch = trip.fetch
        parts, local = check_url(fetch.url, self._network, local=fetch.local), fetch.local
        while True:
            trip.arrive(parts)
            reply = await self._try(trip, parts)
            if reply.status not in _REDIRECTS:
                return await self._answer(trip, parts, reply)
            await skip_body(reply)
            # Only loopback may lead to loopback: a redirect from elsewhere is a stranger's word.
            local = local and is_loopback(parts.host)
            parts = self._next(trip, parts, reply, local=local)

    def _next(self, trip: _Trip, parts: Parts, reply: Reply, *, local: bool) -> Parts:
        fetch, network = trip.fetch, self._network
        if fetch.method != "GET" or fetch.kind == "profile":
            raise _refused(f"{shown(trip.url)} redirects, and for this request no redirect is followed")
        if len(trip.redirects) >= network.max_redirects:
            raise _refused(
                f"more than {network.max_redirects} redirects",
                "if that is right: network=NetworkPolicy(max_redirects=...)",
            )
        places = set(reply.each("location"))
        if len(places) != 1:
            raise FetchError("protocol", f"{shown(trip.url)} redirects without saying where")
        try:
            url = join(trip.url, places.pop())
            scheme = split(url).scheme
        except ValueError:
            raise FetchError("protocol", f"{shown(trip.url)} redirects to what is no URL") from None
        if parts.scheme == "https" and scheme == "http":  # no policy allows it, so no hint may name one
            raise _refused(f"{shown(trip.url)} redirects from https down to http", "ask the operator for an https URL")
        there = check_url(url, network, local=local)
        free = network.cross_site_redirects and fetch.kind != "keys"
        if not free and not same_site(trip.first.host, there.host, local=network.loopback):
            raise _refused(
                f"{shown(trip.url)} redirects to another site, {there.host}",
                None if fetch.kind == "keys" else "if that is right: network=NetworkPolicy(cross_site_redirects=True)",
            )
        trip.redirects.append(trip.url)
        return there

    async def _try(self, trip: _Trip, parts: Parts) -> Reply:
        while True:
            try:
                reply = await self._send(trip, parts)
            except httpx.TransportError as exc:
                wait = self._pause(trip, None) if unconnected(exc) else None
                if wait is None:
                    raise
            else:
                trip.answered = True
                wait = self._busy(trip, reply)
                if wait is None:
                    return reply
                await skip_body(reply)
            trip.tries += 1
            await self._sleep(wait)

    def _busy(self, trip: _Trip, reply: Reply) -> float | None:
        """Seconds to wait before asking again, or ``None`` where this answer is the one."""
        if reply.status < 429:
            return None
        asked = retry_after(reply.field("retry-after"), self._clock())
        if reply.status in _BUSY or (reply.status == 429 and asked is not None):
            return self._pause(trip, asked)
        return None

    def _pause(self, trip: _Trip, asked: float | None) -> float | None:
        if trip.fetch.method != "GET" or trip.tries >= RETRIES:
            return None
        wait = BACKOFF * 2**trip.tries * (1 + self._jitter()) / 2
        wait = max(wait, asked or 0.0)
        return wait if wait < trip.remaining() else None

    async def _send(self, trip: _Trip, parts: Parts) -> Reply:
        fetch, headers = trip.fetch, _headers(trip, parts)
        auth = fetch.auth_for(parts.host) if fetch.auth_for is not None and trip.at_home(parts) else None
        if auth is None and self._pool is not None and fetch.method == "GET":
            return await self._pool.get(parts, headers, trip.extensions())
        request = httpx.Request(
            fetch.method, request_url(parts), headers=headers, content=fetch.body, extensions=trip.extensions()
        )
        if auth is None:
            return Reply.of(await self._transport.handle_async_request(request))
        return Reply.of(await self._authorised(trip, request, auth))

    async def _authorised(self, trip: _Trip, request: httpx.Request, auth: httpx.Auth) -> httpx.Response:
        """Drive an `httpx.Auth`. What it asks for on its way, a token for instance, passes the guard as well."""
        flow = auth.async_auth_flow(request)
        try:
            request = await anext(flow)
            while True:
                parts = check_url(str(request.url), self._network, local=trip.fetch.local)
                request.url = request_url(parts)
                request.extensions = {**request.extensions, **trip.extensions()}
                answer = await self._transport.handle_async_request(request)
                # Whole and bounded before the flow sees it: httpx's own reading knows no limit.
                response = await _whole(Reply.of(answer), request, trip.fetch)
                try:
                    request = await flow.asend(response)
                except StopAsyncIteration:
                    return response
        finally:
            await flow.aclose()

    async def _answer(self, trip: _Trip, parts: Parts, reply: Reply) -> Answer:
        try:
            body = await read_body(reply, trip.fetch.limit, trip.fetch.kind)
        except FetchError:
            if reply.status < 400:
                raise
            body = b""  # the status says it all; nobody reads an endless error page
        if parts.scheme == "https":
            channel: Channel = "tls"
        else:
            channel = "loopback" if self._network.loopback and is_loopback(parts.host) else "plain"
        return Answer(
            url=trip.url,
            status=reply.status,
            headers=_received(reply),
            body=body,
            channel=channel,
            redirects=tuple(trip.redirects),
            retry_after=retry_after(reply.field("retry-after"), self._clock()),
        )


@dataclass(slots=True, kw_only=True)
class _Trip:
    """Where one fetch stands."""

    fetch: Fetch
    condition: Condition | None
    url: str
    """The hop it is at."""
    ends: float | None = None
    """When its time is over, by the loop's clock."""
    tries: int = 0
    answered: bool = False
    redirects: list[str] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    """Host → the origin at which this fetch met it first: a credential for the host goes there and nowhere else."""
    hops: list[Parts] = field(default_factory=list)

    @property
    def first(self) -> Parts:
        return self.hops[0]

    def arrive(self, parts: Parts) -> None:
        self.url = parts.normal
        self.hops.append(parts)
        self.origins.setdefault(parts.host, parts.origin)

    def at_home(self, parts: Parts) -> bool:
        return self.origins[parts.host] == parts.origin

    def remaining(self) -> float:
        return (self.ends or 0.0) - asyncio.get_running_loop().time()

    def extensions(self) -> dict[str, Any]:
        # The whole fetch has one timeout, and it strikes first; this lets a connection share what is left among its
        # addresses.
        return {"timeout": {"connect": max(self.remaining() * 1.1, 0.001)}}


@functools.cache
def user_agent() -> str:
    """How we name ourselves."""
    from importlib import metadata

    try:
        version = metadata.version("a2a_discovery")
    except metadata.PackageNotFoundError:  # run from a checkout
        version = "0"
    return f"a2a-discovery/{version} (+python)"


def _headers(trip: _Trip, parts: Parts) -> list[tuple[bytes, bytes]]:
    # Keyed by lower case: httpx sends two fields whose names differ in case alone.
    fields = {
        "accept": ("Accept", ACCEPT),
        "accept-encoding": ("Accept-Encoding", "gzip"),
        "a2a-version": ("A2A-Version", "1.0"),
        "user-agent": ("User-Agent", user_agent()),
    }
    home = parts.origin == trip.first.origin
    given = [each for each in trip.fetch.headers if home or each[0].lower() in _FOLLOWING]
    if trip.condition is not None and trip.condition.url == trip.url:
        given.extend(trip.condition.headers)
    fields.update((name.lower(), (name, value)) for name, value in given if name.lower() != "accept-encoding")
    # Bytes, since httpx takes ASCII alone for text, and an ETag to be sent back may have more.
    return [(name.encode(), value.encode()) for name, value in fields.values()]


def _received(reply: Reply) -> tuple[tuple[str, str], ...]:
    past = _TRANSFER if reply.each("content-encoding") else _TRANSFER - {"content-length"}
    return tuple(each for each in reply.fields if each[0] not in past)


async def _whole(reply: Reply, request: httpx.Request, fetch: Fetch) -> httpx.Response:
    headers = [each for each in _received(reply) if each[0] != "content-length"]
    body = await read_body(reply, fetch.limit, fetch.kind)
    return httpx.Response(reply.status, headers=headers, content=body, request=request)


def _refused(message: str, hint: str | None = None) -> FetchError:
    return FetchError("redirect-refused", message, hint=hint)
