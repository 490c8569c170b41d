"""Spans, where OpenTelemetry is in use: one a discovery, with children for fetching and verifying."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

SCRIPT = """
import asyncio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from a2a_discovery import Discovery, DiscoveryError
from a2a_discovery.testing import FakeAgent, Reply

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

async def main():
    agent = FakeAgent("shop.example")
    agent.card["description"] = "PRIVATE-TEXT"
    async with Discovery(transport=agent) as d:
        await d.discover("shop.example")
        await d.discover("shop.example")
        agent.replies["card"] = Reply.error(403)
        try:
            await d.discover("shop.example", refresh=True)
        except DiscoveryError:
            pass

asyncio.run(main())
spans = exporter.get_finished_spans()
names = {span.context.span_id: span.name for span in spans}
print(json.dumps([
    {"name": span.name, "parent": names.get(span.parent.span_id) if span.parent else None,
     "attributes": dict(span.attributes), "status": span.status.status_code.name, "events": len(span.events)}
    for span in spans
]))
"""


@pytest.fixture(scope="module")
def spans() -> list[dict[str, Any]]:
    import json

    # A process of its own: a tracer provider can be set only once.
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert "PRIVATE-TEXT" not in done.stdout
    return json.loads(done.stdout)


def test_a_discovery_is_one_span_with_children_for_fetching_and_verifying(spans: list[dict[str, Any]]) -> None:
    first = spans[: [span["name"] for span in spans].index("a2a.discover") + 1]

    assert [(span["name"], span["parent"]) for span in first] == [
        ("a2a.fetch", "a2a.discover"),
        ("a2a.fetch", "a2a.verify"),
        ("a2a.verify", "a2a.discover"),
        ("a2a.discover", None),
    ]
    assert first[0]["attributes"]["http.response.status_code"] == 200
    assert first[0]["attributes"]["a2a.kind"] == "card"
    assert first[1]["attributes"]["a2a.kind"] == "keys"


def test_a_span_says_from_where_it_came_and_who_vouches(spans: list[dict[str, Any]]) -> None:
    whole = [span for span in spans if span["name"] == "a2a.discover"]

    assert [span["attributes"].get("a2a.cache") for span in whole] == ["network", "memory", None]
    assert whole[0]["attributes"]["a2a.trust.level"] == "SIGNED"
    assert whole[0]["attributes"]["a2a.trust.authority"] == "shop.example"
    assert whole[0]["attributes"]["a2a.target"] == "shop.example"


def test_a_failure_is_the_status_of_its_span_by_its_code_alone(spans: list[dict[str, Any]]) -> None:
    last = spans[-1]

    assert (last["status"], last["attributes"]["error.type"], last["events"]) == ("ERROR", "forbidden", 0)
