"""The command in this process and in one of its own, against a fake agent on a real loopback port."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from a2a_discovery._cli.app import app
from a2a_discovery.testing import FakeAgent, Running

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A cache directory and an environment of the test's own; the library's logger as it was."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    log = logging.getLogger("a2a_discovery")
    handlers, level = log.handlers[:], log.level
    yield
    log.handlers[:] = handlers
    log.setLevel(level)


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A fake agent that is served, and how the command reaches it."""

    agent: FakeAgent
    running: Running
    ca: Path

    @property
    def url(self) -> str:
        return self.running.url

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--local", "--ca", str(self.ca))


@pytest.fixture
def shop(tmp_path):
    """An agent with an extended card, over TLS of a private authority."""
    agent = FakeAgent(extended=True)
    with agent.serve_in_thread() as running:
        path = tmp_path / "ca.pem"
        running.ca.cert_pem.write_to_path(str(path))
        yield Shop(agent=agent, running=running, ca=path)


@pytest.fixture
def command():
    """Run the command in this process."""

    def run(*arguments, **options):
        return CliRunner().invoke(app, [str(each) for each in arguments], **options)

    return run


@pytest.fixture
def get(command, shop):
    """``a2a-discover get`` on the fake agent."""

    def run(*flags, target=None):
        return command("get", shop.url if target is None else target, *shop.flags, *flags)

    return run


@pytest.fixture
def get_json(get):
    """The object that ``--json`` prints, where it prints nothing else."""

    def run(*flags, target=None):
        result = get("--json", *flags, target=target)
        assert (result.exit_code, result.stderr) == (0, "")
        return json.loads(result.stdout)

    return run


@pytest.fixture
def process():
    """Run Python in a process of its own, as a shell would run the command."""

    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-W", "error", *map(str, arguments)],
            capture_output=True,
            check=False,
            env={**os.environ, **environment},
            cwd=ROOT,
            timeout=60,
            encoding="utf-8",
        )

    return run
