"""The Agent Card of A2A 1.0 as frozen values: section 4.4 and 4.5 of the specification, member by member.

Attributes are snake_case, JSON is camelCase. Members that the specification doesn't know are kept (``model_extra``).
Presence follows the protocol buffers definition: a member that can be told apart from its default when it is absent is
``None`` then; one that cannot is ``""``, ``False`` or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

SchemeKind = Literal[
    "api_key_security_scheme",
    "http_auth_security_scheme",
    "oauth2_security_scheme",
    "open_id_connect_security_scheme",
    "mtls_security_scheme",
]
"""The members that a `SecurityScheme` has one of."""


class Part(BaseModel):
    """What every object of a card has in common."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        defer_build=True,
        extra="allow",
        frozen=True,
        hide_input_in_errors=True,
        serialize_by_alias=True,
        validate_by_alias=True,
        validate_by_name=True,
    )


class AgentInterface(Part):
    """One place where the agent can be called, in one binding and protocol version (section 4.4.6)."""

    url: str
    protocol_binding: str
    """``JSONRPC``, ``GRPC``, ``HTTP+JSON``, or the URI of another binding."""
    protocol_version: str
    """``Major.Minor``."""
    tenant: str = ""
    """Opaque; every request to this interface must repeat it. ``""``: there is none."""


class AgentProvider(Part):
    """Who offers the agent (section 4.4.2)."""

    organization: str
    url: str


class AgentExtension(Part):
    """An extension of the protocol that the agent speaks (section 4.4.4)."""

    uri: str = ""
    description: str = ""
    required: bool = False
    """A client that doesn't implement it cannot use the agent."""
    params: Mapping[str, Any] | None = None


class AgentCapabilities(Part):
    """The optional features that the agent has (section 4.4.3)."""

    streaming: bool | None = None
    push_notifications: bool | None = None
    extensions: tuple[AgentExtension, ...] = ()
    extended_agent_card: bool | None = None


class StringList(Part):
    """A list of scopes."""

    list: tuple[str, ...] = ()


class SecurityRequirement(Part):
    """Schemes that are needed together; a list of requirements is a list of alternatives."""

    schemes: Mapping[str, StringList] = {}
    """Scheme name → scopes. Empty: no credentials are needed."""


class AgentSkill(Part):
    """One thing the agent can do (section 4.4.5)."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    """Media types, where they differ from the card's."""
    output_modes: tuple[str, ...] = ()
    security_requirements: tuple[SecurityRequirement, ...] = ()


class AgentCardSignature(Part):
    """One JWS signature in JSON form, its payload detached (section 4.4.7)."""

    protected: str
    signature: str
    header: Mapping[str, Any] | None = None
    """The unprotected header: anybody can have written it."""


class APIKeySecurityScheme(Part):
    """An API key (section 4.5.2)."""

    location: str
    """``query``, ``header`` or ``cookie``."""
    name: str
    description: str = ""


class HTTPAuthSecurityScheme(Part):
    """An HTTP authentication scheme (section 4.5.3)."""

    scheme: str
    """Of the IANA registry, compared without case: ``Bearer``."""
    bearer_format: str = ""
    description: str = ""


class AuthorizationCodeOAuthFlow(Part):
    """OAuth 2.0 authorization code (section 4.5.8)."""

    authorization_url: str
    token_url: str
    scopes: Mapping[str, str]
    refresh_url: str = ""
    pkce_required: bool = False


class ClientCredentialsOAuthFlow(Part):
    """OAuth 2.0 client credentials (section 4.5.9)."""

    token_url: str
    scopes: Mapping[str, str]
    refresh_url: str = ""


class DeviceCodeOAuthFlow(Part):
    """OAuth 2.0 device authorization, RFC 8628 (section 4.5.10)."""

    device_authorization_url: str
    token_url: str
    scopes: Mapping[str, str]
    refresh_url: str = ""


class ImplicitOAuthFlow(Part):
    """OAuth 2.0 implicit; deprecated."""

    authorization_url: str = ""
    refresh_url: str = ""
    scopes: Mapping[str, str] = {}


class PasswordOAuthFlow(Part):
    """OAuth 2.0 resource owner password; deprecated."""

    token_url: str = ""
    refresh_url: str = ""
    scopes: Mapping[str, str] = {}


class OAuthFlows(Part):
    """The OAuth 2.0 flows (section 4.5.7). A2A 1.0 has one of them; published cards have several, and all are kept."""

    authorization_code: AuthorizationCodeOAuthFlow | None = None
    client_credentials: ClientCredentialsOAuthFlow | None = None
    implicit: ImplicitOAuthFlow | None = None
    password: PasswordOAuthFlow | None = None
    device_code: DeviceCodeOAuthFlow | None = None


class OAuth2SecurityScheme(Part):
    """OAuth 2.0 (section 4.5.4)."""

    flows: OAuthFlows
    oauth2_metadata_url: str = ""
    """RFC 8414 metadata."""
    description: str = ""


class OpenIdConnectSecurityScheme(Part):
    """OpenID Connect (section 4.5.5)."""

    open_id_connect_url: str
    description: str = ""


class MutualTlsSecurityScheme(Part):
    """A client certificate (section 4.5.6)."""

    description: str = ""


class SecurityScheme(Part):
    """One way to authenticate: exactly one member is set, or none where the scheme is of no known kind."""

    api_key_security_scheme: APIKeySecurityScheme | None = None
    http_auth_security_scheme: HTTPAuthSecurityScheme | None = None
    oauth2_security_scheme: OAuth2SecurityScheme | None = None
    open_id_connect_security_scheme: OpenIdConnectSecurityScheme | None = None
    mtls_security_scheme: MutualTlsSecurityScheme | None = None

    @property
    def kind(self) -> SchemeKind | None:
        """Which member is set, or ``None`` where it is not exactly one."""
        kinds: tuple[SchemeKind, ...] = SchemeKind.__args__  # type: ignore[attr-defined]
        found = [kind for kind in kinds if getattr(self, kind) is not None]
        return found[0] if len(found) == 1 else None


class AgentCard(Part):
    """An agent's manifest (section 4.4.1)."""

    name: str
    description: str
    supported_interfaces: tuple[AgentInterface, ...]
    """Ordered: the first is the one the agent prefers."""
    version: str
    """The agent's own version, free form."""
    capabilities: AgentCapabilities
    default_input_modes: tuple[str, ...]
    """Media types."""
    default_output_modes: tuple[str, ...]
    skills: tuple[AgentSkill, ...]
    provider: AgentProvider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    security_schemes: Mapping[str, SecurityScheme] = {}
    security_requirements: tuple[SecurityRequirement, ...] = ()
    """Alternatives: any one will do."""
    signatures: tuple[AgentCardSignature, ...] = ()
