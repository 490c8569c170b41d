"""How the package is built, held by tests: which room may know which, what is public, what stays out of the files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import a2a_discovery

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "a2a_discovery"
NAME = "a2a_discovery"

LAYERS = (
    ("errors", "_identity"),
    ("_finding", "_hosts", "_effects"),
    ("_urls",),
    ("_trust.store",),  # reads keys while a policy is made, so it stands below the rest of its room
    ("policy",),
    ("_card",),
    ("_trust.report",),
    ("_trust",),
    ("_catalog",),
    ("_target", "_select", "_credentials"),
    ("_choose",),
    ("_auth", "_oauth", "_memory", "_many", "_telemetry"),
    ("_locate", "_files"),
    ("_entries", "registries", "_config"),
    ("_browse",),
    ("_extended",),
    ("_flow",),
    ("_check", "_upgrade"),
    ("_http",),
    ("bridges", "_transport"),
    ("_options", "_perform", "_listing"),
    ("_session", "_agent"),
    ("_catalogs",),
    ("_discovery",),
    ("_sync",),
    ("testing",),
    ("",),  # the face: `from a2a_discovery import ...`
    ("_cli",),
    ("__main__",),
)
"""Rooms, lowest first: a room imports from lower layers and from itself, never sideways or upwards."""

RANKS = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE = words("""
    _card _trust _catalog _target _locate _entries _browse registries _select _extended _flow _effects _hosts _urls
    _finding _check _choose _upgrade errors policy
""")
IMPURE = words("asyncio httpx httpcore hishel time socket anyio sqlite3 threading redis")

SHELLS = words("_http _discovery _sync _agent _auth _transport testing _cli bridges")
KEPT_BEHIND = {
    "httpx": SHELLS,
    "httpcore": SHELLS,
    "hishel": SHELLS,
    "joserfc": {"_trust", "testing"},
    "jcs": {"_trust", "testing"},
    "pydantic": {"_card"},
    "typer": {"_cli"},
    "rich": {"_cli"},
    "a2a": {"bridges"},
    "grpc": {"bridges"},
    "google": {"bridges"},
    "authlib": {"_oauth"},
}
"""Library → the only rooms that may import it."""

PUBLIC = words("""
    Agent AgentCard AgentInterface AuthError BlockedError Cache CardError CatalogEntry Credentials Discovery
    DiscoveryError ExtendedCardError FetchError Finding InterfaceError Limits NetworkPolicy NotFoundError Outcome
    SignatureCheck SyncDiscovery Trust TrustError TrustPolicy TrustReport UsageError check_card discover discover_sync
""")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    """The module's name below the package: ``_card.read``, ``_card``, or ``""`` for the face."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def room(module: str) -> str:
    """The longest name in the layers that holds the module."""
    while module and module not in RANKS:
        module = module.rpartition(".")[0]
    return module


def top(module: str) -> str:
    return module.partition(".")[0]


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports when it runs, at its head or inside a function; not for type checkers only."""
    yield from _imports(ast.parse(path.read_text("utf-8")))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        for other in node.orelse:
            yield from _imports(other)
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        for alias in node.names:
            # `from package import module` names a module, `from module import name` does not
            whole = f"{node.module}.{alias.name}"
            yield whole if _is_ours(whole) else str(node.module)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def _is_ours(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return top(module) == NAME and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def ids(path: Path) -> str:
    return dotted(path) or NAME


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_a_module_imports_only_from_lower_rooms(path):
    module = dotted(path)
    mine = room(module)
    assert mine or not module, f"{module} has no place in the layers"
    if not module:
        return  # the face hands out names of every room

    for imported in imports(path):
        if top(imported) != NAME:
            continue
        theirs = room(imported.removeprefix(NAME).removeprefix("."))
        assert theirs == mine or RANKS[theirs] < RANKS[mine], f"{module} imports {imported}"


@pytest.mark.parametrize("path", [path for path in modules() if top(dotted(path)) in PURE], ids=ids)
def test_the_core_knows_no_socket_no_clock_and_no_event_loop(path):
    assert IMPURE.isdisjoint(map(top, imports(path)))
    awaited = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert not any(isinstance(node, awaited) for node in ast.walk(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_a_heavy_library_stays_behind_few_modules(path):
    for library in map(top, imports(path)):
        assert top(dotted(path)) in KEPT_BEHIND.get(library, {top(dotted(path))}), library


def test_importing_the_package_loads_no_library_that_a_first_call_may_not_need():
    heavy = sorted(words("hishel joserfc jcs publicsuffixlist sqlite3 cryptography redis authlib pydantic typer a2a"))
    script = f"import sys, {NAME}; print([name for name in {heavy} if name in sys.modules])"

    # rich is not among them: httpx itself imports it where it is installed
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)

    assert loaded.stdout.strip() == "[]"


def test_the_public_names_are_these_and_no_others():
    assert list(a2a_discovery.__all__) == sorted(PUBLIC)
    assert len(PUBLIC) <= 30


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_there_and_says_what_it_is_for(name):
    assert (getattr(a2a_discovery, name).__doc__ or "").strip()
    assert name in dir(a2a_discovery)


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = a2a_discovery.no_such_name


# Written in pieces, so that this file does not hold them.
KEPT_OUT = re.compile(
    "|".join(
        (
            r"(?<![\w.])/" + r"(?:work|home|root|Users)/\w",
            r"\.\./" + "shared",
            "(?:py" + r"pi|pythonhosted)\.org",
            "registry" + r"\.(?:npmjs|yarnpkg)",
            "deb" + r"\.debian\.org",
        )
    )
)


def tracked() -> list[Path]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git work tree: which files belong to the project is not known")
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_place_on_one_machine_or_a_package_registry():
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in KEPT_OUT.finditer(text)]

    assert found == []


def test_no_lock_file_pins_where_packages_come_from():
    locks = {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock"}

    assert [str(path.relative_to(ROOT)) for path in tracked() if path.name in locks] == []
