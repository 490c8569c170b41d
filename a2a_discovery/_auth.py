"""How chosen credentials get onto requests: one `httpx.Auth`, bound to the hosts they may go to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable
from typing import Any

import httpx

from a2a_discovery._credentials import Allowed, Applied
from a2a_discovery._urls import host_of


class BoundAuth(httpx.Auth):
    """Puts credentials on requests to allowed hosts, and on no other.

    A redirect inside httpx builds a new request and asks the same `httpx.Auth` again, so the host is looked at each
    time.
    """

    def __init__(self, applied: Iterable[Applied], allowed: Allowed | None = None) -> None:
        self._applied = tuple(applied)
        self._allowed = allowed

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce__(self) -> Any:
        raise TypeError("credentials are not pickled")

    def _may(self, request: httpx.Request) -> bool:
        return self._allowed is None or host_of(str(request.url)) in self._allowed

    def _put(self, request: httpx.Request) -> None:
        for each in self._applied:
            if each.place == "header":
                request.headers[each.name] = each.value
            elif each.place == "query":
                request.url = request.url.copy_merge_params({each.name: each.value})
            elif each.place == "cookie":
                others = request.headers.get("cookie")
                pair = f"{each.name}={each.value}"
                request.headers["cookie"] = f"{others}; {pair}" if others else pair

    @property
    def _inner(self) -> httpx.Auth | None:
        return next((each.value for each in self._applied if each.place == "auth"), None)

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """For `httpx.Client`."""
        if not self._may(request):
            yield request
            return
        self._put(request)
        if self._inner is None:
            yield request
        else:
            yield from self._inner.sync_auth_flow(request)

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """For `httpx.AsyncClient`."""
        if not self._may(request):
            yield request
            return
        self._put(request)
        if self._inner is None:
            yield request
            return
        flow = self._inner.async_auth_flow(request)
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


def bind(applied: tuple[Applied, ...]) -> httpx.Auth:
    """The `httpx.Auth` of applied credentials, for one host that was checked already."""
    return BoundAuth(applied)
