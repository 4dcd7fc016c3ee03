"""What is allowed in a table of visits, and yet would silently spoil what is learned from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.visits import EARTH_RADIUS, SPLITS

SEVERAL = 4  # rows that are more than a slip
# Fragments: so large a share of visits begins within minutes of one to the same place.
ENOUGH_VISITS, MINUTES, FRAGMENTS = 20, 15, 0.3
OVERLAPS = 0.1  # share of visits that begin while the person is still elsewhere
APART_KM, SCATTERED = 5.0, 0.1  # between the positions of one place; share of places


def rows_note(visits: pd.DataFrame, rows: np.ndarray, what: str, so: str) -> str:
    """One sentence on some rows: how many, what about them, whose the first is, what follows."""
    n, first = int(rows.sum()), visits[rows].iloc[0]
    user = first.user_id.item() if isinstance(first.user_id, np.generic) else first.user_id
    where = f"user {user!r} on {first.started_at:%Y-%m-%d}{', …' if n > 1 else ''}"
    return f"{n:,} visit{'s' if n > 1 else ''} {what} ({where}): {so}"


def visit_checks(visits: pd.DataFrame) -> Iterator[str]:
    """What looks like a mistake in the visits of a checked table, one sentence each."""
    before = visits[["user_id", "location_id", "finished_at"]].shift()
    own = (visits.user_id == before.user_id).to_numpy()
    same_place = (visits.location_id == before.location_id).to_numpy()
    soon = (visits.started_at - before.finished_at) < pd.Timedelta(minutes=MINUTES)
    pieces = own & same_place & soon.to_numpy()
    if len(visits) >= ENOUGH_VISITS and pieces.mean() >= FRAGMENTS:
        yield rows_note(
            visits, pieces, f"of {len(visits):,} begin within {MINUTES} minutes of one by the same "
            "person to the same place", "stays look cut into pieces, or check-ins repeated, and "
            "guesses would mostly say 'here again'; join them, or make visits anew from better "
            "fixes.",
        )  # fmt: skip
    twice = own & ~same_place & (visits.started_at < before.finished_at).to_numpy()
    if twice.sum() >= SEVERAL and twice.mean() >= OVERLAPS:
        yield rows_note(
            visits, twice, f"of {len(visits):,} begin while the same person is still at another "
            "place", "are two people, or two devices, under one id? Give each an id of its own.",
        )  # fmt: skip


def scattered_places(visits: pd.DataFrame) -> Iterator[str]:
    """Places whose visits lie far apart: one id for several places."""
    if "lon" not in visits.columns:
        return
    around = visits.groupby("location_id", sort=False)[["lon", "lat"]]
    most = around.max()
    reach = most - around.min()
    wide = np.minimum(reach.lon, 360 - reach.lon) * np.cos(np.radians(most["lat"]))
    degrees = np.hypot(wide, reach["lat"])
    far = np.radians(degrees) * EARTH_RADIUS > 1000 * APART_KM
    if far.sum() >= SEVERAL and far.mean() >= SCATTERED:
        first = far.index[far.to_numpy()].tolist()[0]
        yield (
            f"{int(far.sum()):,} of {len(far):,} places ({first!r}, …) have "
            f"visits more than {APART_KM:g} km apart: does one id stand for several places, such "
            "as everybody's home, or places of two studies that are both numbered from 0? Give "
            "each place an id of its own."
        )


def require_splits_in_order(visits: pd.DataFrame) -> None:
    """Refuse a ``split`` in which a person's part follows a later one: it would know the future."""
    number = visits["split"].map({name: at for at, name in enumerate(SPLITS)})
    rows = visits[number.notna()]
    number, user = number[number.notna()].to_numpy(), rows.user_id.array
    back = np.flatnonzero((number[1:] < number[:-1]) & np.asarray(user[1:] == user[:-1]))
    if len(back):
        earlier, later = rows.iloc[back[0]], rows.iloc[back[0] + 1]
        name = later.user_id.item() if isinstance(later.user_id, np.generic) else later.user_id
        raise DataError(
            f"A {later['split']} visit of user {name!r} follows a {earlier['split']} visit "
            f"({later.started_at:%Y-%m-%d %H:%M}; {len(back):,} such rows), so that windows would "
            "skip visits, or learn from what comes after the test; let each user's train come "
            "before valid and valid before test, as pgt.visits.split_by_days does."
        )
