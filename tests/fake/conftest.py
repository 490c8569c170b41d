"""A bare httpx client on a fake agent: nothing of ours stands between the test and the wire."""

import contextlib

import httpx
import pytest

CARD = "https://shop.example/.well-known/agent-card.json"


@pytest.fixture
async def client():
    """Make httpx clients that are closed when the test ends."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(transport=None, **options):
            return await stack.enter_async_context(httpx.AsyncClient(transport=transport, **options))

        yield make


@pytest.fixture
def get(client):
    """GET a URL from a transport, by default the card."""

    async def ask(transport, url=CARD, **headers):
        asking = await client(transport)
        return await asking.get(url, headers={name.replace("_", "-"): value for name, value in headers.items()})

    return ask
