"""The front door of the laboratory: make a results file.

    python book/lab/run.py           lists what there is
    python book/lab/run.py city      measures, and writes book/results/city.json

The header of a results file names the commit, and the files that its command imported, with their
hashes; so nothing is measured by code that is not committed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[level]) for level in (1, 2)]

from wherenext.results import results_folder  # noqa: E402

from lab import executing, experiments, reports  # noqa: E402
from lab.provenance import commit  # noqa: E402
from pgt.errors import DataError  # noqa: E402


def names() -> list[str]:
    """Every results file that can be made."""
    return sorted([*experiments.EXPERIMENTS, *reports.REPORTS])


def make(name: str, folder: Path, workers: int, seeds: list[int] | None) -> Path:
    """Measure and write a results file."""
    at = commit()  # says at once if there is none
    if name in experiments.EXPERIMENTS:
        return executing.execute(name, folder, workers, seeds, commit=at)
    return reports.write_report(name, folder, commit=at)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python book/lab/run.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--out", type=Path, default=results_folder(), help="folder of the results")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8))
    kept = "of an experiment, run these alone; others stay as the file has them"
    parser.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help=kept)
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; choose of {', '.join(names())}")
    try:
        if not options.names:
            print("\n".join(names()))
        for name in options.names:
            print(make(name, options.out, options.workers, options.seeds))
    except DataError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
