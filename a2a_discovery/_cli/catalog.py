"""``a2a-discover catalog``: the agents that a catalog lists, by what it says of them itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from a2a_discovery import CatalogEntry, Discovery
from a2a_discovery._cli.cache import tell, told
from a2a_discovery._cli.flags import (
    OUTPUT,
    AllowHttp,
    AllowPrivate,
    ApiKeyEnv,
    BearerEnv,
    Ca,
    Config,
    Local,
    NoCache,
    Proxy,
    Refresh,
    Timeout,
    Verbose,
    flag,
    option,
)
from a2a_discovery._cli.get import log_to_stderr
from a2a_discovery._cli.options import Flags, discovery_arguments, read_credentials, read_place
from a2a_discovery._cli.text import Row, clean, rows, show

if TYPE_CHECKING:
    from a2a_discovery._listing import Listing

CHOICE = "Which entries"
_LONGEST = 1_000
"""Characters of an identifier that a target is made of: what is longer is no name that somebody types."""

CatalogTarget = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="A domain, the URL of a catalog, profile, list or registry, or a file."),
]
Skill = Annotated[str | None, option("--skill", "NAME", "Id or name of a skill.", CHOICE)]
Tag = Annotated[str | None, option("--tag", "TAG", "A tag of the entry or of a skill.", CHOICE)]
Text = Annotated[str | None, option("--text", "WORDS", "Words that all stand in it; a registry is asked.", CHOICE)]
Identifier = Annotated[str | None, option("--identifier", "ID", "Its identifier, exactly.", CHOICE)]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Most.", rich_help_panel=CHOICE)]
RegistryName = Annotated[
    str | None,
    option(
        "--registry", "KIND", "What answers there: ard, agntcy, apicurio, a2aregistry, litellm, google, ...", CHOICE
    ),
]
AsJson = Annotated[bool, flag("--json", "One JSON object: entries, findings.", OUTPUT)]


def catalog(
    *,
    target: CatalogTarget,
    skill: Skill = None,
    tag: Tag = None,
    text: Text = None,
    identifier: Identifier = None,
    limit: Limit = None,
    registry: RegistryName = None,
    local: Local = False,
    allow_private: AllowPrivate = False,
    allow_http: AllowHttp = False,
    timeout: Timeout = None,
    ca: Ca = None,
    proxy: Proxy = None,
    no_cache: NoCache = False,
    refresh: Refresh = False,
    config: Config = None,
    bearer_env: BearerEnv = None,
    api_key_env: ApiKeyEnv = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """List the agents of a catalog, registry, merchant or list. No card is fetched for it."""
    log_to_stderr(verbose=verbose)
    flags = Flags(
        target=target,
        local=local,
        allow_private=allow_private,
        allow_http=allow_http,
        timeout=timeout,
        ca=ca,
        proxy=proxy,
        cache=not no_cache,
        refresh=refresh,
        config=config,
        bearer_env=bearer_env,
        api_key_env=api_key_env,
        json=json,
    )
    wanted = {"skill": skill, "tag": tag, "text": text, "identifier": identifier, "limit": limit, "registry": registry}
    with told(as_data=json):
        asyncio.run(_list(flags, wanted))


async def _list(flags: Flags, wanted: dict[str, Any]) -> None:
    arguments, credentials = discovery_arguments(flags), read_credentials(flags)
    console, count = Console(highlight=False), 0
    entries: list[dict[str, Any]] = []
    async with Discovery(**arguments) as discovery:
        place = read_place(flags, arguments["agents"])
        listing = discovery.find(place, credentials=credentials, refresh=flags.refresh, **wanted)
        async for entry in listing:
            count += 1
            if flags.json:
                entries.append(entry_data(entry))
            else:
                show(console, _rows(entry))
    if flags.json:
        tell({"entries": entries, "findings": [each.as_dict() for each in listing.findings]})
    else:
        show(console, _end(listing, count))


def target_of(entry: CatalogEntry) -> str | None:
    """What can be typed to discover an entry, or ``None`` where its catalog has no URL."""
    if "://" not in entry.source or len(entry.identifier) > _LONGEST:
        return entry.url
    return f"{entry.source.partition('#')[0]}#{quote(entry.identifier, safe=_IN_FRAGMENT)}"


_IN_FRAGMENT = ":/?@!$&'()*+,;=-._~"
"""RFC 3986 section 3.5."""


def entry_data(entry: CatalogEntry) -> dict[str, Any]:
    """An entry, as ``--json`` prints it."""
    return {
        "identifier": entry.identifier,
        "name": entry.name,
        "target": target_of(entry),
        "source": entry.source,
        "url": entry.url,
        "inline": entry.card is not None,
        "description": entry.description,
        "version": entry.version,
        "updated_at": entry.updated_at,
        "tags": list(entry.tags),
        "digest": entry.digest,
        "type": entry.type,
        "publisher": entry.publisher,
        "via": list(entry.via),
    }


def _rows(entry: CatalogEntry) -> Iterator[Row]:
    yield Row("entry", f"{clean(entry.name, 100)} {clean(entry.version or '', 40)}".rstrip(), "bold")
    yield Row("", clean(target_of(entry) or entry.identifier, 600))
    yield Row("", "its card is inside the catalog" if entry.card is not None else f"card at {clean(entry.url, 400)}")
    if entry.description:
        yield Row("", clean(entry.description, 200))
    if entry.tags:
        yield Row("", f"tags: {', '.join(clean(tag, 40) for tag in entry.tags[:10])}")


def _end(listing: Listing, count: int) -> Iterator[Row]:
    yield from rows("left out", listing.findings, style="yellow")
    if listing.dropped:
        yield Row("", f"... and {listing.dropped} more")
    what = "entry" if count == 1 else "entries"
    yield Row("listed", f"{count} {what}; a2a-discover get 'TARGET' discovers one" if count else "no entry")
