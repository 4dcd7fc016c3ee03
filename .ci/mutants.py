"""A mutation score: how many small faults in the core its tests notice.

Each mutant is the source of one module with one fault (`mutations` lists them). A process that
has imported all libraries once forks for each mutant, takes the module from the changed source,
and runs the tests that reach the changed line, the quick ones first, up to the first that fails.
A mutant with which a test needs much more processor time than without counts as noticed, since an
endless loop does not pass unseen. What a test starts as a process of its own has no fault.

``mutants.toml`` beside this file names the modules, the tests beyond ``tests/test_X.py`` for
``pgt/X.py``, and the mutants that change nothing, each with its reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import random
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from mutations import Mutation, lines_of, mutations
from trials import FACTOR, LOG, Chosen, Evidence, Faulty, Watcher, fork, run_pytest

HERE = Path(__file__).resolve().parent
LEAST = 95.0  # percent of the mutants that can be noticed
PATIENCE = 20  # seconds of processor time that each test may take longer


class Source:
    """A module, and the faults that it may be given."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.lines, self.tree = text.splitlines(), ast.parse(text)
        self.mutations = mutations(self.tree)

    def key(self, mutation: Mutation) -> tuple[str, str]:
        """What a mutation is known by, as long as its line stays as it is."""
        return self.lines[mutation.line - 1].strip(), mutation.change


@dataclass
class Row:
    """What became of the mutants of a module."""

    noticed: int = 0
    survived: int = 0
    equivalent: int = 0

    @property
    def mutants(self) -> int:
        """All of them."""
        return self.noticed + self.survived + self.equivalent

    @property
    def score(self) -> float:
        """Percent that were noticed, of those that can be."""
        return 100 * self.noticed / max(self.noticed + self.survived, 1)


@dataclass
class Mutants:
    """The mutants of a checkout and what its tests say to them."""

    root: Path
    config: dict[str, Any]
    scratch: Path
    known: dict[str, Evidence] = field(default_factory=dict)

    @property
    def modules(self) -> list[str]:
        """The modules of the configuration, as paths below the root."""
        some = {path for pattern in self.config["modules"] for path in self.root.glob(pattern)}
        names = {path.relative_to(self.root).as_posix() for path in some}
        return sorted(names - {*self.config.get("without", [])})

    def tests_of(self, module: str) -> list[str]:
        """The files of tests that belong to a module."""
        inside = Path(*Path(module).parts[1:])
        mirror = (Path("tests") / inside).with_name(f"test_{inside.name}").as_posix()
        files = [mirror, *self.config.get("tests", {}).get(module, [])]
        return [file for file in files if (self.root / file).is_file()]

    def watch(self, file: str) -> Evidence:
        """Run one file of tests without a fault, once."""
        if file not in self.known:
            told = self.scratch / "evidence.json"

            def work() -> int:
                watcher = Watcher(self.root, self.modules)
                sys.settrace(watcher.trace)
                code = run_pytest(self.root, [file], watcher)
                sys.settrace(None)
                lines = {name: sorted(some) for name, some in watcher.found.lines.items()}
                libraries = list(self.libraries())
                told.write_text(json.dumps([watcher.found.tests, lines, libraries]))
                return code

            if fork(work, 600, self.scratch):
                print((self.scratch / LOG).read_text()[-3000:], file=sys.stderr)
                raise SystemExit(f"{file} fails without any fault.")
            tests, lines, libraries = json.loads(told.read_text())
            seen = {name: {(where, at) for where, at in some} for name, some in lines.items()}
            self.known[file] = Evidence(tests, seen, libraries)
            for name in libraries:
                # What does not import alone is imported by the tests, if at all.
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        return self.known[file]

    def libraries(self) -> Iterator[str]:
        """The modules that are loaded and are no part of the checkout."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name != "__main__" and file and "site-packages" in file:
                yield name

    def tests_for(self, module: str, mutation: Mutation) -> dict[str, float]:
        """The tests that run the mutated line, the quick ones first, and their seconds."""
        chosen: list[tuple[float, dict[str, float]]] = []
        wanted = {(module, line) for line in lines_of(mutation.statement)}
        for file in self.tests_of(module):
            found = self.watch(file)
            shared = bool(found.lines[""] & wanted)
            tests = {name: cost for name, cost in found.tests.items()
                     if shared or found.lines.get(name, set()) & wanted}  # fmt: skip
            tests = dict(sorted(tests.items(), key=lambda item: item[1]))
            chosen.append((sum(tests.values()), tests))
        chosen.sort(key=lambda one: one[0])
        return {name: cost for _, tests in chosen for name, cost in tests.items()}

    def survives(self, module: str, tree: ast.Module, mutation: Mutation) -> bool:
        """Whether all tests pass with the fault."""
        tests = self.tests_for(module, mutation)
        if not tests:
            return True
        files = list(dict.fromkeys(name.split("::")[0] for name in tests))

        def work() -> int:
            name = module.removesuffix(".py").replace("/", ".")
            mutation.apply()
            sys.meta_path.insert(0, Faulty(name, self.root / module, tree))
            return run_pytest(self.root, files, Chosen(tests, patience))

        patience = self.config.get("patience", PATIENCE)
        seconds = 2 * PATIENCE + FACTOR * sum(tests.values())  # imports and all tests
        return fork(work, seconds, self.scratch) == 0


def main(arguments: list[str] | None = None) -> int:
    """Print the survivors and the score; 1 if it is too low or a list is out of date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "modules", nargs="*", help="such as pgt/metrics.py or pgt/metrics.py:46; otherwise all"
    )
    parser.add_argument("--sample", default="all", help="how many mutants, or all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--root", type=Path, default=HERE.parent)
    parser.add_argument("--config", type=Path, default=HERE / "mutants.toml")
    asked = parser.parse_args(arguments)
    config = tomllib.loads(asked.config.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        mutants = Mutants(asked.root.resolve(), config, Path(scratch))
        return score(mutants, asked.modules or mutants.modules, asked.sample, asked.seed)


def score(mutants: Mutants, wanted: list[str], sample: str, seed: int) -> int:
    """Try the mutants of some modules or lines, or a sample of them."""
    lines: dict[str, set[int]] = {}  # of a module; none = all
    for module, _, line in (one.partition(":") for one in wanted):
        lines.setdefault(module, set()).update({int(line)} if line else ())
    files = {module: Source(mutants.root / module) for module in lines}
    entries = [one for one in mutants.config.get("equivalent", []) if one["module"] in lines]
    listed = {(one["module"], one["line"], one["change"]) for one in entries}
    found = [(module, mutation) for module, file in files.items() for mutation in file.mutations]
    stale = listed - {(module, *files[module].key(mutation)) for module, mutation in found}
    found = [one for one in found if not lines[one[0]] or one[1].line in lines[one[0]]]
    if sample != "all":
        chosen = random.Random(seed).sample(range(len(found)), min(int(sample), len(found)))
        found = [found[number] for number in sorted(chosen)]
    rows = {module: Row() for module in lines}
    for module, mutation in found:
        if (module, *files[module].key(mutation)) in listed:
            rows[module].equivalent += 1
        elif mutants.survives(module, files[module].tree, mutation):
            rows[module].survived += 1
            reached = "" if mutants.tests_for(module, mutation) else "  (no test runs this line)"
            print(f"{module}:{mutation.line}: {mutation.change}{reached}", flush=True)
        else:
            rows[module].noticed += 1
    for module, line, change in sorted(stale):
        print(f"stale in mutants.toml: {module}: {line!r} has no mutant {change!r} any more")
    return 1 if report(rows) < LEAST or stale else 0


def report(rows: dict[str, Row]) -> float:
    """Print a line a module, and give the score in percent."""
    rows = {module: row for module, row in rows.items() if row.mutants}
    total = Row(*(sum(column) for column in zip(*map(astuple, rows.values()), strict=True)))
    print(f"\n{'module':28} mutants  noticed  survived  equivalent   score")
    for name, row in [*rows.items(), ("all", total)]:
        print(
            f"{name:28} {row.mutants:7} {row.noticed:8} {row.survived:9} {row.equivalent:11} "
            f"{row.score:6.1f}%"
        )
    return total.score


if __name__ == "__main__":
    raise SystemExit(main())
