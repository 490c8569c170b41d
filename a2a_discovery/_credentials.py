"""Credentials: values bound to hosts by the caller, and how a card's schemes want them sent. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from a2a_discovery._finding import Finding
from a2a_discovery._hosts import check_pattern, matches, same_site
from a2a_discovery._identity import identity
from a2a_discovery.errors import AuthError, UsageError

if TYPE_CHECKING:
    from a2a_discovery._card.model import SecurityRequirement, SecurityScheme

# Names a credential in in-process keys without revealing it: a keyed hash, its key for the life of the process.
_PROCESS_KEY = secrets.token_bytes(32)
# RFC 9110 section 5.6.2: the name comes from the card, and must not end the field or smuggle another one.
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}\Z")
# Fields that frame, route or version the request: a card must not set them by calling them an API key.
_TAKEN = re.compile(
    r"(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|cookie|proxy-.*|accept.*|a2a-.*|x-a2a-.*"
    r"|x-forwarded-.*|forwarded|if-.*)\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What proves who the caller is, and where it may go. Values never show in ``repr``, logs or errors.

    Args:
        bearer: a token for ``Authorization: Bearer``.
        basic: user and password.
        api_key: the key; the card says in which header, query parameter or cookie it goes.
        client_id: OAuth 2.0 client.
        client_secret: its secret.
        auth: any `httpx.Auth`.
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
    auth: Any = field(default=None, repr=False)
    schemes: Mapping[str, Credentials] = field(default_factory=dict, repr=False)
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.hosts
        hosts = (given,) if isinstance(given, str) else given
        object.__setattr__(self, "hosts", tuple(check_pattern(host) for host in hosts))
        for name in ("bearer", "api_key", "client_id", "client_secret"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value or not _fits_a_field(value)):
                raise UsageError(
                    "bad-config", f"Credentials({name}=...) takes visible ASCII text, and not the empty one"
                )

    def __reduce__(self) -> Any:
        # A pickle ends up on disks and in queues: secrets do not go there (design section 6).
        raise TypeError("Credentials are not pickled")

    @property
    def principal(self) -> str:
        """A name for these credentials, for keys in this process; it reveals nothing about them."""
        parts = [repr((each.name, _identity(getattr(self, each.name)))) for each in fields(self)]
        return hmac.new(_PROCESS_KEY, "\0".join(parts).encode(), hashlib.sha256).hexdigest()


def _identity(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((name, each.principal) for name, each in value.items())
    return value if value is None or isinstance(value, (str, tuple)) else identity(value)


def _fits_a_field(text: str) -> bool:
    """Whether a text can stand in an HTTP field value: a line break would end it (RFC 9110 section 5.5)."""
    return all("\x21" <= character <= "\x7e" for character in text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """One way to put a credential on a request."""

    place: Literal["header", "query", "cookie", "auth"]
    name: str
    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The credentials that satisfy one requirement of the card."""

    applied: tuple[Applied, ...]
    findings: tuple[Finding, ...] = ()


def choose(
    credentials: Credentials,
    schemes: Mapping[str, SecurityScheme],
    requirements: Iterable[SecurityRequirement],
) -> Chosen:
    """The first requirement of a card that the credentials satisfy (A2A section 7.3; OR over the list, AND inside).

    Args:
        credentials: the caller's.
        schemes: the card's schemes, those that may be followed.
        requirements: the card's requirements, those that may be followed.

    Raises:
        AuthError: ``no-credential``, saying what each alternative would need.
    """
    if credentials.auth is not None:
        return Chosen(applied=(Applied(place="auth", name="auth", value=credentials.auth),))
    wanted = [tuple(requirement.schemes) for requirement in requirements if requirement.schemes]
    if not wanted and schemes:
        wanted = [(name,) for name in schemes]
    for names in wanted:
        applied = [_fit(credentials, name, schemes.get(name)) for name in names]
        if all(applied):
            return Chosen(applied=tuple(each for each in applied if each))
    if not wanted:
        plain = _plain(credentials)
        if plain is not None:
            note = Finding(
                code="no-security-scheme",
                severity="warning",
                pointer="",
                message="no scheme says how to authenticate; the credential was sent as HTTP defines it",
            )
            return Chosen(applied=(plain,), findings=(note,))
    raise AuthError(
        "no-credential", _unmet(wanted, schemes), step="extend", hint="give Credentials(...) that fit one of them"
    )


def _fit(credentials: Credentials, name: str, scheme: SecurityScheme | None) -> Applied | None:
    if name in credentials.schemes:
        credentials = credentials.schemes[name]
        if credentials.auth is not None:
            return Applied(place="auth", name="auth", value=credentials.auth)
    if scheme is None:
        return None
    if scheme.http_auth_security_scheme is not None:
        kind = scheme.http_auth_security_scheme.scheme.lower()
        return _bearer(credentials) if kind == "bearer" else _basic(credentials) if kind == "basic" else None
    if scheme.api_key_security_scheme is not None and credentials.api_key is not None:
        wanted = scheme.api_key_security_scheme
        place = wanted.location.lower()
        if place == "query":
            return Applied(place="query", name=wanted.name, value=credentials.api_key)
        if place in ("header", "cookie") and _FIELD_NAME.match(wanted.name) and not _TAKEN.match(wanted.name):
            return Applied(
                place="header" if place == "header" else "cookie", name=wanted.name, value=credentials.api_key
            )
        return None
    if scheme.oauth2_security_scheme is not None or scheme.open_id_connect_security_scheme is not None:
        return _bearer(credentials)
    return None


def _bearer(credentials: Credentials) -> Applied | None:
    if credentials.bearer is None:
        return None
    return Applied(place="header", name="Authorization", value=f"Bearer {credentials.bearer}")


def _basic(credentials: Credentials) -> Applied | None:
    if credentials.basic is None:
        return None
    user, password = credentials.basic
    token = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Applied(place="header", name="Authorization", value=f"Basic {token}")


def _plain(credentials: Credentials) -> Applied | None:
    return _bearer(credentials) or _basic(credentials)


def for_card_fetch(credentials: Credentials) -> tuple[Applied, ...]:
    """How credentials go onto the fetch of a card, where no scheme is known yet: as HTTP defines them."""
    if credentials.auth is not None:
        return (Applied(place="auth", name="auth", value=credentials.auth),)
    plain = _plain(credentials)
    return (plain,) if plain is not None else ()


def _unmet(wanted: Iterable[tuple[str, ...]], schemes: Mapping[str, SecurityScheme]) -> str:
    needs = " or ".join(" and ".join(_kind(schemes.get(name)) for name in names) for names in wanted)
    needs = needs or "it declares no scheme that says where a key goes"
    return f"the credentials fit none of what the card asks for: {needs}"


def _kind(scheme: SecurityScheme | None) -> str:
    if scheme is None:
        return "a scheme that it does not declare"
    if scheme.http_auth_security_scheme is not None:
        kind = scheme.http_auth_security_scheme.scheme.lower()
        return f"HTTP {kind}" if kind in ("bearer", "basic", "digest") else "another HTTP scheme"
    names = {
        "api_key_security_scheme": "an API key",
        "oauth2_security_scheme": "an OAuth 2.0 token",
        "open_id_connect_security_scheme": "an OpenID Connect token",
        "mtls_security_scheme": "a client certificate",
    }
    return next(
        (text for name, text in names.items() if getattr(scheme, name) is not None), "a scheme of no known kind"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The hosts that one card's credentials may go to (design section 6)."""

    authority: str | None
    """Its site is allowed; ``None`` where the card has no authority or another publisher's name."""
    hosts: tuple[str, ...]
    local: bool = False

    def __contains__(self, host: object) -> bool:
        if not isinstance(host, str):
            return False
        if any(matches(pattern, host) for pattern in self.hosts):
            return True
        return self.authority is not None and same_site(host, self.authority, local=self.local)


def check_allowed(host: str, allowed: Allowed, *, authority: str | None, shown: str = "bearer=...") -> None:
    """Refuse to send a credential to a host that it isn't bound to.

    Raises:
        AuthError: ``no-credential``, before any request.
    """
    if host in allowed:
        return
    raise AuthError(
        "no-credential",
        f"the credentials may not go to {host}: the card's authority is {authority or 'nobody'}, another site",
        step="extend",
        hint=f'if {host} may have them: await agent.upgrade(Credentials({shown}, hosts=("{host}",)))',
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
