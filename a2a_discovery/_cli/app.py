"""The commands and their flags."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

import a2a_discovery
from a2a_discovery import Trust
from a2a_discovery._cli.get import get as run_get
from a2a_discovery._cli.get import log_to_stderr
from a2a_discovery._cli.options import Flags

app = typer.Typer(
    help="Find an A2A agent's card, know whether to trust it, and which endpoint to call.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Level(enum.StrEnum):
    """`Trust`, as it is typed."""

    NONE = "none"
    CHANNEL = "channel"
    SIGNED = "signed"
    PINNED = "pinned"


_NETWORK = "Where it may connect"
_TRUST = "What the card must prove"
_AUTH = "Credentials"
_OUTPUT = "What is printed"


def _flag(name: str, says: str, panel: str) -> Any:
    return typer.Option(name, metavar="", help=says, rich_help_panel=panel)


def _option(name: str, takes: str, says: str, panel: str) -> Any:
    return typer.Option(name, metavar=takes, help=says, rich_help_panel=panel)


Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="A domain, an https URL of a card or above one, or a card file.")
]
Local = Annotated[bool, _flag("--local", "Loopback, plain http there too: for development.", _NETWORK)]
AllowPrivate = Annotated[bool, _flag("--allow-private", "Private addresses too.", _NETWORK)]
AllowHttp = Annotated[bool, _flag("--allow-http", "Plain http too; it proves nothing: --require none.", _NETWORK)]
Timeout = Annotated[float | None, _option("--timeout", "SECONDS", "For each fetch as a whole.", _NETWORK)]
Ca = Annotated[Path | None, _option("--ca", "FILE", "Certificate authorities (PEM) to trust too.", _NETWORK)]
Proxy = Annotated[str | None, _option("--proxy", "URL", "An http or https proxy.", _NETWORK)]
NoCache = Annotated[bool, _flag("--no-cache", "Keep nothing, use nothing kept.", _NETWORK)]
Refresh = Annotated[bool, _flag("--refresh", "Ask the origin whether what is kept still holds.", _NETWORK)]
Require = Annotated[
    Level,
    typer.Option("--require", case_sensitive=False, help="The least that must vouch for it.", rich_help_panel=_TRUST),
]
Keys = Annotated[
    str | None,
    _option("--keys", "FILE", "Keys that may sign for the host asked for; HOST=FILE for another host.", _TRUST),
]
Strict = Annotated[bool, _flag("--strict", "Repair nothing while reading.", _TRUST)]
Extended = Annotated[bool, _flag("--extended", "Get the extended card, with a credential.", _AUTH)]
BearerEnv = Annotated[str | None, _option("--bearer-env", "NAME", "Environment variable with a bearer token.", _AUTH)]
ApiKeyEnv = Annotated[str | None, _option("--api-key-env", "NAME", "Environment variable with an API key.", _AUTH)]
CredentialHost = Annotated[
    list[str] | None,
    _option("--credential-host", "HOST", "Another host (or *.host) the credential may go to; repeatable.", _AUTH),
]
Binding = Annotated[
    list[str] | None,
    _option("--binding", "NAME", "A binding you speak, repeatable; else JSONRPC and HTTP+JSON.", _OUTPUT),
]
Explain = Annotated[bool, _flag("--explain", "What became of each signature.", _OUTPUT)]
Json = Annotated[bool, _flag("--json", "One JSON object: card interface trust source findings.", _OUTPUT)]
Verbose = Annotated[bool, _flag("--verbose", "The log, on stderr.", _OUTPUT)]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"a2a-discover {a2a_discovery.__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", metavar="", callback=_version, is_eager=True, help="The version.")]


@app.callback()
def options(*, version: Version = False) -> None:
    """Find an A2A agent's card, know whether to trust it, and which endpoint to call."""


@app.command()
def get(
    *,
    target: Target,
    local: Local = False,
    allow_private: AllowPrivate = False,
    allow_http: AllowHttp = False,
    timeout: Timeout = None,
    ca: Ca = None,
    proxy: Proxy = None,
    no_cache: NoCache = False,
    refresh: Refresh = False,
    require: Require = Level.CHANNEL,
    keys: Keys = None,
    strict: Strict = False,
    extended: Extended = False,
    bearer_env: BearerEnv = None,
    api_key_env: ApiKeyEnv = None,
    credential_host: CredentialHost = None,
    binding: Binding = None,
    explain: Explain = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Discover one agent: its card, who vouches for it, and the interface to call."""
    log_to_stderr(verbose=verbose)
    flags = Flags(
        target=target,
        local=local,
        require=Trust[require.name],
        keys=keys,
        strict=strict,
        bindings=tuple(binding or ()),
        extended=extended,
        bearer_env=bearer_env,
        api_key_env=api_key_env,
        credential_hosts=tuple(credential_host or ()),
        allow_private=allow_private,
        allow_http=allow_http,
        timeout=timeout,
        ca=ca,
        proxy=proxy,
        cache=not no_cache,
        refresh=refresh,
        json=json,
        explain=explain,
    )
    raise typer.Exit(int(run_get(flags)))


@app.command()
def demo() -> None:
    """Watch one agent being discovered, on this machine: what is sent, what comes, and why it is trusted."""
    from a2a_discovery._cli.demo import run

    raise typer.Exit(int(run()))
