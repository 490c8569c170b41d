"""``a2a-discover explain``: what a finding code means, and what to do about it."""

from __future__ import annotations

import sys
import textwrap
from typing import Annotated

import typer

from a2a_discovery._check.codes import CODES, GROUPS
from a2a_discovery._check.page import findings_page, near, paragraph
from a2a_discovery._cli.exits import Exit
from a2a_discovery._cli.flags import OUTPUT, flag
from a2a_discovery._cli.text import clean

Code = Annotated[str | None, typer.Argument(metavar="[CODE]", help="A finding's code; without one, all are listed.")]
Markdown = Annotated[bool, flag("--markdown", "Every code, as the page docs/findings.md.", OUTPUT)]


def explain(*, code: Code = None, markdown: Markdown = False) -> None:
    """Say what a finding code means, what to write instead, and where the rule is."""
    if markdown:
        print(findings_page(), end="")
    elif code is None:
        _list()
    else:
        _print(code)


def _list() -> None:
    for group in GROUPS:
        print(f"{group}: {GROUPS[group]}")
        for name, about in sorted(CODES.items()):
            if about.group == group:
                print(f"  {name:30} {about.severity:8} {about.title}")


def _print(code: str) -> None:
    told = paragraph(code)
    if told is None:
        others = near(code)
        hint = f"; perhaps {', '.join(others)}" if others else "; a2a-discover explain lists them all"
        print(f"there is no finding code {clean(code, 60)!r}{hint}", file=sys.stderr)
        raise typer.Exit(int(Exit.USAGE))
    title, kind, *texts = told
    print(f"{code}: {title}\n{kind}")
    for text in texts:
        print(f"\n{textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)}")
