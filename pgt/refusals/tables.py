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
    >>> visits = pgt.city.load().visits
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
