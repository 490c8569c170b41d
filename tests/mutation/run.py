"""Run the tests against each mutant of some modules, and list those that no test notices.

::

    python tests/mutation/run.py a2a_discovery/_trust tests/trust --out mutants.jsonl [--part 1/2] [--only keys.py]

Each test is run once with its lines recorded. A mutant is put in the place of the functions it changes, in a fork of
this process, and only the tests that ran the changed line are run against it. The file gets a JSON object for each; a
run that was ended goes on with those that it lacks. docs/decisions/mutation.md says how to read it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import signal
import sys
import time
import types
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from mutants import Mutant, mutants, mutated  # noqa: E402

SECONDS = 90
"""For the tests of one mutant: one that makes a loop endless is noticed too."""
SURVIVED, NOTICED, ENDLESS, NOT_LOADED = "survived", "noticed", "endless", "does not load"
_CODES = {0: SURVIVED, 1: NOTICED, -signal.SIGALRM: ENDLESS, 40: NOT_LOADED}

settings.register_profile(
    "mutation", max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("mutation")


class Lines:
    """Which tests run which line, and how long each takes."""

    def __init__(self, package: Path) -> None:
        self.package = str(package)
        self.tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        seen = set()

        def line(frame: types.FrameType, _event: str, _arg: Any) -> Any:
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: types.FrameType, event: str, arg: Any) -> Any:
            return line(frame, event, arg) if frame.f_code.co_filename.startswith(self.package) else None

        began = time.perf_counter()
        sys.settrace(call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.perf_counter() - began
            for place in seen:
                self.tests[place].add(item.nodeid)


class Mutate:
    """In place of pytest's loop over the tests: a loop over the mutants."""

    def __init__(self, lines: Lines, modules: list[Path], out: Path, part: tuple[int, int]) -> None:
        self.lines, self.modules, self.out, self.part = lines, modules, out, part
        self.counts: Counter[str] = Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        known = [json.loads(line) for line in self.out.read_text().splitlines()] if self.out.exists() else []
        done = {(each["module"], each["number"]) for each in known}
        self.counts.update(each["outcome"] for each in known)
        with self.out.open("a") as out:
            for module in self.modules:
                source = module.read_text("utf-8")
                for number, mutant in enumerate(mutants(source)):
                    if number % self.part[1] != self.part[0] - 1 or (module.name, number) in done:
                        continue
                    tests = [items[name] for name in self._tests(module, source, mutant) if name in items]
                    outcome = attempt(session, name_of(module), mutated(source, mutant), tests)
                    self.counts[outcome] += 1
                    row = {"module": module.name, "number": number, "line": mutant.line, "kind": mutant.kind}
                    row |= {"what": mutant.what, "outcome": outcome, "tests": len(tests)}
                    print(json.dumps(row), file=out, flush=True)
        return True

    def _tests(self, module: Path, source: str, mutant: Mutant) -> list[str]:
        """Those that run the line; of a line that runs at import, and of one that none runs, those of all around it."""
        tests = self.lines.tests.get((str(module), mutant.line), set())
        around = [
            (each.lineno, each.end_lineno or 0)
            for each in ast.walk(ast.parse(source))
            if isinstance(each, ast.FunctionDef) and each.body[0].lineno <= mutant.line <= (each.end_lineno or 0)
        ]
        if not around:
            tests = set(self.lines.seconds)
        elif not tests:
            first, last = max(around)
            tests = {name for line in range(first, last + 1) for name in self.lines.tests.get((str(module), line), ())}
        # Of many cases of one test the first two come first: a mutant that they notice is soon done with.
        cases: Counter[str] = Counter()
        order = []
        for name in sorted(tests, key=lambda name: self.lines.seconds[name]):
            test = name.partition("[")[0]
            order.append((cases[test] >= 2, self.lines.seconds[name], name))
            cases[test] += 1
        return [name for _, _, name in sorted(order)]


def attempt(session: pytest.Session, module: str, source: str, tests: list[pytest.Item]) -> str:
    """Run tests against a mutant, in a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return _CODES[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
    signal.alarm(SECONDS)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = 1
    try:
        try:
            install(module, source)
        except BaseException:  # noqa: BLE001  (a constant that breaks the module itself)
            os._exit(40)
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if session.testsfailed:
                break
        else:
            code = 0
    finally:
        os._exit(code)


def install(name: str, source: str) -> None:
    """Put a module's mutant in its place, for those too that imported from it."""
    module = importlib.import_module(name)
    new = {"__name__": name, "__file__": module.__file__, "__builtins__": __builtins__}
    exec(compile(source, str(module.__file__), "exec"), new)
    swap(vars(module), new, name)
    for key, value in new.items():
        before = vars(module).get(key)
        if key.startswith("__") or key not in vars(module) or isinstance(value, types.ModuleType | type):
            continue
        if function_of(value) is None and repr(before) != repr(value):
            for other in list(sys.modules.values()):
                if getattr(other, "__dict__", {}).get(key) is before:
                    setattr(other, key, value)


def swap(old: Any, new: Any, module: str) -> None:
    """Give the functions and methods that are there the code of the new ones."""
    for name, value in new.items():
        mine, theirs = function_of(old.get(name)), function_of(value)
        if mine is not None and theirs is not None and theirs.__module__ == module:
            mine.__code__ = theirs.__code__
            mine.__defaults__, mine.__kwdefaults__ = theirs.__defaults__, theirs.__kwdefaults__
        elif isinstance(value, type) and value.__module__ == module and isinstance(old.get(name), type):
            swap(vars(old[name]), vars(value), module)


def function_of(value: Any) -> types.FunctionType | None:
    """The function inside a method, a property or a cache."""
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__wrapped__", getattr(value, "__func__", value))
    return value if isinstance(value, types.FunctionType) else None


def name_of(module: Path) -> str:
    return ".".join(module.relative_to(ROOT).with_suffix("").parts)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("package", type=Path)
    options.add_argument("tests", nargs="+")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--part", default="1/1", help="of several processes, each with a file of its own")
    options.add_argument("--only", action="append", help="the name of a file in the package")
    given = options.parse_args()
    package = given.package.resolve()
    modules = [each for each in sorted(package.glob("*.py")) if not given.only or each.name in given.only]
    quiet = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore", *given.tests]
    lines = Lines(package)
    if pytest.main(quiet, plugins=[lines]) != 0:
        sys.exit("the tests fail without any mutant")
    first, _, of = given.part.partition("/")
    mutate = Mutate(lines, modules, given.out, (int(first), int(of)))
    pytest.main([*quiet, "-s"], plugins=[mutate])
    print(dict(mutate.counts))  # noqa: T201


if __name__ == "__main__":
    main()
