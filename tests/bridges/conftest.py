"""An agent of the Python SDK over gRPC and TLS, on loopback, that wants a token and records each call."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from a2a_discovery import Discovery, NetworkPolicy
from a2a_discovery.testing import FakeAgent

TOKEN = "grpc-token"


@dataclass
class GrpcAgent:
    """Where it is, what it got, and how its public card is found."""

    port: int
    fake: FakeAgent
    card_url: str
    network: NetworkPolicy
    calls: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=lambda: {TOKEN})


def document(url: str, version: str, tenant: str = "") -> dict[str, Any]:
    interface = {"url": url, "protocolBinding": "GRPC", "protocolVersion": version}
    return {
        "name": "gRPC agent",
        "description": "Answers over gRPC.",
        "version": "1.0.0",
        "supportedInterfaces": [{**interface, "tenant": tenant} if tenant else interface],
        "capabilities": {"extendedAgentCard": True, "streaming": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "Says it again.", "tags": ["test"]}],
    }


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Any]]:
    """Makes a `GrpcAgent`: ``await serve(version="1.0", tenant="", extended=True)``."""
    for library in ("a2a", "grpc", "trustme"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    async with AsyncExitStack() as opened:

        async def make(version: str = "1.0", *, tenant: str = "", extended: bool = True, form: str = "{}:{}") -> Any:
            fake = FakeAgent("localhost", signers=[])
            running = await opened.enter_async_context(fake.serve())
            agent = GrpcAgent(port=0, fake=fake, card_url=running.url, network=running.network)
            server, agent.port = await _start(agent, running.ca, version, tenant, extended)
            opened.push_async_callback(server.stop, None)
            fake.card = document(form.format("localhost", agent.port), version, tenant)
            return agent

        yield make


async def _start(agent: GrpcAgent, ca: Any, version: str, tenant: str, extended: bool) -> Any:
    import grpc
    from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
    from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
    from a2a.helpers import new_text_message
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
    from a2a.server.tasks import InMemoryTaskStore
    from a2a.types import AgentCard, a2a_pb2_grpc
    from google.protobuf.json_format import ParseDict

    class Echo(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            said = f"{context.get_user_input()} | {context.tenant or '-'}"
            await event_queue.enqueue_event(new_text_message(said, context_id=context.context_id))

        async def cancel(self, context: Any, event_queue: Any) -> None:
            return

    class Guard(grpc.aio.ServerInterceptor):
        async def intercept_service(self, continuation: Any, details: Any) -> Any:
            given = dict(details.invocation_metadata)
            agent.calls.append((details.method, given))
            if given.get("authorization", "").removeprefix("Bearer ") in agent.tokens:
                return await continuation(details)

            async def refuse(request: Any, context: Any) -> None:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")

            async def refuse_stream(request: Any, context: Any) -> Any:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
                yield

            if details.method.endswith("StreamingMessage"):
                return grpc.unary_stream_rpc_method_handler(refuse_stream)
            return grpc.unary_unary_rpc_method_handler(refuse)

    leaf = ca.issue_cert("localhost", "127.0.0.1")
    chain = b"".join(each.bytes() for each in leaf.cert_chain_pems)
    credentials = grpc.ssl_server_credentials([(leaf.private_key_pem.bytes(), chain)])
    server = grpc.aio.server(interceptors=[Guard()])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    public = document(f"localhost:{port}", version, tenant)
    whole = {**public, "skills": [*public["skills"], {**public["skills"][0], "id": "audit"}]}
    handler = DefaultRequestHandler(
        agent_executor=Echo(),
        task_store=InMemoryTaskStore(),
        agent_card=ParseDict(public, AgentCard()),
        extended_agent_card=ParseDict(whole, AgentCard()) if extended else None,
    )
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), server)
    await server.start()
    return server, port


@pytest.fixture
async def discovery() -> AsyncIterator[Callable[..., Discovery]]:
    async with AsyncExitStack() as opened:

        def make(**options: Any) -> Discovery:
            made = Discovery(**{"bindings": ("GRPC",), **options})
            opened.push_async_callback(made.aclose)
            return made

        yield make
