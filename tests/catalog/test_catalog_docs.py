"""What docs/catalogs.md shows is run here, and the tests that its table names are there."""

import inspect
import re
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "catalogs.md"
TEXT = PAGE.read_text("utf-8")
# each after as many empty lines as stand before it, so that a traceback names the page's own lines
BLOCKS = [
    "\n" * TEXT.count("\n", 0, found.start(1)) + found[1]
    for found in re.finditer(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
]
EXAMPLES = [name for block in BLOCKS for name in re.findall(r"def (test_\w+)", block)]


@pytest.fixture
def shown():
    names = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_page_shows_what_runs(name, shown, web, samples, sample, card):
    rows = [
        {"identifier": "a", "type": "application/a2a-agent-card+json", "url": "https://shop.example/card.json"},
        {"identifier": "b", "type": "application/a2a-agent-card+json", "data": card()},
        {"identifier": "c", "type": "application/a2a-agent-card+json", "data": card(), "url": "https://x.example/"},
    ]
    web.put("https://catalog.example/.well-known/ard.json", {"entries": rows})
    web.put("https://shop.example/card.json", card())
    web.put("https://shop.example/.well-known/ucp", sample("ucp/2026-04-08_supported_versions.json"))
    given = {"web": httpx.MockTransport(web.handle), "samples": samples}
    example = shown[name]

    await example(**{each: given[each] for each in inspect.signature(example).parameters})


def test_every_test_that_the_table_names_is_there():
    named = set(re.findall(r"\| `(test_\w+)` \|$", TEXT, re.MULTILINE))
    there = set(EXAMPLES)
    for path in Path(__file__).parent.glob("test_*.py"):
        there |= set(re.findall(r"def (test_\w+)", path.read_text("utf-8")))

    assert len(named) > 15
    assert named <= there


def test_the_file_that_the_page_shows_can_be_read(tmp_path):
    from a2a_discovery._config import load

    (found,) = re.findall(r"^```toml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    (tmp_path / "agents.toml").write_text(found)
    (tmp_path / "shop.jwks.json").write_text(
        '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}'
    )

    assert set(load(tmp_path / "agents.toml", {"ORDERS_TOKEN": "x"})) == {"orders", "tax"}
