"""``a2a-discover get``: one discovery, shown."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

from rich.console import Console

from a2a_discovery import Agent, AuthError, Credentials, Discovery, DiscoveryError, UsageError
from a2a_discovery._cli.exits import Exit
from a2a_discovery._cli.options import (
    Flags,
    ask_credentials,
    device_credentials,
    discovery_arguments,
    host_asked,
    read_credentials,
    read_place,
)
from a2a_discovery._cli.show import agent_data, describe, fail
from a2a_discovery._cli.text import as_json, clean, show


def get(flags: Flags) -> Exit:
    """Discover, print, and say how it went."""
    try:
        agent = asyncio.run(find(flags))
    except DiscoveryError as error:
        return fail(error, flags=flags, as_data=flags.json)
    if flags.json:
        print(as_json(agent_data(agent), sys.stdout.encoding))
    else:
        show(Console(highlight=False), describe(agent, explain=flags.explain))
    return Exit.OK


async def find(flags: Flags) -> Agent:
    """The agent that the flags ask for.

    Raises:
        DiscoveryError: any of its kinds.
    """
    arguments = discovery_arguments(flags)
    credentials = read_credentials(flags)
    host = host_asked(flags, arguments["network"], arguments["agents"])
    if flags.extended:
        return await _extended(flags, arguments, credentials, host)
    if credentials is not None and host is None:
        raise UsageError("bad-config", "a card file is read without credentials", hint="with --extended they are used")
    return await _public(flags, arguments, credentials, host)


async def _public(flags: Flags, arguments: dict[str, Any], credentials: Credentials | None, host: str | None) -> Agent:
    bound = {host: credentials} if credentials is not None and host is not None else None
    async with Discovery(**arguments, credentials=bound) as discovery:
        return await discovery.discover(read_place(flags, arguments["agents"]), refresh=flags.refresh)


async def _extended(
    flags: Flags, arguments: dict[str, Any], credentials: Credentials | None, host: str | None
) -> Agent:
    try:
        agent = await _public(flags, arguments, None, host)
    except AuthError as error:
        # A stranger sees the public card, where there is one: a credential goes with its request only when asked for.
        if error.code != "auth-required" or credentials is None:
            raise
        agent = await _public(flags, arguments, credentials, host)
    if credentials is None and flags.client_id is not None:
        credentials = await device_credentials(flags.client_id, flags, agent)
    elif credentials is None:
        credentials = ask_credentials(flags, agent)
    return await agent.upgrade(credentials)


class LogLines(logging.Formatter):
    """Log records as lines: the event's name and its ``a2a.*`` facts."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        facts = {name: value for name, value in vars(record).items() if name.startswith("a2a.")}
        said = " ".join(f"{name.removeprefix('a2a.')}={clean(value)}" for name, value in facts.items())
        return f"{record.levelname.lower()} {record.getMessage()} {said}".rstrip()


def log_to_stderr(*, verbose: bool) -> None:
    """Show the library's log: its warnings, or all of it."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    log = logging.getLogger("a2a_discovery")
    log.handlers[:] = [handler]
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)
