"""Visits of position fixes: the command that writes them, and those that only need them."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from pgt.cli import scale
from pgt.cli.values import plain, reading, require_other, require_writable
from pgt.doubts.visits import doubts, note
from pgt.errors import DataError, DataNote
from pgt.gps import GpsResult, fixes_to_visits
from pgt.io import tables
from pgt.io.fixes import read_fixes
from pgt.io.fixes_base import Report
from pgt.io.forms import tables_of
from pgt.io.tables import local_path
from pgt.scale.engines import Engine
from pgt.scale.fixes import fixes_to_visits as fixes_on_engine


def visits(args: argparse.Namespace) -> None:
    """Read fixes, write the visits, print what every step kept."""
    require_writable(args.out, ".csv", ".parquet")
    fixes = local_path(args.fixes)
    require_other(args.out, fixes)
    if fixes.is_dir() and args.out.resolve().parent == fixes.resolve():
        raise DataError(
            f"{args.out} would lie among the recordings of {fixes}, which could not be read "
            "as before; write to another folder."
        )
    report = Report()
    with scale.running(args) as engine:
        journey = made(
            fixes, args.timezone, args.person, report, engine, progress=not args.quiet,
            table={"columns": args.columns, "time_unit": args.time_unit},
            haversine_order=args.haversine_order, everybody=args.everybody, eps=args.eps,
            min_samples=args.min_samples,
        )  # fmt: skip
    tables.write(journey.visits, args.out)
    if args.quiet or args.engine:
        print(report)
    print(describe(journey))
    notes = doubts(journey.visits)
    for number, text in enumerate(notes, 1):
        print(f"note {number} of {len(notes)}: {plain(text)}")
    print(f"written to {args.out}")


def made(
    path: Path, timezone: str | None, person: str | None, report: Report,
    engine: Engine | None = None, *, progress: bool = False, table: dict[str, Any] | None = None,
    **protocol: Any,
) -> GpsResult:  # fmt: skip
    """Find the visits in a recording: what every command does that takes one.

    ``table`` holds the options of `pgt.io.fixes.read_fixes` for tables, ``protocol`` those of
    `pgt.gps.tracks_to_visits`. Without ``timezone`` the visits are in UTC.
    """
    zone = timezone if tables_of(path) else None  # only a table can hold times without a zone
    options: dict[str, Any] = {"person": person, "report": report, **(table or {})}
    protocol["timezone"] = timezone or "UTC"
    if engine is not None:
        return fixes_on_engine(path, zone_of_fixes=zone, engine=engine, **options, **protocol)
    frames = read_fixes(path, progress=progress, timezone=zone, **options)
    return fixes_to_visits(frames, **protocol)


def visits_of(path: Path, timezone: str | None, person: str | None) -> pd.DataFrame:
    """Everybody's visits in a recording; one line on stderr says what was made of what.

    People stay however briefly they were tracked, as with ``pgt visits --everybody``: whoever
    asks where people go next asks about all of them.
    """
    report = Report()
    try:
        journey = made(path, timezone, person, report, everybody=True)
    except DataError as error:
        raise DataError(reading(error, "visits")) from error
    for text in report.notes:
        warnings.warn(text, DataNote, stacklevel=2)
    report.notes = []  # the line below is one line
    visits = journey.visits
    people, places = visits.user_id.nunique(), visits.location_id.nunique()
    print(
        f"pgt: {plain(report)} Made of them: {len(visits):,} visits of {people:,} "
        f"{'person' if people == 1 else 'people'} to {places:,} "
        f"{'place' if places == 1 else 'places'}, in the zone {timezone or 'UTC'}"
        f"{_left_out(journey, '; ')}.",
        file=sys.stderr,
    )
    return note(visits)


def describe(journey: GpsResult) -> str:
    """Say what every step kept, and why people are missing in the end."""
    rows = journey.counts.assign(people=journey.counts.people.astype(object).fillna(""))
    width = max(len(step) for step in rows.step)
    lines = [f"{'':{width}}  {'count':>12}  {'people':>7}"]
    lines += [f"{row.step:{width}}  {row.n:12,}  {row.people!s:>7}" for row in rows.itertuples()]
    return "\n".join(lines) + _left_out(journey, "\n")


def _left_out(journey: GpsResult, before: str) -> str:
    """How many people are missing and why, after something; nothing where nobody is."""
    gone = journey.people["left"].value_counts()
    gone = gone[gone.index != ""]
    told = ", ".join(f"{n} ({why})" for why, n in gone.items())
    return f"{before}left out: {told}" if told else ""
