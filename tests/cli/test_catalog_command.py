"""``a2a-discover catalog``: what a catalog lists, chosen by what it says, and shown as text."""

import json

import pytest

from a2a_discovery.testing import FakeAgent, Reply

PLACE = "/.well-known/ai-catalog.json"
CARD_TYPE = "application/a2a-agent-card+json"


def listed(identifier, **members):
    return {"identifier": identifier, "displayName": identifier.rpartition(":")[2], "type": CARD_TYPE, **members}


@pytest.fixture
def catalog(shop):
    """Three agents, of which one is inside the catalog, and a row that is broken."""
    card = FakeAgent(shop.url, signers=()).document()
    card["skills"][0]["tags"] = ["parcels"]
    rows = [
        listed("urn:air:shop.example:orders", url=f"{shop.url}/orders.json", tags=["Shop"], description="Takes orders"),
        listed("urn:air:shop.example:refunds", url=f"{shop.url}/refunds.json", version="2.1"),
        listed("urn:air:shop.example:where is it", data=card),
        {"identifier": 7},
    ]
    shop.agent.replies[PLACE] = Reply.json({"specVersion": "1.0", "entries": rows})
    return rows


@pytest.fixture
def names(command, shop, catalog):
    """Names of the entries that ``catalog --json`` gives."""

    def run(*flags, target=None):
        result = command("catalog", target or shop.url, *shop.flags, "--json", *flags)
        assert result.exit_code == 0, result.stderr
        return [entry["name"] for entry in json.loads(result.stdout)["entries"]]

    return run


def test_it_lists_each_entry_with_what_can_be_typed_to_discover_it(command, shop, catalog):
    result = command("catalog", shop.url, *shop.flags)

    assert (result.exit_code, result.stderr) == (0, "")
    assert [line[12:] for line in result.stdout.splitlines() if line.startswith("entry ")] == [
        "orders",
        "refunds 2.1",
        "where is it",
    ]
    assert f"{shop.url}{PLACE}#urn:air:shop.example:orders\n" in result.stdout
    assert f"card at {shop.url}/orders.json" in result.stdout
    assert "its card is inside the catalog" in result.stdout
    assert "tags: Shop" in result.stdout
    assert "listed      3 entries" in result.stdout
    assert "left out    /entries/3" in result.stdout


def test_no_card_is_fetched_for_it(names, shop):
    names()

    assert {request.path for request in shop.agent.requests} <= {PLACE, "/.well-known/ard.json", "/"}


def test_a_target_that_it_prints_is_one_that_get_takes(command, shop, catalog):
    told = json.loads(command("catalog", shop.url, *shop.flags, "--json").stdout)
    target = told["entries"][2]["target"]

    assert target.endswith("#urn:air:shop.example:where%20is%20it")
    found = json.loads(command("get", target, *shop.flags, "--json", "--require", "channel").stdout)
    assert found["card"]["name"] == "Shop"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--tag", "shop"), ["orders"]),
        (("--tag", "parcels"), ["where is it"]),
        (("--skill", "Orders"), ["where is it"]),
        (("--text", "takes"), ["orders"]),
        (("--identifier", "urn:air:shop.example:refunds"), ["refunds"]),
        (("--limit", "1"), ["orders"]),
        (("--tag", "none-such"), []),
    ],
    ids=" ".join,
)
def test_it_chooses(names, flags, expected):
    assert names(*map(str, flags)) == expected


def test_a_file_is_a_catalog_too(names, catalog, tmp_path):
    file = tmp_path / "catalog.json"
    file.write_text(json.dumps({"specVersion": "1.0", "entries": catalog}))

    assert names(target=str(file)) == ["orders", "refunds", "where is it"]


def test_what_was_left_out_is_in_the_json(command, shop, catalog):
    told = json.loads(command("catalog", shop.url, *shop.flags, "--json").stdout)

    assert list(told) == ["entries", "findings"]
    assert [finding["pointer"] for finding in told["findings"]] == ["/entries/3"]
    assert told["entries"][0] | {"via": []} == {
        "identifier": "urn:air:shop.example:orders",
        "name": "orders",
        "target": f"{shop.url}{PLACE}#urn:air:shop.example:orders",
        "source": f"{shop.url}{PLACE}",
        "url": f"{shop.url}/orders.json",
        "inline": False,
        "description": "Takes orders",
        "version": None,
        "updated_at": None,
        "tags": ["Shop"],
        "digest": None,
        "type": CARD_TYPE,
        "publisher": "shop.example",
        "via": [],
    }


def test_a_credential_goes_to_the_catalog(command, shop, catalog):
    seen = []
    listing = shop.agent.replies.pop(PLACE)

    def answer(request):
        seen.append(request.authorization)
        return listing if request.authorization else Reply(status=401)

    shop.agent.replies["/list.json"] = answer
    url = f"{shop.url}/list.json"

    refused = command("catalog", url, *shop.flags)
    told = command("catalog", url, *shop.flags, "--bearer-env", "TOKEN", env={"TOKEN": "s3cret"})

    assert (refused.exit_code, told.exit_code, seen[-1]) == (4, 0, "Bearer s3cret")
    assert "s3cret" not in told.output


def test_hostile_text_is_shown_as_text(command, shop):
    text = "\x1b[2J\u202e[bold]x\nentry       forged"
    row = listed(text, url=f"{shop.url}/x.json", displayName=text, description=text, version=text, tags=[text])
    shop.agent.replies[PLACE] = Reply.json({"specVersion": "1.0", "entries": [row]})

    result = command("catalog", shop.url, *shop.flags)

    assert result.exit_code == 0
    assert all(each.isprintable() for each in result.stdout.replace("\n", ""))
    assert sum(line.startswith("entry ") for line in result.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("./none.json",), 3),
        (("ftp://shop.example",), 2),
        (("shop.example", "--registry", "none-such"), 2),
        (("shop.example", "--limit", "0"), 2),
    ],
    ids=str,
)
def test_exit_codes(command, arguments, code):
    result = command("catalog", *arguments)

    assert (result.exit_code, result.stdout) == (code, "")


def test_3_where_no_catalog_is(command, shop):
    assert command("catalog", f"{shop.url}/none.json", *shop.flags).exit_code == 3
