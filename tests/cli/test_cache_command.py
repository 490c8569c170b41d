"""``a2a-discover cache``: what is kept on this machine, for a person and for a script."""

import json
import sqlite3
from pathlib import Path

import pytest

from a2a_discovery.testing import FakeAgent, Reply

CARD = "/.well-known/agent-card.json"
KEYS = "/.well-known/jwks.json"


@pytest.fixture
def file(tmp_path):
    """Where the command keeps answers."""
    return tmp_path / "cache" / "a2a-discovery" / "cache.sqlite"


@pytest.fixture
def entries(command):
    """What ``cache list --json`` prints, by path of the URL."""

    def run():
        found = json.loads(command("cache", "list", "--json").stdout)
        return {"/" + entry["url"].split("/", 3)[3]: entry for entry in found}

    return run


def test_without_a_file_there_is_nothing_and_none_is_made(command, file):
    told = json.loads(command("cache", "info", "--json").stdout)

    assert told == {"file": str(file), "bytes": 0, "entries": 0, "entry_bytes": 0, "remembered": 0, "hosts": {}}
    assert command("cache", "list", "--json").stdout == "[]\n"
    assert json.loads(command("cache", "clear", "--json").stdout) == {"cleared": 0}
    assert not file.exists()


def test_info_counts_what_get_kept(command, get, file):
    get()

    told = json.loads(command("cache", "info", "--json").stdout)
    shown = command("cache", "info").stdout

    assert (told["entries"], told["remembered"], told["hosts"]) == (2, 1, {"localhost": 2})
    assert told["bytes"] >= file.stat().st_size > told["entry_bytes"] > 0
    assert f"file        {file}" in shown
    assert "hosts       2 of localhost" in shown


def test_list_says_url_age_freshness_trust_and_validators(command, get, shop, entries):
    get()

    card, keys = entries()[CARD], entries()[KEYS]
    shown = command("cache", "list").stdout.splitlines()

    assert (card["url"], card["trust"], keys["trust"]) == (f"{shop.url}{CARD}", "SIGNED", None)
    assert card["fresh_until"] - card["stored_at"] == pytest.approx(300)
    assert card["etag"].startswith('"')
    assert card["bytes"] == len(json.dumps(shop.agent.document(places={shop.agent.url: shop.url}), separators=",:"))
    assert shown[0].startswith(f"SIGNED      {shop.url}{CARD}; 0 s old; fresh for 5 min; ")
    assert shown[0].endswith(f"ETag {card['etag']}")
    assert shown[1].startswith(f"-           {shop.url}{KEYS}; ")


def test_trust_is_that_of_the_channel_the_answer_came_by(command, shop, entries):
    shop.agent.signers.clear()
    command("get", shop.url, *shop.flags)

    assert entries()[CARD]["trust"] == "CHANNEL"


def test_what_is_stale_says_that_it_is_asked_about_again(command, get, shop):
    shop.agent.headers["card"] = {"cache-control": "max-age=0"}
    get()

    assert "asked about again when next needed" in command("cache", "list").stdout


@pytest.mark.parametrize(("host", "cleared"), [("localhost", 2), ("shop.example", 0), ("*.localhost", 0)])
def test_clear_takes_a_host(command, get, entries, host, cleared):
    get()

    result = command("cache", "clear", host, "--json")

    assert json.loads(result.stdout) == {"cleared": cleared}
    assert len(entries()) == 2 - cleared


def test_clear_empties_the_file_and_what_was_proven_stays_remembered(command, get, shop):
    get()

    assert command("cache", "clear").stdout == "cleared     2 entries\n"

    shop.agent.signers.clear()
    assert "[downgraded]" in get().stderr


def test_another_host_name_of_what_answered_is_cleared_too(command, shop, entries):
    def moved(request):
        return None if request.host == "127.0.0.1" else Reply.redirect(f"https://127.0.0.1:{shop.running.port}{CARD}")

    shop.agent.replies[CARD] = moved
    assert command("get", shop.url, *shop.flags).exit_code == 0

    assert "(answered by https://127.0.0.1" in command("cache", "list").stdout
    assert json.loads(command("cache", "clear", "127.0.0.1", "--json").stdout)["cleared"] >= 1
    assert CARD not in entries()


def test_a_strangers_validator_is_shown_as_text(command, get, shop, file):
    shop.agent.headers["card"] = {"cache-control": "max-age=60", "etag": '"tag"', "last-modified": "x" * 999}
    get()
    with sqlite3.connect(file) as connection:  # a header field may hold such bytes, a server of h11 sends none
        connection.execute("UPDATE entries_1 SET head = replace(head, 'tag', '\\u009b31m\\u202e')")
    connection.close()

    shown, told = command("cache", "list").stdout, command("cache", "list", "--json").stdout

    assert all(each.isprintable() for each in told.replace("\n", ""))
    assert all(each.isprintable() for each in shown.replace("\n", ""))
    assert max(map(len, shown.splitlines())) < 500


@pytest.mark.parametrize("pattern", ["*", "https://shop.example", ""])
def test_2_for_what_is_no_host(command, pattern):
    result = command("cache", "clear", pattern)

    assert (result.exit_code, result.stdout) == (2, "")


def test_2_without_a_home(command, monkeypatch):
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    result = command("cache", "info", "--json")

    assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (2, "bad-config")


def test_a_file_of_another_program_is_left_alone(command, file):
    file.parent.mkdir(parents=True)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = Path(file).read_bytes()

    for words in (("info",), ("list",), ("clear",)):
        result = command("cache", *words)
        assert (result.exit_code, "another program" in result.stderr) == (2, True)
    assert Path(file).read_bytes() == before


def test_a_file_that_is_no_database_is_said_so(command, file):
    file.parent.mkdir(parents=True)
    file.write_bytes(b"not a database" * 100)

    result = command("cache", "list")

    assert (result.exit_code, "cannot be used" in result.stderr, "Traceback" in result.stderr) == (2, True, False)


def test_a_row_that_we_did_not_write_is_passed_over(command, get, file, entries):
    get()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE entries_1 SET head = '[]' WHERE sent LIKE ?", (f"%{KEYS}%",))
    connection.close()

    assert list(entries()) == [CARD]
    assert command("cache", "clear", "localhost").exit_code == 0


def test_only_get_on_several_agents_fills_it(command, tmp_path, entries):
    other = FakeAgent(signers=())
    with other.serve_in_thread(tls=False) as running:
        assert command("get", f"localhost:{running.port}", "--local").exit_code == 0

    assert list(entries()) == [CARD]
