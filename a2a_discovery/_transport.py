"""The guarded transport of one agent, for an HTTP client of the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from a2a_discovery._http.guard import check_url, request_url
from a2a_discovery._http.pool import PooledTransport

if TYPE_CHECKING:
    from a2a_discovery._auth import BoundAuth
    from a2a_discovery.policy import NetworkPolicy


class AgentTransport(httpx.AsyncBaseTransport):
    """Every request, each hop of a redirect too, passes the network policy; credentials go onto those to allowed hosts.

    They are put on here, below the client, so that no redirect carries them on and no URL in the client's log has them.

    Args:
        network: where connections may go.
        auth: the credentials, bound to hosts.
        local: the card came from loopback, so its interfaces may be there too.
        transport: replaces the sockets; it stays the caller's, and is not closed here.
    """

    def __init__(
        self,
        network: NetworkPolicy,
        *,
        auth: BoundAuth,
        local: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._network = network
        self._auth = auth
        self._local = local
        self._own = transport is None
        self._transport = PooledTransport(network) if transport is None else transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            BlockedError: the policy forbids it.
            AuthError, FetchError: no token could be had for it.
        """
        check_url(str(request.url), self._network, local=self._local)
        # A copy: what is put on here must not show in the client's own request, which it logs and keeps.
        sent = httpx.Request(
            request.method, request.url, headers=request.headers, stream=request.stream, extensions=request.extensions
        )
        self._auth.strip(sent)
        flow = self._auth.async_auth_flow(sent)
        try:
            if self._auth.requires_request_body:
                await sent.aread()
            sent = await anext(flow)
            while True:
                response = await self._send(sent)
                try:
                    if self._auth.requires_response_body:
                        await response.aread()
                    again = await flow.asend(response)
                except StopAsyncIteration:
                    return response
                except BaseException:
                    await response.aclose()
                    raise
                await response.aclose()
                sent = again
        finally:
            await flow.aclose()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        request.url = request_url(check_url(str(request.url), self._network, local=self._local))
        response = await self._transport.handle_async_request(request)
        response.request = request
        return response

    async def aclose(self) -> None:
        """Close the connections that are ours."""
        if self._own:
            await self._transport.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
