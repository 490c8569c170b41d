"""``a2a-discover demo``: the line, walked in front of the reader. Each step checks that it really happened."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from a2a_discovery import (
    Agent,
    AuthError,
    Credentials,
    Discovery,
    DiscoveryError,
    Trust,
    TrustError,
    TrustPolicy,
)
from a2a_discovery._cli.exits import Exit
from a2a_discovery._cli.text import clean

if TYPE_CHECKING:
    from a2a_discovery.testing import Clock, FakeAgent, Request, Running

HOST = "shop.example"
TOKEN = "demo-token"  # noqa: S105  (the embedded agent's own)

INTRO = (
    "One agent, discovered on this machine. {target} stands for 127.0.0.1 here; its certificate, its keys, its "
    "signatures and the sockets are real, the clock is ours. > is sent, < comes back, = is what follows."
)

OUTRO = """\
from a2a_discovery import Credentials, Trust, TrustPolicy, discover

agent = await discover("shop.example", trust=TrustPolicy(require=Trust.SIGNED))
url, headers = agent.interface.url, agent.headers()
agent = await agent.upgrade(Credentials(bearer=token))"""

CARD = {
    "name": "Shop",
    "description": "Answers questions about orders.",
    "version": "1.0.0",
    "provider": {"organization": "Example Shop", "url": f"https://{HOST}"},
    "supportedInterfaces": [
        {"url": f"{HOST}:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": f"http://{HOST}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": f"https://{HOST}/a2a/v1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": f"https://{HOST}/a2a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ],
    "capabilities": {"streaming": True, "extendedAgentCard": True},
    "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
    "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "orders", "name": "Orders", "description": "Says where an order is.", "tags": ["orders"]}],
}


class NotShownError(Exception):
    """A step did not come out as it says."""


def check(outcome: bool, what: str) -> None:
    """Stop the walk where a step did not happen."""
    if not outcome:
        raise NotShownError(what)


@dataclass(kw_only=True)
class Walk:
    """What the steps share."""

    console: Console
    agent: FakeAgent
    running: Running
    clock: Clock
    discovery: Discovery
    number: int = 0
    _told: int = field(default=0, repr=False)

    @property
    def target(self) -> str:
        """What a person would type."""
        return f"{HOST}:{self.running.port}"

    def step(self, title: str) -> None:
        """Begin a step."""
        self.number += 1
        self.console.print()
        self.console.print(Text(f"{self.number}  {title}", style="bold"), soft_wrap=True)

    def say(self, text: str, mark: str = "=", style: str = "") -> None:
        """A line of a step, wrapped to 80 columns."""
        lines = textwrap.wrap(clean(text, 1000), width=74, break_on_hyphens=False)
        for index, line in enumerate(lines):
            self.console.print(Text(f"   {' ' if index else mark} {line}", style=style), soft_wrap=True)

    def tell(self, found: Agent | None = None) -> list[tuple[str, int | None]]:
        """Show what was sent since the last time, and what came.

        Args:
            found: what it led to, for the ETag that came with its card.

        Returns:
            Kind and status of each request.
        """
        new = self.agent.requests[self._told :]
        self._told = len(self.agent.requests)
        for request in new:
            self.say(_sent(request), ">", "cyan")
            tag = found.source.etag if found is not None and request.kind == "card" and request.status == 200 else None
            self.say(f"{request.status}" + (f"  ETag: {tag}" if tag else ""), "<", "magenta")
        if not new:
            self.say("(nothing is sent)", ">", "cyan")
        return [(request.kind, request.status) for request in new]


def _sent(request: Request) -> str:
    line = f"{request.method} {request.path}"
    condition = request.headers.get("if-none-match")
    if condition:
        line += f"  If-None-Match: {condition}"
    if request.authorization:
        line += f"  Authorization: {request.authorization.partition(' ')[0]} ***"
    if request.method == "POST":
        line += f"  {request.json()['method']}"
    return line


async def first_look(walk: Walk) -> None:
    """A domain is enough."""
    walk.step(f"Discover {walk.target}: the card, then the key that its signature names")
    found = await walk.discovery.discover(walk.target)
    told = walk.tell(found)
    check(told == [("card", 200), ("keys", 200)], "the card and its keys are asked for, once each")
    check(found.source.cache == "network" and bool(found.source.etag), "the card comes from the network, with an ETag")
    walk.say(f"{found.card.name} {found.card.version}, {found.trust.level.name}, from {found.source.url}")


async def from_cache(walk: Walk) -> None:
    """While it is fresh, nobody is asked."""
    walk.step("Ask again")
    found = await walk.discovery.discover(walk.target)
    check(walk.tell() == [], "no request is made for a fresh card")
    check(found.source.cache in ("memory", "fresh"), "the card comes from the cache")
    walk.say(f"the same card, from the cache ({found.source.cache}): Cache-Control said max-age=300")


async def unchanged(walk: Walk) -> None:
    """An expired copy costs a 304."""
    walk.step("Six minutes later, the copy has expired")
    walk.clock.advance(360)
    found = await walk.discovery.discover(walk.target)
    told = walk.tell(found)
    check(("card", 304) in told and all(status == 304 for _, status in told), "the origin answers 304")
    check(found.source.cache == "revalidated", "the stored copy is used again")
    walk.say("304: the stored copy still holds, and is fresh again")


async def who_vouches(walk: Walk) -> None:
    """Which key, over which bytes."""
    walk.step("Who vouches for it?")
    trust = (await walk.discovery.discover(walk.target)).trust
    check(walk.tell() == [], "explaining costs no request")
    signature = trust.verified
    signer = walk.agent.signers[0]
    check(trust.level is Trust.SIGNED and trust.authority == HOST, "the level is SIGNED, by the host asked for")
    if signature is None or signature.kid != signer.kid:
        raise NotShownError("the signer's key verified it")
    check((signature.alg, signature.form) == (signer.alg, signer.form), "algorithm and form are the signer's")
    check(trust.uncovered == (), "the signature covers the whole card")
    walk.say(f"level {trust.level.name}: TLS from {trust.authority}, and a signature verified with a key of that site")
    walk.say(f"key {signature.kid} ({signature.alg}), published at {signature.jku}")
    walk.say(f"thumbprint {signature.thumbprint}")
    walk.say(f"signed bytes: form {signature.form!r} (A2A section 8.4.1); nothing in the card is left uncovered")


async def tampered(walk: Walk) -> None:
    """An edit without the key is refused, and the good copy stays."""
    from a2a_discovery.testing import Reply

    walk.step("Somebody edits the card: calls would go to elsewhere.example")
    good = await walk.discovery.discover(walk.target)
    forged = walk.agent.document(places={f"https://{HOST}": walk.running.url})
    forged["supportedInterfaces"][2]["url"] = "https://elsewhere.example/a2a/v1"
    walk.agent.replies["card"] = Reply.json(forged)
    try:
        await walk.discovery.discover(walk.target, refresh=True)
    except TrustError as error:
        refusal = error
    else:
        raise NotShownError("the edited card is refused")
    finally:
        del walk.agent.replies["card"]
    told = walk.tell()
    check(("card", 200) in told, "the edited card was served")
    check(refusal.code == "bad-signature", "the reason is the signature")
    walk.say(f"refused, {type(refusal).__name__} {refusal.code!r}: {refusal.message}", style="red")
    again = await walk.discovery.discover(walk.target)
    check(again.interface == good.interface and again.trust == good.trust, "the good copy is still there")
    check(walk.tell() == [], "and no request was needed for it")
    walk.say("the good copy was not replaced")


async def rotated(walk: Walk) -> None:
    """A new key costs one request."""
    walk.step("The publisher changes its key")
    before = walk.agent.signers[0].kid
    walk.agent.rotate_keys()
    walk.clock.advance(90)
    found = await walk.discovery.discover(walk.target, refresh=True)
    told = walk.tell(found)
    check(told == [("card", 200), ("keys", 200)], "the new key costs one more request")
    signature = found.trust.verified
    after = walk.agent.signers[0].kid
    check(before != after and signature is not None and signature.kid == after, "the new key verified the card")
    check(found.trust.level is Trust.SIGNED, "the level is the same")
    walk.say(f"{before} is gone; {after} verified it, still {found.trust.level.name}")


async def interface(walk: Walk) -> None:
    """The card's order, and a reason for each one left out."""
    walk.step("Which interface to call?")
    found = await walk.discovery.discover(walk.target)
    check(walk.tell() == [], "choosing costs no request")
    reasons = [(skipped.pointer, skipped.code) for skipped in found.skipped]
    wanted = [
        ("/supportedInterfaces/0/protocolBinding", "unsupported-binding"),
        ("/supportedInterfaces/1/url", "http-url"),
    ]
    check(reasons == wanted, "two interfaces are skipped, each with its reason")
    check(found.interface.url == f"{walk.running.url}/a2a/v1", "the first usable one is chosen")
    check([each.protocol_binding for each in found.alternatives] == ["HTTP+JSON"], "and one more would do")
    for skipped in found.skipped:
        walk.say(f"{skipped.pointer}: {skipped.message}", "-")
    walk.say(f"{found.interface.protocol_binding} {found.interface.protocol_version} at {found.interface.url}")
    walk.say(f"each call must send {', '.join(f'{name}: {value}' for name, value in found.headers().items())}")


async def extended(walk: Walk) -> None:
    """The extended card, by the same rules."""
    walk.step("After authentication: the extended card")
    public = await walk.discovery.discover(walk.target)
    walk.say("with a wrong token:", "-")
    try:
        await public.upgrade(Credentials(bearer="a-wrong-token"))
    except AuthError as error:
        refusal = error
    else:
        raise NotShownError("a wrong token is refused")
    check(walk.tell() == [("extended", 401)], "the agent answers 401 to a wrong token")
    check(refusal.code == "auth-required", "the error says that it is the credential")
    walk.say(f"{type(refusal).__name__} {refusal.code!r}; the public card stays usable", style="red")
    walk.say("with the right one:", "-")
    full = await public.upgrade(Credentials(bearer=TOKEN))
    check(("extended", 200) in walk.tell(), "the right token gets the extended card")
    more = [skill.id for skill in full.card.skills[len(public.card.skills) :]]
    check(full.extended and more == ["refunds"], "it has one more skill")
    check(full.trust.level is Trust.SIGNED and full.trust.verified is not None, "its signature is verified too")
    walk.say(f"one more skill: {', '.join(more)}. Verified by the same rules: {full.trust.level.name}")


STEPS = (first_look, from_cache, unchanged, who_vouches, tampered, rotated, interface, extended)


async def walk_through(console: Console, card: dict[str, Any]) -> None:
    """All steps, on one embedded agent.

    Args:
        console: where it is shown.
        card: the agent's.

    Raises:
        NotShownError: a step came out otherwise.
        DiscoveryError: a step failed where it must not.
    """
    from a2a_discovery.testing import Clock, FakeAgent

    clock = Clock()
    agent = FakeAgent(HOST, card=card, extended=True, token=TOKEN, clock=clock)
    async with (
        agent.serve(name=HOST) as running,
        Discovery(trust=TrustPolicy(require=Trust.SIGNED), network=running.network, clock=clock) as discovery,
    ):
        walk = Walk(console=console, agent=agent, running=running, clock=clock, discovery=discovery)
        for line in textwrap.wrap(INTRO.format(target=walk.target), width=78):
            console.print(Text(line))
        for step in STEPS:
            await step(walk)


def run(card: dict[str, Any] = CARD) -> Exit:
    """Walk, and say whether every step happened."""
    try:
        import trustme  # noqa: F401

        import a2a_discovery.testing  # noqa: F401
    except ImportError as exc:
        needed = 'pip install "a2a_discovery[cli,testing]"'
        print(f"the demo needs a fake agent ({exc.name} is missing): {needed}", file=sys.stderr)
        return Exit.FAILURE
    console = Console(highlight=False)
    try:
        asyncio.run(walk_through(console, card))
    except NotShownError as failed:
        print(f"\nthe demo FAILED: not so, that {failed}", file=sys.stderr)
        return Exit.FAILURE
    except DiscoveryError as error:
        print(f"\nthe demo FAILED: {error} [{error.code}]", file=sys.stderr)
        return Exit.FAILURE
    console.print()
    console.print(Text("The same in your code:", style="bold"))
    console.print()
    for line in OUTRO.splitlines():
        console.print(Text(line), soft_wrap=True)
    return Exit.OK
