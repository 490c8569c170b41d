"""The recipes for other frameworks, each where its package is installed, against a server that wants a token.

``pip install --requirement tests/live/frameworks.txt`` installs them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from a2a_discovery import NetworkPolicy

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "frameworks"

pytestmark = pytest.mark.filterwarnings("default")  # what those packages warn of is theirs to mend


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def where(python_peer, tls):
    return {
        "target": python_peer["guarded"],
        "token": python_peer.token,
        "network": NetworkPolicy.local(ssl_context=tls),
    }


async def test_google_adk_calls_it_as_a_sub_agent(where):
    pytest.importorskip("google.adk", reason="google-adk is not installed")
    recipe = load("google_adk")

    shop = await recipe.remote(**where)

    assert "hi | 1.0 - - | -" in await recipe.ask(shop, "hi")


async def test_langgraph_calls_it_as_a_node(where):
    pytest.importorskip("langgraph", reason="langgraph is not installed")

    graph = await load("langgraph_node").graph(**where)

    assert (await graph.ainvoke({"question": "hi"}))["answer"] == "hi | 1.0 - - | -"


async def test_pydantic_ai_calls_it_as_a_tool(where):
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    shop = await load("pydantic_ai_tool").tool(**where)

    result = await Agent(TestModel(), tools=[shop]).run("what is new?")
    assert result.output == '{"ask_the_shop":"a | 1.0 - - | -"}'
