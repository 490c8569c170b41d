"""``a2a-discover trust``: pin a key, see what is remembered, what changed since, and forget it."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from a2a_discovery import Discovery, Trust, TrustError
from a2a_discovery.testing import FakeAgent, Reply, Signer

ROOT = Path(__file__).parents[2]
KEYS = "/.well-known/jwks.json"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """``agents.toml`` of a working directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "agents.toml"


@pytest.fixture
def pin(command, shop, config):
    """``trust pin`` of the fake agent, confirmed."""

    def run(*flags, target=None, yes=True):
        words = (target or shop.url, *shop.flags, *(("--yes",) if yes else ()), *flags)
        return command("trust", "pin", *words)

    return run


@pytest.fixture
def remembered(command, config):
    """What ``trust list --json`` prints."""

    def run(*flags):
        return json.loads(command("trust", "list", "--json", *flags).stdout)

    return run


@pytest.fixture
def diff(command, shop, config):
    def run(*flags):
        result = command("trust", "diff", shop.url, *shop.flags, "--json", *flags)
        return result.exit_code, json.loads(result.stdout)

    return run


def discovered(shop, config, name, **options):
    """The agent of that name, as a program finds it."""
    return asyncio.run(Discovery.from_config(config, network=shop.running.network, **options).discover(name))


def changed(facts):
    return {name for name, fact in facts.items() if fact["changed"]}


# pin


def test_pinning_makes_the_next_discovery_of_the_name_pinned(pin, shop, config):
    result = pin("--name", "orders")

    assert (result.exit_code, result.stderr) == (0, "")
    found = discovered(shop, config, "orders")
    assert (found.trust.level, found.trust.verified.key_source) == (Trust.PINNED, "pinned")
    assert found.trust.verified.thumbprint in result.stdout


def test_it_shows_who_signs_before_it_writes(pin, shop):
    shop.agent.card["x-vendor"] = 1
    shop.agent.signers[:] = [Signer(kid="key-1", form="spec")]

    shown = pin().stdout

    assert "signed by   localhost" in shown
    assert "key         key-1 (ES256)" in shown
    assert f"key from    same-site-jku {shop.url}{KEYS}" in shown
    assert "form        spec" in shown
    assert "unprotected /x-vendor" in shown
    assert shown.index("signed by") < shown.index("writes ") < shown.index("pinned ")


def test_the_entry_holds_location_authority_key_thumbprint_and_jku(pin, shop, config):
    told = json.loads(pin("--json", "--name", "orders").stdout)

    text = config.read_text()
    entry = tomllib.loads(text)["agents"]["orders"]
    (key,) = entry["trust"]["keys"]["localhost"]["keys"]
    assert entry["target"] == shop.url
    assert entry["trust"]["require"] == "PINNED"
    assert key == shop.agent.signers[0].jwk
    assert entry == told["entry"]
    assert told["keys"][0]["thumbprint"] in text
    assert f"from {shop.url}{KEYS}" in text
    assert "localhost signed its card with" in text


def test_a_name_is_what_was_typed_so_that_the_same_call_is_pinned(pin, shop, config):
    pin()

    assert discovered(shop, config, shop.url).trust.level is Trust.PINNED


def test_a_pinned_name_refuses_another_key_until_it_is_pinned_again(pin, shop, config, get):
    shop.agent.headers["keys"] = {"cache-control": "max-age=0"}
    pin("--name", "orders")
    shop.agent.rotate_keys()

    with pytest.raises(TrustError):
        discovered(shop, config, "orders")
    assert get("--config", str(config), "--refresh", target="orders").exit_code == 1
    assert pin("--name", "orders", target="orders").exit_code == 0
    assert discovered(shop, config, "orders").trust.level is Trust.PINNED
    assert config.read_text().count("[agents.orders]") == 1


@pytest.mark.parametrize("alg", ["RS256", "ES384", "Ed25519"])
def test_keys_of_each_kind_are_written_whole(pin, shop, config, alg):
    shop.agent.signers[:] = [Signer(alg=alg)]
    pin("--name", "orders")

    assert discovered(shop, config, "orders").trust.level is Trust.PINNED


def test_a_key_that_the_caller_had_in_a_file_can_be_pinned(pin, shop, config, tmp_path):
    shop.agent.signers[:] = [Signer(jku=None, published=False)]
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [shop.agent.signers[0].jwk]}))

    assert pin("--name", "orders", "--keys", str(file)).exit_code == 0
    file.unlink()
    assert discovered(shop, config, "orders").trust.level is Trust.PINNED


def test_a_card_file_can_be_pinned(command, config, tmp_path):
    agent = FakeAgent(signers=[Signer(jku=None, published=False)])
    (tmp_path / "card.json").write_text(json.dumps(agent.document()))
    (tmp_path / "keys.json").write_text(json.dumps(agent.signers[0].jwk))

    result = command("trust", "pin", "./card.json", "--name", "orders", "--yes", "--keys", "shop.example=keys.json")

    assert (result.exit_code, result.stderr) == (0, "")
    assert asyncio.run(Discovery.from_config(config).discover("orders")).trust.level is Trust.PINNED


def test_an_unsigned_card_is_not_pinned(pin, shop, config):
    shop.agent.signers.clear()

    result = pin()

    assert (result.exit_code, "[unsigned]" in result.stderr) == (1, True)
    assert not config.exists()


def test_nobody_there_to_confirm_needs_a_flag(pin, config):
    for flags in ((), ("--json",)):
        result = pin(*flags, yes=False)

        assert (result.exit_code, "--yes" in result.stderr) == (2, True)
    assert not config.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a thing of Unix")
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1)])
def test_a_person_is_asked(shop, config, answer, code):
    leader, terminal = pty.openpty()
    os.write(leader, answer)
    words = ("trust", "pin", shop.url, *shop.flags, "--name", "orders")
    done = subprocess.run(
        [sys.executable, "-m", "a2a_discovery", *words],
        stdin=terminal,
        capture_output=True,
        check=False,
        cwd=config.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    os.close(leader)
    os.close(terminal)

    assert (done.returncode, config.exists()) == (code, answer == b"y\n")
    assert b"Is this the key" in done.stderr


def test_the_rest_of_the_file_stays_as_it_is(pin, shop, config):
    before = '# ours\n[agents]\nfirst = "first.example" # kept\n\n[agents.orders]\ntarget = "x.example"\n' + (
        'bindings = ["GRPC", "JSONRPC"]\n[agents.orders.credentials]\nbearer_env = "NOT_SET"\n\n# next\n[agents.last]\n'
        'base_url = "https://last.example/a"\n'
    )
    config.write_text(before)
    os.chmod(config, 0o640)

    assert pin("--name", "orders").exit_code == 0

    text = config.read_text()
    agents = tomllib.loads(text)["agents"]
    assert text.startswith('# ours\n[agents]\nfirst = "first.example" # kept\n')
    assert '# next\n[agents.last]\nbase_url = "https://last.example/a"\n' in text
    assert agents["orders"]["target"] == shop.url
    assert agents["orders"]["bindings"] == ["GRPC", "JSONRPC"]
    assert agents["orders"]["credentials"] == {"bearer_env": "NOT_SET"}
    assert config.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in config.parent.iterdir() if "agents" in each.name) == ["agents.toml"]


def test_pinning_twice_leaves_one_entry_and_one_comment(pin, config):
    pin("--name", "orders")
    first = config.read_text()
    pin("--name", "orders")

    assert config.read_text() == first


def test_an_entry_on_one_line_gives_way(pin, config):
    config.write_text('[agents]\norders = "x.example"\nother = "y.example"\n')

    assert pin("--name", "orders").exit_code == 0
    assert tomllib.loads(config.read_text())["agents"]["other"] == "y.example"


@pytest.mark.parametrize(
    "text",
    [
        'agents = { orders = "x.example" }\n',
        'agents.orders = "x.example"\n',
        '[agents]\norders = { target = "x.example", bindings = [\n"GRPC",\n] }\n',
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(pin, config, text):
    config.write_text(text)

    result = pin("--name", "orders")

    assert (result.exit_code, config.read_text()) == (2, text)
    assert "by hand" in result.stderr


@pytest.mark.parametrize("text", ["agents = 1", "[agents", "\xff"])
def test_2_for_a_file_that_is_no_configuration(pin, shop, config, text):
    config.write_bytes(text.encode("latin-1"))

    assert pin().exit_code == 2
    assert config.read_bytes() == text.encode("latin-1")


def test_a_json_file_is_written_as_json(pin, shop, config, tmp_path):
    file = tmp_path / "agents.json"
    file.write_text('{"agents": {"other": "y.example"}}')

    assert pin("--config", str(file), "--name", "orders").exit_code == 0

    assert list(json.loads(file.read_text())["agents"]) == ["other", "orders"]
    assert discovered(shop, file, "orders").trust.level is Trust.PINNED


@pytest.mark.parametrize("kid", ["a\nb", '"]]\n[agents.evil]', "\x1b[31m", "\u202eevil", "ñ"], ids=ascii)
def test_a_key_id_cannot_write_into_the_file_or_onto_the_terminal(pin, shop, config, kid):
    shop.agent.signers[:] = [Signer(kid=kid)]

    result = pin("--name", "orders")

    assert result.exit_code == 0, result.stderr
    assert list(tomllib.loads(config.read_text())["agents"]) == ["orders"]
    for text in (config.read_text(), result.stdout):
        assert all(each.isprintable() for each in text.replace("\n", ""))
    assert discovered(shop, config, "orders").trust.level is Trust.PINNED


# list


def test_list_says_what_is_remembered(get, shop, command, remembered):
    get()

    (note,) = remembered()
    shown = command("trust", "list").stdout

    assert note["location"] == shop.url
    assert (note["level"], note["trusted"], note["authority"]) == ("SIGNED", "first use", "localhost")
    assert (note["jku_hosts"], note["version"], note["pinned_as"]) == (["localhost"], "1.0.0", [])
    assert note["flags"] == ["--local", "--ca FILE"]
    assert len(note["thumbprints"]) == 1
    assert shown.startswith(f"SIGNED      {shop.url}\n")
    assert "first use; by localhost; keys at localhost; version 1.0.0; since 20" in shown
    assert f"key {note['thumbprints'][0]}" in shown


def test_list_says_what_is_pinned_and_as_what(pin, get, remembered, config):
    get()
    pin("--name", "orders")

    (note,) = remembered("--config", str(config))

    assert (note["level"], note["trusted"], note["pinned_as"]) == ("PINNED", "pinned", ["orders"])


def test_list_tells_what_is_not_signed(get, shop, remembered):
    shop.agent.signers.clear()
    get()

    assert [(note["level"], note["trusted"]) for note in remembered()] == [("CHANNEL", "unsigned")]


def test_list_of_nothing_is_empty(remembered):
    assert remembered() == []


def test_a_hostile_version_is_shown_as_text(get, shop, command):
    shop.agent.card["version"] = "\x1b[2J\n\u202eX"
    get()

    shown = command("trust", "list").stdout

    assert all(each.isprintable() for each in shown.replace("\n", ""))


# forget


def test_after_a_downgrade_the_flag_line_forgets_and_then_it_is_accepted(get, shop, command, config):
    get()
    shop.agent.signers.clear()
    refused = get("--refresh")

    line = next(each for each in refused.stderr.splitlines() if "in this command" in each)
    words = line.partition("a2a-discover ")[2].split()
    result = command(*words)

    assert "[downgraded]" in refused.stderr
    assert words == ["trust", "forget", shop.url]
    assert (result.exit_code, result.stdout) == (0, f"forgotten   1 of {shop.url}\n")
    assert get("--refresh").exit_code == 0


def test_forget_takes_the_host_as_it_is_typed(get, shop, command, config, remembered):
    get()

    result = command("trust", "forget", f"localhost:{shop.running.port}", "--json")

    assert json.loads(result.stdout)["forgotten"] == 1
    assert remembered() == []


def test_forget_says_where_nothing_was_remembered_and_what_is_still_pinned(pin, command, config):
    pin("--name", "orders")

    first = command("trust", "forget", "orders")
    again = command("trust", "forget", "orders")

    assert "agents.toml still says what orders must prove" in first.stdout
    assert (again.exit_code, "nothing was remembered of orders" in again.stdout) == (0, True)


def test_2_for_a_card_file(command, config):
    assert command("trust", "forget", "./card.json").exit_code == 2


# diff


def test_nothing_changed_is_0(get, diff):
    get()

    code, told = diff()

    assert (code, told["changed"], changed(told["facts"])) == (0, False, set())


def test_a_rotated_key_is_a_change_of_keys_alone(get, shop, diff):
    get()
    shop.agent.rotate_keys()

    code, told = diff()

    assert (code, changed(told["facts"])) == (1, {"thumbprints"})
    assert told["facts"]["thumbprints"]["before"] != told["facts"]["thumbprints"]["now"]


def test_a_signature_that_is_gone_is_a_change_of_level(get, shop, diff, command):
    get()
    shop.agent.signers.clear()

    code, told = diff()

    assert (code, changed(told["facts"])) == (1, {"level", "jku_hosts", "thumbprints"})
    assert told["facts"]["level"] == {"before": "SIGNED", "now": "CHANNEL", "changed": True}
    shown = command("trust", "diff", shop.url, *shop.flags).stdout
    assert "level       changed from SIGNED to CHANNEL" in shown
    assert "version     1.0.0: as before" in shown


def test_a_card_that_is_refused_is_compared_all_the_same(get, shop, diff):
    get()
    card = shop.agent.document(places={shop.agent.url: shop.url})
    shop.agent.replies["card"] = Reply.json({**card, "name": "Other"})

    code, told = diff()

    assert (code, told["facts"]["level"]["now"], told["facts"]["version"]["changed"]) == (1, "CHANNEL", False)


def test_a_new_version_is_a_change(get, shop, diff):
    get()
    shop.agent.card["version"] = "2.0.0"

    assert changed(diff()[1]["facts"]) == {"version"}


def test_a_diff_keeps_and_remembers_nothing(get, shop, diff, remembered):
    get()
    before = remembered()
    shop.agent.rotate_keys()
    diff()

    assert remembered() == before
    assert diff()[0] == 1


def test_a_pinned_name_is_compared_with_its_keys(pin, shop, command, config):
    pin("--name", "orders")

    same = command("trust", "diff", "orders", *shop.flags)
    shop.agent.rotate_keys()
    other = command("trust", "diff", "orders", *shop.flags)

    assert (same.exit_code, "PINNED: as before" in same.stdout) == (0, True)
    assert (other.exit_code, "thumbprints changed from" in other.stdout.replace("  ", " ")) == (1, True)


def test_3_for_what_was_never_seen(command, shop, config):
    result = command("trust", "diff", shop.url, *shop.flags)

    assert (result.exit_code, "nothing is remembered" in result.stderr) == (3, True)
    assert shop.agent.requests == []
