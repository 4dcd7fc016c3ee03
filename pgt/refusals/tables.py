"""Tables that are none of pandas' own."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pgt.errors import DataError

REMEDY = "pgt.predictor.frames.as_visits(table) makes a table of visits of it"


def require_pandas(visits: Any, *times: str) -> None:
    """Refuse a table of another library, and times in columns of Arrow.

    Parameters
    ----------
    visits : DataFrame
    *times : str
        Columns of times; those that are missing are left to others.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> visits = wherenext.city.load().visits
    >>> arrow = visits.astype({"started_at": "timestamp[us, tz=America/Regina][pyarrow]"})
    >>> try:
    ...     pgt.prepare(arrow)
    ... except pgt.DataError as error:
    ...     print(error)
    Column 'started_at' is one of Arrow; pgt.predictor.frames.as_visits(table) makes a table ...
    """
    if not isinstance(visits, pd.DataFrame):
        raise DataError(f"A {type(visits).__name__} is no table of pandas; {REMEDY}.")
    for name in times:
        if isinstance(visits.dtypes.get(name), pd.ArrowDtype):
            raise DataError(f"Column '{name}' is one of Arrow; {REMEDY}.")


def require_places(visits: pd.DataFrame, source: str) -> None:
    """Refuse what looks like visits and has no places, or no times, for what it is.

    Parameters
    ----------
    visits : DataFrame
        Whose columns have our names.
    source : str
        What to call the table.

    Raises
    ------
    DataError
        It holds position fixes, staypoints without locations, or locations alone.

    Examples
    --------
    >>> fixes = pd.DataFrame(columns=["user_id", "started_at", "lon", "lat"])
    >>> try:
    ...     require_places(fixes, "the table")
    ... except DataError as error:
    ...     print(error)
    the table has positions and no column for the place: if it is a recording, make visits of it ...
    """
    if "center" in visits.columns and "started_at" not in visits.columns:
        raise DataError(
            f"{source} holds locations, which say where and not when; staypoints are needed: give "
            "trackintel's staypoints with location_id, or both as (staypoints, locations)."
        )
    if not ("lon" in visits.columns and "lat" in visits.columns) or "location_id" in visits.columns:
        return
    if "started_at" in visits.columns and "finished_at" in visits.columns:
        raise DataError(
            f"{source} has stays and no column for the place: find the places first with "
            "pgt.gps.generate_locations (or trackintel's generate_locations); if a column names "
            "the place, call it location_id (--columns location_id=...)."
        )
    raise DataError(
        f"{source} has positions and no column for the place: if it is a recording, make visits of "
        "it first with python -m pgt visits (in Python pgt.gps.fixes_to_visits); if a column names "
        "the place, call it location_id, or say which with columns={'location_id': ...} "
        "(--columns location_id=...)."
    )
