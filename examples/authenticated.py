"""From a bare domain to a reply from an agent that asks who calls: ``python authenticated.py shop.example hi``.

The token is read from the environment, ``SHOP_TOKEN``. Extra: ``a2a``.
"""

import asyncio
import os
import sys

from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import Role, SendMessageRequest

from a2a_discovery import Credentials, discover


async def main(target, text, token, **options):
    agent = await discover(target, **options)
    agent = await agent.upgrade(Credentials(bearer=token))  # the extended card, verified by the same rules
    async with await agent.connect() as client:  # bound to the interface, its tenant and version, and the token
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        return [get_stream_response_text(event) async for event in client.send_message(request)]


if __name__ == "__main__":
    print(*asyncio.run(main(*sys.argv[1:3], os.environ["SHOP_TOKEN"])))
