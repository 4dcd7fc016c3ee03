"""The command that makes visits of position fixes; its arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
from pathlib import Path

from pgt.cli import scale
from pgt.cli.values import require_other
from pgt.errors import DataError
from pgt.gps import GpsResult, fixes_to_visits
from pgt.io import tables
from pgt.io.doubts import doubts
from pgt.io.fixes import TABLES, read_fixes
from pgt.io.fixes_base import Report
from pgt.io.forms import is_table
from pgt.scale.fixes import fixes_to_visits as fixes_on_engine


def visits(args: argparse.Namespace) -> None:
    """Read fixes, write the visits, print what every step kept."""
    if args.out.suffix not in (".csv", ".parquet") or args.out.is_dir():
        raise DataError(
            f"Cannot write {args.out}: give a file whose name ends in .csv or .parquet."
        )
    require_other(args.out, args.fixes)
    if args.fixes.is_dir() and args.out.resolve().parent == args.fixes.resolve():
        raise DataError(
            f"{args.out} would lie among the recordings of {args.fixes}, which could not be read "
            "as before; write to another folder."
        )
    report = Report()
    # Only a table can hold times without a zone.
    zone = args.timezone if _tables(args.fixes) else None
    protocol = {
        "timezone": args.timezone or "UTC", "haversine_order": args.haversine_order,
        "everybody": args.everybody, "eps": args.eps, "min_samples": args.min_samples,
    }  # fmt: skip
    reading = {
        "columns": args.columns, "time_unit": args.time_unit, "person": args.person,
        "report": report,
    }  # fmt: skip
    with scale.running(args) as engine:
        if engine is None:
            frames = read_fixes(args.fixes, progress=not args.quiet, timezone=zone, **reading)
            journey = fixes_to_visits(frames, **protocol)
        else:
            journey = fixes_on_engine(
                args.fixes, zone_of_fixes=zone, engine=engine, **reading, **protocol
            )
    tables.write(journey.visits, args.out)
    if args.quiet or args.engine:
        print(report)
    print(describe(journey))
    notes = doubts(journey.visits)
    for number, note in enumerate(notes, 1):
        print(f"note {number} of {len(notes)}: {note}")
    print(f"written to {args.out}")


def describe(journey: GpsResult) -> str:
    """Say what every step kept, and why people are missing in the end."""
    rows = journey.counts.assign(people=journey.counts.people.astype(object).fillna(""))
    width = max(len(step) for step in rows.step)
    lines = [f"{'':{width}}  {'count':>12}  {'people':>7}"]
    lines += [f"{row.step:{width}}  {row.n:12,}  {row.people!s:>7}" for row in rows.itertuples()]
    gone = journey.people["left"].value_counts()
    gone = gone[gone.index != ""]
    if len(gone):
        lines.append("left out: " + ", ".join(f"{n} ({why})" for why, n in gone.items()))
    return "\n".join(lines)


def _tables(path: Path) -> list[Path]:
    """The tables of fixes at a path; none where there is something else."""
    if path.is_dir():
        here = (file for file in path.iterdir() if not file.name.startswith("."))
        return sorted(file for file in here if file.name.lower().endswith(TABLES))
    return [path] if is_table(path) else []
