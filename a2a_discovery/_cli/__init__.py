"""The command ``a2a-discover``. typer and rich are loaded here and nowhere else (extra: ``cli``)."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command; it ends with `SystemExit`, whose codes docs/command.md lists."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as exc:
        needed = 'pip install "a2a_discovery[cli]"'
        print(f"a2a-discover needs typer and rich ({exc.name} is missing): {needed}", file=sys.stderr)
        raise SystemExit(1) from None
    from a2a_discovery._cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a card may be in any language, a terminal may know ASCII alone
    app(prog_name="a2a-discover")
