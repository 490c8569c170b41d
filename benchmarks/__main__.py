"""``python -m benchmarks [ROW ...]``: measure, and print the table."""

from __future__ import annotations

import argparse
import os
import platform
import sys

from benchmarks import catalogs, crowd, fleet, line, process, reading, signatures  # noqa: F401  (each brings its rows)
from benchmarks.table import ROWS, printed


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Ratios, measured alternately in one run."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of: {', '.join(ROWS)}; default: all")
    parser.add_argument("--markdown", action="store_true", help="as it stands in docs/performance.md")
    parser.add_argument("--agents", type=int, default=crowd.MANY, help="of the rows great-crowd and crawl")
    arguments = parser.parse_args()
    crowd.MANY = arguments.agents
    unknown = set(arguments.rows) - ROWS.keys()
    if unknown:
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    results = []
    for name in arguments.rows or ROWS:
        print(f"... {name}", file=sys.stderr, flush=True)
        results += ROWS[name]()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}\n")
    print(printed(results, markdown=arguments.markdown))


if __name__ == "__main__":
    main()
