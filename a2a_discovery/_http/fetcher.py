"""What the line asks for, from the cache where that may answer, else from the network.

hishel keeps, we judge: its storages hold the copies; whether one is fresh, which one answers a request, what a 304
changes and what may be stored is decided here and in `freshness`, by the clock that was handed in. Nothing is written
before the core says `Keep`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_discovery._effects import CacheState, Fetch, Fetched, Kind
from a2a_discovery._hosts import is_loopback, same_site
from a2a_discovery._http import freshness
from a2a_discovery._http.coalesce import Flights
from a2a_discovery._http.fingerprint import fingerprint
from a2a_discovery._http.freshness import Copy
from a2a_discovery._urls import host_of, split, without_userinfo
from a2a_discovery.errors import FetchError

if TYPE_CHECKING:
    import httpx
    from hishel import AsyncBaseStorage

    from a2a_discovery._http.cache import Cache
    from a2a_discovery._http.exchange import Answer, Condition, Exchange
    from a2a_discovery.policy import Limits, NetworkPolicy

T = TypeVar("T")

log = logging.getLogger("a2a_discovery")

PATIENCE = 3.0
"""Seconds to wait for a store: longer than for another process's lock, shorter than an origin takes to time out."""
SKEW = 300.0
"""Seconds by which another machine's clock may be ahead of ours. A copy from further in the future is not used."""
_GONE = frozenset({401, 403, 404, 405, 410})
"""The origin says that what it once served is not there, or not for us: the stored copy goes."""


@dataclass(slots=True, kw_only=True)
class _Pending:
    """What to write when the core says `Keep`."""

    key: str
    copy: Copy | None
    """``None``: the answer must not be stored, and what it replaces goes all the same."""
    lifetime: float
    old: Sequence[Copy]
    aside: bool = False
    """Keep it in the memory of this process, whatever the store is."""
    done: bool = False


class Fetcher:
    """Fetches through one cache and one policy, on one event loop. Used again after `aclose`, it opens again.

    Args:
        network: where to connect.
        limits: how much is read, and how long it stays fresh.
        cache: where answers are kept.
        transport: replaces the sockets; it stays the caller's.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        *,
        network: NetworkPolicy,
        limits: Limits,
        cache: Cache,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._network = network
        self._limits = limits
        self._cache = cache
        self._transport = transport
        self._clock = clock
        self._channel = fingerprint(network, transport)
        self._exchange: Exchange | None = None
        self._storage: AsyncBaseStorage | None = None
        self._flights: Flights[Fetched] = Flights()

    async def fetch(self, fetch: Fetch) -> Fetched:
        """Answer one `Fetch`: from the cache, revalidated, or from the network. Calls for one thing share a request.

        Returns:
            The answer, whatever its status.

        Raises:
            FetchError: no answer, or one that can't be used; in mode ``stored``: nothing that may be used is stored.
            BlockedError: the policy forbids it.
        """
        key, private = self._key(fetch), _is_private(fetch)
        if fetch.mode == "stored":
            return await self._stored(fetch, key, private=private)
        if private and fetch.principal is None:
            return await self._answer(fetch, key, private=True)
        name = (key, fetch.kind, fetch.limit, fetch.mode, fetch.headers, fetch.body, fetch.principal)
        answer = await self._flights.join(name, lambda: self._answer(fetch, key, private=private))
        return answer if answer.requested == fetch.url else replace(answer, requested=fetch.url)

    async def recall(self, location: str) -> bytes | None:
        """What is remembered of a location; see `keep`."""
        return self._cache.shelf.remembered.get(f"{self._channel}\n{location}")

    async def keep(self, answer: Fetched | None = None, *, location: str | None = None, record: bytes = b"") -> None:
        """Store an answer that the core accepted, in the place of the one it replaces, and remember its location.

        Args:
            answer: what `fetch` gave, or ``None`` where there is only something to remember.
            location: what the record is about; it is kept by channel, and not evicted with answers.
            record: what to remember.
        """
        if location is not None:
            self._cache.shelf.remembered[f"{self._channel}\n{location}"] = record
        if answer is not None:
            await self._keep(answer)

    def forget(self, location: str) -> None:
        """Remember nothing of a location any more."""
        self._cache.shelf.remembered.pop(f"{self._channel}\n{location}", None)

    async def _keep(self, answer: Fetched) -> None:
        pending = answer.handle
        if not isinstance(pending, _Pending) or pending.done:
            return  # from the store, not storable, or kept already by a caller who shared the request
        pending.done = True
        storage = self._open()
        if storage is None:
            return
        from a2a_discovery._http.store import remove, write

        if pending.copy is None or pending.aside:
            await self._try("remove", remove(storage, pending.old), None)
        storage = self._open_aside() if pending.aside else storage
        if pending.copy is not None and storage is not None:
            work = write(storage, pending.key, pending.copy, lifetime=pending.lifetime, old=pending.old)
            await self._try("write", work, None)

    async def aclose(self) -> None:
        """Stop what is under way, close the connections and the store. A storage handed in stays open."""
        await self._flights.aclose()
        exchange, self._exchange = self._exchange, None
        storage, self._storage = self._storage, None
        try:
            if exchange is not None:
                await exchange.aclose()
        finally:
            if storage is not None and self._cache.kind != "storage":
                await self._try("close", storage.close(), None)

    # Which copy answers

    def _key(self, fetch: Fetch) -> str:
        """What a stored answer goes by: the request and the channel, never what it is read as."""
        try:
            url = split(fetch.url).normal
        except ValueError:
            url = fetch.url
        parts = ("1", fetch.method, url, self._channel, str(fetch.local and self._network.loopback))
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    async def _copies(self, fetch: Fetch, key: str) -> list[Copy]:
        """The stored answers to a request, as far as this kind of fetch could have got them itself."""
        storage = self._open()
        if storage is None:
            return []
        from a2a_discovery._http.store import read

        empty: list[Copy] = []
        found = await self._try("read", read(storage, key), empty)
        aside = self._open_aside() if fetch.kind == "profile" else None
        if aside is not None:
            found = [*found, *await read(aside, _aside(key))]
        return [copy for copy in found if self._may_answer(copy, fetch)]

    def _may_answer(self, copy: Copy, fetch: Fetch) -> bool:
        hops = (*copy.redirects, copy.url)
        if len(copy.body) > fetch.limit or not freshness.answers(copy, _sent(fetch, copy.headers)):
            return False
        if copy.redirects and (fetch.kind == "profile" or len(copy.redirects) > self._network.max_redirects):
            return False
        if fetch.kind == "keys" and not self._on_one_site(hops):
            return False
        # Where this caller has a credential for a hop, it would have been asked with that.
        return fetch.auth_for is None or all(fetch.auth_for(host_of(hop) or "") is None for hop in hops)

    def _on_one_site(self, hops: Sequence[str]) -> bool:
        first, *others = (host_of(hop) or "" for hop in hops)
        return all(same_site(first, other, local=self._network.loopback) for other in others)

    def _newest(self, copies: Iterable[Copy]) -> Copy | None:
        horizon = self._clock() + SKEW
        return max((each for each in copies if each.at <= horizon), key=lambda each: each.at, default=None)

    def _expires_at(self, copy: Copy, kind: Kind) -> float:
        return copy.at + self._lifetime(copy, kind)

    def _lifetime(self, copy: Copy, kind: Kind) -> float:
        loopback = is_loopback(host_of(copy.url) or "")
        return freshness.lifetime(copy.headers, at=copy.at, kind=kind, loopback=loopback, limits=self._limits)

    # From the cache, or from the network

    async def _stored(self, fetch: Fetch, key: str, *, private: bool) -> Fetched:
        now = self._clock()
        copy = None if private else self._newest(await self._copies(fetch, key))
        if copy is not None:
            expires = self._expires_at(copy, fetch.kind)
            if now < expires:
                return self._from_copy(fetch, copy, "fresh")
            until = freshness.stale_until(copy.headers, expires_at=expires)
            if fetch.kind == "keys" and until > expires:
                until = min(until, copy.at + self._limits.stale_keys)
            if now < until:
                return self._from_copy(fetch, copy, "stale")
        url = without_userinfo(fetch.url)
        raise FetchError("connect", f"no stored answer of {url} may be used", url=url, step="fetch")

    async def _answer(self, fetch: Fetch, key: str, *, private: bool) -> Fetched:
        copies = [] if private else await self._copies(fetch, key)
        copy = self._newest(copies)
        if copy is not None and fetch.mode == "use" and self._clock() < self._expires_at(copy, fetch.kind):
            return self._from_copy(fetch, copy, "fresh")
        spy = _Spy(fetch.auth_for)
        asked = fetch if fetch.auth_for is None else replace(fetch, auth_for=spy)
        answer, confirmed = await self._ask(asked, copy if fetch.mode != "unconditional" else None)
        at = self._clock()
        if confirmed is not None:
            merged = freshness.revalidated(confirmed, answer.headers, at=at)
            merged = replace(merged, varied=freshness.varied(merged.headers, _sent(fetch, merged.headers)))
            pending = self._pending(fetch, key, merged, copies)
            return replace(self._from_copy(fetch, merged, "revalidated"), handle=pending)
        if answer.status in _GONE and copies:
            await self._drop(copies)
        if answer.status != 200:
            return _from_answer(fetch, answer, at, lifetime=0.0)
        fresh = _copy_of(fetch, answer, at)
        pending = None if private or spy.used else self._pending(fetch, key, fresh, copies)
        return _from_answer(fetch, answer, at, lifetime=self._lifetime(fresh, fetch.kind), handle=pending)

    async def _ask(self, fetch: Fetch, copy: Copy | None) -> tuple[Answer, Copy | None]:
        """Ask the origin, with the copy's validators where it has any: the answer, and the copy that a 304 confirms."""
        exchange, condition = self._open_exchange(), _condition(copy)
        answer = await exchange(fetch, condition=condition)
        if answer.status != 304 or copy is None or condition is None:
            return answer, None
        if answer.url == copy.url and freshness.confirms(answer.headers, copy.headers):
            return answer, copy
        return await exchange(fetch), None  # it speaks of something else than what we hold

    async def _drop(self, copies: Sequence[Copy]) -> None:
        from a2a_discovery._http.store import remove

        for storage in (self._open(), self._open_aside()):
            if storage is not None:
                await self._try("remove", remove(storage, copies), None)

    def _pending(self, fetch: Fetch, key: str, copy: Copy, old: Sequence[Copy]) -> _Pending | None:
        if self._cache.kind == "off":
            return None
        lifetime = self._lifetime(copy, fetch.kind)
        if freshness.storable(copy.headers):
            if copy.id is not None and any(each.id == copy.id and _vary(each) != _vary(copy) for each in old):
                copy = replace(copy, id=None)  # it answers other requests now: another entry
            return _Pending(key=key, copy=copy, lifetime=lifetime, old=old)
        if fetch.kind == "profile" and "*" not in _vary(copy):
            return _Pending(key=_aside(key), copy=replace(copy, id=None), lifetime=lifetime, old=old, aside=True)
        return _Pending(key=key, copy=None, lifetime=0.0, old=old)

    def _from_copy(self, fetch: Fetch, copy: Copy, state: CacheState) -> Fetched:
        return Fetched(
            requested=fetch.url,
            url=copy.url,
            status=200,
            headers=_joined(copy.headers),
            body=copy.body,
            channel=copy.channel,
            cache=state,
            fetched_at=copy.at,
            expires_at=self._expires_at(copy, fetch.kind),
            redirects=copy.redirects,
        )

    # What is opened at first use

    def _open(self) -> AsyncBaseStorage | None:
        if self._storage is None and self._cache.kind != "off":
            try:
                self._storage = self._cache.open(self._limits, self._clock)
            except Exception as error:  # noqa: BLE001  (a library may be missing, or of another version)
                self._failed("open", error)
        return self._storage

    def _open_aside(self) -> AsyncBaseStorage | None:
        return None if self._cache.kind == "off" else self._cache.open_memory(self._limits)

    def _open_exchange(self) -> Exchange:
        if self._exchange is None:
            from a2a_discovery._http.exchange import Exchange  # httpx: not for an answer from the store

            self._exchange = Exchange(self._network, transport=self._transport, clock=self._clock)
        return self._exchange

    async def _try(self, what: str, work: Awaitable[T], default: T) -> T:
        """Do something with the store. Whatever goes wrong is a miss, and the log says it once until it works again."""
        try:
            async with asyncio.timeout(PATIENCE):
                result = await work
        except Exception as error:  # noqa: BLE001  (any store of anybody's make)
            self._failed(what, error)
            return default
        self._cache.trouble.discard(what)
        return result

    def _failed(self, what: str, error: Exception) -> None:
        level = logging.DEBUG if what in self._cache.trouble else logging.WARNING
        self._cache.trouble.add(what)
        reason = f"{type(error).__name__}: {error}"[:200]
        details = {"a2a.store": self._cache.kind, "a2a.operation": what, "a2a.reason": reason}
        log.log(level, "a2a.cache.failed", extra=details)


def _from_answer(
    fetch: Fetch, answer: Answer, at: float, *, lifetime: float, handle: _Pending | None = None
) -> Fetched:
    return Fetched(
        requested=fetch.url,
        url=answer.url,
        status=answer.status,
        headers=_joined(answer.headers),
        body=answer.body,
        channel=answer.channel,
        cache="network",
        fetched_at=at,
        expires_at=at + lifetime,
        redirects=answer.redirects,
        handle=handle,
    )


class _Spy:
    """Passes on which credential a hop gets, and remembers whether any got one."""

    def __init__(self, auth_for: Callable[[str], Any] | None) -> None:
        self._auth_for = auth_for
        self.used = False

    def __call__(self, host: str) -> Any:
        auth = None if self._auth_for is None else self._auth_for(host)
        self.used = self.used or auth is not None
        return auth


def _is_private(fetch: Fetch) -> bool:
    """Whether the answer is for one caller alone, or no answer to a GET: it never meets a store."""
    if fetch.method != "GET" or fetch.kind == "extended" or fetch.principal is not None:
        return True
    return fetch.auth_for is not None and fetch.auth_for(host_of(fetch.url) or "") is not None


def _sent(fetch: Fetch, headers: freshness.Fields) -> dict[str, str]:
    """The request's fields as they go out, as far as an answer with these fields may depend on them."""
    sent = {"a2a-version": "1.0", "accept-encoding": "gzip"}
    if not {"accept", "user-agent"}.isdisjoint(freshness.members(headers, "vary")):
        from a2a_discovery._http.exchange import ACCEPT, user_agent

        sent |= {"accept": ACCEPT, "user-agent": user_agent()}
    return sent | {name.lower(): value for name, value in fetch.headers if name.lower() != "accept-encoding"}


def _copy_of(fetch: Fetch, answer: Answer, at: float) -> Copy:
    headers = freshness.kept(answer.headers)
    return Copy(
        method=fetch.method,
        requested=without_userinfo(fetch.url),
        url=answer.url,
        redirects=answer.redirects,
        channel=answer.channel,
        at=at,
        varied=freshness.varied(headers, _sent(fetch, headers)),
        headers=headers,
        body=answer.body,
    )


def _condition(copy: Copy | None) -> Condition | None:
    headers = () if copy is None else freshness.validators(copy.headers)
    if copy is None or not headers:
        return None
    from a2a_discovery._http.exchange import Condition

    return Condition(url=copy.url, headers=headers)


def _vary(copy: Copy) -> list[str]:
    return freshness.members(copy.headers, "vary")


def _aside(key: str) -> str:
    """The key of what is kept in memory though it is not stored: nothing else may find it."""
    return f"{key}:profile"


def _joined(headers: freshness.Fields) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
