"""What docs/testing.md shows is run here, block by block."""

import inspect
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
TEXT = PAGE.read_text("utf-8")
# each after as many empty lines as stand before it, so that a traceback names the page's own lines
BLOCKS = [
    "\n" * TEXT.count("\n", 0, found.start(1)) + found[1]
    for found in re.finditer(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
]


def examples():
    shown = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), shown)
    return {name: value for name, value in shown.items() if name.startswith("test_")}


EXAMPLES = [name for block in BLOCKS for name in re.findall(r"def (test_\w+)", block)]


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_page_shows_what_runs(name):
    example = examples()[name]
    if inspect.iscoroutinefunction(example):
        await example()
    else:
        example()


def test_no_example_is_shadowed_by_another():
    assert len(EXAMPLES) == len(set(EXAMPLES)) == len(examples())
