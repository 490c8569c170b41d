"""OAuth 2.0 tokens: fetched, kept in memory, renewed. Authlib writes the requests; they are sent through our guard.

Client credentials and refresh (RFC 6749), metadata (RFC 8414, OpenID Connect Discovery), device code (RFC 8628).
Nothing here holds a connection: whoever uses it passes `Send`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlencode

from a2a_discovery._card.json import JSON, decode
from a2a_discovery._choose import Endpoints, Grant
from a2a_discovery._credentials import Allowed, Credentials, check_secret, fits_a_field
from a2a_discovery._effects import Fetched
from a2a_discovery._hosts import is_loopback
from a2a_discovery._urls import host_of, pieces, without_userinfo
from a2a_discovery.errors import AuthError, CardError, FetchError, UsageError

LEEWAY = 30.0
"""Seconds before its end that a token is renewed: it must still be good when the server reads it. At most half of a
short life."""
METADATA_SECONDS = 3600.0
"""How long a server's metadata is used: endpoints move rarely, and a move must not need a restart."""
KEPT = 1024
"""Tokens kept in one `Discovery`, the least recently used dropped first."""
BODY = 64 * 1024
"""Bytes of an answer of an authorization server: tokens and metadata are a few kilobytes."""

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_METHODS = ("client_secret_basic", "client_secret_post")
# RFC 6749 section 5.2 and RFC 8628 section 3.5: anything else is a stranger's text, and no message repeats it.
_ERRORS = frozenset(
    (
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
        "authorization_pending",
        "slow_down",
        "access_denied",
        "expired_token",
        "temporarily_unavailable",
    )
)


class Send(Protocol):
    """One request to an authorization server, through the guard; whatever its status, the answer comes back."""

    def __call__(
        self, url: str, *, form: str | None = None, secret: tuple[str, str] | None = None
    ) -> Awaitable[Fetched]:
        """GET, or POST a form; ``secret`` is a header field that must not show anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An access token, as it is kept."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires_at: float = float("inf")
    """When to stop using it, by the clock of the `Discovery`."""

    def __reduce__(self) -> Any:
        raise TypeError("tokens are not pickled")


Key = tuple[str, str, str, tuple[str, ...]]


class Tokens:
    """The tokens of one `Discovery`, in memory only, by credentials and token URL."""

    def __init__(self, send: Send, clock: Callable[[], float]) -> None:
        self.send = send
        self._clock = clock
        self._kept: OrderedDict[Key, Token] = OrderedDict()
        self._metadata: dict[str, tuple[float, Endpoints]] = {}
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, asyncio.Lock]]
        self._locks = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        raise TypeError("tokens are not pickled")

    async def token(self, grant: Grant, allowed: Allowed | None, *, stale: str | None = None) -> str:
        """An access token.

        Args:
            grant: how tokens are got.
            allowed: where the secret may go; each URL was not yet checked where only metadata knew it.
            stale: a token that was refused: another one is wanted.

        Raises:
            AuthError: ``auth-required``: the authorization server refused the client; ``no-credential``: the secret
                may not go there.
            FetchError, BlockedError: no answer that can be used.
            UsageError: ``bad-config``, where Authlib is not installed.
        """
        key = (grant.credentials.principal, grant.token_url, grant.metadata_url, grant.scopes)
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        if len(locks) > KEPT:
            locks.clear()
        async with locks.setdefault(key, asyncio.Lock()):  # concurrent calls share one request
            token = self._kept.get(key)
            if token is None and grant.credentials.bearer is not None:
                token = Token(access=grant.credentials.bearer, refresh=grant.credentials.refresh_token)
            if token is None or token.access == stale or self._clock() >= token.expires_at:
                token = await self._renew(grant, allowed, token)
            self._kept[key] = token
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return token.access

    def drop(self, principal: str) -> None:
        """Forget the tokens of these credentials."""
        for key in [key for key in self._kept if key[0] == principal]:
            del self._kept[key]

    async def endpoints(self, grant: Grant, allowed: Allowed | None) -> Endpoints:
        """The server's endpoints: the one that the card names, or what its metadata says.

        Raises:
            AuthError, FetchError, BlockedError: as `token`.
        """
        if grant.token_url:
            return Endpoints(token=grant.token_url)
        url, now = grant.metadata_url, self._clock()
        until, found = self._metadata.get(url, (0.0, None))
        if found is None or now >= until:
            _check(url, allowed, grant)
            found = _read_metadata(url, await self._ask(url))
            if len(self._metadata) >= KEPT:
                self._metadata.clear()
            self._metadata[url] = now + METADATA_SECONDS, found
        return found

    async def _ask(self, url: str) -> Mapping[str, JSON]:
        answer = await self.send(url)
        if answer.status != 200:
            raise FetchError(
                "http-status",
                f"the authorization server's metadata is not there: {answer.url} answered {answer.status}",
                status=answer.status,
                url=answer.url,
                step="extend",
            )
        return _decoded(answer)

    async def _renew(self, grant: Grant, allowed: Allowed | None, token: Token | None) -> Token:
        there = await self.endpoints(grant, allowed)
        if grant.credentials.refresh_token is None:
            return _read_token(await self.ask(there, grant, allowed, "client_credentials"), self._clock())
        refresh = token.refresh if token is not None and token.refresh else grant.credentials.refresh_token
        answer = await self.ask(there, grant, allowed, "refresh_token", refresh_token=refresh)
        fresh = _read_token(answer, self._clock())
        # RFC 6749 section 6: a server may keep the refresh token, or give a new one.
        return fresh if fresh.refresh is not None else replace(fresh, refresh=refresh)

    async def ask(self, there: Endpoints, grant: Grant, allowed: Allowed | None, kind: str, **more: str) -> Fetched:
        """One request to the token endpoint.

        Raises:
            AuthError, FetchError, BlockedError, UsageError: as `token`.
        """
        _check(there.token, allowed, grant)
        prepare, _ = _authlib()
        form = prepare(kind, "", scope=list(grant.scopes), **more)
        return await _post(self.send, there.token, form, credentials=grant.credentials, method=there.method)


async def _post(
    send: Send, url: str, form: str, *, credentials: Credentials, method: str, named: bool = False
) -> Fetched:
    """Send a form as this client; ``named``: with its id in the form in any case."""
    _, client = _authlib()
    headers: dict[str, str] = {}
    if credentials.client_id is not None:
        method = method if credentials.client_secret is not None else "none"
        given = credentials.client_id, credentials.client_secret
        _, headers, form = client(*given, method).prepare("POST", url, headers, form)
        if named and headers:  # RFC 8628 section 3.1: in the form too
            _, _, form = client(*given, "none").prepare("POST", url, {}, form)
    return await send(url, form=form, secret=next(iter(headers.items()), None))


def _check(url: str, allowed: Allowed | None, grant: Grant) -> None:
    if allowed is not None:
        check_secret(url, allowed, grant.credentials)


def _authlib() -> tuple[Any, Any]:
    try:
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request
    except ImportError:
        raise UsageError(
            "bad-config", "OAuth 2.0 tokens need Authlib", hint='pip install "a2a_discovery[oauth]"'
        ) from None
    return prepare_token_request, ClientAuth


def _decoded(answer: Fetched) -> Mapping[str, JSON]:
    try:
        document = decode(answer.body, depth=16)
    except CardError:
        document = None
    if not isinstance(document, Mapping):
        raise FetchError(
            "protocol",
            f"the authorization server at {host_of(answer.url)} answered {answer.status} without a JSON object",
            url=answer.url,
            step="extend",
            status=answer.status,
        )
    return document


def _read_token(answer: Fetched, now: float) -> Token:
    if answer.status == 429 or answer.status >= 500:
        raise FetchError(
            "http-status",
            f"the token endpoint {answer.url} answered {answer.status}",
            status=answer.status,
            url=answer.url,
            step="extend",
            hint="try again later",
        )
    document = _decoded(answer)
    access = document.get("access_token")
    if answer.status != 200 or not isinstance(access, str):
        raise refusal(answer, document)
    kind, refresh, seconds = document.get("token_type"), document.get("refresh_token"), document.get("expires_in")
    if not isinstance(kind, str) or kind.lower() != "bearer" or not fits_a_field(access):
        raise FetchError(
            "protocol", "the token is no bearer token that a header can carry", url=answer.url, step="extend"
        )
    life = _seconds(seconds)
    return Token(
        access=access,
        refresh=refresh if isinstance(refresh, str) and fits_a_field(refresh) else None,
        expires_at=now + life - min(LEEWAY, life / 2) if life is not None else float("inf"),
    )


def _seconds(value: JSON) -> float | None:
    # Some servers write the number as a text.
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return min(max(float(value), 0.0), 2.0**31)


def error_of(document: Mapping[str, JSON]) -> str | None:
    """The OAuth error code of an answer, where it is a registered one."""
    code = document.get("error")
    return code if isinstance(code, str) and code in _ERRORS else None


def refusal(answer: Fetched, document: Mapping[str, JSON]) -> AuthError | FetchError:
    """The error that an answer without a token is."""
    code = error_of(document)
    if code is None and answer.status not in (400, 401, 403):
        return FetchError(
            "protocol",
            f"the token endpoint answered {answer.status} without a token",
            url=answer.url,
            step="extend",
            status=answer.status,
        )
    return AuthError(
        "auth-required",
        f"the authorization server at {host_of(answer.url)} gave no token ({code or 'no known reason'})",
        status=answer.status,
        url=answer.url,
        step="extend",
        hint="check client_id=, client_secret= and the scopes that the card asks for",
    )


def _read_metadata(url: str, document: Mapping[str, JSON]) -> Endpoints:
    expected, issuer = _issuer(url), document.get("issuer")
    if expected is not None and (not isinstance(issuer, str) or issuer.rstrip("/") != expected):
        # RFC 8414 section 3.3: else one server could speak in another's name.
        raise FetchError("protocol", "the metadata names another issuer than its URL", url=url, step="extend")
    token, device = document.get("token_endpoint"), document.get("device_authorization_endpoint")
    if not isinstance(token, str) or not host_of(token):
        raise FetchError("protocol", "the metadata names no token endpoint", url=url, step="extend")
    methods = document.get("token_endpoint_auth_methods_supported")
    named = [each for each in methods if each in _METHODS] if isinstance(methods, list) else []
    basic = not named or _METHODS[0] in named
    return Endpoints(
        token=token, device=device if isinstance(device, str) else "", method=_METHODS[0] if basic else _METHODS[1]
    )


def _issuer(url: str) -> str | None:
    """The issuer whose metadata stands at a URL, RFC 8414 section 3 and OpenID Connect Discovery section 4."""
    parts = pieces(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    for name in ("oauth-authorization-server", "openid-configuration"):
        before, mark, after = parts.path.partition(f"/.well-known/{name}")
        if mark and not (before and after):
            return f"{origin}{before}{after}".rstrip("/")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """What a person needs to sign in on another device."""

    url: str
    """Where to go."""
    code: str
    """What to type there."""
    expires_in: float
    """Seconds."""


class Waits(Protocol):
    """Waits some seconds."""

    def __call__(self, seconds: float, /) -> Awaitable[object]:
        """Come back after these seconds."""


async def sign_in(
    tokens: Tokens,
    grant: Grant,
    there: Endpoints,
    allowed: Allowed,
    *,
    show: Callable[[DeviceCode], object],
    sleep: Waits,
) -> Token:
    """The device authorization grant, RFC 8628: the person signs in elsewhere while we wait.

    Args:
        tokens: asks the authorization server.
        grant: the client and its scopes.
        there: the server's endpoints.
        allowed: where they may be.
        show: shows the person where to go.
        sleep: waits.

    Raises:
        AuthError: ``auth-required``: refused, or too late; ``no-credential``.
        FetchError, BlockedError, UsageError: as `Tokens.token`.
    """
    check_secret(there.device, allowed, grant.credentials)
    check_secret(there.token, allowed, grant.credentials)
    form = urlencode({"scope": " ".join(grant.scopes)}) if grant.scopes else ""
    answer = await _post(
        tokens.send, there.device, form, credentials=grant.credentials, method=there.method, named=True
    )
    shown, code, interval = _read_device(answer, local=allowed.local)
    show(shown)
    waited = 0.0
    while waited < shown.expires_in:
        await sleep(interval)
        waited += interval
        answer = await tokens.ask(there, grant, allowed, _DEVICE_GRANT, device_code=code)
        why = error_of(_decoded(answer)) if answer.status == 400 else None
        if why == "slow_down":
            interval += 5  # RFC 8628 section 3.5
        elif why != "authorization_pending":
            return _read_token(answer, 0.0)
    raise AuthError("auth-required", "nobody signed in before the code was over", step="extend", hint="try again")


def _read_device(answer: Fetched, *, local: bool) -> tuple[DeviceCode, str, float]:
    document = _decoded(answer)
    code, user, url = (document.get(name) for name in ("device_code", "user_code", "verification_uri"))
    if answer.status != 200:
        raise refusal(answer, document)
    if not isinstance(code, str) or not isinstance(user, str) or not isinstance(url, str):
        raise FetchError("protocol", "the answer holds no device code", url=answer.url, step="extend")
    # Both are shown to a person: no control characters, nothing endless, and a page that TLS vouches for.
    host = host_of(url) if fits_a_field(url) else None
    if host is None or not (url.startswith("https://") or (local and is_loopback(host))):
        raise FetchError("protocol", "the page to sign in at is no https URL", url=answer.url, step="extend")
    if not user.isascii() or not user.isprintable() or len(user) > 64:
        raise FetchError("protocol", "the code to type is none", url=answer.url, step="extend")
    seconds, interval = _seconds(document.get("expires_in")), _seconds(document.get("interval"))
    shown = DeviceCode(url=without_userinfo(url), code=user, expires_in=min(seconds or 600.0, 1800.0))
    return shown, code, min(max(interval if interval is not None else 5.0, 1.0), 60.0)
