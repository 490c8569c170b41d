"""A server of the Python SDK (a2a-sdk, Starlette, uvicorn) in several variants, each on a loopback port of its own.

Run by the live tests: ``python python_peer.py CERTIFICATE KEY``. It prints one line of JSON, variant → base URL, when
all of them listen, and ends when its standard input does, so it never outlives the tests.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import socket
import sys
from dataclasses import dataclass
from typing import Any

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCard
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import ParseDict
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "live-token"
KID = "python-peer-1"
JWKS_PATH = "/.well-known/jwks.json"
SEEN_PATH = "/.well-known/seen"
"""Not A2A: a list of [path, status] of every answer so far."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What one server does differently."""

    tls: bool = True
    signed: bool = True
    interfaces: tuple[tuple[str, str], ...] = (("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"))
    tenant: str = ""
    rest: str = "/rest"
    """Where HTTP+JSON is. A tenant needs it at the root: the SDK puts the tenant before the prefix of its routes, and
    the specification after the interface's URL.
    """
    declares_extended: bool = True
    has_extended: bool = True
    guarded: bool = False
    """Everything but the public card and the keys asks for the bearer token."""
    signs_each_answer: bool = False
    """The signer is the route's ``card_modifier``, as the SDK's sample has it: one more signature at every GET."""
    cache_control: str | None = None


HYBRID = (("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3"))

VARIANTS = {
    "plain": Variant(),
    "max-age": Variant(cache_control="public, max-age=600"),
    "shared": Variant(cache_control="public, max-age=600"),
    "unsigned": Variant(signed=False),
    "http": Variant(tls=False),
    "hybrid": Variant(interfaces=HYBRID),
    "hybrid-unsigned": Variant(interfaces=HYBRID, signed=False),
    "rest-first": Variant(interfaces=(("HTTP+JSON", "1.0"), ("JSONRPC", "1.0"))),
    "no-extended": Variant(declares_extended=False, has_extended=False),
    "not-configured": Variant(has_extended=False),
    "guarded": Variant(guarded=True),
    "tenant": Variant(guarded=True, tenant="acme", rest=""),
    "growing": Variant(signs_each_answer=True),
}


class Echo(AgentExecutor):
    """The agent behind the card: it says again what it is told, and by which version and extensions."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer with one message."""
        headers = context.call_context.state.get("headers", {})
        named = [headers.get(name, "-") for name in ("a2a-version", "a2a-extensions", "x-a2a-extensions")]
        said = f"{context.get_user_input()} | {' '.join(named)} | {context.tenant or '-'}"
        await event_queue.enqueue_event(new_text_message(said, context_id=context.context_id))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do nothing."""


class BearerGuard:
    """Answers 401 to whoever does not show the token; the public card and the keys are for everybody."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith("/.well-known/"):
            given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
            if given != f"Bearer {TOKEN}":
                challenge = {"WWW-Authenticate": 'Bearer realm="live"'}
                await PlainTextResponse("who are you?", status_code=401, headers=challenge)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Recorder:
    """Remembers the path and status of every answer, so that a test can see what was really sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.seen: list[tuple[str, int]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == SEEN_PATH:
            await JSONResponse(self.seen)(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.seen.append((scope["path"], message["status"]))
            await send(message)

        await self.app(scope, receive, noted)


def public_card(base: str, variant: Variant) -> AgentCard:
    """The card of a variant, without signatures."""
    card: dict[str, Any] = {
        "name": "Python peer · señal",
        "description": "Answers the live tests.",
        "version": "1.4.0",
        "supportedInterfaces": [
            {
                "url": f"{base}/rpc" if binding == "JSONRPC" else base + variant.rest,
                "protocolBinding": binding,
                "protocolVersion": version,
                "tenant": variant.tenant,
            }
            for binding, version in variant.interfaces
        ],
        "provider": {"organization": "Live tests", "url": f"{base}/about"},
        "capabilities": {"streaming": True, "pushNotifications": False},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "opaque"}}},
        "securityRequirements": [{"schemes": {"bearer": {}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "Says it again.", "tags": ["test"]}],
    }
    if variant.declares_extended:
        card["capabilities"]["extendedAgentCard"] = True
    return ParseDict(card, AgentCard())


def extended_card(card: AgentCard) -> AgentCard:
    """The same agent with one more skill, for those who may know."""
    extended = copy.deepcopy(card)
    extended.skills.add(id="audit", name="Audit", description="Only for people with a token.", tags=["test"])
    return extended


def application(base: str, variant: Variant) -> ASGIApp:
    """One agent: its card, its keys, JSON-RPC and HTTP+JSON."""
    key = ec.generate_private_key(ec.SECP256R1())
    jwk = {**ECAlgorithm.to_jwk(key, as_dict=True), "kid": KID, "alg": "ES256", "use": "sig"}
    keys = {"keys": [{name: value for name, value in jwk.items() if name not in ("d", "key_ops")}]}
    signer = create_agent_card_signer(
        PyJWK.from_dict(jwk), {"alg": "ES256", "kid": KID, "typ": "JOSE", "jku": base + JWKS_PATH}
    )
    card = public_card(base, variant)
    extended = extended_card(card) if variant.has_extended else None
    if variant.signed and not variant.signs_each_answer:
        card = signer(card)
    if variant.signed and extended is not None:
        extended = signer(extended)

    async def sign_again(served: AgentCard) -> AgentCard:
        return signer(served)

    async def jwks(request: Request) -> JSONResponse:
        return JSONResponse(keys, headers={"Cache-Control": "max-age=300"})

    handler = DefaultRequestHandler(
        agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card, extended_agent_card=extended
    )
    legacy = any(version == "0.3" for _, version in variant.interfaces)
    routes = [
        *create_agent_card_routes(
            card,
            card_modifier=sign_again if variant.signs_each_answer else None,
            cache_control=variant.cache_control,
        ),
        Route(JWKS_PATH, jwks),
        *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=legacy),
        *create_rest_routes(handler, enable_v0_3_compat=legacy, path_prefix=variant.rest),
    ]
    middleware = [Middleware(BearerGuard)] if variant.guarded else []
    return Recorder(Starlette(routes=routes, middleware=middleware))


async def main(certificate: str, key: str) -> None:
    """Serve every variant until standard input ends."""
    logging.disable(logging.CRITICAL)
    servers, urls, tasks = [], {}, []
    for name, variant in VARIANTS.items():
        listener = socket.create_server(("127.0.0.1", 0))
        base = f"{'https' if variant.tls else 'http'}://localhost:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            application(base, variant),
            log_config=None,
            lifespan="off",
            ssl_certfile=certificate if variant.tls else None,
            ssl_keyfile=key if variant.tls else None,
        )
        server = uvicorn.Server(config)
        servers.append(server)
        urls[name] = base
        tasks.append(asyncio.create_task(server.serve(sockets=[listener])))
    while not all(server.started for server in servers):  # noqa: ASYNC110 - uvicorn has no event to wait for
        await asyncio.sleep(0.01)
    sys.stdout.write(json.dumps(urls) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    for server in servers:
        server.should_exit = True
        server.force_exit = True
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
