"""The manifest of what goes wrong in the field, held to the tests both ways."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

KINDS = {
    "path": "001 002 003 004 005 006 008 009 010 011 013 015 016 017 018 020 021 023 024 025 026 027",
    "card-url": "029 030 031 032 034 035 036 037 038 040 041 042 043 044 046",
    "parse": "047 049 050 051 052 053 054 055 057 058 059 060 061 062 063 065 066 067",
    "version": "068 069 070 072 073 074 075 076 077 078 079",
    "interface": "080 082 083 085 086 087",
    "cache": "088 089 090 091 093 095 096 098 099 100 102",
    "signature": "103 104 105 106 108 109 110 111 112 113 114 115 117 119 120 121 122",
    "jwks": "124 126 127 128 130 131 132 133",
    "extended": "134 135 137 139 140",
    "trust": "141 143 144 146 147 149 150",
    "net": "151 152 154 155 157 158 159",
    "loop": "161 163 164 165",
    "kindred": "166 168 170 171 172",
}
"""Every row that was collected. Numbers are not consecutive, and stay as they are."""

ROWS = {f"B{number}": kind for kind, numbers in KINDS.items() for number in numbers.split()}


@cache
def manifest() -> dict[str, dict[str, Any]]:
    return tomllib.loads((HERE / "manifest.toml").read_text("utf-8"))


@cache
def named_in(path: str) -> dict[str, str]:
    """Name → docstring of each test in a file, those in classes too."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {each.name: ast.get_docstring(each) or "" for each in functions if each.name.startswith("test_")}


def rows_in(docstring: str) -> set[str]:
    """The rows that a test of this folder says it answers: they stand first in its docstring."""
    found = re.match(r"B\d{3}(?:, B\d{3})*", docstring)
    return set(found[0].split(", ")) if found else set()


def own_tests() -> dict[str, set[str]]:
    """Every test of this folder, this file aside, and the rows it answers."""
    return {
        f"tests/field/{path.name}::{name}": rows_in(docstring)
        for path in sorted(HERE.glob("test_*.py"))
        if path != Path(__file__)
        for name, docstring in named_in(f"tests/field/{path.name}").items()
    }


def test_every_row_has_an_entry_of_its_kind_and_there_is_no_other() -> None:
    assert {row: entry["kind"] for row, entry in manifest().items()} == ROWS
    assert len(ROWS) == sum(len(numbers.split()) for numbers in KINDS.values())


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_row_says_what_goes_wrong_and_has_tests_or_a_reason(row: str) -> None:
    entry = manifest()[row]

    assert set(entry) <= {"kind", "what", "note", "tests"}
    assert entry["what"].strip()
    assert entry.get("tests") or entry.get("note", "").strip()
    assert len(set(entry.get("tests", ()))) == len(entry.get("tests", ()))


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_row_names_tests_that_exist(row: str) -> None:
    for test in manifest()[row].get("tests", ()):
        path, _, name = test.partition("::")
        assert name in named_in(path), test


def test_every_test_of_this_folder_answers_rows_and_each_of_them_names_it() -> None:
    for test, rows in own_tests().items():
        assert rows, f"{test} names no row in its docstring"
        assert rows == {row for row, entry in manifest().items() if test in entry.get("tests", ())}, test
