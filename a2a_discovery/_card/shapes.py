"""The messages of a card as data: what each member is, whether it is REQUIRED, and how far a gap is tolerated.

The source is the protocol buffers definition of A2A 1.0 (section 1.4 makes it the authority). A test compares these
tables with the model and with the descriptors of the installed SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from a2a_discovery._card.json import JSON

Kind = Literal["text", "flag", "data", "texts", "scopes", "message", "messages", "map"]
"""What a member holds; ``data`` is a free object, ``scopes`` a map of text to text, ``map`` one of text to message."""

_EMPTY: Mapping[Kind, JSON] = {
    "text": "", "flag": False, "data": {}, "texts": [], "scopes": {}, "message": {}, "messages": [], "map": {},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a message."""

    kind: Kind
    of: str = ""
    """The message it is, or holds."""
    required: bool = False
    fill: JSON = None
    """For a REQUIRED member that may be missing: what its absence is read as."""
    keep: bool = False
    """A wrong type is never repaired, although a gap would be, or the member is optional."""

    @property
    def empty(self) -> JSON:
        """The empty value of its kind, fresh."""
        return _fresh(_EMPTY[self.kind])

    @property
    def filled(self) -> JSON:
        """What absence is read as, fresh."""
        return _fresh(self.fill)


@dataclass(frozen=True, slots=True)
class Shape:
    """One message: its members and what a gap in it means."""

    members: Mapping[str, Field]
    gap: Literal["refuse", "fill", "inert"] = "refuse"
    """A missing REQUIRED member makes the card invalid, reads as empty text, or takes this message out of use."""
    older: frozenset[str] = frozenset()
    """Names of earlier versions and drafts that have no place in 1.0."""
    quiet: bool = False
    """Members unknown to 1.0 are the older spelling of the same thing and not worth a word."""
    required: tuple[str, ...] = field(init=False)
    spellings: Mapping[str, str] = field(init=False)
    """snake_case name → the member's name, where they differ; ProtoJSON readers take both."""

    def __post_init__(self) -> None:
        names = (*self.members, *sorted(self.older))
        object.__setattr__(self, "required", tuple(name for name, each in self.members.items() if each.required))
        object.__setattr__(self, "spellings", {_snake(name): name for name in names if _snake(name) != name})


def _fresh(value: JSON) -> JSON:
    return value.copy() if isinstance(value, (dict, list)) else value


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


_TEXT = Field("text")
_FLAG = Field("flag")
_DATA = Field("data")
_TEXTS = Field("texts")
_NEEDED = Field("text", required=True)
_MODES = Field("texts", required=True, fill=["text/plain"], keep=True)
_REQUIREMENTS = Field("messages", "SecurityRequirement")
_SCOPES = Field("scopes", required=True, fill={})

ONE_OF = {
    "apiKeySecurityScheme": "APIKeySecurityScheme",
    "httpAuthSecurityScheme": "HTTPAuthSecurityScheme",
    "oauth2SecurityScheme": "OAuth2SecurityScheme",
    "openIdConnectSecurityScheme": "OpenIdConnectSecurityScheme",
    "mtlsSecurityScheme": "MutualTlsSecurityScheme",
}
"""The members of the oneof of a scheme, and the message each is."""

FLOWS = {
    "authorizationCode": "AuthorizationCodeOAuthFlow",
    "clientCredentials": "ClientCredentialsOAuthFlow",
    "implicit": "ImplicitOAuthFlow",
    "password": "PasswordOAuthFlow",
    "deviceCode": "DeviceCodeOAuthFlow",
}

SHAPES: Mapping[str, Shape] = {
    "AgentCard": Shape(
        {
            "name": _NEEDED,
            # ProtoJSON servers leave an empty text out, so a missing description is an empty one
            "description": Field("text", required=True, fill="", keep=True),
            "supportedInterfaces": Field("messages", "AgentInterface", required=True),
            "provider": Field("message", "AgentProvider"),
            "version": _NEEDED,
            "documentationUrl": _TEXT,
            "capabilities": Field("message", "AgentCapabilities", required=True),
            "securitySchemes": Field("map", "SecurityScheme"),
            "securityRequirements": _REQUIREMENTS,
            "defaultInputModes": _MODES,
            "defaultOutputModes": _MODES,
            "skills": Field("messages", "AgentSkill", required=True, fill=[], keep=True),
            "signatures": Field("messages", "AgentCardSignature"),
            "iconUrl": _TEXT,
        },
        older=frozenset(
            (
                "url",
                "preferredTransport",
                "additionalInterfaces",
                "protocolVersion",
                "protocolVersions",
                "supportsAuthenticatedExtendedCard",
                "supportsExtendedAgentCard",
                "security",
                "authentication",
            )
        ),
    ),
    "AgentInterface": Shape(
        {
            "url": _NEEDED,
            "protocolBinding": _NEEDED,
            "tenant": Field("text", keep=True),
            "protocolVersion": _NEEDED,
        }
    ),
    "AgentProvider": Shape({"url": _NEEDED, "organization": _NEEDED}, gap="fill"),
    "AgentCapabilities": Shape(
        {
            "streaming": _FLAG,
            "pushNotifications": _FLAG,
            "extensions": Field("messages", "AgentExtension"),
            "extendedAgentCard": _FLAG,
        },
        older=frozenset(("stateTransitionHistory",)),
    ),
    "AgentExtension": Shape({"uri": _TEXT, "description": _TEXT, "required": _FLAG, "params": _DATA}),
    "AgentSkill": Shape(
        {
            "id": _NEEDED,
            "name": _NEEDED,
            "description": Field("text", required=True, fill=""),
            "tags": Field("texts", required=True, fill=[]),
            "examples": _TEXTS,
            "inputModes": _TEXTS,
            "outputModes": _TEXTS,
            "securityRequirements": _REQUIREMENTS,
        },
        older=frozenset(("security",)),
    ),
    "AgentCardSignature": Shape({"protected": _NEEDED, "signature": _NEEDED, "header": _DATA}, gap="inert"),
    "SecurityRequirement": Shape({"schemes": Field("map", "StringList")}),
    "StringList": Shape({"list": _TEXTS}),
    "SecurityScheme": Shape({name: Field("message", of) for name, of in ONE_OF.items()}, quiet=True),
    "APIKeySecurityScheme": Shape({"description": _TEXT, "location": _NEEDED, "name": _NEEDED}, gap="inert"),
    "HTTPAuthSecurityScheme": Shape({"description": _TEXT, "scheme": _NEEDED, "bearerFormat": _TEXT}, gap="inert"),
    "OAuth2SecurityScheme": Shape(
        {
            "description": _TEXT,
            "flows": Field("message", "OAuthFlows", required=True),
            "oauth2MetadataUrl": _TEXT,
        },
        gap="inert",
    ),
    "OpenIdConnectSecurityScheme": Shape({"description": _TEXT, "openIdConnectUrl": _NEEDED}, gap="inert"),
    "MutualTlsSecurityScheme": Shape({"description": _TEXT}),
    "OAuthFlows": Shape({name: Field("message", of) for name, of in FLOWS.items()}),
    "AuthorizationCodeOAuthFlow": Shape(
        {
            "authorizationUrl": _NEEDED,
            "tokenUrl": _NEEDED,
            "refreshUrl": _TEXT,
            "scopes": _SCOPES,
            "pkceRequired": _FLAG,
        },
        gap="inert",
    ),
    "ClientCredentialsOAuthFlow": Shape({"tokenUrl": _NEEDED, "refreshUrl": _TEXT, "scopes": _SCOPES}, gap="inert"),
    "ImplicitOAuthFlow": Shape({"authorizationUrl": _TEXT, "refreshUrl": _TEXT, "scopes": Field("scopes")}),
    "PasswordOAuthFlow": Shape({"tokenUrl": _TEXT, "refreshUrl": _TEXT, "scopes": Field("scopes")}),
    "DeviceCodeOAuthFlow": Shape(
        {"deviceAuthorizationUrl": _NEEDED, "tokenUrl": _NEEDED, "refreshUrl": _TEXT, "scopes": _SCOPES},
        gap="inert",
    ),
}

LOOKALIKES: Mapping[str, tuple[str, ...]] = {
    "supportedInterfaces": (
        "supportedInterface",
        "supported_interfaces",
        "interfaces",
        "agentInterfaces",
        "additionalInterfaces",
        "endpoints",
    ),
    "url": ("serviceUrl", "service_url", "endpoint", "endpointUrl", "baseUrl", "base_url", "api_base", "webhook_url",
            "uri", "href"),
    "protocolBinding": ("transport", "type", "binding", "protocol", "preferredTransport"),
    "protocolVersion": ("version", "protocol_version"),
    "name": ("identity", "agentName", "displayName", "agent_name", "display_name", "title"),
    "description": ("summary", "short_description", "identity"),
    "version": ("agentVersion", "agent_version", "identity"),
    "id": ("skillId", "skill_id", "identifier"),
    "capabilities": ("capability", "features"),
    "skills": ("skill", "tools"),
    "tags": ("keywords", "categories"),
    "defaultInputModes": ("inputModes", "input_modes", "default_input_modes"),
    "defaultOutputModes": ("outputModes", "output_modes", "default_output_modes"),
    "organization": ("name", "organisation", "company"),
    "location": ("in_", "position"),
    "tokenUrl": ("token_url", "tokenURL", "tokenEndpoint", "token_endpoint"),
    "openIdConnectUrl": ("open_id_connect_url", "openidConnectUrl", "openIdUrl", "issuer"),
}  # fmt: skip
"""REQUIRED member → what published cards write instead. Only ever a hint: nothing is read from these."""
