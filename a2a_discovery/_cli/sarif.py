"""Findings for code scanning and for CI: SARIF 2.1.0, and GitHub's workflow commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import a2a_discovery
from a2a_discovery import DiscoveryError, Finding
from a2a_discovery._check.codes import CODES, heading
from a2a_discovery._check.lines import places
from a2a_discovery._cli.exits import Exit, exit_for
from a2a_discovery._cli.text import clean

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}
_COMMANDS = {"error": "error", "warning": "warning", "advice": "notice"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """One target and what was found."""

    target: str
    file: bool
    body: bytes
    findings: Sequence[Finding]
    error: DiscoveryError | None = None


def sarif(reports: Sequence[Reported]) -> dict[str, Any]:
    """A SARIF log with one run."""
    codes = sorted({finding.code for each in reports for finding in each.findings})
    notes = [_notification(each.error) for each in reports if each.error is not None]
    failed = any(each.error is not None and exit_for(each.error) != Exit.FAILURE for each in reports)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "a2a-discover",
                        "version": a2a_discovery.__version__,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": notes}],
                "columnKind": "unicodeCodePoints",
                "results": [result for each in reports for result in _results(each, codes)],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    about = CODES.get(code)
    if about is None:
        return {"id": code}
    fix = f" Instead: {about.fix}" if about.fix else ""
    section = f" ({heading(about.section)})" if about.section else ""
    return {
        "id": code,
        "shortDescription": {"text": f"{about.title}."},
        "fullDescription": {"text": about.text},
        "help": {"text": f"{about.text}{fix}{section}"},
        "defaultConfiguration": {"level": _LEVELS[about.severity]},
        "properties": {"tags": [about.group]},
    }


def _results(report: Reported, codes: list[str]) -> Iterator[dict[str, Any]]:
    lines = places(report.body, {finding.pointer for finding in report.findings})
    for finding in report.findings:
        line, column = lines[finding.pointer]
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(report)}}
        if report.file:
            place["region"] = {"startLine": line, "startColumn": column}
        yield {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": _message(finding)},
            "locations": [
                {
                    "physicalLocation": place,
                    "logicalLocations": [{"fullyQualifiedName": finding.pointer or "/", "kind": "member"}],
                }
            ],
        }


def _uri(report: Reported) -> str:
    if not report.file:
        return report.target if "://" in report.target else f"https://{report.target}/"
    path = Path(report.target)
    return path.absolute().as_uri() if path.is_absolute() else quote(path.as_posix())


def _message(finding: Finding) -> str:
    fix = f" Instead: {finding.fix}" if finding.fix else ""
    return clean(f"{finding.pointer or '/'}: {finding.message}.{fix}", 1000)


def _notification(error: DiscoveryError) -> dict[str, Any]:
    return {"level": "error", "message": {"text": clean(error.message, 1000)}, "descriptor": {"id": error.code}}


def workflow_commands(reports: Sequence[Reported]) -> Iterator[str]:
    """Workflow commands: one line for each finding, and for each target that could not be checked."""
    for report in reports:
        if report.error is not None:
            yield _command("error", {"title": report.error.code}, f"{report.target}: {report.error}")
        lines = places(report.body, {finding.pointer for finding in report.findings})
        for finding in report.findings:
            line, column = lines[finding.pointer]
            where = {"file": report.target, "line": line, "col": column} if report.file else {}
            said = _message(finding) if report.file else f"{report.target} {_message(finding)}"
            yield _command(_COMMANDS[finding.severity], {**where, "title": finding.code}, said)


def _command(name: str, properties: dict[str, object], said: str) -> str:
    listed = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{name} {listed}::{_escaped(clean(said, 1500))}"


def _escaped(value: object, more: str = "") -> str:
    """A text in which nothing ends the command or begins another."""
    text = str(value)
    for mark in ("%", "\r", "\n", *more):
        text = text.replace(mark, f"%{ord(mark):02X}")
    return text
