"""Choosing: which of a card's security requirements the caller's credentials satisfy, and how they are sent. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from a2a_discovery._credentials import Credentials
from a2a_discovery._finding import Finding
from a2a_discovery.errors import AuthError

if TYPE_CHECKING:
    from a2a_discovery._card.model import OAuth2SecurityScheme, SecurityRequirement, SecurityScheme

# RFC 9110 section 5.6.2: the name comes from the card, and must not end the field or smuggle another one.
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}\Z")
# Fields that frame, route or version the request: a card must not set them by calling them an API key.
_TAKEN = re.compile(
    r"(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|cookie|proxy-.*|accept.*|a2a-.*|x-a2a-.*"
    r"|x-forwarded-.*|forwarded|if-.*)\Z",
    re.IGNORECASE,
)
# What would end the value of a cookie, RFC 6265 section 4.1.1.
_NO_COOKIE = re.compile(r"[\s\",;\\]")

Place = Literal["header", "query", "cookie", "auth", "call", "token", "certificate"]
"""Where a credential goes: a place of the request; an `httpx.Auth`, a function or a token grant that knows; or the TLS
connection, which has it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """One way to put a credential on a request."""

    place: Place
    name: str
    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """How tokens are got (OAuth 2.0, RFC 6749), and where.

    With a refresh token, for the person who signed in; else for the client itself, and never one in place of the
    other.
    """

    credentials: Credentials
    token_url: str = ""
    """Empty where only the metadata knows."""
    metadata_url: str = ""
    """RFC 8414 or OpenID Connect metadata, where it is needed."""
    scopes: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The URL that the card itself named, which a secret would go to or depend on."""
        return self.token_url or self.metadata_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where an authorization server is asked, and how clients say who they are."""

    token: str
    device: str = ""
    method: str = "client_secret_basic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function of the caller's that returns a credential."""

    function: Callable[[], Any] = field(repr=False)
    place: Callable[[Credentials], tuple[Applied, ...]] = field(repr=False)
    """How what it returns is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The credentials that satisfy one requirement of the card."""

    applied: tuple[Applied, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Those that ask for tokens."""
        return tuple(each.value for each in self.applied if each.place == "token")


Alternative: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Scheme names with their scopes, needed together."""


def choose(
    credentials: Credentials,
    schemes: Mapping[str, SecurityScheme],
    requirements: Iterable[SecurityRequirement],
    *,
    certificate: bool = False,
) -> Chosen:
    """The first requirement of a card that the credentials satisfy (A2A section 7.3; OR over the list, AND inside).

    A requirement of nothing but a client certificate is taken only where no other fits: whether the caller's TLS
    context holds one can't be seen.

    Args:
        credentials: the caller's.
        schemes: the card's schemes, those that may be followed.
        requirements: the card's requirements, those that may be followed.
        certificate: the caller gave a TLS context of its own.

    Raises:
        AuthError: ``no-credential``, saying what each alternative would need.
    """
    listed = tuple(requirements)
    if credentials.auth is not None:
        return Chosen(applied=(_whole(credentials, lambda given: _again(given, schemes, listed, certificate)),))
    wanted: list[Alternative] = [_alternative(each) for each in listed if each.schemes]
    if not wanted:
        wanted = [((name, ()),) for name in schemes]
    met = [applied for each in wanted if (applied := _meet(credentials, each, schemes, certificate)) is not None]
    met.sort(key=lambda applied: all(each.place == "certificate" for each in applied))
    if met:
        return Chosen(applied=met[0])
    plain = None if schemes else _plain(credentials)
    if plain is not None:
        note = Finding(
            code="no-security-scheme",
            severity="warning",
            pointer="",
            message="no scheme says how to authenticate; the credential was sent as HTTP defines it",
        )
        return Chosen(applied=(plain,), findings=(note,))
    if any(not each.schemes for each in listed):
        return Chosen(applied=())  # an empty requirement: nobody needs to say who they are
    raise AuthError(
        "no-credential", _unmet(wanted, schemes), step="extend", hint="give Credentials(...) that fit one of them"
    )


def for_card_fetch(credentials: Credentials) -> tuple[Applied, ...]:
    """How credentials go onto the fetch of a card, where no scheme is known yet: as HTTP defines them."""
    if credentials.auth is not None:
        return (_whole(credentials, for_card_fetch),)
    plain = _plain(credentials)
    return (plain,) if plain is not None else ()


def _again(
    given: Credentials,
    schemes: Mapping[str, SecurityScheme],
    requirements: tuple[SecurityRequirement, ...],
    certificate: bool,
) -> tuple[Applied, ...]:
    return choose(given, schemes, requirements, certificate=certificate).applied


def _whole(credentials: Credentials, place: Callable[[Credentials], tuple[Applied, ...]]) -> Applied:
    """An `httpx.Auth`, or a function whose result is placed anew each time."""
    if hasattr(credentials.auth, "async_auth_flow"):
        return Applied(place="auth", name="auth", value=credentials.auth)
    return Applied(place="call", name="auth", value=Call(function=credentials.auth, place=place))


def _alternative(requirement: SecurityRequirement) -> Alternative:
    return tuple((name, scopes.list) for name, scopes in requirement.schemes.items())


def _meet(
    credentials: Credentials, alternative: Alternative, schemes: Mapping[str, SecurityScheme], certificate: bool
) -> tuple[Applied, ...] | None:
    applied = [_fit(credentials, name, scopes, schemes.get(name), certificate) for name, scopes in alternative]
    return tuple(each for each in applied if each is not None) if all(applied) else None


def _fit(
    credentials: Credentials, name: str, scopes: tuple[str, ...], scheme: SecurityScheme | None, certificate: bool
) -> Applied | None:
    own = credentials.schemes.get(name)
    credentials = own or credentials
    if own is not None and own.auth is not None:
        return _whole(own, lambda given: _placed(given, scopes, scheme, certificate))
    found = _placed(credentials, scopes, scheme, certificate)
    return found[0] if found else None


def _placed(
    credentials: Credentials, scopes: tuple[str, ...], scheme: SecurityScheme | None, certificate: bool
) -> tuple[Applied, ...]:
    """How credentials are sent by one scheme; empty where they don't fit it."""
    if scheme is None:
        return ()
    found: Applied | None = None
    if scheme.http_auth_security_scheme is not None:
        kind = scheme.http_auth_security_scheme.scheme.lower()
        found = _bearer(credentials) if kind == "bearer" else _basic(credentials) if kind == "basic" else None
    elif scheme.api_key_security_scheme is not None:
        wanted = scheme.api_key_security_scheme
        found = _key(credentials.api_key, wanted.location.lower(), wanted.name)
    elif scheme.oauth2_security_scheme is not None:
        found = _oauth(credentials, scopes, scheme.oauth2_security_scheme) or _bearer(credentials)
    elif scheme.open_id_connect_security_scheme is not None:
        url = scheme.open_id_connect_security_scheme.open_id_connect_url
        found = _granted(credentials, scopes, metadata_url=url) or _bearer(credentials)
    elif scheme.mtls_security_scheme is not None and certificate:
        found = Applied(place="certificate", name="certificate", value=None)
    return () if found is None else (found,)


def _key(key: str | None, place: str, name: str) -> Applied | None:
    if key is None:
        return None
    if place == "query" and name:
        return Applied(place="query", name=name, value=key)
    if not _FIELD_NAME.match(name) or _TAKEN.match(name):
        return None
    if place == "header":
        return Applied(place="header", name=name, value=key)
    if place == "cookie" and not _NO_COOKIE.search(key):
        return Applied(place="cookie", name=name, value=key)
    return None


def _oauth(credentials: Credentials, scopes: tuple[str, ...], scheme: OAuth2SecurityScheme) -> Applied | None:
    flows = scheme.flows
    if credentials.refresh_token is not None:
        # It belongs to whoever signed in, by whichever flow; each of them may name where it is used.
        several = (flows.authorization_code, flows.device_code, flows.password, flows.client_credentials)
        urls = [each.refresh_url or each.token_url for each in several if each is not None]
    else:
        urls = [flows.client_credentials.token_url] if flows.client_credentials is not None else []
    token_url = next((url for url in urls if url), "")
    return _granted(credentials, scopes, token_url=token_url, metadata_url=scheme.oauth2_metadata_url)


def _granted(
    credentials: Credentials, scopes: tuple[str, ...], *, token_url: str = "", metadata_url: str = ""
) -> Applied | None:
    machine = credentials.client_id is not None and credentials.client_secret is not None
    if not (machine or credentials.refresh_token is not None) or not (token_url or metadata_url):
        return None
    grant = Grant(
        credentials=credentials,
        token_url=token_url,
        metadata_url="" if token_url else metadata_url,
        scopes=scopes,
    )
    return Applied(place="token", name="Authorization", value=grant)


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


def _unmet(wanted: Iterable[Alternative], schemes: Mapping[str, SecurityScheme]) -> str:
    needs = " or ".join(" and ".join(_kind(schemes.get(name)) for name, _ in each[:8]) for each in list(wanted)[:8])
    needs = needs or "it declares no scheme that says where a key goes"
    return f"the credentials fit none of what the card asks for: {needs}"


def _kind(scheme: SecurityScheme | None) -> str:
    if scheme is None:
        return "a scheme that it does not declare"
    if scheme.http_auth_security_scheme is not None:
        kind = scheme.http_auth_security_scheme.scheme.lower()
        known = {"bearer": "HTTP bearer", "basic": "HTTP basic", "digest": "HTTP digest (auth=httpx.DigestAuth(...))"}
        return known.get(kind, "another HTTP scheme (auth=...)")
    names = {
        "api_key_security_scheme": "an API key",
        "oauth2_security_scheme": "an OAuth 2.0 token",
        "open_id_connect_security_scheme": "an OpenID Connect token",
        "mtls_security_scheme": "a client certificate (network=NetworkPolicy(ssl_context=...))",
    }
    return next(
        (text for name, text in names.items() if getattr(scheme, name) is not None), "a scheme of no known kind"
    )
