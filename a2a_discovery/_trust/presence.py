"""Field presence of A2A 1.0 as data: which members each message has, and which of them survive at their default.

The source is the protocol buffers definition (package ``lf.a2a.v1``) that A2A section 1.4 makes the authority. A test
compares this table with the descriptors of the installed SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Shape = Literal["text", "flag", "message", "struct", "list", "map"]

_EMPTY: Mapping[Shape, Any] = {"text": "", "flag": False, "message": {}, "struct": {}, "list": [], "map": {}}


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a message."""

    shape: Shape
    message: str | None = None
    """The message that the value, each element, or each value of the map is; ``None`` for text and free data."""
    required: bool = False
    """``google.api.field_behavior = REQUIRED``."""
    explicit: bool = False
    """Set-to-default and absent are told apart: proto3 ``optional``, and every single message."""

    @property
    def kept(self) -> bool:
        """Whether A2A section 8.4.1 rule 1 keeps the member at its default."""
        return self.required or self.explicit

    @property
    def empty(self) -> Any:
        """The default value, fresh."""
        default = _EMPTY[self.shape]
        return default.copy() if isinstance(default, (dict, list)) else default


_TEXT = Field("text")
_FLAG = Field("flag")
_TEXTS = Field("list")
_STRUCT = Field("struct", explicit=True)
_OPTIONAL_TEXT = Field("text", explicit=True)
_OPTIONAL_FLAG = Field("flag", explicit=True)
_REQUIRED_TEXT = Field("text", required=True)
_REQUIRED_TEXTS = Field("list", required=True)
_SCOPES = Field("map")
_REQUIRED_SCOPES = Field("map", required=True)
_REQUIREMENTS = Field("list", "SecurityRequirement")


def _one(message: str) -> Field:
    return Field("message", message, explicit=True)


MESSAGES: Mapping[str, Mapping[str, Field]] = {
    "AgentCard": {
        "name": _REQUIRED_TEXT,
        "description": _REQUIRED_TEXT,
        "supportedInterfaces": Field("list", "AgentInterface", required=True),
        "provider": _one("AgentProvider"),
        "version": _REQUIRED_TEXT,
        "documentationUrl": _OPTIONAL_TEXT,
        "capabilities": Field("message", "AgentCapabilities", required=True, explicit=True),
        "securitySchemes": Field("map", "SecurityScheme"),
        "securityRequirements": _REQUIREMENTS,
        "defaultInputModes": _REQUIRED_TEXTS,
        "defaultOutputModes": _REQUIRED_TEXTS,
        "skills": Field("list", "AgentSkill", required=True),
        "signatures": Field("list", "AgentCardSignature"),
        "iconUrl": _OPTIONAL_TEXT,
    },
    "AgentInterface": {
        "url": _REQUIRED_TEXT,
        "protocolBinding": _REQUIRED_TEXT,
        "tenant": _TEXT,
        "protocolVersion": _REQUIRED_TEXT,
    },
    "AgentProvider": {"url": _REQUIRED_TEXT, "organization": _REQUIRED_TEXT},
    "AgentCapabilities": {
        "streaming": _OPTIONAL_FLAG,
        "pushNotifications": _OPTIONAL_FLAG,
        "extensions": Field("list", "AgentExtension"),
        "extendedAgentCard": _OPTIONAL_FLAG,
    },
    "AgentExtension": {"uri": _TEXT, "description": _TEXT, "required": _FLAG, "params": _STRUCT},
    "AgentSkill": {
        "id": _REQUIRED_TEXT,
        "name": _REQUIRED_TEXT,
        "description": _REQUIRED_TEXT,
        "tags": _REQUIRED_TEXTS,
        "examples": _TEXTS,
        "inputModes": _TEXTS,
        "outputModes": _TEXTS,
        "securityRequirements": _REQUIREMENTS,
    },
    "AgentCardSignature": {"protected": _REQUIRED_TEXT, "signature": _REQUIRED_TEXT, "header": _STRUCT},
    "SecurityRequirement": {"schemes": Field("map", "StringList")},
    "StringList": {"list": _TEXTS},
    "SecurityScheme": {
        "apiKeySecurityScheme": _one("APIKeySecurityScheme"),
        "httpAuthSecurityScheme": _one("HTTPAuthSecurityScheme"),
        "oauth2SecurityScheme": _one("OAuth2SecurityScheme"),
        "openIdConnectSecurityScheme": _one("OpenIdConnectSecurityScheme"),
        "mtlsSecurityScheme": _one("MutualTlsSecurityScheme"),
    },
    "APIKeySecurityScheme": {"description": _TEXT, "location": _REQUIRED_TEXT, "name": _REQUIRED_TEXT},
    "HTTPAuthSecurityScheme": {"description": _TEXT, "scheme": _REQUIRED_TEXT, "bearerFormat": _TEXT},
    "OAuth2SecurityScheme": {
        "description": _TEXT,
        "flows": Field("message", "OAuthFlows", required=True, explicit=True),
        "oauth2MetadataUrl": _TEXT,
    },
    "OpenIdConnectSecurityScheme": {"description": _TEXT, "openIdConnectUrl": _REQUIRED_TEXT},
    "MutualTlsSecurityScheme": {"description": _TEXT},
    "OAuthFlows": {
        "authorizationCode": _one("AuthorizationCodeOAuthFlow"),
        "clientCredentials": _one("ClientCredentialsOAuthFlow"),
        "implicit": _one("ImplicitOAuthFlow"),
        "password": _one("PasswordOAuthFlow"),
        "deviceCode": _one("DeviceCodeOAuthFlow"),
    },
    "AuthorizationCodeOAuthFlow": {
        "authorizationUrl": _REQUIRED_TEXT,
        "tokenUrl": _REQUIRED_TEXT,
        "refreshUrl": _TEXT,
        "scopes": _REQUIRED_SCOPES,
        "pkceRequired": _FLAG,
    },
    "ClientCredentialsOAuthFlow": {"tokenUrl": _REQUIRED_TEXT, "refreshUrl": _TEXT, "scopes": _REQUIRED_SCOPES},
    "ImplicitOAuthFlow": {"authorizationUrl": _TEXT, "refreshUrl": _TEXT, "scopes": _SCOPES},
    "PasswordOAuthFlow": {"tokenUrl": _TEXT, "refreshUrl": _TEXT, "scopes": _SCOPES},
    "DeviceCodeOAuthFlow": {
        "deviceAuthorizationUrl": _REQUIRED_TEXT,
        "tokenUrl": _REQUIRED_TEXT,
        "refreshUrl": _TEXT,
        "scopes": _REQUIRED_SCOPES,
    },
}
"""Message → JSON name → field."""


def proto_name(name: str) -> str:
    """The name of a member in the protocol buffers definition, which ProtoJSON parsers read too."""
    return re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), name)


PROTO_NAMES: Mapping[str, Mapping[str, str]] = {
    message: {proto_name(name): name for name in members if proto_name(name) != name}
    for message, members in MESSAGES.items()
}
"""Message → the definition's name → JSON name, where they differ."""
