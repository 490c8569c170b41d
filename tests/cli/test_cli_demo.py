"""The demo fails loudly where a step does not happen."""

import io

import pytest
from rich.console import Console

from a2a_discovery import Discovery, Trust, TrustPolicy
from a2a_discovery._cli import demo
from a2a_discovery.testing import Clock, FakeAgent


@pytest.fixture
async def walk():
    """A walk whose agent the test spoils."""
    clock = Clock()
    agent = FakeAgent(demo.HOST, card=demo.CARD, extended=True, token=demo.TOKEN, clock=clock)
    async with (
        agent.serve(name=demo.HOST) as running,
        Discovery(trust=TrustPolicy(require=Trust.SIGNED), network=running.network, clock=clock) as discovery,
    ):
        console = Console(file=io.StringIO())
        yield demo.Walk(console=console, agent=agent, running=running, clock=clock, discovery=discovery)


async def test_a_step_whose_requests_are_others_fails(walk):
    walk.agent.signers[0] = walk.agent.signers[0].rotated()
    walk.agent.headers["card"]["cache-control"] = "no-store"

    await demo.first_look(walk)
    with pytest.raises(demo.NotShownError, match="no request"):
        await demo.from_cache(walk)


async def test_a_server_without_304_fails_the_step(walk):
    walk.agent.sign_each_answer = True

    await demo.first_look(walk)
    with pytest.raises(demo.NotShownError, match="304"):
        await demo.unchanged(walk)


async def test_a_token_that_is_let_in_where_it_must_not_fails_the_step(walk):
    walk.agent.tokens.add("a-wrong-token")

    with pytest.raises(demo.NotShownError, match="wrong token"):
        await demo.extended(walk)


def test_an_error_ends_the_demo_with_1_and_says_so(capsys):
    assert demo.run({"name": "no card"}) == 1
    assert "the demo FAILED" in capsys.readouterr().err
