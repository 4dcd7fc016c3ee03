"""Doubts about a table: what is allowed, but looks like a mistake, is counted and named.

Nothing here changes a table. Each note is one sentence: what, how often, where first, the remedy.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from pgt.doubts.places import places, rows_note
from pgt.errors import DataNote

# Nobody is tracked for a while, and then again after so many days.
FAR = 3652
# Of a table with so many visits, a share no larger than this is few. Few visits are a slip already
# when they lie so many days from all others, if those last no longer than that.
ENOUGH = 20
SHARE = 0.01
APART = 730


def note(visits: pd.DataFrame) -> pd.DataFrame:
    """Warn of every doubt, and keep all of them in ``attrs["notes"]``.

    A doubt that stands there already has been named, by whoever read the table.
    """
    notes, named = doubts(visits), visits.attrs.get("notes")
    for text in notes:
        if not isinstance(named, list) or text not in named:
            warnings.warn(text, DataNote, stacklevel=4)
    visits.attrs.pop("notes", None)
    if notes:
        visits.attrs["notes"] = notes
    return visits


def doubts(visits: pd.DataFrame) -> list[str]:
    """What looks like a mistake in a table that is allowed.

    Parameters
    ----------
    visits : DataFrame
        As `pgt.visits.check` returns it.

    Returns
    -------
    list of str
        One sentence a doubt.

    Examples
    --------
    >>> at = pd.to_datetime(["1970-01-01 09:00+02:00", "2024-05-01 09:00+02:00"])
    >>> doubts(pd.DataFrame({"user_id": "ann", "location_id": "home", "started_at": at}))
    ["1 visit lies 10 years or more from the rest (user 'ann' on 1970-01-01): it takes part in ..."]
    """
    return [*_twins(visits), *_far(visits), *places(visits)]


def _twins(visits: pd.DataFrame) -> Iterator[str]:
    for name in ("user_id", "location_id"):
        if not pd.api.types.is_integer_dtype(visits[name]):
            yield from alike(name, visits[name].unique())


def alike(name: str, ids: Iterable[object]) -> list[str]:
    """A note on ids that a person would read as the same, if there are such.

    Examples
    --------
    >>> alike("user_id", ["Anna1", "anna1 ", "bob"])
    ["2 ids in 'user_id' differ from another only by case, spaces or leading zeros ('Anna1' ..."]
    """
    texts = [one for one in ids if isinstance(one, str)]
    heard = defaultdict(list)
    for one in texts:
        heard[_read_aloud(one)].append(one)
    twins = [mates for mates in heard.values() if len(mates) > 1]
    loose = [one for one in texts if one != one.strip()]
    if twins:
        return [
            f"{sum(map(len, twins))} ids in '{name}' differ from another only by case, spaces or "
            f"leading zeros ({twins[0][0]!r} and {twins[0][1]!r}): they are read as different; "
            "write them alike if they are the same."
        ]
    if loose:
        noun, begin = ("id", "begins or ends") if len(loose) == 1 else ("ids", "begin or end")
        return [
            f"{len(loose)} {noun} in '{name}' {begin} with a space ({loose[0]!r}): the space is "
            "kept; strip it if it is a slip."
        ]
    return []


def _read_aloud(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.lstrip("0") or "0" if plain.isdecimal() else plain


def _far(visits: pd.DataFrame) -> Iterator[str]:
    """A visit years from the rest: it stretches the days by which visits are split."""
    if len(visits) == 0:
        return
    started = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None)
    day = started.to_numpy().astype("datetime64[D]").astype(np.int64)
    apart = np.ptp(day)  # most tables lie too close together for any gap
    stray = alone = np.zeros(len(day), dtype=bool)
    years = 0
    if apart >= FAR:
        person = pd.factorize(visits.user_id)[0]
        stray = _beyond_gap(day, person) | _beyond_gap(day, np.zeros_like(person))
    if apart >= APART:
        alone, years = _alone(day)
    today = np.datetime64(pd.Timestamp.now("UTC").tz_localize(None), "D").astype(np.int64)
    ahead = (day > today + 1) & ~stray
    for rows, least in ((stray, 10), (alone & ~stray & ~ahead, years)):
        if rows.any():
            yield rows_note(
                visits, rows,
                f"{'lie' if rows.sum() > 1 else 'lies'} {least} years or more from the rest",
                "{it} in the split by days, and can move a history into another part; correct or "
                "drop what a wrong clock wrote.",
            )  # fmt: skip
    if ahead.any():
        yield rows_note(
            visits, ahead, "begin in the future" if ahead.sum() > 1 else "begins in the future",
            "{it} as anybody's; correct or drop what a wrong clock wrote.",
        )  # fmt: skip


def _beyond_gap(day: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(N,) rows on the smaller side of a long gap between days of a group."""
    order = np.lexsort((day, group))
    day, group = day[order], group[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    ends = np.r_[starts[1:], len(group)]
    cuts = np.flatnonzero((np.diff(day) >= FAR) & (group[1:] == group[:-1])) + 1
    stray = np.zeros(len(day), dtype=bool)
    for cut in cuts:
        at = np.searchsorted(starts, cut, side="right") - 1
        start, end = starts[at], ends[at]
        stray[slice(start, cut) if cut - start <= end - cut else slice(cut, end)] = True
    found = np.empty(len(day), dtype=bool)
    found[order] = stray
    return found


def _alone(day: np.ndarray) -> tuple[np.ndarray, int]:
    """(N,) few rows that lie further from all others than those last, and how many years."""
    order = np.argsort(day, kind="stable")
    block = np.r_[0, np.cumsum(np.diff(day[order]) >= APART)]
    main = day[order][block == np.bincount(block).argmax()]
    off = np.maximum(main[0] - day, day - main[-1])
    away = (off >= APART) & (off >= main[-1] - main[0])
    if len(day) < ENOUGH or not away.any() or away.sum() > max(1, len(day) * SHARE):
        return np.zeros(len(day), dtype=bool), 0
    return away, int(off[away].min() // 365.25)
