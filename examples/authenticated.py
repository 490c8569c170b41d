"""From a bare domain to a reply from an agent that asks who calls. Extra: ``a2a``."""

import asyncio

from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import Role, SendMessageRequest

from a2a_discovery import Credentials, discover
from a2a_discovery.testing import FakeAgent, Reply


async def ask(target, text, token, **options):
    agent = await discover(target, **options)
    agent = await agent.upgrade(Credentials(bearer=token))  # the extended card, verified by the same rules
    async with await agent.connect() as client:  # bound to the interface, its tenant and version, and the token
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        return [get_stream_response_text(event) async for event in client.send_message(request)]


async def main() -> None:
    shop = FakeAgent("shop.example", extended=True)
    shop.replies["/a2a/v1"] = lambda request: answer(shop, request)
    async with shop.serve() as running:
        print("reply:", *await ask(running.url, "Where is my order?", "let-me-in", network=running.network))
    print("the token was shown to:", {request.host for request in shop.requests if request.authorization})


def answer(shop, request):
    call = request.json()
    if call["method"] != "SendStreamingMessage" or shop.admits(request) != 200:
        return None  # the fake agent itself knows what to say
    said = call["params"]["message"]["parts"][0]["text"]
    message = {"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": f"You asked: {said}"}]}
    reply = {"jsonrpc": "2.0", "id": call["id"], "result": {"message": message}}
    return Reply.json(reply)


if __name__ == "__main__":
    asyncio.run(main())
