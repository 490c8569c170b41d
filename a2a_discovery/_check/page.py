"""What every code means, as text: the page ``docs/findings.md`` and ``a2a-discover explain``."""

from __future__ import annotations

import difflib

from a2a_discovery._check.codes import CODES, GROUPS, Code, heading

_HEAD = """\
# Findings

What `check_card`, `a2a-discover check` and `agent.findings` report, code by code. `a2a-discover explain CODE` prints
one of these paragraphs. This page is written by the code's own data: `a2a-discover explain --markdown`.

An **error** leaves no card, or should not be published at all; a **warning** is refused by some readers, or misleads
them; **advice** is what could be better. What breaks a MUST and has one meaning all the same is a warning, and an error
under `strict`.
"""


def findings_page() -> str:
    """The page, whole, as Markdown."""
    parts = [_HEAD]
    for group, about in GROUPS.items():
        codes = {name: code for name, code in CODES.items() if code.group == group}
        parts.append(f"## {group.capitalize()}\n\n{about}\n")
        parts += [f"### {name}\n\n{_paragraph(code)}" for name, code in sorted(codes.items())]
    return "\n".join(parts)


def _paragraph(code: Code) -> str:
    lines = [f"**{code.title}.** {_kind(code).capitalize()}.", "", *_wrapped(code.text), ""]
    if code.fix:
        lines += [*_wrapped(f"*Instead:* {code.fix}"), ""]
    if code.section:
        lines += [f"*Section:* {heading(code.section)}", ""]
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    import textwrap

    # A number or a mark at the start of a line would make a list of it.
    lines = textwrap.wrap(text.replace("<", "\\<"), width=116, break_long_words=False, break_on_hyphens=False)
    return [f"\\{line}" if line[:1] in "#+-" else line for line in lines]


def _kind(code: Code) -> str:
    return f"{code.severity}, an error under strict" if code.must else code.severity


def paragraph(name: str) -> tuple[str, ...] | None:
    """What a code means, for a person: title, kind, text, what to write instead; ``None`` for no code of ours."""
    code = CODES.get(name)
    if code is None:
        return None
    fix = f"Instead: {code.fix}" if code.fix else ""
    section = f", {heading(code.section)}" if code.section else ""
    return tuple(each for each in (code.title, f"{code.group}: {_kind(code)}{section}", code.text, fix) if each)


def near(name: str) -> list[str]:
    """Codes that may have been meant."""
    return difflib.get_close_matches(name.lower().replace("_", "-"), CODES, n=5, cutoff=0.5)
