"""Rows of a long array, read as far as they go in one go: what is odd about one stays its own matter."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery import CardError, CatalogEntry
from a2a_discovery._catalog.entry import Bad
from a2a_discovery._catalog.project import project
from a2a_discovery._catalog.stream import read_document

A2A = "application/a2a-agent-card+json"
DEPTH = 64
HERE = "https://c.example/c.json"

# As written, and what it is read as; of a document, its root and the array are two levels already.
KINDS: dict[str, tuple[str, Any]] = {
    "object": ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
    "empty": ("{}", {}),
    "array": ('[",", "]", "\\""]', [",", "]", '"']),
    "text": ('"},{"', "},{"),
    "number": ("-1.5e3", -1500.0),
    "digits": ("12", 12),
    "true": ("true", True),
    "wide": (f"[{','.join(['[]'] * 100)}]", [[]] * 100),
    "pair": ('"\\ud83d\\ude00"', "😀"),
    "twice": ('{"a":1,"a":1}', Bad),
    "nan": ("NaN", Bad),
    "huge": ("9" * 5000, Bad),
    "infinite": ("1e999", Bad),
    "half": ('["\\ud800"]', Bad),
    "deepest": ("[" * (DEPTH - 2) + "]" * (DEPTH - 2), json.loads("[" * (DEPTH - 2) + "]" * (DEPTH - 2))),
    "deeper": ("[" * (DEPTH - 1) + "]" * (DEPTH - 1), Bad),
    "abyss": ("[" * 9000 + "]" * 9000, Bad),
    "long": (f'"{"x" * 300_000}"', "x" * 300_000),
}


@given(
    st.lists(st.sampled_from(sorted(KINDS)), max_size=40),
    st.sampled_from([",", ", ", " ,", ",\n    ", "\r\n\t, \t"]),
    st.integers(0, 2**18),
)
def test_each_row_is_what_it_is_alone(kinds: list[str], separator: str, before: int) -> None:
    written = separator.join(KINDS[kind][0] for kind in kinds)
    body = f'{{"x":"{"x" * before}","entries":[{written}]}}'.encode()

    found = list(read_document(body, depth=DEPTH)["entries"])

    assert [Bad if isinstance(row, Bad) else row for row in found] == [KINDS[kind][1] for kind in kinds]


@given(st.lists(st.sampled_from(["{}", "[]", "1", '"a"', ",", "]", "[", " ", "}", "{"]), max_size=12))
def test_what_is_no_array_of_rows_is_refused_as_any_reader_does(tokens: list[str]) -> None:
    text = f'{{"entries":[{"".join(tokens)}]}}'
    try:
        expected = json.loads(text)["entries"]
    except ValueError:
        with pytest.raises(CardError):
            read_document(text.encode(), depth=DEPTH)
    else:
        assert list(read_document(text.encode(), depth=DEPTH)["entries"]) == expected


ROW = {
    "identifier": "urn:air:shop.example:a2a:orders",
    "displayName": "Orders",
    "description": "Takes orders.",
    "type": A2A,
    "url": "https://shop.example/card.json",
    "version": "1.0.0",
    "updatedAt": "2026-01-01T00:00:00Z",
    "tags": ["orders", 7],
}
MADE = CatalogEntry(
    identifier="urn:air:shop.example:a2a:orders",
    source=HERE,
    url="https://shop.example/card.json",
    display_name="Orders",
    description="Takes orders.",
    version="1.0.0",
    updated_at="2026-01-01T00:00:00Z",
    tags=("orders",),
    type=A2A,
    raw=ROW,
)


class TestAnEntryOfALargeCatalog:
    """Those are made by a shorter way than the constructor, and nobody may see that."""

    def entry(self, **changes: Any) -> Any:
        (found,) = project({"entries": [{**ROW, **changes}]}, HERE)
        return found

    def test_is_like_any_other(self) -> None:
        entry = self.entry()

        assert type(entry) is CatalogEntry
        assert entry == MADE
        assert hash(entry) == hash(MADE)
        assert repr(entry) == repr(MADE)
        for each in fields(CatalogEntry):
            assert getattr(entry, each.name) == getattr(MADE, each.name)
        assert copy.deepcopy(entry) == pickle.loads(pickle.dumps(entry)) == replace(entry) == MADE

    def test_is_as_frozen(self) -> None:
        with pytest.raises(FrozenInstanceError):
            self.entry().identifier = "another"

    @pytest.mark.parametrize("value", ["", None, 7, ["x"], {"x": 1}])
    def test_has_no_text_where_there_is_none(self, value: Any) -> None:
        entry = self.entry(displayName=value, description=value, version=value, updatedAt=value, tags=7)

        assert (entry.display_name, entry.description, entry.version, entry.updated_at) == (None,) * 4
        assert entry.tags == ()
