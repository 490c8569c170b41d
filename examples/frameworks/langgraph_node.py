"""A discovered agent as a node of a LangGraph: ``pip install langgraph "a2a_discovery[a2a]"``."""

from typing import TypedDict

from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import Role, SendMessageRequest
from langgraph.graph import END, START, StateGraph

from a2a_discovery import Credentials, discover


class State(TypedDict):
    question: str
    answer: str


async def graph(target, token, **options):
    agent = (await discover(target, **options)).with_credentials(Credentials(bearer=token))

    async def shop(state: State):
        async with await agent.connect() as client:
            request = SendMessageRequest(message=new_text_message(state["question"], role=Role.ROLE_USER))
            texts = [get_stream_response_text(event) async for event in client.send_message(request)]
        return {"answer": "".join(texts)}

    built = StateGraph(State)
    built.add_node("shop", shop)
    built.add_edge(START, "shop")
    built.add_edge("shop", END)
    return built.compile()
