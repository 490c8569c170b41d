"""Every example runs as a script, warns about nothing, and prints what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

PRINTED = {
    "authenticated": ["reply: You asked: Where is my order?", "the token was shown to: {'localhost'}"],
    "one_line": [
        "who:     Shop",
        "where:   https://localhost:",
        "trust:   SIGNED by localhost",
        "headers: {'A2A-Version': '1.0'}",
    ],
    "pinned_keys": ["trust:   PINNED by ES256 over the form spec", "refused: untrusted-key-host"],
    "sqlite_cache": [
        "first process:  network",
        "second process: fresh",
        "after expiry:   revalidated",
        "the shop saw:   [200, 304]",
    ],
    "extended_card": [
        "public:   ['orders']",
        "extended: ['orders', 'refunds'] trust: SIGNED",
        "refused:  auth-required",
    ],
    "in_a_notebook": ["once:         Shop SIGNED", "three times:  {'Shop'}"],
    "own_registry": [
        "entry:    bot-2 ('orders',)",
        "agent:    Shop SIGNED by shop.example",
        "via:      https://registry.corp.example/api/v2/bots?after=2",
        "left out: /bots/1: it is retired [retired]",
    ],
    "private_ca": ["by default:     address 127.0.0.1", "address allowed: tls", "CA trusted too:  Shop SIGNED"],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_prints_what_it_promises(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == len(PRINTED[name])
    for line, start in zip(lines, PRINTED[name], strict=True):
        assert line.startswith(start), line


def test_an_example_leaves_nothing_behind(tmp_path):
    subprocess.run([sys.executable, EXAMPLES / "sqlite_cache.py"], capture_output=True, check=True, cwd=tmp_path)

    assert list(tmp_path.iterdir()) == []
