"""What the line asks for, from the cache where that may answer, else from the network.

hishel keeps, we judge: its storages hold the copies; whether one is fresh, which one answers a request, what a 304
changes and what may be stored is decided here and in `freshness`, by the clock that was handed in. Nothing is written
before the core says `Keep`.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_discovery._effects import Fetch, Fetched
from a2a_discovery._hosts import is_loopback, same_site
from a2a_discovery._http import freshness
from a2a_discovery._http.answers import Spy, condition, copy_of, from_answer, from_copy, pending, sent
from a2a_discovery._http.coalesce import Flights
from a2a_discovery._http.fingerprint import fingerprint
from a2a_discovery._http.freshness import Copy
from a2a_discovery._http.keeper import Keeper, Pending, Stored
from a2a_discovery._http.lease import PATIENCE, Lease, Leases
from a2a_discovery._http.shelf import Note
from a2a_discovery._trust.continuity import location_of
from a2a_discovery._urls import host_of, split, without_userinfo
from a2a_discovery.errors import FetchError

if TYPE_CHECKING:
    import httpx

    from a2a_discovery._http.cache import Cache
    from a2a_discovery._http.exchange import Answer, Exchange
    from a2a_discovery.policy import Limits, NetworkPolicy

SKEW = 300.0
"""Seconds by which another machine's clock may be ahead of ours. A copy from further in the future is not used."""
_GONE = frozenset({401, 403, 404, 405, 410})
"""The origin says that what it once served is not there, or not for us: the stored copy goes."""
_RECALLED = 4096
"""Records that were recalled and not yet written again: what did not change need not be written. Refused cards leave
theirs behind, so it is emptied now and then."""
_LONG = 2000
"""Characters of a URL that is worth remembering what it means: longer ones are rare, and could fill the memory."""


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
        self._keeper = Keeper(cache, limits, clock)
        self._misses = cache.shelf.misses
        self._flights: Flights[Fetched] = Flights()
        self._recalled: dict[str, bytes] = {}

    async def fetch(self, fetch: Fetch, *, alone: bool = True) -> Fetched:
        """Answer one `Fetch`: from the cache, revalidated, or from the network. Calls for one thing share a request.

        Args:
            fetch: what to ask for.
            alone: nothing else is asked for at the same time by the same flow. Of several, none waits for its turn
                among other workers: two of them, each with one turn and waiting for the other's, would do so in vain.

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
            return await self._answer(fetch, key, private=True, alone=alone)
        name = (key, fetch.kind, fetch.limit, fetch.mode, fetch.headers, fetch.body, fetch.principal)
        answer = await self._flights.join(name, lambda: self._answer(fetch, key, private=private, alone=alone))
        return answer if answer.requested == fetch.url else replace(answer, requested=fetch.url)

    async def recall(self, location: str, answer: Fetched | None = None) -> bytes | None:
        """What is remembered of a location; see `keep`.

        Args:
            location: as in `keep`.
            answer: came from there. What was read with the copy that it replaces is not read once more, unless
                somebody kept the same answer by now.
        """
        handle = answer.handle if answer is not None else None
        if isinstance(handle, Pending) and not handle.done and handle.past and handle.past[0] == location:
            record: bytes | None = handle.past[1]
        else:
            record = await self._keeper.recall(self._channel, location)
        if record is not None:
            if len(self._recalled) >= _RECALLED:
                self._recalled.clear()
            self._recalled[location] = record
        return record

    async def keep(self, answer: Fetched | None = None, *, location: str | None = None, record: bytes = b"") -> None:
        """Store an answer that the core accepted, in the place of the one it replaces, and remember its location.

        Args:
            answer: what `fetch` gave, or ``None`` where there is only something to remember.
            location: what the record is about; it is kept by channel, and not evicted with answers.
            record: what to remember.
        """
        note = None
        if location is not None and self._recalled.pop(location, None) != record:
            note = Note(channel=self._channel, location=location, record=record)
        if answer is not None and isinstance(answer.handle, Pending):
            await self._keeper.write(answer.handle, note)
        elif note is not None:
            await self._keeper.remember(note)

    @staticmethod
    def lease_of(answer: object) -> Lease | None:
        """The turn among other workers by which an answer came, where there was one: to be given back by `release`."""
        handle = answer.handle if isinstance(answer, Fetched) else None
        return handle.lease if isinstance(handle, Pending) else None

    def release(self, leases: Iterable[Lease], *, missed: bool) -> None:
        """A flow has ended: let other workers ask for what it did not keep.

        Args:
            leases: of all its answers; `keep` gave back some already.
            missed: what came was not good enough, so that the next worker need not hope for another's.
        """
        for lease in leases:
            self._keeper.release(lease, missed=missed)

    def forget(self, location: str) -> None:
        """Remember nothing of a location any more."""
        self._recalled.pop(location, None)
        self._keeper.forget(self._channel, location)

    async def aclose(self) -> None:
        """Stop what is under way, close the connections and the store. A storage that was handed in stays open."""
        await self._flights.aclose()
        exchange, self._exchange = self._exchange, None
        try:
            if exchange is not None:
                await exchange.aclose()
        finally:
            await self._keeper.aclose()

    # Which copy answers

    def _key(self, fetch: Fetch) -> str:
        """What a stored answer goes by: the request and the channel, never what it is read as."""
        return store_key(fetch.method, fetch.url, self._channel, local=fetch.local and self._network.loopback)

    async def _read(self, fetch: Fetch, key: str) -> Stored:
        """The stored answers to a request, as far as this kind of fetch could have got them itself."""
        location = _location(fetch)
        if location is not None:
            found = await self._keeper.read_both(key, self._channel, location)
        else:
            found = Stored(copies=await self._keeper.read(key))
        aside = await self._keeper.read_aside(key) if fetch.kind == "profile" else ()
        copies = [each for each in (*found.copies, *aside) if self._may_answer(each, fetch)]
        return Stored(copies=copies, past=found.past)

    def _may_answer(self, copy: Copy, fetch: Fetch) -> bool:
        hops = (*copy.redirects, copy.url)
        if len(copy.body) > fetch.limit or not freshness.answers(copy, sent(fetch, copy.headers)):
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

    def _lifetime(self, fetch: Fetch, *, url: str, headers: freshness.Fields, at: float) -> float:
        return freshness.lifetime(headers, at=at, kind=fetch.kind, loopback=_on_loopback(url), limits=self._limits)

    def _expiry(self, fetch: Fetch, copy: Copy) -> float:
        return copy.at + self._lifetime(fetch, url=copy.url, headers=copy.headers, at=copy.at)

    # From the cache, or from the network

    async def _stored(self, fetch: Fetch, key: str, *, private: bool) -> Fetched:
        now = self._clock()
        copy = None if private else self._newest((await self._read(fetch, key)).copies)
        if copy is not None:
            expires_at = self._expiry(fetch, copy)
            if now < expires_at:
                return from_copy(fetch, copy, "fresh", expires_at=expires_at)
            until = freshness.stale_until(copy.headers, expires_at=expires_at)
            if fetch.kind == "keys" and until > expires_at:
                until = min(until, copy.at + self._limits.stale_keys)
            if now < until:
                return from_copy(fetch, copy, "stale", expires_at=expires_at)
        url = without_userinfo(fetch.url)
        raise FetchError("connect", f"no stored answer of {url} may be used", url=url, step="fetch")

    async def _answer(self, fetch: Fetch, key: str, *, private: bool, alone: bool) -> Fetched:
        stored = Stored() if private else await self._read(fetch, key)
        fresh = self._fresh(fetch, stored.copies)
        if fresh is not None:
            return fresh
        missing = self._missing(fetch, key, private=private)
        missed = None if missing is None or fetch.mode != "use" else self._misses.recall(missing, now=self._clock())
        if missed is not None:
            return missed
        leases = self._keeper.leases if alone and not private else None
        if leases is not None:
            return await self._in_turn(fetch, key, missing, leases)
        return await self._ask_anew(fetch, key, stored, missing, private=private)

    async def _in_turn(self, fetch: Fetch, key: str, missing: str | None, leases: Leases) -> Fetched:
        """Ask the origin while no other worker does; where one did, and kept what came, that is the answer."""
        lease: Lease | None = None
        fresh, again, until = None, True, asyncio.get_running_loop().time() + PATIENCE
        try:
            while again and fresh is None:
                lease, again = await leases.turn(key, until=until)
                stored = await self._read(fetch, key)
                fresh = self._fresh(fetch, stored.copies)
            answer = fresh or await self._ask_anew(fetch, key, stored, missing, private=False)
        except BaseException as error:
            leases.free(lease, missed=isinstance(error, FetchError))
            raise
        if isinstance(answer.handle, Pending):
            answer.handle.lease = lease
        else:
            leases.free(lease, missed=fresh is None)
        return answer

    def _fresh(self, fetch: Fetch, copies: Sequence[Copy]) -> Fetched | None:
        copy = self._newest(copies)
        if copy is None or fetch.mode != "use":
            return None
        expires_at = self._expiry(fetch, copy)
        return from_copy(fetch, copy, "fresh", expires_at=expires_at) if self._clock() < expires_at else None

    async def _ask_anew(self, fetch: Fetch, key: str, stored: Stored, missing: str | None, *, private: bool) -> Fetched:
        """Ask the origin, and remember it where nothing came."""
        try:
            answer = await self._from_network(fetch, key, stored, private=private)
        except FetchError as error:
            if missing is not None:
                self._misses.note(missing, error, at=self._clock(), retry_after=error.retry_after)
            raise
        if missing is not None and answer.status == 200:
            self._misses.clear(missing)
        elif missing is not None:
            self._misses.note(missing, answer, at=answer.fetched_at, retry_after=answer.retry_after)
        return answer

    def _missing(self, fetch: Fetch, key: str, *, private: bool) -> str | None:
        """What a miss is remembered under; ``None``: it is not."""
        if self._keeper.off or fetch.method != "GET" or _on_loopback(fetch.url):
            return None
        if private and fetch.principal is None:
            return None
        return f"{key}\n{fetch.kind}\n{fetch.limit}\n{fetch.headers}\n{fetch.principal or ''}"

    async def _from_network(self, fetch: Fetch, key: str, stored: Stored, *, private: bool) -> Fetched:
        copy, spy = self._newest(stored.copies), Spy(fetch.auth_for)
        asked = fetch if fetch.auth_for is None else replace(fetch, auth_for=spy)
        answer, confirmed = await self._ask(asked, copy if fetch.mode != "unconditional" else None)
        at = self._clock()
        if confirmed is None and answer.status != 200:
            if answer.status in _GONE:
                await self._keeper.remove(key, stored.copies)
            return from_answer(fetch, answer, at, expires_at=at)
        headers: freshness.Fields = freshness.fields(answer.headers)
        headers = freshness.kept(headers) if confirmed is None else freshness.refreshed(confirmed.headers, headers)
        lifetime = self._lifetime(fetch, url=answer.url, headers=headers, at=at)
        new = copy_of(fetch, answer, headers, at=at, confirmed=confirmed)
        handle = None if private or spy.used else pending(fetch, key, new, lifetime, stored)
        if confirmed is not None:
            return from_copy(fetch, new, "revalidated", expires_at=at + lifetime, handle=handle)
        return from_answer(fetch, answer, at, expires_at=at + lifetime, handle=handle)

    async def _ask(self, fetch: Fetch, copy: Copy | None) -> tuple[Answer, Copy | None]:
        """Ask the origin, with the copy's validators where it has any: the answer, and the copy that a 304 confirms."""
        exchange, sent_with = self._open_exchange(), condition(copy)
        answer = await exchange(fetch, condition=sent_with)
        if answer.status != 304 or copy is None or sent_with is None:
            return answer, None
        if answer.url == copy.url and freshness.confirms(freshness.fields(answer.headers), copy.headers):
            return answer, copy
        return await exchange(fetch), None  # it speaks of something else than what we hold

    def _open_exchange(self) -> Exchange:
        if self._exchange is None:
            from a2a_discovery._http.exchange import Exchange  # httpx: not for an answer from the store

            self._exchange = Exchange(self._network, transport=self._transport, clock=self._clock)
        return self._exchange


def store_key(method: str, url: str, channel: str, *, local: bool) -> str:
    """What a stored answer goes by: a request, the channel, and whether loopback could be reached through it."""
    parts = ("1", method, _normal(url), channel, str(local))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _is_private(fetch: Fetch) -> bool:
    """Whether the answer is for one caller alone, or no answer to a GET: it never meets a store."""
    if fetch.method != "GET" or fetch.kind == "extended" or fetch.principal is not None:
        return True
    return fetch.auth_for is not None and fetch.auth_for(host_of(fetch.url) or "") is not None


def _location(fetch: Fetch) -> str | None:
    """Where a card proves something, if it is one, and asked for at a URL that is one."""
    try:
        return location_of(fetch.url) if fetch.kind == "card" else None
    except ValueError:
        return None


def _normal(url: str) -> str:
    return _known(url)[0] if len(url) <= _LONG else _meaning(url)[0]


def _on_loopback(url: str) -> bool:
    return _known(url)[1] if len(url) <= _LONG else _meaning(url)[1]


def _meaning(url: str) -> tuple[str, bool]:
    """The normal form of a URL, and whether its host is this machine."""
    try:
        parts = split(url)
    except ValueError:
        return url, False
    return parts.normal, is_loopback(parts.host)


_known = functools.lru_cache(maxsize=2048)(_meaning)
