"""Position fixes on an engine: everybody's staypoints by several processes, the rest at once.

Cleaning fixes and finding staypoints takes nearly all of the time, and needs one person at a time.
What comes after needs the staypoints of all, which are few.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pgt.gps.pipeline import GpsResult, require_protocol, tracks_to_visits
from pgt.gps.tracks import Tracks, together, tracks_of
from pgt.io.fixes import no_usable_fix, people_in, read_fixes
from pgt.io.fixes_base import Report, UserId
from pgt.scale.engines import Engine, InProcess

PEOPLE = 8  # whose fixes a worker reads before it gives its staypoints back


def fixes_to_visits(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    zone_of_fixes: str | None = None,
    time_unit: Literal["s", "ms"] = "s",
    person: UserId | None = None,
    report: Report | None = None,
    engine: Engine | None = None,
    **protocol: Any,
) -> GpsResult:
    """Turn recorded positions into visits, as `pgt.gps.fixes_to_visits` does.

    Parameters
    ----------
    path, columns, time_unit, person, report
        As in `pgt.io.fixes.read_fixes`. The workers must see the path under the same name.
    zone_of_fixes : str, optional
        What `pgt.io.fixes.read_fixes` calls ``timezone``.
    engine : Engine, optional
        Finds the staypoints; this process otherwise.
    **protocol
        See `pgt.gps.pipeline.tracks_to_visits`; above all ``timezone`` and ``haversine_order``.

    Returns
    -------
    GpsResult

    Raises
    ------
    DataError
        As `pgt.io.fixes.read_fixes` and `pgt.gps.fixes_to_visits`.
    """
    require_protocol(**protocol)
    total = Report() if report is None else report
    reading: dict[str, Any] = {"columns": columns, "timezone": zone_of_fixes,
                               "time_unit": time_unit, "person": person}  # fmt: skip
    people = people_in(path, report=total, **reading)
    n_parts = max(1, -(-len(people) // PEOPLE))
    parts = [[people[i] for i in part] for part in np.array_split(range(len(people)), n_parts)]
    work = partial(_read, str(path), reading)
    found = (engine or InProcess()).map(work, parts)
    for _, own in found:
        total.add(own)
    if not total.n_fixes:
        raise no_usable_fix(path, total)
    tracks = together(one for several, _ in found for one in several)
    return tracks_to_visits(tracks, **protocol)


def _read(path: str, reading: dict[str, Any], people: list[UserId]) -> tuple[list[Tracks], Report]:
    """Read some people's fixes, and find where they stayed."""
    report = Report()
    frames = read_fixes(path, users=people, report=report, in_parts=True, **reading)
    return [tracks_of(frame) for frame in frames], report
