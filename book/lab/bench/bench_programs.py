"""Sections of whole programs: GPS to visits, and every chapter."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench_fresh import ROOT, Watch, in_fresh_process
from bench_rows import Row, Settings, clock, row
from lab import gps_protocol

from pgt import gps
from pgt.datasets import read_fixes

CHAPTER_BUDGET, BOOK_BUDGET, GPS_BUDGET = 120.0, 900.0, 120.0  # seconds
TRACKINTEL = "PGT_TRACKINTEL_PYTHON"


def bench_gps(settings: Settings) -> Iterator[Row]:
    """GeoLife's fixes to visits: all of them within the budget, some people beside trackintel."""
    folder = os.environ.get(gps.FIXES)
    if not folder:
        print(f"{gps.FIXES} names no folder of position fixes; the section 'gps' stays empty.")
        return
    if not settings.quick:
        with Watch() as seen:
            fixes = read_fixes(folder)
            gps_protocol.fixes_to_visits(fixes, haversine_order="swapped")
        yield row(
            f"geolife: read {len(fixes):,} fixes and make visits (reference: the budget)",
            seen.seconds, GPS_BUDGET, "s", peak=seen.peak,
        )  # fmt: skip
    python = os.environ.get(TRACKINTEL)
    if not python:
        print(f"{TRACKINTEL} names no Python that has trackintel; no comparison with it.")
        return
    people = 3 if settings.quick else 40
    fixes = read_fixes(folder)
    fixes = fixes[fixes.user_id.isin(fixes.user_id.unique()[:people])]
    counts: dict[str, int] = {}

    def visits() -> None:
        tracks = gps_protocol.staypoints_and_triplegs(fixes)
        found, places = gps.generate_locations(tracks.staypoints, haversine_order="swapped")
        merged = gps.merge_staypoints(found, places)
        counts.update(staypoints=len(found), triplegs=len(tracks.triplegs),
                      locations=len(places), visits=len(merged))  # fmt: skip

    with tempfile.TemporaryDirectory() as empty:
        path = Path(empty) / "fixes.parquet"
        gps.clean_fixes(fixes)[0][[*gps.FIX_COLUMNS]].to_parquet(path)
        with Watch() as seen:
            visits()
        ours = [seen.seconds, *(clock(visits) for _ in range(min(3, settings.repeats) - 1))]
        script = str(ROOT / "book" / "lab" / "bench" / "trackintel_visits.py")
        done = subprocess.run(
            [python, script, str(path)], check=True, text=True, stdout=subprocess.PIPE
        )  # fmt: skip
    theirs = json.loads(done.stdout.splitlines()[-1])
    if theirs["counts"] != counts:
        raise RuntimeError(f"trackintel finds {theirs['counts']}, we find {counts}")
    yield row(
        f"geolife: {len(fixes):,} fixes of {people} people to visits, as trackintel "
        f"{theirs['version']}",
        statistics.median(ours), sum(theirs["seconds"].values()), "s", peak=seen.peak,
    )  # fmt: skip


def bench_chapters(settings: Settings) -> Iterator[Row]:
    """Every chapter, executed alone in an empty folder; the reference is the budget.

    Its memory is that of its largest process, from its start.
    """
    notebooks = sorted((ROOT / "book").glob("*.ipynb"))[: 1 if settings.quick else None]
    if not notebooks:
        print("There are no book/*.ipynb to execute; the section 'chapters' stays empty.")
        return
    # The chapters see the checkout's package; their own first cell skips what is installed.
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    total = most = 0.0
    for path in notebooks:
        found = in_fresh_process("one_chapter.executed", str(path), search)
        total, most = total + found["seconds"], max(most, found["peak"])
        yield row(f"chapter {path.stem} (reference: the budget)", found["seconds"], CHAPTER_BUDGET,
                  "s", peak=found["peak"])  # fmt: skip
    yield row(
        f"all {len(notebooks)} chapters, one after the other (reference: the budget)",
        total, BOOK_BUDGET, "s", peak=most,
    )  # fmt: skip
