"""Credentials: values bound to hosts by the caller, and the hosts they may go to. Pure."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from a2a_discovery._hosts import check_pattern, matches, same_site
from a2a_discovery._identity import identity
from a2a_discovery._urls import split
from a2a_discovery.errors import AuthError, UsageError

# Names a credential in in-process keys without revealing it: a keyed hash, its key for the life of the process.
_PROCESS_KEY = secrets.token_bytes(32)
_TEXTS = ("bearer", "api_key", "client_id", "client_secret", "refresh_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What proves who the caller is, and where it may go. Values never show in ``repr``, logs or errors.

    Args:
        bearer: a token for ``Authorization: Bearer``.
        basic: user and password.
        api_key: the key; the card says in which header, query parameter or cookie it goes.
        client_id: OAuth 2.0 client.
        client_secret: its secret: tokens are then fetched, kept in memory and renewed (extra: ``oauth``).
        refresh_token: renews a token that somebody signed in for; with ``client_id``.
        auth: any `httpx.Auth`; or a function, asynchronous or not, that returns a bearer token or `Credentials` each
            time one is needed. It is used whatever the card's schemes are.
        schemes: scheme name of the card → the credentials for it.
        hosts: host patterns, beside the site of the card's authority, that these may be sent to.

    Raises:
        UsageError: ``bad-config``.
    """

    bearer: str | None = field(default=None, repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    client_id: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    auth: Any = field(default=None, repr=False)
    schemes: Mapping[str, Credentials] = field(default_factory=dict, repr=False)
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.hosts
        hosts = (given,) if isinstance(given, str) else given
        object.__setattr__(self, "hosts", tuple(check_pattern(host) for host in hosts))
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not fits_a_field(value)):
                raise UsageError(
                    "bad-config", f"Credentials({name}=...) takes visible ASCII text, and not the empty one"
                )
        _check_basic(self.basic)
        if self.auth is not None and not callable(self.auth) and not hasattr(self.auth, "async_auth_flow"):
            raise UsageError("bad-config", "Credentials(auth=...) takes an httpx.Auth or a function")
        object.__setattr__(self, "schemes", _checked_schemes(self.schemes))

    def __reduce__(self) -> Any:
        # A pickle ends up on disks and in queues: secrets do not go there (design section 6).
        raise TypeError("Credentials are not pickled")

    @property
    def principal(self) -> str:
        """A name for these credentials, for keys in this process; it reveals nothing about them."""
        parts = [repr((each.name, _identity(getattr(self, each.name)))) for each in fields(self)]
        return hmac.new(_PROCESS_KEY, "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    @property
    def shown(self) -> str:
        """The arguments they were made with, without any value: for a hint."""
        named = [each.name for each in fields(self) if each.name != "hosts" and getattr(self, each.name)]
        return ", ".join(f"{name}=..." for name in named) or "bearer=..."


def fits_a_field(text: str) -> bool:
    """Whether a text can stand in an HTTP field value: a line break would end it (RFC 9110 section 5.5)."""
    return bool(text) and all("\x21" <= character <= "\x7e" for character in text)


def _check_basic(given: Any) -> None:
    if given is None:
        return
    if isinstance(given, str) or len(given) != 2 or not all(isinstance(each, str) for each in given):
        raise UsageError("bad-config", "Credentials(basic=...) takes a user and a password")
    # RFC 7617 section 2: no control characters, and the first colon ends the user's name.
    if ":" in given[0] or any(not character.isprintable() for text in given for character in text):
        raise UsageError("bad-config", "Credentials(basic=...): no colon in the user, no control characters")


def _checked_schemes(given: Any) -> dict[str, Credentials]:
    if not isinstance(given, Mapping) or not all(isinstance(each, Credentials) for each in given.values()):
        raise UsageError("bad-config", "Credentials(schemes=...) maps scheme names of the card to Credentials")
    if any(each.hosts or each.schemes for each in given.values()):
        raise UsageError(
            "bad-config",
            "the credentials of one scheme have no hosts or schemes of their own",
            hint="write Credentials(schemes={...}, hosts=(...))",
        )
    return dict(given)


def _identity(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((name, each.principal) for name, each in value.items())
    return value if value is None or isinstance(value, (str, tuple)) else identity(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Where one card's credentials may go (design section 6)."""

    authority: str | None
    """Its site is allowed; ``None`` where the card has no authority or another publisher's name."""
    hosts: tuple[str, ...]
    local: bool = False
    http: bool = False
    """Plain http too: the interface itself is called over it, which only the caller can have allowed."""

    def __contains__(self, host: object) -> bool:
        if not isinstance(host, str):
            return False
        if any(matches(pattern, host) for pattern in self.hosts):
            return True
        return self.authority is not None and same_site(host, self.authority, local=self.local)

    def admits(self, url: str) -> bool:
        """Whether credentials may go with a request to this URL."""
        try:
            parts = split(url)
        except ValueError:
            return False
        return parts.host in self and (parts.scheme == "https" or (self.http and parts.scheme == "http"))

    def admits_secret(self, url: str) -> bool:
        """Whether a client secret or refresh token may go to this token URL: not to just any host of the site."""
        try:
            parts = split(url)
        except ValueError:
            return False
        if parts.scheme != "https" and not (self.http and parts.scheme == "http"):
            return False
        return parts.host == self.authority or any(matches(pattern, parts.host) for pattern in self.hosts)


def check_allowed(host: str, allowed: Allowed, credentials: Credentials) -> None:
    """Refuse to send a credential to a host that it isn't bound to.

    Raises:
        AuthError: ``no-credential``, before any request.
    """
    if host not in allowed:
        raise _outside(host, allowed, credentials, "the credentials", "site")


def check_secret(url: str, allowed: Allowed, credentials: Credentials) -> None:
    """Refuse to send a client secret or refresh token to a token URL on a host that isn't the authority or listed.

    Raises:
        AuthError: ``no-credential``, before any request.
    """
    if allowed.admits_secret(url):
        return
    try:
        host = split(url).host
    except ValueError:
        raise AuthError("no-credential", "the card's token URL is no absolute URL with a host", step="extend") from None
    if host == allowed.authority or any(matches(pattern, host) for pattern in allowed.hosts):
        raise AuthError("no-credential", f"the token URL at {host} is not https", step="extend")
    raise _outside(host, allowed, credentials, "the client's secret", "host")


def _outside(host: str, allowed: Allowed, credentials: Credentials, what: str, place: str) -> AuthError:
    hosts = ", ".join(f'"{each}"' for each in (*credentials.hosts, host))
    return AuthError(
        "no-credential",
        f"{what} may not go to {host}: the card's authority is {allowed.authority or 'nobody'}, another {place}",
        step="extend",
        hint=f"if {host} may have them: await agent.upgrade(Credentials({credentials.shown}, hosts=({hosts},)))",
    )


def check_mapping(credentials: object) -> dict[str, Credentials]:
    """The ``credentials=`` argument of a `Discovery`, checked.

    Raises:
        UsageError: ``bad-config``: a bare `Credentials` too, since the target may come from a model.
    """
    if credentials is None:
        return {}
    if isinstance(credentials, Credentials) or not isinstance(credentials, Mapping):
        raise UsageError(
            "bad-config",
            "credentials maps hosts to Credentials: a target may come from a model, so each is bound to a host",
            hint='write credentials={"shop.example": Credentials(...)}',
        )
    for value in credentials.values():
        if not isinstance(value, Credentials):
            raise UsageError("bad-config", "credentials maps hosts to Credentials")
    return {check_pattern(pattern): value for pattern, value in credentials.items()}
