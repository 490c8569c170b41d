"""The commands and their flags."""

from __future__ import annotations

from typing import Annotated

import typer

import a2a_discovery
from a2a_discovery import Trust
from a2a_discovery._cli.cache import cache_app
from a2a_discovery._cli.catalog import catalog
from a2a_discovery._cli.check import check
from a2a_discovery._cli.crawl import crawl
from a2a_discovery._cli.explain import explain
from a2a_discovery._cli.flags import (
    AllowHttp,
    AllowPrivate,
    ApiKeyEnv,
    BearerEnv,
    Binding,
    Ca,
    ClientId,
    ClientSecretEnv,
    Config,
    CredentialHost,
    Explain,
    Extended,
    Json,
    Keys,
    Level,
    Local,
    NoCache,
    Proxy,
    Refresh,
    Require,
    Strict,
    Target,
    Timeout,
    Verbose,
)
from a2a_discovery._cli.get import get as run_get
from a2a_discovery._cli.get import log_to_stderr
from a2a_discovery._cli.options import Flags
from a2a_discovery._cli.trust import trust_app
from a2a_discovery._cli.upgrade import upgrade

app = typer.Typer(
    help="Find an A2A agent's card, know whether to trust it, and which endpoint to call.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    config: Config = None,
    strict: Strict = False,
    extended: Extended = False,
    bearer_env: BearerEnv = None,
    api_key_env: ApiKeyEnv = None,
    client_id: ClientId = None,
    client_secret_env: ClientSecretEnv = None,
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
        client_id=client_id,
        client_secret_env=client_secret_env,
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
        config=config,
    )
    raise typer.Exit(int(run_get(flags)))


@app.command()
def demo() -> None:
    """Watch one agent being discovered, on this machine: what is sent, what comes, and why it is trusted."""
    from a2a_discovery._cli.demo import run

    raise typer.Exit(int(run()))


app.command()(check)
app.command()(explain)
app.command()(upgrade)
app.command()(catalog)
app.command()(crawl)
app.add_typer(trust_app, name="trust")
app.add_typer(cache_app, name="cache")
