"""``a2a-discover check``: five questions about a card, then everything that is wrong with it, worst first."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from a2a_discovery import Cache, DiscoveryError, Finding, Limits, NotFoundError, UsageError
from a2a_discovery._check.answers import Answer, answers
from a2a_discovery._check.codes import heading
from a2a_discovery._check.served import Checked, How, check_file, check_served
from a2a_discovery._cli.exits import Exit, exit_for
from a2a_discovery._cli.flags import (
    NETWORK,
    OUTPUT,
    AllowHttp,
    AllowPrivate,
    Ca,
    Keys,
    Local,
    Proxy,
    Timeout,
    Verbose,
    flag,
)
from a2a_discovery._cli.get import log_to_stderr
from a2a_discovery._cli.options import Flags, discovery_arguments
from a2a_discovery._cli.sarif import Reported, sarif, workflow_commands
from a2a_discovery._cli.show import describe_error, error_data
from a2a_discovery._cli.text import Row, as_json, clean, show
from a2a_discovery._effects import Fetch, Flow
from a2a_discovery._http.fetcher import Fetcher
from a2a_discovery._perform import perform
from a2a_discovery._target import read_target
from a2a_discovery.errors import Attempt, FetchError

Targets = Annotated[
    list[str],
    typer.Argument(metavar="TARGET...", help="Card files, domains, or https URLs of a card or above one."),
]
Strict = Annotated[bool, flag("--strict", "What breaks a MUST is an error, though readers repair it.", OUTPUT)]
NoProbe = Annotated[bool, flag("--no-probe", "Leave the interfaces that the card names alone.", NETWORK)]
Json = Annotated[bool, flag("--json", "One JSON object.", OUTPUT)]
Sarif = Annotated[bool, flag("--sarif", "SARIF 2.1.0, for code scanning.", OUTPUT)]
Github = Annotated[bool, flag("--github", "Annotations, as GitHub's workflow commands.", OUTPUT)]

_STYLES = {"error": "red", "warning": "yellow", "advice": ""}
_MARKS = {"good": "green", "fair": "yellow", "bad": "red", "unknown": "dim"}
_LABELS = ("there", "complete", "signed", "cacheable", "discreet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one target."""

    target: str
    file: bool
    checked: Checked | None = None
    error: DiscoveryError | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, also where it is no card at all."""
        return self.checked.findings if self.checked is not None else tuple(getattr(self.error, "findings", ()))

    @property
    def exit(self) -> Exit:
        """What this target alone would end the command with."""
        if self.error is not None:
            return exit_for(self.error)
        return Exit.FAILURE if any(each.severity == "error" for each in self.findings) else Exit.OK


def check(
    *,
    target: Targets,
    local: Local = False,
    allow_private: AllowPrivate = False,
    allow_http: AllowHttp = False,
    timeout: Timeout = None,
    ca: Ca = None,
    proxy: Proxy = None,
    keys: Keys = None,
    no_probe: NoProbe = False,
    strict: Strict = False,
    json: Json = False,
    sarif: Sarif = False,
    github: Github = False,
    verbose: Verbose = False,
) -> None:
    """Check cards: files, or as they are served. For publishers, and for their CI."""
    log_to_stderr(verbose=verbose)
    form = [name for name, wanted in (("json", json), ("sarif", sarif), ("github", github)) if wanted]
    flags = Flags(
        target=target[0],
        local=local,
        allow_private=allow_private,
        allow_http=allow_http,
        timeout=timeout,
        ca=ca,
        proxy=proxy,
        keys=keys,
        strict=strict,
        cache=False,
    )
    try:
        if len(form) > 1:
            raise UsageError(
                "bad-config", f"--{form[0]} and --{form[1]} are two forms of one report", hint="choose one"
            )
        results = asyncio.run(_check_all(target, flags, call=not no_probe))
    except UsageError as error:
        show(Console(stderr=True, highlight=False), describe_error(error))
        raise typer.Exit(int(Exit.USAGE)) from None
    _FORMS[form[0] if form else "text"](results)
    raise typer.Exit(int(_ends(results)))


async def _check_all(targets: list[str], flags: Flags, *, call: bool) -> list[Result]:
    arguments = discovery_arguments(flags)
    how = How(
        network=arguments["network"],
        trust=arguments["trust"],
        limits=Limits(),
        now=time.time(),
        strict=flags.strict,
        probe=call,
    )
    fetcher = Fetcher(network=how.network, limits=how.limits, cache=Cache.memory())
    try:
        return [await _check_one(each, how, fetcher) for each in targets]
    finally:
        await fetcher.aclose()


async def _check_one(target: str, how: How, fetcher: Fetcher) -> Result:
    file = _is_file(target)
    try:
        if file:
            body = await asyncio.to_thread(_read, Path(target), how.limits)
            return Result(target=target, file=True, checked=_without_requests(check_file(body, how)))
        place = read_target(target, network=how.network)
        return Result(target=target, file=False, checked=await perform(check_served(place, how), fetcher))
    except UsageError:
        raise
    except DiscoveryError as error:
        return Result(target=target, file=file, error=error)


def _is_file(target: str) -> bool:
    """Whether a target means a file: one that is there, since a person typed it, or what no domain looks like."""
    if "://" in target:
        return False
    named = target.startswith(("/", "./", "../")) or (target.endswith(".json") and "/" not in target)
    return named or os.path.isfile(target)


def _read(path: Path, limits: Limits) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limits.card_bytes + 1)
    except OSError as exc:
        attempt = Attempt(url=str(path), reason=(exc.strerror or "unreadable").lower())
        message = f"the card file cannot be read: {attempt}"
        raise NotFoundError("no-card", message, attempts=(attempt,), url=str(path), step="fetch") from exc


def _without_requests(flow: Flow[Checked]) -> Checked:
    """Run a flow for a file: no request is made for it, so only keys that were handed over count."""
    refusal = FetchError("connect", "a file is checked without any request", hint="--keys HOST=FILE names its keys")
    try:
        effect = next(flow)
        while True:
            if isinstance(effect, Fetch):
                effect = flow.throw(refusal)
            else:
                effect = flow.send(tuple(refusal for _ in effect) if isinstance(effect, tuple) else None)
    except StopIteration as done:
        result: Checked = done.value
        return result


# the forms of a report


def _text(results: list[Result]) -> None:
    console = Console(highlight=False)
    for index, result in enumerate(results):
        if index:
            console.print()
        show(console, _describe(result))


def _describe(result: Result) -> Iterator[Row]:
    yield Row("card", clean(result.target, 400), "bold")
    if result.error is not None:
        yield from describe_error(result.error)
    if result.checked is not None:
        for label, answer in zip(_LABELS, answers(result.checked), strict=True):
            yield Row(label, clean(answer.said, 600), _MARKS[answer.verdict])
    if result.error is None or result.findings:
        yield from _listed(result.findings)


def _listed(findings: Iterable[Finding]) -> Iterator[Row]:
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.severity] += 1
        yield Row(finding.severity, clean(finding, 400), _STYLES[finding.severity])
        told = f"{finding.fix} ({heading(finding.section)})" if finding.section else finding.fix
        if finding.fix:
            yield Row("", clean(told, 400), "dim")
    total = [f"{counts[each]} {each}{'s' if each != 'advice' and counts[each] != 1 else ''}" for each in _STYLES]
    yield Row("found", ", ".join(total) if counts else "nothing", "bold")


def _json(results: list[Result]) -> None:
    data = {"results": [_data(each) for each in results], "exit": int(_ends(results))}
    print(as_json(data, sys.stdout.encoding))


def _ends(results: list[Result]) -> Exit:
    """What the command ends with: what the first target that failed does."""
    return next((each.exit for each in results if each.exit), Exit.OK)


def _data(result: Result) -> dict[str, Any]:
    checked = result.checked
    return {
        "target": result.target,
        "url": checked.url if checked is not None else getattr(result.error, "url", None),
        "answers": [_answer(each) for each in answers(checked)] if checked is not None else [],
        "findings": [each.as_dict() for each in result.findings],
        **({} if result.error is None else error_data(result.error)),
        "exit": int(result.exit),
    }


def _answer(answer: Answer) -> dict[str, str]:
    return {"question": answer.question, "verdict": answer.verdict, "answer": answer.said}


def _sarif(results: list[Result]) -> None:
    print(as_json(sarif([_reported(each) for each in results]), sys.stdout.encoding))


def _github(results: list[Result]) -> None:
    for line in workflow_commands([_reported(each) for each in results]):
        print(line)


def _reported(result: Result) -> Reported:
    checked = result.checked
    return Reported(
        target=result.target,
        file=result.file,
        body=checked.body if checked is not None else b"",
        findings=result.findings,
        error=result.error,
    )


_FORMS = {"text": _text, "json": _json, "sarif": _sarif, "github": _github}
