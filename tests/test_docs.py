"""What the documents say of the tests and the files is so."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@functools.cache
def names_of_tests() -> set[str]:
    names: set[str] = set()
    for path in ROOT.glob("tests/**/test_*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        names |= {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
        }
    # Some pages hold tests as examples, and a test runs those.
    return names.union(*(re.findall(r"def (test_\w+)", page.read_text("utf-8")) for page in DOCUMENTS))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_a_document_names_exists(path: Path) -> None:
    named = set(re.findall(r"`(test_\w+)`", path.read_text("utf-8")))

    assert sorted(named - names_of_tests()) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_links_exists(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", path.read_text("utf-8"))

    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_attack_in_the_threat_model_has_a_test() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines() if line.startswith("| ")][1:]

    assert len(rows) > 15
    assert [row for row in rows if not re.search(r"`test_\w+`", row)] == []
