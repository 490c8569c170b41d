"""Coverage-guided fuzzing of bytes → card → findings → upgrade (extra: ``fuzz``).

::

    python tests/fuzz/fuzz_card.py -runs=100000 -max_len=4096 [DIRECTORY OF SEEDS]

Whatever the bytes are, reading ends in a card or in one of our errors, checking in findings at places that exist, and
upgrading twice in the same as upgrading once. Anything else stops the run with the bytes that did it.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import atheris

with atheris.instrument_imports(include=["a2a_discovery"]):
    from a2a_discovery import check_card
    from a2a_discovery._card.json import decode
    from a2a_discovery._card.read import read_card
    from a2a_discovery._check.lines import places
    from a2a_discovery._check.migrate import migrate
    from a2a_discovery.errors import CardError


def one(body: bytes) -> None:
    """Put one document through everything that reads it."""
    findings = check_card(body)
    places(body, {finding.pointer for finding in findings})
    try:
        document = decode(body, depth=64)
    except CardError:
        assert [finding.code for finding in findings] == ["not-json"]
        return
    for finding in findings:
        assert exists(document, finding.pointer.rpartition("/")[0]), finding
    try:
        read_card(document, url="https://a.example/card.json")
    except CardError:
        assert any(finding.severity == "error" for finding in findings), findings
        return
    assert isinstance(document, dict)
    once = migrate(document)
    assert migrate(once.card).card == once.card
    read_card(dict(once.card), url=None)


def exists(document: Any, pointer: str) -> bool:
    """Whether a place is there."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return False
    return True


def mutate(body: bytes, most: int, seed: int) -> bytes:
    """Change what the document says more often than its bytes: most changed bytes are no JSON any more."""
    dice = random.Random(seed)
    if dice.random() < 0.3:
        return atheris.Mutate(body, most)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return atheris.Mutate(body, most)
    for _ in range(dice.randint(1, 3)):
        change(document, dice)
    changed = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return changed if len(changed) <= most else atheris.Mutate(body, most)


def change(document: Any, dice: random.Random) -> None:
    """One change at one place: drop, replace, copy to another name, or wrap."""
    holders, left = [], [document]
    while left:
        each = left.pop()
        if isinstance(each, (dict, list)) and each:
            holders.append(each)
            left += each.values() if isinstance(each, dict) else each
    if not holders:
        return
    holder, donor = dice.choice(holders), dice.choice(holders)
    key = dice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    other = dice.choice(list(donor.values()) if isinstance(donor, dict) else donor)
    kind = dice.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = dice.choice([None, "", [], {}, True, 0, -1, 2**60, "/", "1.0", "x" * 100, "\u202e", "://"])
    elif kind == 2:
        holder[key] = json.loads(json.dumps(other))
    elif kind == 3:
        holder[key] = [holder[key]] if dice.random() < 0.5 else {"schemes": holder[key]}
    elif isinstance(holder, dict):
        names = [name for each in holders if isinstance(each, dict) for name in each]
        holder[dice.choice(names)] = json.loads(json.dumps(other))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one, custom_mutator=mutate)
    atheris.Fuzz()
