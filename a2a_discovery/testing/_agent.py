"""The fake agent: what it is told to be, and how it answers."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar, Literal

import httpx

from a2a_discovery._urls import split
from a2a_discovery.testing import _extended, _network
from a2a_discovery.testing._clock import Gate
from a2a_discovery.testing._keys import KEYS_PATH, Signer
from a2a_discovery.testing._reply import Answer, Kind, Reply, Request, encode, finish

CARD_PATH = "/.well-known/agent-card.json"
_STATES = 8
"""Signed cards that are kept: public and extended, at a few places. A test may edit the card for ever."""

Places = Mapping[str, str]
"""Origin as it stands in a card → origin where it is really served. Empty without sockets."""


class FakeAgent(httpx.AsyncBaseTransport):
    """An A2A agent on one host. It is itself an httpx transport: ``transport=agent``.

    Its state is plain values, read afresh for every request: edit them and the next answer follows.

    Args:
        url: its host, ``shop.example`` or ``shop.example:8443`` (then it is on https), or its origin with the scheme.
        card: its card, copied; by default a small one with a JSONRPC and an HTTP+JSON interface.
        signers: who signs its cards; by default one `Signer`. An empty list leaves them unsigned.
        extended: the extended card, or ``True`` for the public one with one more skill. The default card then
            declares it, behind a bearer token; a card of your own is left as it is.
        token: the bearer token that is let in.
        clock: seconds since the epoch, for ``Date``.

    Attributes:
        card: the public card without our signatures, a plain JSON dict.
        extended: the extended card, or ``None``: declared, yet not configured.
        signers: the keys that sign, in order.
        extra_keys: further entries of the JWK Set, as plain JWK dicts; anything at all may stand there.
        headers: for ``card``, ``keys`` and ``extended``: header fields to send. ``None`` leaves one out.
        replies: a path or a kind (``card``, ``keys``, ``extended``) → what is answered there instead.
        requests: every request so far, in order; clear it to begin anew.
        tokens: bearer tokens that are let in. ``weak_tokens`` are known, and get 403.
        admits: takes a `Request` and returns 200, 401 or 403; by default it looks at the tokens.
        strangers: whether somebody without credentials gets 401 (``refuse``) or, as from one SDK's server, the
            ``public`` card with 200 in place of the extended one.
        private: the status (401, 404) that strangers get for the public card; ``None`` where it is public.
        etag: ``strong`` or ``weak``, over the whole answer; ``unsigned``: weak, and blind to the signatures.
        watchers: of the class: called with every agent and request, as they arrive, whichever test sent them.
        card_paths: where the card is served; add ``/.well-known/agent.json`` for an agent of version 0.2, or any path.
        sign_extended: sign the extended card as well.
        sign_each_answer: make new signatures for each answer, so that no ``ETag`` ever matches.
    """

    watchers: ClassVar[list[Callable[[FakeAgent, Request], None]]] = []

    def __init__(
        self,
        url: str = "shop.example",
        *,
        card: Mapping[str, Any] | None = None,
        signers: Iterable[Signer] | None = None,
        extended: Mapping[str, Any] | bool = False,
        token: str = "let-me-in",  # noqa: S107  (a fake one)
        clock: Callable[[], float] = time.time,
    ) -> None:
        parts = split(url if "://" in url else f"https://{url}")
        self.url = parts.origin
        self.host = parts.host
        self.clock = clock
        self.card: dict[str, Any] = _default_card(self.url, bool(extended)) if card is None else copy.deepcopy({**card})
        self.extended: dict[str, Any] | None = _extended_card(self.card, extended)
        self.signers = [Signer()] if signers is None else list(signers)
        self.extra_keys: list[Any] = []
        self.headers: dict[Kind, dict[str, str | None]] = {
            "card": {"cache-control": "max-age=300"},
            "keys": {"cache-control": "max-age=300"},
            "extended": {},
        }
        self.replies: dict[str, Answer] = {}
        self.requests: list[Request] = []
        self.tokens = {token}
        self.weak_tokens: set[str] = set()
        self.admits: Callable[[Request], int] = self._by_token
        self.strangers: Literal["refuse", "public"] = "refuse"
        self.private: int | None = None
        self.etag: Literal["strong", "weak", "unsigned"] = "strong"
        self.card_paths = {CARD_PATH}
        self.sign_extended = True
        self.sign_each_answer = False
        self._signed: dict[tuple[Any, ...], tuple[dict[str, Any], bytes]] = {}

    # what it shows

    @property
    def jwks(self) -> dict[str, Any]:
        """The JWK Set as published: the signers' public keys and ``extra_keys``."""
        return {"keys": [*(signer.jwk for signer in self.signers if signer.published), *self.extra_keys]}

    def document(self, *, extended: bool = False, places: Places | None = None) -> dict[str, Any]:
        """The card as it is served: signed. A copy: edit it and serve it with `Reply.json` to tamper with it.

        Args:
            extended: the extended card instead.
            places: where its origins are really served; needed only for a card that is served on loopback.
        """
        return copy.deepcopy(self._shown(extended=extended, places=places or {})[0])

    def _shown(self, *, extended: bool, places: Places) -> tuple[dict[str, Any], bytes]:
        """The signed card and its bytes, made once for each state that the agent is in."""
        source = self.extended if extended else self.card
        if source is None:
            raise ValueError("this agent has no extended card")
        signers = self.signers if self.sign_extended or not extended else ()
        key = (json.dumps(source), *signers, *places.items())
        if key not in self._signed or self.sign_each_answer:
            if len(self._signed) >= _STATES:
                self._signed.clear()
            card = self._sign(_moved(source, places), signers, places)
            self._signed[key] = card, encode(card)
        return self._signed[key]

    def _sign(self, card: dict[str, Any], signers: Iterable[Signer], places: Places) -> dict[str, Any]:
        base = places.get(self.url, self.url)
        entries = [signer.sign(card, base=base) for signer in signers]
        return {**card, "signatures": [*card.get("signatures", ()), *entries]} if entries else card

    def rotate_keys(self, *, keep_old: bool = False) -> None:
        """Every signer gets a new key and kid, and the card and the JWK Set change with it.

        Args:
            keep_old: the old ones go on signing, and stay published, beside the new ones.
        """
        new = [signer.rotated() for signer in self.signers]
        self.signers[:] = [*self.signers, *new] if keep_old else new

    # what it is told

    def fail(
        self,
        where: str = "card",
        reply: Answer | int = 503,
        *,
        times: int | None = None,
        retry_after: int | str | None = None,
    ) -> None:
        """Answer wrongly at a path or kind, ``times`` times, or until ``agent.replies`` forgets it.

        Args:
            where: ``card``, ``keys``, ``extended`` or a path.
            reply: a status, a `Reply`, or a function of the request.
            times: how often; afterwards the agent answers as usual again.
            retry_after: seconds or an HTTP date to send with a bare status.
        """
        wrong = Reply.error(reply, retry_after=retry_after) if isinstance(reply, int) else reply
        left = iter(range(times)) if times is not None else None

        async def answer(request: Request) -> Reply | None:
            if left is not None and next(left, None) is None:
                return None
            return await _call(wrong, request)

        self.replies[where] = answer

    def hold(self, where: str = "card") -> Gate:
        """Let requests at a path or kind wait until the gate that this returns is opened."""
        gate = self.replies[where] = Gate()
        return gate

    def count(self, where: str = "card", *, status: int | None = None) -> int:
        """How many requests came for a kind or a path, or those of them that were answered with a status."""
        asked = [each for each in self.requests if where in (each.kind, each.path)]
        return len(asked) if status is None else sum(each.status == status for each in asked)

    # how it answers

    async def answer(self, request: Request, *, places: Places | None = None) -> Reply:
        """The finished reply to a request. Both ways to plug the agent in end here."""
        request = replace(request, kind=self._kind(request))
        self.requests.append(request)
        for watch in FakeAgent.watchers:
            watch(self, request)
        other = self.replies.get(request.path, self.replies.get(request.kind))
        reply = None if other is None else await _call(other, request)
        if reply is None:
            reply = self._usual(request, places or {})
        reply = finish(request, reply, now=self.clock())
        done = replace(request, status=None if reply.drop and not reply.body else reply.status)
        self._note(request, done)
        return reply

    def _note(self, request: Request, done: Request) -> None:
        for index in range(len(self.requests) - 1, -1, -1):  # from the end: thousands may stand before it
            if self.requests[index] is request:
                self.requests[index] = done
                return

    def _kind(self, request: Request) -> Kind:
        if request.path in self.card_paths:
            return "card"
        if request.path == KEYS_PATH or any(request.path == signer.jku for signer in self.signers):
            return "keys"
        return "extended" if _extended.asked(self.card, request) else "other"

    def _usual(self, request: Request, places: Places) -> Reply:
        if request.kind == "extended":
            return _extended.answer(self, request, places)
        if request.kind == "other":
            return Reply.text("Not Found", status=404)
        if request.method not in ("GET", "HEAD"):
            return Reply(status=405, headers={"allow": "GET, HEAD"})
        if request.kind == "keys":
            return self._stamped("keys", self.jwks, encode(self.jwks))
        if self.private is not None and self.admits(request) != 200:
            return _extended.refusal(self.private)
        return self._stamped("card", *self._shown(extended=False, places=places))

    def _stamped(self, kind: Kind, document: dict[str, Any], body: bytes) -> Reply:
        tagged = body
        if self.etag == "unsigned":
            tagged = encode({name: value for name, value in document.items() if name != "signatures"})
        tag = ("" if self.etag == "strong" else "W/") + f'"{hashlib.sha256(tagged).hexdigest()[:16]}"'
        headers = {"content-type": "application/json", "etag": tag, **_lower(self.headers[kind])}
        return Reply(headers=headers, body=body)

    def _by_token(self, request: Request) -> int:
        scheme, _, token = (request.authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return 401
        if token in self.weak_tokens:
            return 403
        return 200 if token in self.tokens else 401

    # how it is plugged in

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer httpx, without a socket. Another host than the agent's is a `httpx.ConnectError`."""
        return await _network.FakeNetwork(self).handle_async_request(request)

    def serve(self, *, tls: bool = True, name: str = "localhost") -> AbstractAsyncContextManager[_network.Running]:
        """Serve on a free loopback port, in the running event loop, while the ``async with`` lasts.

        URLs of its own origin in the cards become those of the real address, before they are signed.

        Args:
            tls: TLS, by a certificate of a private authority (extra: ``testing``), or plain http.
            name: the host name in `Running.url`; ``agent.host`` to be found under its own name, by
                `Running.network`, which then resolves it to loopback.
        """
        return _network.serve({name: self}, tls=tls)

    def serve_in_thread(self, *, tls: bool = True, name: str = "localhost") -> AbstractContextManager[_network.Running]:
        """The same for code without asyncio: served by a thread of its own while the ``with`` lasts."""
        return _network.serve_in_thread({name: self}, tls=tls)

    def __repr__(self) -> str:
        return f"FakeAgent({self.url!r})"


async def _call(answer: Answer, request: Request) -> Reply | None:
    if isinstance(answer, Reply):
        return answer
    result = answer(request)
    return await result if inspect.isawaitable(result) else result


def _moved(value: Any, places: Places) -> Any:
    """A copy in which every URL of a served origin points to where it is served."""
    if isinstance(value, dict):
        return {name: _moved(each, places) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, places) for each in value]
    if isinstance(value, str):
        return next(_moved_urls(value, places), value)
    return value


def _moved_urls(text: str, places: Places) -> Iterator[str]:
    for origin, place in places.items():
        rest = text.removeprefix(origin)
        if rest != text and rest[:1] in ("", "/", "?", "#"):
            yield place + rest


def _lower(headers: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name.lower(): value for name, value in headers.items()}


def _default_card(url: str, extended: bool) -> dict[str, Any]:
    card: dict[str, Any] = {
        "name": "Shop",
        "description": "Answers questions about orders.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{url}/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{url}/a2a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "orders", "name": "Orders", "description": "Says where an order is.", "tags": ["orders"]},
        ],
    }
    if extended:
        card["capabilities"]["extendedAgentCard"] = True
        card["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
        card["securityRequirements"] = [{"schemes": {"bearer": {}}}]
    return card


def _extended_card(card: Mapping[str, Any], extended: Mapping[str, Any] | bool) -> dict[str, Any] | None:
    if not extended:
        return None
    if isinstance(extended, Mapping):
        return copy.deepcopy(dict(extended))
    more = {"id": "refunds", "name": "Refunds", "description": "Pays an order back.", "tags": ["orders", "money"]}
    public = copy.deepcopy({name: value for name, value in card.items() if name != "signatures"})
    return {**public, "skills": [*public.get("skills", ()), more]}
