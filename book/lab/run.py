"""The front door of the laboratory: make a results file, or show that it still belongs to the code.

    python book/lab/run.py                         lists what there is
    python book/lab/run.py city                    measures, and writes book/results/city.json
    python book/lab/run.py city --confirm          measures a part again and compares
    python book/lab/run.py --restamp --since REV   takes over the marks after a rename

A results file holds a mark of the code that made it; the book is not built from a file whose code
has changed since. ``--confirm`` is for code that was rewritten and does the same: of an experiment
it runs one seed of each changed model, of a report everything, and brings the marks up to date only
when every number is as before. ``--restamp`` needs no run: it reads the code of an earlier commit,
to which the marks belong, renames in it what ``--names`` lists, and takes over a mark where the old
code, so renamed, is today's.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[level]) for level in (1, 2)]

from wherenext.results import results_folder  # noqa: E402

from lab import executing, experiments, reports, restamp, tuning  # noqa: E402
from pgt.errors import DataError  # noqa: E402

TUNING = "tuning"


def names() -> list[str]:
    """Every results file that can be made."""
    return sorted([*experiments.EXPERIMENTS, *reports.REPORTS, TUNING])


def make(name: str, folder: Path, workers: int) -> Path:
    """Measure and write a results file."""
    if name in experiments.EXPERIMENTS:
        return executing.execute(name, folder, workers)
    if name == TUNING:
        return tuning.execute(folder)
    return reports.write_report(name, folder)


def confirm(name: str, folder: Path) -> Path:
    """Show that a results file still belongs to the code."""
    if name in experiments.EXPERIMENTS:
        return executing.confirm(name, folder)
    if name == TUNING:
        return tuning.confirm(folder)
    return reports.confirm_report(name, folder)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python book/lab/run.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--out", type=Path, default=results_folder(), help="folder of the results")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--confirm", action="store_true", help="the code changed, its work did not")
    parser.add_argument("--restamp", action="store_true", help="definitions were only renamed")
    parser.add_argument("--since", metavar="REV", default="HEAD", help="commit with the old names")
    parser.add_argument("--names", dest="renamed", type=Path, metavar="FILE.toml",
                        help="tables [words] and [texts] of old and new names")  # fmt: skip
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; choose of {', '.join(names())}")
    try:
        if options.restamp:
            for line in restamp.restamp(options.out, options.since, options.renamed):
                print(line)
        elif not options.names:
            print("\n".join(names()))
        for name in options.names if not options.restamp else ():
            print(confirm(name, options.out) if options.confirm
                  else make(name, options.out, options.workers))  # fmt: skip
    except DataError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
