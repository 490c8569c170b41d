"""A discovered agent as a sub-agent of google-adk: ``pip install "google-adk[a2a]" "a2a_discovery[a2a]"``."""

import httpx
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from a2a_discovery import Credentials, discover


async def remote(target, token, **options):
    agent = await discover(target, **options)
    agent = await agent.upgrade(Credentials(bearer=token))
    return RemoteA2aAgent(
        name="shop",
        agent_card=agent.as_a2a_card(),  # verified already: ADK fetches nothing
        httpx_client=httpx.AsyncClient(transport=agent.transport(), headers=agent.headers()),  # guarded, with the token
        use_legacy=False,
    )


async def ask(shop, text):
    runner = InMemoryRunner(agent=shop, app_name="example")
    session = await runner.session_service.create_session(app_name="example", user_id="me")
    message = types.Content(role="user", parts=[types.Part(text=text)])
    events = runner.run_async(user_id="me", session_id=session.id, new_message=message)
    return [part.text async for event in events for part in (event.content.parts if event.content else ()) if part.text]
