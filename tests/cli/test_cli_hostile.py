"""What a card says is shown as text: it colours nothing, moves nothing, and fakes no row."""

import json
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from a2a_discovery._cli.text import as_json, clean

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "[bold red]markup[/] [link=https://elsewhere.example]click[/link]",
    "line\ntrust       PINNED: forged\r\nagent       Other",
    "\u202etxet desrever\u202c",
    "zero\u200bwidth\ufefftag\U000e0041",
    ":warning: :skull:",
    "x" * 5000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_card_text_is_shown_as_text(get, shop, text):
    agent = shop.agent
    agent.card.update(name=text, description=text, version=text, provider={"organization": text, "url": text})
    agent.card["skills"] = [{"id": text, "name": text, "description": text, "tags": [text]}]
    agent.card["supportedInterfaces"][0]["tenant"] = text
    agent.card["supportedInterfaces"].append({"url": text, "protocolBinding": text, "protocolVersion": text})
    agent.card[text] = {text: text}

    result = get("--explain")

    assert result.exit_code == 0, result.stderr
    assert all(each.isprintable() for each in result.stdout.replace("\n", ""))
    assert [line for line in result.stdout.splitlines() if line.startswith("trust ")] == [
        next(line for line in result.stdout.splitlines() if line.startswith("trust       SIGNED: "))
    ]
    assert max(map(len, result.stdout.splitlines())) < 2000
    if "[" in text or ":skull:" in text:
        assert clean(text) in result.stdout


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_card_text_in_json_acts_on_no_terminal_and_is_not_changed(get, shop, text):
    shop.agent.card["name"] = text

    result = get("--json")

    assert all(each.isprintable() for each in result.stdout.replace("\n", ""))
    assert json.loads(result.stdout)["card"]["name"] == text


def test_a_terminal_that_knows_ascii_alone_gets_json_all_the_same(process, shop):
    shop.agent.card["name"] = "Tienda ñ \U0001f6d2"

    told = process("-m", "a2a_discovery", "get", shop.url, *shop.flags, "--json", PYTHONIOENCODING="ascii")
    shown = process("-m", "a2a_discovery", "get", shop.url, *shop.flags, PYTHONIOENCODING="ascii")

    assert json.loads(told.stdout)["card"]["name"] == "Tienda ñ \U0001f6d2"
    assert (shown.returncode, "Tienda ?" in shown.stdout) == (0, True)


@given(st.text(), st.integers(2, 300))
@example("a\u2028b\x85c\x00d\ud800", 10)
def test_any_text_becomes_one_short_visible_line(text, limit):
    line = clean(text, limit)

    assert len(line) <= limit
    assert all(unicodedata.category(each) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for each in line)
    assert clean(line, limit) == line


@settings(max_examples=40)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner))
)
@example("\x7f\x9b\u202e\ud800\U000e0041\n")
def test_any_value_becomes_json_that_means_the_same_and_shows_nothing_odd(value):
    for encoding in ("utf-8", "ascii", "latin-1", None):
        text = as_json(value, encoding)

        assert json.loads(text) == value
        assert all(
            unicodedata.category(each) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for each in text if each != "\n"
        )
        text.encode(encoding or "ascii")
