"""Tables of any kind as a table of visits: pandas, Polars, PyArrow, DuckDB, GeoPandas, files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from pgt.doubts.visits import note
from pgt.errors import DataError
from pgt.io.parquet_folder import is_parquet_folder
from pgt.io.sources import read_visits
from pgt.io.tables import TIMES, in_utc, named, tidy
from pgt.io.trackintel import with_centers
from pgt.refusals.tables import require_places
from pgt.scale.mapped import is_prepared
from pgt.visits import require_columns


def as_visits(
    table: Any, *, timezone: str | None = None, columns: dict[str, str] | None = None
) -> pd.DataFrame:
    """Read visits from whatever holds them, and check them.

    Parameters
    ----------
    table : DataFrame, path, or table of another library
        A pandas or GeoPandas table, a Polars one (lazy or not), a PyArrow table, a DuckDB
        relation; trackintel's (staypoints, locations); or a path, which `pgt.read_visits` reads.
        Without ``finished_at`` the visits are check-ins: they end when they begin. Rows without a
        location (trackintel's noise) are left out. A geometry of points gives ``lon`` and ``lat``,
        if these are not there; one in metres is brought to degrees first.
    timezone : str, optional
        The local zone of times that name none, or of times in UTC.
    columns : dict, optional
        Your names of our columns, as in ``{"user_id": "uid"}``; usual names are recognized.

    Returns
    -------
    DataFrame
        As `pgt.visits.check` returns it. What looks like a mistake is warned of, see
        `pgt.doubts.visits`.

    Raises
    ------
    DataError
        It is no table, or one of position fixes or of locations alone, or `pgt.visits.check` finds
        something.

    Examples
    --------
    >>> rows = {"uid": [1, 1], "location_id": ["home", "work"],
    ...         "datetime": ["2024-05-01 08:00", "2024-05-01 09:00"]}
    >>> as_visits(pd.DataFrame(rows), timezone="Europe/Vienna").started_at.dt.hour.tolist()
    [8, 9]
    """
    if isinstance(table, str | Path):
        if is_prepared(table):
            raise DataError(
                f"{table} is what 'pgt prepare --engine' wrote; ask pgt.predictor.buckets.predict("
                "model, folder), which works through its buckets."
            )
        # Of other folders the format is known; a table without an end is one of check-ins.
        checkins = not Path(table).is_dir() or is_parquet_folder(table)
        return read_visits(table, timezone=timezone, columns=columns, checkins=checkins)
    if isinstance(table, tuple) and len(table) == 2:
        together = with_centers(*(_with_coordinates(_as_pandas(one)) for one in table))
    else:
        together = _with_coordinates(_as_pandas(table))
    visits, called, _ = named(together, columns, "the table")
    require_places(visits, "the table")
    visits = _without_arrow(visits)
    if list(visits.columns).count("location_id") == 1:  # of two, `require_columns` speaks
        visits = _whole_ids(visits[visits.location_id.notna()])
    if "started_at" in visits.columns and "finished_at" not in visits.columns:
        visits = visits.assign(finished_at=visits.started_at)
        called["finished_at"] = called.get("started_at", "")
    require_columns(visits)
    for name in TIMES:
        dtype = visits[name].dtype
        if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "M":
            visits = visits.assign(**{name: visits[name].astype(_zoned(dtype))})
    found = tidy(visits.copy(), timezone, in_utc(called), drop_duplicates=False)
    found.attrs |= getattr(table, "attrs", {})  # a doubt that was named is not named again
    return note(found)


def like(given: Any, answer: pd.DataFrame) -> Any:
    """The answer as a table of the library that the question came in.

    Parameters
    ----------
    given : object
        What `as_visits` takes.
    answer : DataFrame

    Returns
    -------
    table
        Of Polars (never lazy) or PyArrow, if ``given`` is; else ``answer``.

    Examples
    --------
    >>> import pyarrow
    >>> like(pyarrow.table({"user_id": [1]}), pd.DataFrame({"rank": [1, 2]})).num_rows
    2
    """
    library = type(given).__module__.partition(".")[0]
    if library == "polars":
        return sys.modules[library].from_pandas(answer)
    if library == "pyarrow":
        return sys.modules[library].Table.from_pandas(answer, preserve_index=False)
    return answer


def _as_pandas(table: Any) -> pd.DataFrame:
    """The same table in pandas."""
    if isinstance(table, pd.DataFrame):
        return pd.DataFrame(table)  # of a subclass (GeoPandas) only the table
    if hasattr(table, "collect") and hasattr(table, "lazy"):
        table = table.collect()  # a lazy table of Polars
    for method in ("to_pandas", "to_df", "df", "read_pandas"):  # the last of Arrow's readers
        if callable(getattr(table, method, None)):
            found = getattr(table, method)()
            if isinstance(found, pd.DataFrame):
                return found
    raise DataError(
        f"A {type(table).__name__} is no table of visits; give a pandas, Polars, PyArrow or DuckDB "
        "table, or the path of a file."
    )


def _with_coordinates(visits: pd.DataFrame) -> pd.DataFrame:
    """Points of a geometry as ``lon`` and ``lat``; other geometries are left alone."""
    if "lon" in visits.columns or "lng" in visits.columns:
        return visits
    for name in ("geometry", "geom", "center"):
        points: Any = getattr(visits.get(name), "array", None)
        if getattr(getattr(points, "crs", None), "is_projected", False):
            points = points.to_crs("EPSG:4326")
        try:
            if hasattr(points, "x") and hasattr(points, "y"):
                return visits.assign(lon=points.x, lat=points.y)
        except ValueError:  # GeoPandas' word for areas and lines
            continue
    return visits


def _whole_ids(visits: pd.DataFrame) -> pd.DataFrame:
    """Integers that a gap had turned into fractions are integers again."""
    ids = visits.location_id
    floats = pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all()
    if floats or ids.dtype == "Int64":  # with room for gaps, as trackintel has it
        return visits.assign(location_id=ids.astype("int64"))
    return visits


def _without_arrow(visits: pd.DataFrame) -> pd.DataFrame:
    """Ids in columns of Arrow as the same ids of pandas."""
    for name in ("user_id", "location_id"):
        dtype = visits.dtypes.get(name)
        if isinstance(dtype, pd.ArrowDtype):
            kind = {"i": "Int64", "u": "UInt64", "f": "float64"}.get(dtype.kind, object)
            visits = visits.assign(**{name: visits[name].astype(kind)})
    return visits


def _zoned(dtype: pd.ArrowDtype) -> Any:
    """The type of pandas for times of Arrow."""
    zone = dtype.pyarrow_dtype.tz
    return pd.DatetimeTZDtype("ns", zone) if zone else "datetime64[ns]"
