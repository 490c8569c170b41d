"""The other side: the same work as a good engineer writes it by hand with httpx, joserfc and jcs.

It fetches a card, and the key that the card's signature names on the same host, and verifies. It checks what it must
and nothing else: no guard, limits, cache, report, repair, or other form than the one that is there.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any
from urllib.parse import urlsplit

import httpx
import jcs
from joserfc import jws
from joserfc.jwk import KeySet

REGISTRY = jws.JWSRegistry(algorithms=["ES256"])


def decoded(text: str) -> Any:
    """The JSON inside of base64url."""
    return json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def verify(card: dict[str, Any], keys: Any) -> None:
    """Verify the first signature of a card.

    Raises:
        joserfc.errors.BadSignatureError: it is not good.
    """
    signature = card["signatures"][0]
    payload = jcs.canonicalize({name: value for name, value in card.items() if name != "signatures"})
    encoded = urlsafe_b64encode(payload).rstrip(b"=").decode()
    jws.deserialize_compact(f"{signature['protected']}.{encoded}.{signature['signature']}", keys, registry=REGISTRY)


async def discover(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
    """A card by its URL, verified with its site's key."""
    answer = await client.get(url, headers={"A2A-Version": "1.0"})
    answer.raise_for_status()
    card: dict[str, Any] = answer.json()
    header = decoded(card["signatures"][0]["protected"])
    if urlsplit(header["jku"]).hostname != urlsplit(url).hostname:
        raise ValueError("the key is somewhere else")
    keys = await client.get(header["jku"])
    keys.raise_for_status()
    verify(card, KeySet.import_key_set(keys.json()))
    return card
