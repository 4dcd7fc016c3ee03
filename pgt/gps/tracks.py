"""Tracks: what is kept of everybody's position fixes, one table of them after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pgt.errors import DataError
from pgt.gps.cleaning import REASONS, clean_fixes
from pgt.gps.staypoints import generate_staypoints
from pgt.gps.tracking_quality import generate_triplegs
from pgt.visits import unknown_zone

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

    def parts() -> Iterator[Tracks]:
        for frame in [frames] if isinstance(frames, pd.DataFrame) else frames:
            yield tracks_of(
                frame, distance=distance, minutes=minutes, gap_minutes=gap_minutes, now=now
            )
            del frame  # before the next one is read

    return together(parts())


def tracks_of(
    frame: pd.DataFrame,
    *,
    distance: float = 200.0,
    minutes: float = 30.0,
    gap_minutes: float = 24 * 60,
    now: pd.Timestamp | None = None,
) -> Tracks:
    """Find the staypoints and triplegs of one frame, of which there may be none.

    `together` joins those of several frames; the parameters are those of
    `staypoints_and_triplegs`.
    """
    fixes, dropped = clean_fixes(frame, now=now)
    here = fixes.user_id.value_counts()
    lost = {_whole(user) for user in frame.user_id.dropna().unique()} - set(here.index)
    people = pd.concat(_full([here, pd.Series(0, index=list(lost))])).to_frame("n_fixes")
    stays = generate_staypoints(fixes, distance=distance, minutes=minutes, gap_minutes=gap_minutes)
    return Tracks(stays, generate_triplegs(fixes, stays), people, dropped)


def together(parts: Iterable[Tracks]) -> Tracks:
    """Join the tracks of frames, whose people must be different ones.

    Raises
    ------
    DataError
        There is no fix that can be used, or a person comes in two frames.
    """
    kept: list[Tracks] = []
    dropped = pd.Series(0, index=REASONS)
    seen: set[Any] = set()
    for part in parts:
        again = seen.intersection(part.people.index)
        if again:
            raise DataError(
                f"The fixes of user {min(again, key=str)} come in two frames; put a person's "
                "fixes into one, for example with pandas.concat."
            )
        seen.update(part.people.index)
        dropped += part.dropped
        kept.append(part)
    if not sum(int(part.people.n_fixes.sum()) for part in kept):
        why = ", ".join(f"{reason}: {n}" for reason, n in dropped.items() if n)
        raise DataError(
            f"None of the position fixes can be used ({why}); are lon and lat in their "
            "columns, and is the unit of the times right?"
            if why
            else NO_FIXES
        )
    if len({isinstance(user, str) for user in seen}) > 1:
        raise DataError("Column 'user_id' mixes text and numbers; convert it with .astype(str).")
    people = pd.concat(_full([part.people for part in kept])).rename_axis("user_id").sort_index()
    stays, legs = (
        in_zone(pd.concat(_full(tables), ignore_index=True))
        for tables in ([part.staypoints for part in kept], [part.triplegs for part in kept])
    )
    counts = stays.user_id.value_counts()
    people["n_staypoints"] = counts.reindex(people.index, fill_value=0)
    return Tracks(stays, legs, people, dropped)


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
        raise unknown_zone(timezone) from error
