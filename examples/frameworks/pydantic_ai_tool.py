"""A discovered agent as a tool of pydantic-ai: ``pip install pydantic-ai-slim "a2a_discovery[a2a]"``."""

from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import Role, SendMessageRequest
from pydantic_ai import Tool

from a2a_discovery import Credentials, discover


async def tool(target, token, **options):
    agent = (await discover(target, **options)).with_credentials(Credentials(bearer=token))

    async def ask_the_shop(question: str) -> str:
        """Ask the shop's own agent."""
        async with await agent.connect() as client:
            request = SendMessageRequest(message=new_text_message(question, role=Role.ROLE_USER))
            return "".join([get_stream_response_text(event) async for event in client.send_message(request)])

    return Tool(ask_the_shop)
