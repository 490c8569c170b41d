"""What to write for a REQUIRED member, as a line that can be copied."""

from __future__ import annotations

from collections.abc import Mapping

_SKILL: Mapping[str, str] = {
    "id": '"id": "refunds"',
    "name": '"name": "Refunds"',
    "description": '"description": "Pays an order back to the card it was paid with."',
    "tags": '"tags": ["orders", "refunds"]',
}
_ANY: Mapping[str, str] = {
    "name": '"name": "Ferry ticket desk"',
    "description": '"description": "Sells ferry tickets and answers questions about crossings."',
    "version": '"version": "1.4.0"',
    "capabilities": '"capabilities": {"streaming": false}',
    "supportedInterfaces": '"supportedInterfaces": [{"url": "https://HOST/a2a", "protocolBinding": "JSONRPC", '
    '"protocolVersion": "1.0"}]',
    "url": '"url": "https://HOST/a2a"',
    "protocolBinding": '"protocolBinding": "JSONRPC"',
    "protocolVersion": '"protocolVersion": "1.0"',
    "defaultInputModes": '"defaultInputModes": ["text/plain"]',
    "defaultOutputModes": '"defaultOutputModes": ["text/plain"]',
    "skills": '"skills": [{"id": "refunds", "name": "Refunds", "description": "Pays an order back.", '
    '"tags": ["orders"]}]',
    "tags": '"tags": ["orders", "refunds"]',
    "organization": '"organization": "Example Ferries Ltd."',
    "location": '"location": "header"',
    "scheme": '"scheme": "Bearer"',
    "tokenUrl": '"tokenUrl": "https://login.HOST/token"',
    "authorizationUrl": '"authorizationUrl": "https://login.HOST/authorize"',
    "deviceAuthorizationUrl": '"deviceAuthorizationUrl": "https://login.HOST/device"',
    "openIdConnectUrl": '"openIdConnectUrl": "https://login.HOST/.well-known/openid-configuration"',
    "scopes": '"scopes": {"orders:read": "Read your orders"}',
    "in": '"in": "header"',
}
_CODES = frozenset(("missing-required", "null-required", "empty-required", "wrong-type"))


def example(code: str, pointer: str) -> str:
    """A line to copy for a member that must be there, or ``""``."""
    if code not in _CODES:
        return ""
    holder, _, name = pointer.rpartition("/")
    skill = _SKILL.get(name) if holder.rpartition("/")[0] == "/skills" else None
    line = skill or _ANY.get(name)
    return f"Write {line}." if line is not None else ""
