"""The command as a shell runs it: its entry points, a missing extra, colours, the demo."""

import pytest

BLOCK = "import sys; sys.modules['{name}'] = None; sys.argv = ['a2a-discover', {arguments}]; "
MAIN = "from a2a_discovery._cli import main; main()"


@pytest.mark.parametrize("name", ["typer", "rich"])
def test_without_the_extra_one_line_says_what_to_install(process, name):
    result = process("-c", BLOCK.format(name=name, arguments="'get', 'shop.example'") + MAIN)

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert 'pip install "a2a_discovery[cli]"' in result.stderr


def test_the_demo_without_its_extra_says_what_to_install(process):
    result = process("-c", BLOCK.format(name="trustme", arguments="'demo'") + MAIN)

    assert (result.returncode, result.stdout) == (1, "")
    assert 'pip install "a2a_discovery[cli,testing]"' in result.stderr


def test_the_package_runs_as_the_command(process):
    result = process("-m", "a2a_discovery", "--version")

    assert (result.returncode, result.stdout) == (0, "a2a-discover 0.1.0\n")


def test_without_arguments_it_explains_itself(process):
    result = process("-m", "a2a_discovery")

    assert result.returncode == 2
    assert "get" in result.stdout + result.stderr
    assert "demo" in result.stdout + result.stderr


def test_colours_come_when_forced_and_go_with_no_color(process, shop):
    arguments = ("-m", "a2a_discovery", "get", shop.url, *shop.flags)

    assert "\x1b[" in process(*arguments, FORCE_COLOR="1").stdout
    assert "\x1b[3" not in process(*arguments, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in process(*arguments).stdout


@pytest.fixture(scope="module")
def demo():
    """The demo, piped."""
    import subprocess
    import sys

    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "a2a_discovery", "demo"],
        capture_output=True,
        check=False,
        timeout=60,
        encoding="utf-8",
    )


def test_the_demo_walks_every_step_and_ends_well(demo):
    assert (demo.returncode, demo.stderr) == (0, "")
    steps = [line[0] for line in demo.stdout.splitlines() if line[:1].isdigit()]
    assert steps == list("12345678")


@pytest.mark.parametrize(
    "shown",
    [
        '< 200 ETag: "',
        "from the cache",
        'If-None-Match: "',
        "< 304",
        "form 'spec'",
        "refused, TrustError 'bad-signature'",
        "es256-1 is gone; es256-2 verified it",
        "/supportedInterfaces/1/url: plain http",
        "Authorization: Bearer ***",
        'await discover("shop.example"',
    ],
)
def test_the_demo_shows(demo, shown):
    assert shown in demo.stdout


def test_the_demo_fits_a_terminal_and_a_pipe_and_shows_no_token(demo):
    assert max(map(len, demo.stdout.splitlines())) <= 80
    assert "\x1b" not in demo.stdout
    assert "demo-token" not in demo.stdout
