"""How chosen credentials get onto requests: one `httpx.Auth`, bound to the hosts they may go to."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from typing import Any, TypeAlias, TypeVar

import httpx

from a2a_discovery._choose import Applied, Call, Grant
from a2a_discovery._credentials import Allowed, Credentials, fits_a_field
from a2a_discovery.errors import AuthError

T = TypeVar("T")

Tokens: TypeAlias = Callable[[Grant, str | None], Awaitable[str]]
"""An access token for a grant; the second argument is one that was refused."""


class BoundAuth(httpx.Auth):
    """Puts credentials on requests to allowed hosts, and on no other.

    A 401 has tokens renewed once. httpx asks it once a call: on a redirect to another origin httpx itself takes the
    ``Authorization`` and cookies away again, yet no field of another name, so the guarded transport of an agent asks it
    at every hop, and takes away what strayed.

    Args:
        applied: what to put on.
        allowed: where; ``None``: the host was checked already.
        tokens: gets access tokens, where some are wanted.
        check: raises where the credentials may not be used any more.
        refused: told of a 401 or 403 to a request that carried credentials.
    """

    def __init__(
        self,
        applied: Iterable[Applied],
        allowed: Allowed | None = None,
        *,
        tokens: Tokens | None = None,
        check: Callable[[], None] | None = None,
        refused: Callable[[int], None] | None = None,
    ) -> None:
        self._applied = tuple(applied)
        self._allowed = allowed
        self._tokens = tokens
        self._check = check
        self._refused = refused
        self.requires_request_body = bool(getattr(self._inner(self._applied), "requires_request_body", False))
        self.requires_response_body = bool(getattr(self._inner(self._applied), "requires_response_body", False))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce__(self) -> Any:
        raise TypeError("credentials are not pickled")

    @property
    def renewable(self) -> bool:
        """Whether a refused credential may be replaced by a newer one."""
        return any(each.place in ("call", "token") for each in self._applied)

    def may(self, url: str) -> bool:
        """Whether credentials may go with a request to this URL."""
        return bool(self._applied) and (self._allowed is None or self._allowed.admits(url))

    def strip(self, request: httpx.Request) -> None:
        """Take the caller's fixed header values off a request that may not carry them."""
        if self.may(str(request.url)):
            return
        for each in self._applied:
            if each.place == "header" and request.headers.get(each.name) == each.value:
                del request.headers[each.name]

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """For `httpx.Client`."""
        if not self.may(str(request.url)):
            yield request
            return
        applied = _wait(self._values())
        _put(applied, request)
        inner = self._inner(applied)
        if inner is not None:
            self._note((yield from _observed(inner.sync_auth_flow(request))))
            return
        response = yield request
        again = _wait(self._renewed(applied, response, request))
        if again is not None:
            _put(again, request)
            response = yield request
        self._note(response.status_code)

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """For `httpx.AsyncClient`."""
        if not self.may(str(request.url)):
            yield request
            return
        applied = await self._values()
        _put(applied, request)
        inner = self._inner(applied)
        if inner is not None:
            flow = inner.async_auth_flow(request)
            response = None
            try:
                wanted = await anext(flow)
                while True:
                    response = yield wanted
                    try:
                        wanted = await flow.asend(response)
                    except StopAsyncIteration:
                        return
            finally:
                await flow.aclose()
                self._note(None if response is None else response.status_code)
        response = yield request
        again = await self._renewed(applied, response, request)
        if again is not None:
            _put(again, request)
            response = yield request
        self._note(response.status_code)

    async def fields(self, url: str, *, refused: Iterable[tuple[str, str]] = ()) -> list[tuple[str, str]]:
        """The header fields that carry the credentials to this URL, for a protocol that is not httpx's.

        Args:
            url: where they go, as an https URL.
            refused: those that were sent in vain.

        Raises:
            AuthError: ``no-credential``, where they have no place in header fields.
        """
        if not self.may(url):
            return []
        sent = tuple(Applied(place="header", name=name, value=value) for name, value in refused)
        applied = await self._values(sent or None)
        bare, request = httpx.Request("POST", url), httpx.Request("POST", url)
        _put(applied, request)
        inner = self._inner(applied)
        if inner is not None:
            flow = inner.async_auth_flow(request)
            try:
                request = await anext(flow)
            finally:
                await flow.aclose()
        if request.url != bare.url or any(each.place == "certificate" for each in applied):
            raise AuthError(
                "no-credential", "what the card asks for has no place in a gRPC call", step="extend", hint="bindings="
            )
        return [(name, value) for name, value in request.headers.items() if bare.headers.get(name) != value]

    async def _values(self, sent: tuple[Applied, ...] | None = None) -> tuple[Applied, ...]:
        """What to put on, functions called and tokens got; newer than what was sent in vain, where that can be."""
        if self._check is not None:
            self._check()
        found: list[Applied] = []
        for each in self._applied:
            found += await _called(each.value) if each.place == "call" else (each,)
        return tuple([await self._token(each, sent) if each.place == "token" else each for each in found])

    async def _token(self, applied: Applied, sent: tuple[Applied, ...] | None) -> Applied:
        if self._tokens is None:
            raise AuthError("no-credential", "nothing says where this client gets its tokens", step="extend")
        stale = next(
            (each.value.partition(" ")[2] for each in sent or () if each.name.lower() == "authorization"), None
        )
        token = await self._tokens(applied.value, stale)
        return Applied(place="header", name=applied.name, value=f"Bearer {token}")

    async def _renewed(
        self, sent: tuple[Applied, ...], response: httpx.Response, request: httpx.Request
    ) -> tuple[Applied, ...] | None:
        """Newer values after a 401, or ``None`` where there are none, or the request's body is gone."""
        if response.status_code != 401 or not isinstance(request.stream, httpx.SyncByteStream):
            return None
        if not self.renewable:
            return None
        again = await self._values(sent)
        return again if again != sent else None

    def _note(self, status: int | None) -> None:
        if self._refused is not None and status in (401, 403):
            self._refused(status)

    @staticmethod
    def _inner(applied: tuple[Applied, ...]) -> httpx.Auth | None:
        return next((each.value for each in applied if each.place == "auth"), None)


async def _called(call: Call) -> tuple[Applied, ...]:
    try:
        given = call.function()
        if inspect.isawaitable(given):
            given = await given
    except Exception as exc:
        raise AuthError(
            "no-credential", f"the function given as auth= failed: {type(exc).__name__}", step="extend"
        ) from exc
    if isinstance(given, str) and fits_a_field(given):
        return (Applied(place="header", name="Authorization", value=f"Bearer {given}"),)
    if isinstance(given, Credentials) and (given.auth is None or not callable(given.auth)):
        return call.place(given)
    raise AuthError(
        "no-credential",
        f"the function given as auth= returned {type(given).__name__}, and no token that a header can carry",
        step="extend",
        hint="return a bearer token, or Credentials(...)",
    )


def _put(applied: tuple[Applied, ...], request: httpx.Request) -> None:
    for each in applied:
        if each.place == "header":
            request.headers[each.name] = each.value
        elif each.place == "query":
            request.url = request.url.copy_set_param(each.name, each.value)
        elif each.place == "cookie":
            pairs = [pair for pair in request.headers.get("cookie", "").split("; ") if pair]
            others = [pair for pair in pairs if not pair.startswith(f"{each.name}=")]
            request.headers["cookie"] = "; ".join([*others, f"{each.name}={each.value}"])


def _observed(
    flow: Generator[httpx.Request, httpx.Response, None],
) -> Generator[httpx.Request, httpx.Response, int | None]:
    """The same flow, whose result is the last status."""
    status: int | None = None
    try:
        wanted = next(flow)
        while True:
            response = yield wanted
            status = response.status_code
            wanted = flow.send(response)
    except StopIteration:
        return status
    finally:
        flow.close()


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, for code without asyncio, inside somebody's running loop too."""
    outcome: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as exc:  # noqa: BLE001  (it is raised again where somebody waits for it)
            failed.append(exc)

    thread = threading.Thread(target=run, name="a2a_discovery-auth")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return outcome[0]


def bind(applied: tuple[Applied, ...]) -> httpx.Auth:
    """The `httpx.Auth` of applied credentials, for one host that was checked already."""
    return BoundAuth(applied)
