"""Reading a card and checking it, without any network or signature."""

from __future__ import annotations

import json
from collections.abc import Iterator

from a2a_discovery import check_card
from a2a_discovery._card.json import decode
from a2a_discovery._card.read import read_card
from benchmarks.cards import card
from benchmarks.table import Result, against, alternate, row

TIMES = 2000


@row
def read_cards() -> Iterator[Result]:
    """Bytes to a card, its repairs and its model."""
    body = json.dumps(card("https://shop.example")).encode()

    def ours() -> None:
        read_card(decode(body, depth=64), url="https://shop.example/card.json")

    def strict() -> None:
        decode(body, depth=64)

    def other() -> None:
        json.loads(body)

    whole, decoding, plain = alternate(ours, strict, other, times=TIMES)
    yield against("strict JSON, against json.loads", decoding, plain, aim=None)
    yield against("read a card (JSON, repairs, model), against json.loads", whole, plain, aim=None)


@row
def check() -> Iterator[Result]:
    """Everything that is to be said about a card, against reading it."""
    body, url = json.dumps(card("https://shop.example")).encode(), "https://shop.example/card.json"

    def ours() -> None:
        check_card(body, url=url)

    def other() -> None:
        read_card(decode(body, depth=64), url=url)

    checking, reading = alternate(ours, other, times=TIMES)
    yield against("check a card, against reading it", checking, reading, aim=3)
