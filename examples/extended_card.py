"""Show a token, and get the card that is not for everybody.

The token goes to the site of the card and nowhere else, and the extended card must pass the same checks.
"""

import asyncio

from a2a_discovery import AuthError, Credentials, discover
from a2a_discovery.testing import FakeAgent


async def main() -> None:
    async with FakeAgent("shop.example", extended=True).serve() as running:
        public = await discover(running.url, network=running.network)
        print("public:  ", [skill.id for skill in public.card.skills])

        agent = await public.upgrade(Credentials(bearer="let-me-in"))
        print("extended:", [skill.id for skill in agent.card.skills], "trust:", agent.trust.level.name)

        try:
            await public.upgrade(Credentials(bearer="guess"))
        except AuthError as error:
            print("refused: ", error.code)


asyncio.run(main())
