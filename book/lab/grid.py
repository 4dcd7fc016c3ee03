"""Maps of many people in which nobody can be recognized: means over the cells of a coarse grid.

A cell is shown only if enough different people stand behind it and none of them makes up most of
it. What is shown are means over all its windows; positions are cell centres in kilometres from the
busiest cell, so a table of cells holds no address, no time and no person.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pgt.errors import DataError

KM_PER_DEGREE = 111.2  # of latitude, on a sphere
PEOPLE, WINDOWS, LARGEST = 5, 20, 0.5  # what a cell needs; the largest share of one person
MANY = 20  # people with so many windows, behind quantiles over people
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def cells(lon: pd.Series, lat: pd.Series, size_km: float) -> np.ndarray:
    """(N, 2) the column and row of each position in a grid of squares."""
    if lat.empty:
        raise DataError("There are no positions to put on a grid; give visits with lon and lat.")
    # One width for all rows of the grid: a city is small beside the Earth.
    narrow = np.cos(np.radians(np.round(lat.median())))
    east = lon.to_numpy() * KM_PER_DEGREE * narrow
    north = lat.to_numpy() * KM_PER_DEGREE
    return np.floor(np.column_stack([east, north]) / size_km).astype(int)


def enough_people(users: Sequence[object] | np.ndarray | pd.Series) -> bool:
    """Whether a mean over these rows tells of nobody."""
    own = pd.Series(np.asarray(users)).value_counts()
    n = int(own.sum())
    return len(own) >= PEOPLE and n >= WINDOWS and int(own.max()) <= LARGEST * n


def means_of_people(values: np.ndarray, users: np.ndarray) -> pd.DataFrame:
    """Each person's ``mean`` and ``size``, of those with enough rows that quantiles hide people."""
    own = pd.Series(values, dtype=float).groupby(users).agg(["mean", "size"])
    own = own[own["size"] >= WINDOWS]
    if len(own) < MANY:
        raise DataError(
            f"Only {len(own)} people have {WINDOWS} windows; quantiles need {MANY} people."
        )
    return own


def quantiles(means: pd.Series) -> dict[str, float]:
    """Quantiles over people, as ``q10``, ``q25`` … ``q90``."""
    return {f"q{round(100 * q)}": float(means.quantile(q)) for q in QUANTILES}


def safe(cell: pd.Series, users: Sequence[object] | np.ndarray) -> set[object]:
    """The cells that may be shown, those with `enough_people` behind them."""
    table = pd.DataFrame({"cell": cell.to_numpy(), "user": np.asarray(users)})
    return {name for name, part in table.groupby("cell").user if enough_people(part)}


def aggregated(
    table: pd.DataFrame,
    means: Sequence[str],
    size_km: float,
    origin: tuple[int, int] | None = None,
    each: Sequence[str] = (),
) -> pd.DataFrame:
    """Means over the cells that may be shown."""
    column, row = cells(table.lon, table.lat, size_km).T
    cell = pd.Series(list(zip(column.tolist(), row.tolist(), strict=True)), index=table.index)
    shown = safe(cell, table.user_id.to_numpy())
    for name in each:
        once = ~table.assign(cell=cell).duplicated(["cell", name])
        shown &= safe(cell[once], table.user_id[once].to_numpy())
    keep = cell.isin(shown)
    if not keep.any():
        return pd.DataFrame(columns=["x_km", "y_km", "people", "n", *means])
    groups = table[keep].assign(x=column[keep], y=row[keep]).groupby(["x", "y"])
    found = groups[[*means]].mean()
    found.insert(0, "people", groups.user_id.nunique())
    found.insert(1, "n", groups.size())
    found = found.sort_values("n", ascending=False, kind="stable").reset_index()
    x, y = origin or (int(found.x[0]), int(found.y[0]))
    found.insert(0, "x_km", (found.x - x) * size_km)
    found.insert(1, "y_km", (found.y - y) * size_km)
    found["n"] = found.n.round(-1)
    found = found.drop(columns=["x", "y"])
    found.attrs["origin"] = (x, y)
    return found
