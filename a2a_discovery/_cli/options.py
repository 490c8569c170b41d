"""From flags to the arguments of a `Discovery`, and where secrets come from."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from a2a_discovery import Cache, Credentials, NetworkPolicy, Trust, TrustPolicy
from a2a_discovery._cli.text import clean
from a2a_discovery._config import Configured, load
from a2a_discovery._target import read_target
from a2a_discovery._urls import host_of
from a2a_discovery.errors import AuthError, UsageError

if TYPE_CHECKING:
    import ssl

    from a2a_discovery import Agent
    from a2a_discovery._oauth import DeviceCode


_NONE: Mapping[str, Configured] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What was typed after ``a2a-discover get``."""

    target: str
    local: bool = False
    require: Trust = Trust.CHANNEL
    keys: str | None = None
    strict: bool = False
    bindings: tuple[str, ...] = ()
    extended: bool = False
    bearer_env: str | None = None
    api_key_env: str | None = None
    client_id: str | None = None
    client_secret_env: str | None = None
    credential_hosts: tuple[str, ...] = ()
    allow_private: bool = False
    allow_http: bool = False
    timeout: float | None = None
    ca: Path | None = None
    proxy: str | None = None
    cache: bool = True
    refresh: bool = False
    json: bool = False
    explain: bool = False
    config: Path | None = None


def read_place(flags: Flags, agents: Container[str] = ()) -> str | Path:
    """The target, a `pathlib.Path` where it names a file and no configured agent.

    The library never reads a file for a string, which a model may have written; here a person typed it. Only what
    looks like a path counts, so that a file called ``shop.example`` hides no domain.
    """
    text = flags.target
    if "://" in text or text in agents:
        return text
    path = Path(text)
    if text.startswith(("/", "./", "../")) or (text.endswith(".json") and "/" not in text):
        return path  # no domain looks so: where nothing is there, that is the message
    return path if ("/" in text or os.sep in text) and os.path.isfile(text) else text


def host_asked(flags: Flags, network: NetworkPolicy, agents: Mapping[str, Configured] = _NONE) -> str | None:
    """The host that the target names, to which keys and credentials are bound; ``None`` for a file.

    Raises:
        UsageError: ``bad-target``.
    """
    configured = agents.get(flags.target)
    named = read_place(flags) if configured is None else configured.target
    place = read_target(named, network=network, names=agents)
    url = getattr(place, "origin", None) or getattr(place, "url", None)
    return host_of(url) if url else None


def discovery_arguments(flags: Flags) -> dict[str, Any]:
    """The arguments of `Discovery` that the flags mean.

    Raises:
        UsageError: ``bad-config``, ``bad-target``.
    """
    network = _network(flags)
    agents = {} if flags.config is None else load(flags.config)
    arguments: dict[str, Any] = {
        "network": network,
        "trust": TrustPolicy(require=flags.require, keys=_keys(flags, network, agents)),
        "cache": Cache.sqlite() if flags.cache else Cache.off(),
        "strict": flags.strict,
        "agents": agents,
    }
    if flags.bindings:
        arguments["bindings"] = flags.bindings
    return arguments


def _network(flags: Flags) -> NetworkPolicy:
    options: dict[str, Any] = {"allow_private": flags.allow_private, "allow_http": flags.allow_http}
    if flags.timeout is not None:
        options["timeout"] = flags.timeout
    if flags.proxy is not None:
        options["proxy"] = flags.proxy
    if flags.ca is not None:
        options["ssl_context"] = _context(flags.ca)
    return NetworkPolicy.local(**options) if flags.local else NetworkPolicy(**options)


def _context(path: Path) -> ssl.SSLContext:
    """TLS that trusts the authorities in a file beside the usual ones."""
    import ssl

    from a2a_discovery._http.fingerprint import call_it

    try:
        pem = path.read_text("ascii")
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=pem)
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        reason = exc.strerror if isinstance(exc, FileNotFoundError) else "it holds no certificates in PEM"
        raise UsageError("bad-config", f"--ca {path} cannot be used: {reason}") from None
    # The same file is the same channel in the next process too: answers in the file of the cache are found again.
    call_it(context, f"ca:{hashlib.sha256(pem.encode()).hexdigest()}")
    return context


def _keys(flags: Flags, network: NetworkPolicy, agents: Mapping[str, Configured]) -> dict[str, Path]:
    if flags.keys is None:
        return {}
    if os.path.isfile(flags.keys):
        host, file = host_asked(flags, network, agents), flags.keys
        if host is None:
            raise UsageError(
                "bad-config",
                "keys are bound to a host, and a card file has none",
                hint=f"name the host of the card's interfaces: --keys HOST={file}",
            )
        return {host: Path(file)}
    host, separator, file = flags.keys.partition("=")
    if not separator or not os.path.isfile(file):
        raise UsageError("bad-config", f"--keys {flags.keys}: there is no such file", hint="--keys FILE or HOST=FILE")
    return {host: Path(file)}


def read_credentials(flags: Flags) -> Credentials | None:
    """The credentials from the environment, or ``None`` where no flag names any.

    Raises:
        AuthError: ``no-credential``, where a named variable is not set.
        UsageError: ``bad-config``.
    """
    given = {"bearer": flags.bearer_env, "api_key": flags.api_key_env, "client_secret": flags.client_secret_env}
    values: dict[str, Any] = {kind: _variable(name) for kind, name in given.items() if name is not None}
    if flags.client_id is None and flags.client_secret_env is not None:
        raise UsageError("bad-config", "--client-secret-env needs a client", hint="--client-id ID")
    if flags.client_id is not None and not flags.extended:
        raise UsageError("bad-config", "--client-id needs a card that says where tokens are", hint="--extended")
    if values:
        values |= {} if flags.client_id is None else {"client_id": flags.client_id}
        return Credentials(**values, hosts=flags.credential_hosts)
    Credentials(hosts=flags.credential_hosts)  # a wrong pattern is said before any request
    if flags.credential_hosts and not flags.extended:
        raise UsageError("bad-config", "--credential-host needs a credential", hint="--bearer-env NAME, or --extended")
    return None


def _variable(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise AuthError(
            "no-credential",
            f"the environment variable {name[:100]!r} is not set",
            hint="name the variable that holds the secret, not the secret",
        )
    return value


async def device_credentials(client_id: str, flags: Flags, agent: Agent) -> Credentials:
    """The credentials of the person who signs in on another device (RFC 8628).

    Raises:
        AuthError, FetchError: as `Agent.device_login`.
    """

    def shown(code: DeviceCode) -> None:
        print(f"open {clean(code.url)} and enter {clean(code.code)}", file=sys.stderr, flush=True)

    return await agent.device_login(client_id, show=shown, hosts=flags.credential_hosts)


def ask_credentials(flags: Flags, agent: Agent) -> Credentials:
    """The credential that the card asks for, typed unseen by the person at the terminal.

    Raises:
        AuthError: ``no-credential``, where nobody is there to ask.
    """
    schemes = agent.card.security_schemes.values()
    keys_alone = bool(schemes) and all(scheme.api_key_security_scheme is not None for scheme in schemes)
    if not sys.stdin.isatty():
        flag = "--api-key-env NAME" if keys_alone else "--bearer-env NAME"
        raise AuthError("no-credential", "the extended card needs a credential, and no terminal is here", hint=flag)
    host = agent.trust.authority or "the agent"
    what = "API key" if keys_alone else "Bearer token"
    secret = typer.prompt(f"{what} for {host} (input is hidden)", hide_input=True, err=True).strip()
    if keys_alone:
        return Credentials(api_key=secret, hosts=flags.credential_hosts)
    return Credentials(bearer=secret, hosts=flags.credential_hosts)
