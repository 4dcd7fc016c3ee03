"""The columns of the table: which there must be, and what they may hold."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pgt.errors import DataError

REQUIRED = ("user_id", "location_id", "started_at", "finished_at")

COORDINATES = ("lon", "lat")

LIMITS = {"lon": 180.0, "lat": 90.0}

# Nanoseconds since 1970 in 64 bits end in these years; a day's room is left for zones.
YEARS = (1678, 2261)


def first_row(bad: pd.Series) -> str:
    """Name the first offending row, and how many there are."""
    rows = bad[bad].index
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"row {rows[0]}{more}"


def require_named(table: pd.DataFrame, names: Sequence[str], remedy: str) -> None:
    """Refuse a table with two columns of one name, or without one of these; say the remedy."""
    doubled = table.columns[table.columns.duplicated()]
    if len(doubled):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    missing = [name for name in names if name not in table.columns]
    if missing:
        have = ", ".join(map(str, table.columns)) or "no columns"
        raise DataError(f"Column '{missing[0]}' is missing (the table has {have}){remedy}.")


def require_once(names: Sequence[str], file: str) -> None:
    """Refuse a file with two columns of one name."""
    if twice := {name for name in names if names.count(name) > 1}:
        raise DataError(f"Column '{min(twice)}' appears twice in {file}; keep one of them.")


def require_columns(visits: pd.DataFrame) -> None:
    require_named(
        visits, [name for name in REQUIRED if name != "finished_at"],
        "; rename your columns (on the command line: --columns user_id=uid,...)",
    )  # fmt: skip
    require_named(
        visits, REQUIRED, "; for check-ins without durations, set finished_at = started_at "
        "(on the command line: --checkins)",
    )  # fmt: skip
    for here, other in (COORDINATES, COORDINATES[::-1]):
        if here in visits.columns and other not in visits.columns:
            raise DataError(f"Column '{here}' needs '{other}' beside it; add it, or drop '{here}'.")
    if len(visits) == 0:
        raise DataError("The table has no visits; check the file, or the filter that came before.")


def require_id_types(ids: pd.Series) -> None:
    dtype, types = ids.dtype, pd.api.types
    if types.is_float_dtype(dtype):
        raise DataError(
            f"Column '{ids.name}' holds floating-point numbers; ids are integers or strings, "
            "convert it with .astype(int) or .astype(str)."
        )
    kinds = set(ids.map(type)) if pd.api.types.is_object_dtype(dtype) else set()
    if len(kinds) > 1:
        raise DataError(f"Column '{ids.name}' mixes types; convert it with .astype(str).")
    is_text = isinstance(dtype, pd.StringDtype) or kinds == {str}
    if not (is_text or kinds == {int} or types.is_integer_dtype(dtype)):
        raise DataError(
            f"Column '{ids.name}' holds {dtype}; ids are integers or strings, "
            "convert it with .astype(str)."
        )


def require_times(visits: pd.DataFrame) -> None:
    for name in ("started_at", "finished_at"):
        dtype = visits[name].dtype
        if not pd.api.types.is_datetime64_any_dtype(dtype):
            raise DataError(
                f"Column '{name}' holds {dtype}, not times; convert it with pandas.to_datetime, "
                "or read the file with pgt.io.tables.read."
            )
        if not isinstance(dtype, pd.DatetimeTZDtype):
            raise DataError(
                f"Times in '{name}' have no time zone, so the hour of day is unknown; give it, "
                "for example timezone='Asia/Shanghai', or on the command line --timezone."
            )
        if visits[name].isna().any():
            raise DataError(
                f"'{name}' is empty in {first_row(visits[name].isna())}; fill or drop it."
            )
    if str(visits.started_at.dt.tz) != str(visits.finished_at.dt.tz):
        raise DataError(
            "started_at and finished_at are in different time zones; convert both with "
            ".dt.tz_convert to the local one."
        )
    for name in ("started_at", "finished_at"):
        require_near(visits[name], name)
    backwards = visits.finished_at < visits.started_at
    if backwards.any():
        raise DataError(
            f"finished_at lies before started_at in {first_row(backwards)}; swap or drop it."
        )


def require_near(times: pd.Series, name: str) -> None:
    """Refuse years in which nobody is tracked, such as an open end of 9999-12-31.

    Raises
    ------
    DataError
        Names the first such row.
    """
    years = times.dt.year
    far = (years < YEARS[0]) | (years > YEARS[1])
    if far.any():
        value = times[far].iloc[0]
        raise DataError(
            f"{name} is in the year {value.year} in {first_row(far)}, outside {YEARS[0]} to "
            f"{YEARS[1]}; write the time that is meant, and for an end that is not known the "
            "start of the visit."
        )


def unknown_zone(timezone: object) -> DataError:
    """The refusal of a time zone that does not exist.

    Examples
    --------
    >>> unknown_zone("Mars")
    DataError("'Mars' is no known time zone; use an IANA name such as Europe/Vienna.")
    """
    return DataError(f"'{timezone}' is no known time zone; use an IANA name such as Europe/Vienna.")
