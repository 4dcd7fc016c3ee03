"""Cleaning: which position fixes can be used, and how many cannot, and why."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.units import microseconds
from pgt.visits import LIMITS, require_named

FIX_COLUMNS = ("user_id", "tracked_at", "lon", "lat")
# Satellite navigation for everybody began in May 2000; a time before is an unset clock.
EARLIEST = pd.Timestamp("2001-01-01", tz="UTC")

REASONS = (
    "no user", "no time", "no position", "latitude beyond ±90", "longitude beyond ±180",
    "time before 2001", "time in the future", "the same fix again",
)  # fmt: skip


def require_fixes(fixes: pd.DataFrame) -> None:
    """Refuse a table that is not one of position fixes; the values are `clean_fixes`'s business."""
    require_named(
        fixes, FIX_COLUMNS, f"; position fixes need {', '.join(FIX_COLUMNS)}, rename yours with "
        ".rename(columns=...)",
    )  # fmt: skip
    dtype = fixes.tracked_at.dtype
    if not isinstance(dtype, pd.DatetimeTZDtype):
        raise DataError(
            f"Column 'tracked_at' holds {dtype}, not times with a zone; convert it with "
            "pandas.to_datetime(..., utc=True) (unit='s' for Unix seconds)."
        )
    for name in ("lon", "lat"):
        if not pd.api.types.is_numeric_dtype(fixes[name]):
            raise DataError(f"Column '{name}' holds text; it must be degrees, as numbers.")


def clean_fixes(
    fixes: pd.DataFrame, *, now: pd.Timestamp | None = None
) -> tuple[pd.DataFrame, pd.Series]:
    """Keep the fixes that can be used, in order, and count the others by reason.

    Parameters
    ----------
    fixes : DataFrame
        ``user_id``, ``tracked_at`` (times with a zone), ``lon``, ``lat`` (degrees), in any order;
        other columns are kept.
    now : Timestamp, optional
        Times after this moment are "in the future" (default: the present).

    Returns
    -------
    fixes : DataFrame
        Sorted by user and time (fixes of one moment stay in their order), numbered from 0.
    dropped : Series
        One count per reason in `REASONS`; a fix with several faults counts under the first.

    Raises
    ------
    DataError
        A column is missing or of the wrong kind.

    Examples
    --------
    >>> fixes = pd.DataFrame({"user_id": 1, "lon": 116.3, "lat": [39.9, 400.2],
    ...     "tracked_at": pd.to_datetime([1_200_000_060, 1_200_000_000], unit="s", utc=True)})
    >>> good, dropped = clean_fixes(fixes)
    >>> len(good), dropped[dropped > 0].to_dict()
    (1, {'latitude beyond ±90': 1})
    """
    require_fixes(fixes)
    now = pd.Timestamp.now(tz="UTC") if now is None else now
    lon, lat = (fixes[name].to_numpy(dtype=float, na_value=np.nan) for name in ("lon", "lat"))
    faults = (
        fixes.user_id.isna().to_numpy(),
        fixes.tracked_at.isna().to_numpy(),
        ~(np.isfinite(lon) & np.isfinite(lat)),
        np.abs(lat) > LIMITS["lat"],
        np.abs(lon) > LIMITS["lon"],
        (fixes.tracked_at < EARLIEST).to_numpy(),
        (fixes.tracked_at > now).to_numpy(),
    )
    counts, good = [], np.ones(len(fixes), dtype=bool)
    for fault in faults:
        counts.append(int((good & fault).sum()))
        good &= ~fault
    kept = fixes if good.all() else fixes[good]
    kept = _plain_ids(kept).sort_values(["user_id", "tracked_at"], kind="stable")
    # A fix can only be there again among those of the same moment, which are few.
    at = microseconds(kept.tracked_at)
    tied = np.zeros(len(kept) + 1, dtype=bool)
    tied[1:-1] = np.diff(at) == 0
    tied = tied[1:] | tied[:-1]
    again = tied.copy()
    again[tied] = kept.loc[tied, [*FIX_COLUMNS]].duplicated().to_numpy()
    counts.append(int(again.sum()))
    return kept[~again].reset_index(drop=True), pd.Series(counts, index=REASONS, name="fixes")


def _plain_ids(fixes: pd.DataFrame) -> pd.DataFrame:
    """Make users plain numbers or text: whole again if some were missing, and no categories."""
    ids = given = fixes.user_id
    if isinstance(ids.dtype, pd.CategoricalDtype):
        ids = ids.astype(ids.cat.categories.dtype)
    if pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all():
        ids = ids.astype("int64")
    if pd.api.types.is_object_dtype(ids.dtype) and len(set(map(type, ids.unique()))) > 1:
        raise DataError("Column 'user_id' mixes text and numbers; convert it with .astype(str).")
    return fixes if ids is given else fixes.assign(user_id=ids)
