"""The card that is measured: 2.6 kB, as a shop's agent has it, signed with ES256."""

from __future__ import annotations

from typing import Any

from a2a_discovery.testing import Signer

_TOPICS = ("orders", "returns", "stock", "prices", "shipping", "invoices")


def card(base: str, number: int = 0) -> dict[str, Any]:
    """A card without signature; every number has a text of its own."""
    return {
        "name": f"Shop {number}",
        "description": "Answers questions about orders, returns, stock and prices, and takes orders for those who may.",
        "version": "2.4.1",
        "supportedInterfaces": [
            {"url": f"{base}/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{base}/a2a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "provider": {"organization": "Shop Example Ltd", "url": f"{base}/about"},
        "documentationUrl": f"{base}/docs",
        "capabilities": {"streaming": True, "pushNotifications": False},
        "securitySchemes": {
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {
                "oauth2SecurityScheme": {
                    "flows": {
                        "clientCredentials": {
                            "tokenUrl": f"{base}/token",
                            "scopes": {"orders:read": "Read orders", "orders:write": "Place orders"},
                        }
                    }
                }
            },
        },
        "securityRequirements": [{"schemes": {"oauth": {"list": ["orders:read"]}}}],
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            {
                "id": topic,
                "name": topic.capitalize(),
                "description": f"Says what there is to know about {topic}, in the language of the question.",
                "tags": [topic, "shop", "retail"],
                "examples": [f"What about the {topic} of last week?", f"Show me all {topic} above 100 €."],
            }
            for topic in _TOPICS
        ],
    }


def signer_of(number: int, *, jku: str | None, form: Any = "spec") -> Signer:
    """The key of an agent."""
    return Signer(kid=f"key-{number}", jku=jku, form=form)


def signed_card(base: str, signer: Signer, number: int = 0) -> dict[str, Any]:
    """The card as it is served."""
    plain = card(base, number)
    return {**plain, "signatures": [signer.sign(plain, base=base)]}
