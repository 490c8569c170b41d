"""A fixed number of fuzzed documents; an hour of them is a command (fuzz_card.py)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNS = 3000


def test_no_document_of_a_fixed_number_of_fuzzed_ones_is_read_badly(tmp_path):
    pytest.importorskip("atheris", reason='the extra "fuzz" is not installed')
    for card in (HERE.parent / "data" / "cards").glob("*.json"):
        shutil.copy(card, tmp_path)
    command = [sys.executable, str(HERE / "fuzz_card.py"), f"-runs={RUNS}", "-max_len=2048", "-seed=1", str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300)

    assert done.returncode == 0, done.stderr[-3000:]
