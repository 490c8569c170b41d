"""Every code that the source raises has an entry in the registry, every entry is raised, and the page says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from a2a_discovery._check.codes import CODES, GROUPS, heading
from a2a_discovery._check.page import findings_page, near, paragraph
from a2a_discovery._finding import Severity

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "a2a_discovery"
REGISTRY = {"codes.py", "codes_card.py", "codes_line.py", "codes_sense.py"}

NOTERS = {
    "Finding", "Skipped", "error", "repair", "warning", "advice", "add", "no", "say", "say_in_document", "_finding",
    "_note", "note", "_gap", "_digest_finding", "_alone",
}  # fmt: skip
"""Functions and classes that take a code, first or as ``code=``."""
NOT_FIRST = {"_gap": 2}
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*\Z")
ERRORS = {
    "bad-target", "bad-config", "no-card", "entry-not-found", "ambiguous", "dns", "connect", "tls", "timeout",
    "http-status", "redirect-refused", "protocol", "address", "scheme", "host", "invalid-card",
}  # fmt: skip
"""Codes of errors, which a listing passes on as those of its findings; errors.py says what they mean."""


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.name not in REGISTRY]


def raised(tree: ast.AST) -> Iterator[str]:
    """The codes that stand in calls of the noters, and those that a variable there may hold."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module, ast.ClassDef)):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and _name(call.func) in NOTERS:
                yield from _codes(_code_of(call), function)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _code_of(call: ast.Call) -> ast.expr | None:
    by_name = [each.value for each in call.keywords if each.arg == "code"]
    place = NOT_FIRST.get(_name(call.func), 0)
    return by_name[0] if by_name else call.args[place] if len(call.args) > place else None


def _codes(expression: ast.expr | None, scope: ast.AST) -> Iterator[str]:
    for node in ast.walk(expression) if expression is not None and not isinstance(expression, ast.JoinedStr) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.match(node.value):
            yield node.value
        elif isinstance(node, ast.Name) and not isinstance(scope, ast.Module):
            for other in ast.walk(scope):
                if isinstance(other, ast.Assign) and node.id in _targets(other):
                    yield from (each for each in _constants(other.value) if "-" in each and CODE.match(each))


def _targets(assignment: ast.Assign) -> set[str]:
    return {each.id for target in assignment.targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_code_that_is_raised_is_in_the_registry():
    missing = {
        (code, str(path.relative_to(ROOT)))
        for path in sources()
        for code in raised(ast.parse(path.read_text("utf-8")))
        if code not in CODES and code not in ERRORS
    }

    assert missing == set()


def test_every_code_of_the_registry_is_raised_somewhere():
    written = {text for path in sources() for text in _constants(ast.parse(path.read_text("utf-8")))}

    assert set(CODES) - written == set()


def test_the_scan_sees_codes_in_every_form_they_are_written_in():
    source = """
def one(self):
    self._note("a-b", at, "text")
    notes.repair(code="c-d", at=at)
    code = "e-f" if odd else "g-h"
    return Finding(code=code, severity="warning")
"""

    assert set(raised(ast.parse(source))) == {"a-b", "c-d", "e-f", "g-h"}


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_all_that_a_reader_needs(code):
    about = CODES[code]

    assert CODE.match(code)
    assert about.group in GROUPS
    assert about.severity in get_args(Severity)
    assert 10 < len(about.title) < 80
    assert not about.title.endswith(".")
    assert about.text.endswith(".")
    assert "  " not in about.text
    assert about.must is False or about.severity == "warning"
    if about.group in ("specification", "interoperability"):
        assert about.section or code in ("too-large", "more-findings")


def test_the_page_is_what_the_registry_says():
    written = (ROOT / "docs" / "findings.md").read_text("utf-8")

    assert written == findings_page(), "a2a-discover explain --markdown > docs/findings.md"


def test_a_paragraph_says_what_it_means_and_what_to_do():
    title, kind, text, fix = paragraph("several-flows")

    assert "one scheme" in title
    assert "error under strict" in kind
    assert "A2A 4.5" in kind
    assert "Python SDK" in text
    assert fix.startswith("Instead: ")
    assert paragraph("no-such-code") is None


def test_a_misspelt_code_has_neighbours():
    assert "several-flows" in near("Several_Flow")
    assert near("zzzz") == []


def test_a_section_is_headed_by_its_document():
    assert (heading("4.5"), heading("RFC 8259"), heading("A.2")) == ("A2A 4.5", "RFC 8259", "A2A A.2")
