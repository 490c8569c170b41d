"""The flags that commands share, as typer reads them."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer


class Level(enum.StrEnum):
    """`Trust`, as it is typed."""

    NONE = "none"
    CHANNEL = "channel"
    SIGNED = "signed"
    PINNED = "pinned"


NETWORK = "Where it may connect"
TRUST = "What the card must prove"
AUTH = "Credentials"
OUTPUT = "What is printed"


def flag(name: str, says: str, panel: str) -> Any:
    """A flag without a value."""
    return typer.Option(name, metavar="", help=says, rich_help_panel=panel)


def option(name: str, takes: str, says: str, panel: str) -> Any:
    """A flag with a value; ``takes`` names it."""
    return typer.Option(name, metavar=takes, help=says, rich_help_panel=panel)


Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="A domain, an https URL of a card or above one, or a card file.")
]
Local = Annotated[bool, flag("--local", "Loopback, plain http there too: for development.", NETWORK)]
AllowPrivate = Annotated[bool, flag("--allow-private", "Private addresses too.", NETWORK)]
AllowHttp = Annotated[bool, flag("--allow-http", "Plain http too; it proves nothing: --require none.", NETWORK)]
Timeout = Annotated[float | None, option("--timeout", "SECONDS", "For each fetch as a whole.", NETWORK)]
Ca = Annotated[Path | None, option("--ca", "FILE", "Certificate authorities (PEM) to trust too.", NETWORK)]
Proxy = Annotated[str | None, option("--proxy", "URL", "An http or https proxy.", NETWORK)]
NoCache = Annotated[bool, flag("--no-cache", "Keep nothing, use nothing kept.", NETWORK)]
Refresh = Annotated[bool, flag("--refresh", "Ask the origin whether what is kept still holds.", NETWORK)]
Require = Annotated[
    Level,
    typer.Option("--require", case_sensitive=False, help="The least that must vouch for it.", rich_help_panel=TRUST),
]
Keys = Annotated[
    str | None,
    option("--keys", "FILE", "Keys that may sign for the host asked for; HOST=FILE for another host.", TRUST),
]
Config = Annotated[Path | None, option("--config", "FILE", "Agents by name (TOML or JSON), TARGET among them.", TRUST)]
Strict = Annotated[bool, flag("--strict", "Repair nothing while reading.", TRUST)]
Extended = Annotated[bool, flag("--extended", "Get the extended card, with a credential.", AUTH)]
BearerEnv = Annotated[str | None, option("--bearer-env", "NAME", "Environment variable with a bearer token.", AUTH)]
ApiKeyEnv = Annotated[str | None, option("--api-key-env", "NAME", "Environment variable with an API key.", AUTH)]
ClientId = Annotated[
    str | None,
    option("--client-id", "ID", "OAuth 2.0 client; without a secret, you sign in on another device.", AUTH),
]
ClientSecretEnv = Annotated[
    str | None, option("--client-secret-env", "NAME", "Environment variable with the client's secret.", AUTH)
]
CredentialHost = Annotated[
    list[str] | None,
    option("--credential-host", "HOST", "Another host (or *.host) the credential may go to; repeatable.", AUTH),
]
Binding = Annotated[
    list[str] | None,
    option("--binding", "NAME", "A binding you speak, repeatable; else JSONRPC and HTTP+JSON.", OUTPUT),
]
Explain = Annotated[bool, flag("--explain", "What became of each signature.", OUTPUT)]
Json = Annotated[bool, flag("--json", "One JSON object: card interface trust source findings.", OUTPUT)]
Verbose = Annotated[bool, flag("--verbose", "The log, on stderr.", OUTPUT)]
