"""A real OAuth 2.0 authorization server: Authlib's, on Flask, over TLS on loopback. Everything it gets is recorded."""

from __future__ import annotations

import itertools
import logging
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc8628 import (
    DEVICE_CODE_GRANT_TYPE,
    DeviceAuthorizationEndpoint,
    DeviceCodeGrant,
    DeviceCredentialDict,
)
from flask import Flask, Response, jsonify, request
from werkzeug.serving import make_server

CLIENT, SECRET = "orders-client", "orders-client-secret"


@dataclass
class Client(ClientMixin):
    """The one client that is registered, and its public twin for people."""

    client_id: str
    secret: str | None
    grants: tuple[str, ...]

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str | None) -> str:
        return " ".join(each for each in (scope or "").split() if each in ("read", "write"))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return False

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == self.secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none" if self.secret is None else method in ("client_secret_basic", "client_secret_post")

    def check_response_type(self, response_type: str) -> bool:
        return False

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grants


@dataclass
class Token(TokenMixin):
    """One issued token."""

    access_token: str
    client: Client
    scope: str
    expires_at: float
    refresh_token: str | None = None
    revoked: bool = False

    def check_client(self, client: Client) -> bool:
        return client.client_id == self.client.client_id

    def get_scope(self) -> str:
        return self.scope

    def get_expires_in(self) -> int:
        return 0

    def is_expired(self) -> bool:
        return time.time() >= self.expires_at

    def is_revoked(self) -> bool:
        return self.revoked

    def get_user(self) -> str:
        return "a person"

    def get_client(self) -> Client:
        return self.client


@dataclass
class Received:
    """One request."""

    method: str
    host: str
    path: str
    headers: dict[str, str]
    form: dict[str, str]


@dataclass
class OAuth:
    """The running server: what it issued and what it got."""

    lifetime: int = 3600
    tokens: list[Token] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)
    approved: bool | None = None
    """What the person decided; ``None``: nothing yet."""
    slow: int = 0
    """How many polls are answered with slow_down."""
    replies: dict[str, Any] = field(default_factory=dict)
    """Path → what is answered there instead: a status and a body."""
    issuer: str = ""
    origin: str = ""

    def valid(self, authorization: str | None) -> bool:
        """Whether an agent should let somebody in."""
        token = (authorization or "").removeprefix("Bearer ")
        return any(each.access_token == token and not each.revoked and not each.is_expired() for each in self.tokens)

    def revoke(self) -> None:
        """Nothing that was issued is good any more, refresh tokens aside."""
        for each in self.tokens:
            each.revoked = True

    @property
    def grants(self) -> list[str]:
        """The grant types that were asked for, in order."""
        return [each.form["grant_type"] for each in self.received if "grant_type" in each.form]

    @property
    def paths(self) -> list[str]:
        return [each.path for each in self.received]


def application(oauth: OAuth) -> Flask:
    app = Flask("oauth")
    clients = {
        CLIENT: Client(CLIENT, SECRET, ("client_credentials", "refresh_token")),
        "people": Client("people", None, ("refresh_token", DEVICE_CODE_GRANT_TYPE)),
    }
    numbers = itertools.count(1)

    def save(token: dict[str, Any], asked: Any) -> None:
        oauth.tokens.append(
            Token(
                access_token=token["access_token"],
                client=asked.client,
                scope=token.get("scope", ""),
                expires_at=time.time() + token["expires_in"],
                refresh_token=token.get("refresh_token"),
            )
        )

    server = AuthorizationServer(app, query_client=clients.get, save_token=save)

    def generate(grant_type: str, client: Client, user: Any = None, scope: str | None = None, **more: Any) -> Any:
        number = next(numbers)
        token = {
            "token_type": "Bearer",
            "access_token": f"access-{number}",
            "expires_in": oauth.lifetime,
            "scope": scope or "",
        }
        if grant_type != "client_credentials":
            token["refresh_token"] = f"refresh-{number}"
        return token

    server.register_token_generator("default", generate)

    class Machine(grants.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post")

    class Refresh(grants.RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "none")
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
            return next((each for each in oauth.tokens if each.refresh_token == refresh_token), None)

        def authenticate_user(self, refresh_token: Any) -> str:
            return "a person"

        def revoke_old_credential(self, refresh_token: Token) -> None:
            refresh_token.revoked, refresh_token.refresh_token = True, None

    class Device(DeviceAuthorizationEndpoint):
        CLIENT_AUTH_METHODS = ("none",)

        def get_verification_uri(self) -> str:
            return f"{oauth.origin}/activate"

        def save_device_credential(self, client_id: str, scope: str, data: dict[str, Any]) -> None:
            oauth.devices[data["device_code"]] = {"client_id": client_id, "scope": scope, **data}

    class Polled(DeviceCodeGrant):
        def query_device_credential(self, device_code: str) -> Any:
            found = oauth.devices.get(device_code)
            if found is None:
                return None
            return DeviceCredentialDict({**found, "expires_at": time.time() + 600})

        def query_user_grant(self, user_code: str) -> Any:
            return None if oauth.approved is None else ("a person", oauth.approved)

        def should_slow_down(self, credential: Any) -> bool:
            oauth.slow -= 1
            return oauth.slow >= 0

    server.register_grant(Machine)
    server.register_grant(Refresh)
    server.register_grant(Polled)
    server.register_endpoint(Device)

    @app.before_request
    def note() -> Response | None:
        oauth.received.append(
            Received(
                method=request.method,
                host=request.host.partition(":")[0],
                path=request.path,
                headers={name.lower(): value for name, value in request.headers.items()},
                form=request.form.to_dict(),
            )
        )
        other = oauth.replies.get(request.path)
        return None if other is None else app.make_response(other)

    @app.post("/token")
    def token() -> Any:
        return server.create_token_response()

    @app.post("/device")
    def device() -> Any:
        return server.create_endpoint_response(Device.ENDPOINT_NAME)

    def metadata() -> Any:
        return jsonify(
            issuer=oauth.issuer or oauth.origin,
            token_endpoint=f"{oauth.origin}/token",
            device_authorization_endpoint=f"{oauth.origin}/device",
            token_endpoint_auth_methods_supported=["client_secret_post"],
        )

    app.get("/.well-known/oauth-authorization-server")(metadata)
    app.get("/.well-known/openid-configuration")(metadata)
    return app


@contextmanager
def serve(context: ssl.SSLContext, name: str) -> Iterator[OAuth]:
    """Run it on a free port of 127.0.0.1, under a host name."""
    for noisy in (
        "werkzeug",
        "authlib",
    ):  # a server's log of what it issues
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    oauth = OAuth()
    server = make_server("127.0.0.1", 0, application(oauth), threaded=True, ssl_context=context)
    oauth.origin = f"https://{name}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield oauth
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
