"""Tracks: what is kept of everybody's position fixes, one table of them after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pgt.gps.cleaning import REASONS, clean_fixes
from pgt.gps.staypoints import generate_staypoints
from pgt.gps.tracking_quality import generate_triplegs
from pgt.visits import DataError

NO_FIXES = "There are no position fixes; check the file or folder."


@dataclass(frozen=True)
class Tracks:
    """Where people stayed and when they moved.

    Attributes
    ----------
    staypoints, triplegs : DataFrame
        As `pgt.gps.staypoints.generate_staypoints` and `pgt.gps.tracking_quality.generate_triplegs`
        return them, in UTC; ``first_fix`` counts in the person's own frame, cleaned.
    people : DataFrame
        By ``user_id``: ``n_fixes`` (kept), ``n_staypoints``.
    dropped : Series
        Fixes that could not be used, by reason (`pgt.gps.cleaning.clean_fixes`).
    """

    staypoints: pd.DataFrame
    triplegs: pd.DataFrame
    people: pd.DataFrame
    dropped: pd.Series


def staypoints_and_triplegs(
    frames: pd.DataFrame | Iterable[pd.DataFrame],
    *,
    distance: float = 200.0,
    minutes: float = 30.0,
    gap_minutes: float = 24 * 60,
    now: pd.Timestamp | None = None,
) -> Tracks:
    """Clean the fixes of one frame after the other and find staypoints and triplegs.

    Parameters
    ----------
    frames : DataFrame or iterable of them
        Position fixes, as `pgt.gps.cleaning.clean_fixes` wants them. A person's fixes must all be
        in one frame. Only one frame at a time is in memory if the iterable makes them one by one,
        as `pgt.io.fixes.read_fixes` does.
    distance, minutes, gap_minutes
        See `pgt.gps.staypoints.generate_staypoints`.
    now : Timestamp, optional
        See `pgt.gps.cleaning.clean_fixes`.

    Returns
    -------
    Tracks

    Raises
    ------
    DataError
        There is no fix that can be used, or a person comes in two frames.
    """
    stays, legs, n_fixes = [], [], []
    dropped = pd.Series(0, index=REASONS)
    seen: set[Any] = set()
    for frame in [frames] if isinstance(frames, pd.DataFrame) else frames:
        fixes, out = clean_fixes(frame, now=now)
        dropped += out
        here = fixes.user_id.value_counts()
        lost = {_whole(user) for user in frame.user_id.dropna().unique()} - set(here.index)
        again = seen.intersection(here.index) | (seen & lost)
        if again:
            raise DataError(
                f"The fixes of user {min(again, key=str)} come in two frames; put a person's "
                "fixes into one, for example with pandas.concat."
            )
        seen.update(here.index, lost)
        n_fixes += [here, pd.Series(0, index=list(lost))]
        stays.append(
            generate_staypoints(fixes, distance=distance, minutes=minutes, gap_minutes=gap_minutes)
        )
        legs.append(generate_triplegs(fixes, stays[-1]))
        del frame, fixes  # before the next one is read
    kept = sum(int(part.sum()) for part in n_fixes)
    if not kept:
        why = ", ".join(f"{reason}: {n}" for reason, n in dropped.items() if n)
        raise DataError(
            f"None of the position fixes can be used ({why}); are lon and lat in their "
            "columns, and is the unit of the times right?"
            if why
            else NO_FIXES
        )
    if len({isinstance(user, str) for user in seen}) > 1:
        raise DataError("Column 'user_id' mixes text and numbers; convert it with .astype(str).")
    people = pd.concat(_full(n_fixes)).rename_axis("user_id").sort_index().to_frame("n_fixes")
    tables = [in_zone(pd.concat(_full(parts), ignore_index=True)) for parts in (stays, legs)]
    counts = tables[0].user_id.value_counts()
    people["n_staypoints"] = counts.reindex(people.index, fill_value=0)
    return Tracks(tables[0], tables[1], people, dropped)


def _whole(user: Any) -> Any:
    return int(user) if isinstance(user, float) and user.is_integer() else user


def _full(parts: list[Any]) -> list[Any]:
    """The tables that have rows, so that empty ones do not change the columns' types."""
    return [part for part in parts if len(part)] or parts[:1]


def in_zone(table: pd.DataFrame, timezone: str = "UTC") -> pd.DataFrame:
    """The same table with its starts and ends in a time zone."""
    names = ("started_at", "finished_at")
    try:
        return table.assign(
            **{name: pd.to_datetime(table[name], utc=True).dt.tz_convert(timezone)
               for name in names}
        )  # fmt: skip
    except (LookupError, ValueError, OSError) as error:
        raise DataError(
            f"'{timezone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error
