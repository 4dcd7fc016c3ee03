"""What the way from fixes to visits does to real recordings, for chapter 2."""

from __future__ import annotations

from collections.abc import Iterator

from pgt.gps.pipeline import FIXES
from pgt.io.fixes import read_fixes
from pgt.io.sources import from_environment
from wherenext.gps_summary import ZONES, measured

from lab.reports import Report, Row


def _rows() -> Iterator[Row]:
    yield from measured(read_fixes(from_environment(FIXES), progress=True))


def _data(rows: list[Row]) -> list[Row]:
    steps: dict[str, int] = {}
    for row in rows:
        if row["table"] == "steps" and row["timezone"] == ZONES[0]:
            steps.setdefault(row["step"], row["n"])
    windows = {split: steps[f"{split} windows"] for split in ("train", "valid", "test")}
    return [{"name": "geolife fixes", "fixes": steps["fixes read"], "windows": windows}]


REPORT = Report(
    question="What becomes of GeoLife's position fixes on the way to visits?",
    rows=_rows,
    data=_data,
)
