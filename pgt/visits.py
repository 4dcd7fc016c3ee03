"""Visits: the one table that everything starts from.

A *visit* is one stay of one person at one location. The column names are those of trackintel,
the field's standard library, so its tables can be used as they are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.refusals.tables import require_pandas
from pgt.table.columns import (
    COORDINATES,
    LIMITS,
    REQUIRED,
    first_row,
    require_columns,
    require_id_types,
    require_times,
)  # fmt: skip
from pgt.table.rows import by_person_and_time
from pgt.units import local_day

SPLITS = ("train", "valid", "test")


def check(visits: pd.DataFrame) -> pd.DataFrame:
    """Return the visits sorted by person and time, or say in one sentence what is wrong.

    Nothing is dropped or changed: the result has the same rows and columns. Overlapping visits
    of one person and people with a single visit are allowed (the model reads order and
    durations; people with too few visits yield no windows).

    Parameters
    ----------
    visits : DataFrame
        One row a visit: ``user_id`` and ``location_id`` (integers or strings), ``started_at``
        and ``finished_at`` (with time zone); optionally ``lon`` and ``lat`` (degrees, WGS 84),
        ``split`` (train, valid, test, or empty where the visit is to be left out of all windows)
        and anything else, which is kept.

    Raises
    ------
    DataError
        Names the first offending column or row and the remedy.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 08:00+02:00"])
    >>> table = pd.DataFrame({"user_id": 1, "location_id": ["work", "home"],
    ...                       "started_at": at, "finished_at": at + pd.Timedelta(hours=1)})
    >>> check(table).location_id.tolist()
    ['home', 'work']
    """
    require_pandas(visits, "started_at", "finished_at")
    require_columns(visits)
    for name in ("user_id", "location_id"):
        empty = visits[name].isna()
        if empty.any():
            raise DataError(f"'{name}' is empty in {first_row(empty)}; fill it in or drop the row.")
        require_id_types(visits[name])
    require_times(visits)
    for name in COORDINATES if COORDINATES[0] in visits.columns else ():
        if not pd.api.types.is_numeric_dtype(visits[name]):
            raise DataError(f"Column '{name}' holds text; it must be degrees, as numbers.")
        empty = visits[name].isna()
        if empty.any():
            raise DataError(
                f"'{name}' is empty in {first_row(empty)}; fill it in, or drop both lon and lat."
            )
        outside = ~(visits[name].abs() <= LIMITS[name])
        if outside.any():
            value = visits.loc[outside, name].iloc[0]
            raise DataError(
                f"'{name}' is {value:g} in {first_row(outside)}, outside ±{LIMITS[name]:g} degrees;"
                " correct it (are lon and lat swapped?) or drop the row."
            )
    if "split" in visits.columns:
        strange = ~visits["split"].isin(SPLITS) & visits["split"].notna()
        if strange.any():
            value = visits.loc[strange, "split"].iloc[0]
            raise DataError(
                f"split is {value!r} in {first_row(strange)}; it must be train, valid, test or"
                " empty (then no window uses the visit); without it, visits are split by days."
            )
    # Only few begin at one moment, so that the last look costs little memory.
    tied = visits.duplicated(["user_id", "started_at"], keep=False)
    twice = visits[tied].duplicated([*REQUIRED])
    if twice.any():
        raise DataError(
            f"The same visit stands twice, again in {first_row(twice)}; drop it with "
            "visits.drop_duplicates() (on the command line: --drop-duplicates)."
        )
    order = by_person_and_time(visits)
    return (visits if (np.diff(order) > 0).all() else visits.take(order)).reset_index(drop=True)


def split_by_days(
    visits: pd.DataFrame, fractions: tuple[float, float] = (0.6, 0.8)
) -> pd.DataFrame:
    """Label each person's first 60 % of tracked days train, the next 20 % valid, the rest test.

    The protocol of Hong et al. (2023). Days are counted from the person's first one, including
    days without visits, in local time. The result is a copy with the column ``split``.

    Parameters
    ----------
    visits : DataFrame
        As `check` returns it.
    fractions : (float, float)
        Where valid and where test begin, as fractions of the last day's number.
    """
    start, end = fractions
    if not 0 < start < end < 1:
        raise DataError(f"fractions are {fractions}; they must satisfy 0 < first < second < 1.")
    day = local_day(visits.started_at)
    user = visits.user_id
    day = day - day.groupby(user).transform("min")
    last = day.groupby(user).transform("max")
    part = np.where(day < last * start, 0, np.where(day < last * end, 1, 2))
    return visits.assign(split=pd.Series(SPLITS).array.take(part))
