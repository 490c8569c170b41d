"""``a2a-discover crawl``: many agents, what became of each, and going on after an interruption."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_discovery._cli.records import Journal, read_records
from a2a_discovery.testing import FakeAgent, Gate, Reply

ROOT = Path(__file__).parents[2]
CATALOG = "/.well-known/ai-catalog.json"


@pytest.fixture
def cards(shop):
    """Serve cards at paths of their own: one signed, one not, one that is none, one that is not there."""
    signed = shop.agent.document(places={shop.agent.url: shop.url})
    unsigned = {name: value for name, value in signed.items() if name != "signatures"}
    shop.agent.replies |= {
        "/signed.json": Reply.json(signed),
        "/unsigned.json": Reply.json({**unsigned, "name": "Unsigned"}),
        "/hello.json": Reply.json({"hello": 1}),
        "/tampered.json": Reply.json({**signed, "name": "Other"}),
    }
    return [f"{shop.url}/{name}.json" for name in ("signed", "unsigned", "hello", "tampered", "gone")]


@pytest.fixture
def targets(cards, tmp_path):
    """A list of them."""
    file = tmp_path / "targets.txt"
    file.write_text("# ours\n" + "\n".join(cards) + f"\n\n{cards[0]}  # again\n")
    return file


@pytest.fixture
def crawl(command, shop):
    """The summary of a crawl."""

    def run(*arguments, **options):
        result = command("crawl", *arguments, *shop.flags, "--json", **options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run


def outcomes(file):
    return {record["target"].rpartition("/")[2]: record["outcome"] for record in read_records(file)}


EXPECTED = {
    "signed.json": "agent",
    "unsigned.json": "agent",
    "hello.json": "not-a-card",
    "tampered.json": "bad-signature",
    "gone.json": "no-card",
}


def test_it_counts_by_outcome_and_trust(crawl, targets):
    told = crawl(targets)

    assert (told["crawled"], told["held_before"], told["interrupted"]) == (5, 0, False)
    assert told["outcomes"] == {"agent": 2, "not-a-card": 1, "bad-signature": 1, "no-card": 1}
    assert told["trust"] == {"NONE": 0, "CHANNEL": 1, "SIGNED": 1, "PINNED": 0}


def test_it_says_so_to_a_person(command, shop, targets, tmp_path):
    result = command("crawl", targets, *shop.flags, "--jsonl", tmp_path / "out.jsonl")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "crawled     5 targets in " in result.stdout
    assert "outcomes    agent 2; " in result.stdout
    assert "trust       SIGNED 1; CHANNEL 1" in result.stdout
    assert f"wrote       {tmp_path / 'out.jsonl'}" in result.stdout


def test_each_line_is_a_record(crawl, targets, cards, tmp_path):
    out = tmp_path / "out.jsonl"
    crawl(targets, "--jsonl", out)

    records = {record["target"]: record for record in map(json.loads, out.read_text().splitlines())}
    signed, refused, gone = records[cards[0]], records[cards[3]], records[cards[4]]

    assert outcomes(out) == EXPECTED
    assert (signed["name"], signed["version"], signed["skills"]) == ("Shop", "1.0.0", {"count": 1, "names": ["Orders"]})
    assert signed["interface"]["binding"] == "JSONRPC"
    assert (signed["trust"]["level"], signed["trust"]["signatures"][0]["status"]) == ("SIGNED", "verified")
    assert signed["trust"]["explanation"].startswith("SIGNED: localhost vouches")
    assert signed["source"]["url"] == cards[0]
    assert "card" not in signed
    assert refused["trust"]["signatures"][0]["status"] == "bad-signature"
    assert gone["error"]["attempts"] == [{"url": cards[4], "status": 404, "reason": "not found"}]


def test_cards_are_written_where_that_is_asked(crawl, targets, cards, shop, tmp_path):
    out = tmp_path / "out.jsonl"
    crawl(targets, "--jsonl", out, "--cards")

    found = next(record for record in read_records(out) if record["target"] == cards[0])
    assert found["card"] == shop.agent.document(places={shop.agent.url: shop.url})


def test_what_the_file_holds_is_not_asked_again(crawl, targets, shop, tmp_path):
    out = tmp_path / "out.jsonl"
    crawl(targets, "--jsonl", out)
    first, asked = out.read_bytes(), len(shop.agent.requests)

    told = crawl(targets, "--jsonl", out, "--no-cache")

    assert (told["crawled"], told["held_before"]) == (0, 5)
    assert (out.read_bytes(), len(shop.agent.requests)) == (first, asked)


def test_a_line_that_was_cut_short_is_taken_out_and_asked_again(crawl, targets, tmp_path):
    out = tmp_path / "out.jsonl"
    crawl(targets, "--jsonl", out)
    whole = out.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    out.write_bytes(whole[:-20])

    told = crawl(targets, "--jsonl", out)

    assert told["crawled"] == 1
    assert outcomes(out) == EXPECTED
    assert out.read_bytes().startswith(whole[: -len(last)])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"", b""),
        (b'{"target', b""),
        (b"\n", b"\n"),
        (b'{"a":1}\n' + b"x" * 300_000, b'{"a":1}\n'),
        (b"y" * 300_000 + b"\nz", b"y" * 300_000 + b"\n"),
    ],
    ids=["empty", "one-half", "blank", "long-tail", "long-line"],
)
def test_a_file_is_mended_at_its_end_alone(tmp_path, text, kept):
    file = tmp_path / "out.jsonl"
    file.write_bytes(text)

    with Journal(file) as journal:
        assert list(journal.records()) == []
        journal.add({"target": "a", "outcome": "agent"})

    assert file.read_bytes() == kept + b'{"target":"a","outcome":"agent"}\n'


def test_retry_asks_again_where_the_network_failed_and_nowhere_else(crawl, shop, tmp_path, cards):
    shop.agent.replies["/gone.json"] = Reply(status=500)
    out, file = tmp_path / "out.jsonl", tmp_path / "targets.txt"
    file.write_text("\n".join(cards))
    crawl(file, "--jsonl", out)
    shop.agent.replies["/gone.json"] = shop.agent.replies["/unsigned.json"]
    shop.agent.requests.clear()

    told = crawl(file, "--jsonl", out, "--retry", "--html", tmp_path / "report.html")

    assert (told["crawled"], told["outcomes"], told["held_before"]) == (1, {"agent": 1}, 4)
    assert [request.path for request in shop.agent.requests] == ["/gone.json"]
    assert "5 targets, 3 agents" in (tmp_path / "report.html").read_text()


def test_a_catalog_is_a_list_of_targets(crawl, shop, cards, tmp_path):
    entries = [
        {"identifier": f"urn:x:{index}", "type": "application/a2a-agent-card+json", "url": url}
        for index, url in enumerate(cards)
    ]
    shop.agent.replies[CATALOG] = Reply.json({"specVersion": "1.0", "entries": entries})
    out = tmp_path / "out.jsonl"

    told = crawl(shop.url, "--jsonl", out)

    assert told["crawled"] == 5
    assert {record["target"] for record in read_records(out)} == {f"{shop.url}{CATALOG}#urn:x:{n}" for n in range(5)}
    assert crawl(shop.url, "--jsonl", out)["crawled"] == 0


def test_a_catalog_file_is_one_too(crawl, cards, tmp_path):
    file = tmp_path / "catalog.txt"
    rows = [{"identifier": "urn:x:1", "type": "application/a2a-agent-card+json", "url": cards[0]}]
    file.write_text(json.dumps({"specVersion": "1.0", "entries": rows}))

    assert crawl(file)["outcomes"] == {"agent": 1}


def test_targets_come_from_standard_input_and_by_name(crawl, cards, tmp_path):
    config = tmp_path / "agents.toml"
    config.write_text(f'[agents]\norders = "{cards[0]}"\n')

    assert crawl("-", "--config", config, input="orders\n")["outcomes"] == {"agent": 1}


def test_a_line_never_names_a_file(crawl, tmp_path):
    card = tmp_path / "card.json"
    card.write_text(json.dumps(FakeAgent(signers=()).document()))
    file = tmp_path / "targets.txt"
    file.write_text(f"{card}\n./card.json\n")

    assert crawl(file)["outcomes"] == {"bad-target": 2}


def test_what_must_be_proven_is_asked_of_each(crawl, targets):
    assert crawl(targets, "--require", "signed")["outcomes"]["unsigned"] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("none.txt/",), 2),
        (("ftp://x",), 2),
        (("{targets}", "--concurrency", "0"), 2),
        (("{targets}", "--jsonl", "{directory}"), 2),
        (("{targets}", "--html", "{directory}/none/report.html"), 2),
        (("{binary}",), 2),
        (("{url}/none.json",), 3),
    ],
    ids=str,
)
def test_exit_codes(command, shop, targets, tmp_path, arguments, code):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    places = {"targets": targets, "directory": tmp_path, "url": shop.url, "binary": tmp_path / "binary"}

    result = command("crawl", *(each.format(**places) for each in arguments), *shop.flags)

    assert (result.exit_code, result.stdout, "Traceback" in result.stderr) == (code, "", False)


AT_A_TERMINAL = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from a2a_discovery._cli import main
main()
"""
"""The command as a terminal starts it: what a shell starts in the background is deaf to Ctrl-C, with its children."""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
async def test_ctrl_c_leaves_a_good_file_and_the_same_command_goes_on(tmp_path):
    agent = FakeAgent(signers=())
    card = Reply.json(agent.document())
    gate = Gate()
    agent.replies |= {f"/{number}.json": card for number in range(8)}
    agent.replies["/held.json"] = gate
    out, targets = tmp_path / "out.jsonl", tmp_path / "targets.txt"
    async with agent.serve(tls=False) as running:
        # Of two at a time one is held, and the other is always the next of those before it.
        paths = ["held", *range(8), "last"]
        targets.write_text("".join(f"{running.url}/{path}.json\n" for path in paths))
        words = ["-c", AT_A_TERMINAL, "crawl", str(targets), "--local", "--jsonl", str(out), "--concurrency", "2"]
        last = agent.hold("/last.json")
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        await gate.arrived()
        await last.arrived()
        process.send_signal(signal.SIGINT)
        stdout, stderr = await process.communicate()

        assert (process.returncode, stderr) == (130, b"")
        assert b"interrupted the same command goes on from there" in stdout
        assert outcomes(out) == {f"{number}.json": "agent" for number in range(8)}

        gate.open()
        last.open()
        agent.replies |= {"/held.json": card, "/last.json": card}
        agent.requests.clear()
        again = await asyncio.create_subprocess_exec(
            sys.executable, *words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        await again.communicate()

    assert again.returncode == 0
    assert len(outcomes(out)) == 10
    assert sorted(request.path for request in agent.requests) == ["/held.json", "/last.json"]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="a pseudo-terminal is a thing of Unix")
def test_a_terminal_shows_a_bar_and_a_pipe_does_not(shop, targets):
    leader, terminal = os.openpty()
    words = (sys.executable, "-m", "a2a_discovery", "crawl", str(targets), *shop.flags)
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    shown = subprocess.run(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=terminal, check=True, timeout=60
    )
    os.close(terminal)
    bar = b""
    while True:
        try:
            part = os.read(leader, 65_536)
        except OSError:  # Linux says the end so
            part = b""
        if not part:
            break
        bar += part
    os.close(leader)

    assert b"5/5" in bar
    assert b"SIGNED 1" in bar
    assert b"crawled     5 targets" in shown.stdout
