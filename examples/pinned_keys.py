"""Accept a card only if a key that you know has signed it.

You got the shop's public keys from the shop, not from the network. From then on its own web server can't replace them.
"""

import asyncio

from a2a_discovery import Trust, TrustError, TrustPolicy, discover
from a2a_discovery.testing import FakeAgent


async def main() -> None:
    shop = FakeAgent("shop.example")
    keys = shop.jwks  # a JWK, a JWK Set, or the pathlib.Path of one, or of a PEM file
    policy = TrustPolicy(keys={"shop.example": keys}, require=Trust.PINNED)

    # transport= replaces the sockets alone: it makes "shop.example" this fake agent.
    agent = await discover("shop.example", transport=shop, trust=policy)
    signature = agent.trust.verified
    print("trust:  ", agent.trust.level.name, "by", signature.alg, "over the form", signature.form)

    # Somebody takes over the web server, and signs with new keys that he publishes there.
    shop.rotate_keys()
    try:
        await discover("shop.example", transport=shop, trust=policy, refresh=True)
    except TrustError as error:
        print("refused:", error.code)


asyncio.run(main())
