"""Sources: known files -> visits."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pandas as pd

from pgt.doubts.visits import note
from pgt.errors import DataError
from pgt.io.damage import UNREADABLE, reason
from pgt.io.delta import require_no_delta
from pgt.io.forms import form_of, is_table, readable
from pgt.io.parquet_folder import is_parquet_folder
from pgt.io.tables import local_path, read
from pgt.io.unpacking import require_room
from pgt.visits import REQUIRED, SPLITS, check, first_row

WINDOW_COLUMNS = ("id", "user_id", "location_id", "start_day", "start_min", "weekday")
# The numbers that a windows folder can hold, and what they are.
CENTURY = 36_524  # days
RANGES = {
    "start_day": (0, CENTURY, "it counts a person's days from 0, in whole numbers"),
    "start_min": (0, 1439, "it is the minute of the day, from 0 to 1439"),
    "weekday": (0, 6, "it must be 0 (Monday) to 6 (Sunday)"),
    "duration": (0, CENTURY * 1440, "it must be minutes, 0 or more"),
}


def is_windows_folder(path: str | Path) -> bool:
    """Whether the folder holds train.csv, valid.csv and test.csv."""
    return all((Path(path) / f"{name}.csv").is_file() for name in SPLITS)


def read_windows_folder(folder: str | Path, *, drop_duplicates: bool = False) -> pd.DataFrame:
    """Read the prepared windows' visits of the published protocol.

    Three CSV files hold each split's visits with locations already numbered (1 = "not seen in
    training") and times as a day number per person and a minute of the day. The day number says
    nothing of the date, so each person's day 0 is placed in the first week of 2000, on the
    weekday that the file gives. There are no coordinates. Without durations the visits are
    check-ins, which end when they begin; check-ins of one person at one place in the same minute
    are set a second apart, so that each stays a visit.

    Parameters
    ----------
    folder : path
        Holds ``train.csv``, ``valid.csv`` and ``test.csv`` with the columns id, user_id,
        location_id, start_day, start_min, weekday (0 = Monday) and, if it is known, duration
        (minutes).
    drop_duplicates : bool
        Drop repeated visits instead of refusing the folder.

    Returns
    -------
    DataFrame
        Visits with ``split``; times are labelled UTC, as the published pipeline takes them.
    """
    folder = Path(folder)
    parts = []
    for split in SPLITS:
        path = folder / f"{split}.csv"
        if not path.is_file():
            raise DataError(f"There is no {split}.csv in {folder}; it needs train, valid and test.")
        form = form_of(path)
        require_room(path, form)
        with readable(path, form.kind, form):
            part = pd.read_csv(path, **form.options())
        missing = [name for name in WINDOW_COLUMNS if name not in part.columns]
        if missing:
            raise DataError(
                f"Column '{missing[0]}' is missing in {path.name}; is it the right file?"
            )
        if part.empty:
            raise DataError(
                f"{path.name} of {folder} has a header and no rows; each of the three files needs "
                "visits, so write the set again."
            )
        for name, (low, high, means) in RANGES.items():
            _require_range(part, name, low, high, f"{path.name}; {means}")
        parts.append(part.assign(split=split))
    if len({"duration" in part.columns for part in parts}) > 1:
        raise DataError(f"Some files of {folder} have a column 'duration' and some have not.")
    raw = pd.concat(parts, ignore_index=True)
    monday = pd.Timestamp("2000-01-03", tz="UTC")
    first_weekday = (raw.weekday - raw.start_day) % 7
    if (first_weekday.groupby(raw.user_id).nunique() > 1).any():
        raise DataError(f"weekday and start_day disagree in {folder}; the files are not one set.")
    start = (
        monday
        + pd.to_timedelta(first_weekday + raw.start_day, unit="D")
        + pd.to_timedelta(raw.start_min, unit="min")
    )
    if "duration" in raw.columns:
        # end_day and end_min slip by a day at midnight in some rows; duration does not.
        lasting = pd.to_timedelta(raw.duration, unit="min")
    else:
        again = raw.groupby(["user_id", "location_id", start]).cumcount()
        start = start + pd.to_timedelta(again, unit="s")
        lasting = pd.Timedelta(0)
    visits = pd.DataFrame(
        {
            "user_id": raw.user_id,
            "location_id": raw.location_id,
            "started_at": start,
            "finished_at": start + lasting,
            "split": raw.split,
        }
    )
    if drop_duplicates:
        visits = visits.drop_duplicates([*REQUIRED], ignore_index=True)
    return note(check(visits))


def _require_range(part: pd.DataFrame, name: str, low: int, high: int, where: str) -> None:
    """Refuse a column of a windows folder that holds other numbers than the format has.

    Weekdays from 1 to 7 would otherwise be read a day late, and minute 1500 as the next day's.
    """
    if name not in part.columns:
        return
    if not pd.api.types.is_numeric_dtype(part[name]):
        raise DataError(f"Column '{name}' holds text in {where}.")
    fits = part[name].between(low, high)
    if name != "duration":
        fits &= part[name] % 1 == 0
    if not fits.all():
        value = part.loc[~fits, name].iloc[0]
        raise DataError(f"'{name}' is {value:g} in {first_row(~fits)} of {where}.")


def read_visits(
    path: str | Path,
    *,
    timezone: str | None = None,
    columns: dict[str, str] | None = None,
    checkins: bool = False,
    drop_duplicates: bool = False,
) -> pd.DataFrame:
    """Read whatever is known: a simulated city or a windows folder, or a table of visits.

    Parameters
    ----------
    path : path
        A folder that `wherenext.city.save` wrote, a folder with ``train.csv``, ``valid.csv`` and
        ``test.csv``, or a table of visits (``.csv``, ``.csv.gz``, ``.parquet``, or a folder of
        Parquet files alone).
    timezone, columns, checkins, drop_duplicates
        Apply to tables (the last one to folders of windows as well); see `pgt.io.tables.read`.

    Returns
    -------
    DataFrame
        Visits, as `pgt.visits.check` returns them. What is allowed but looks like a mistake (ids
        that differ by case alone, a visit decades from the rest, swapped coordinates, times in UTC
        that were read as local) is warned of and stands in ``attrs["notes"]``
        (`pgt.doubts.visits`).

    Raises
    ------
    DataError
        When there is nothing to read, or something in it is wrong: it says where.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("User ID,Venue ID,Check-in time\\nann,home,2024-05-01 08:00\\n")
    ...     visits = read_visits(path, timezone="Europe/Vienna", checkins=True)
    >>> visits.started_at[0].isoformat()
    '2024-05-01T08:00:00+02:00'
    """
    path = local_path(path)
    if path.is_dir():
        require_no_delta(path)
        is_city = (path / "city.json").is_file()
        if is_city or is_windows_folder(path):
            if timezone or columns or checkins or (is_city and drop_duplicates):
                raise DataError(
                    f"{path} is a folder whose format is known; timezone, columns, checkins (and, "
                    "for a city, drop_duplicates) are for tables, leave them out."
                )
            if is_city:
                return _city(path)
            return read_windows_folder(path, drop_duplicates=drop_duplicates)
        if not is_parquet_folder(path):
            raise DataError(f"{path} is a folder without train.csv, valid.csv and test.csv; "
                            f"{_remedy(path)}.")  # fmt: skip
    return read(
        path,
        timezone=timezone,
        columns=columns,
        checkins=checkins,
        drop_duplicates=drop_duplicates,
    )


def _city(folder: Path) -> pd.DataFrame:
    """The visits of a simulated city, or one sentence on what is wrong with its files."""
    from wherenext.city import load

    try:
        return load(folder).visits
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(
            f"{folder} is no city that can be read ({reason(error)}); write it again with "
            "python -m pgt city."
        ) from error


def _remedy(folder: Path) -> str:
    """What to do with a folder that is no source of visits."""
    if (folder / "metadata").is_dir():
        return "it looks like an Iceberg table: write its visits as one Parquet file"
    if any(is_table(file) for file in islice(folder.rglob("*"), 1000)):
        return (
            "give one of its files, or read all of them with python -m pgt prepare --engine process"
        )
    return "give a table of visits (.csv, .parquet, or a folder of Parquet files), or those three"


# Environment variables that say where data lie that are not part of the package.
GEOLIFE_WINDOWS = "PGT_GEOLIFE_WINDOWS"  # folder with train.csv, valid.csv and test.csv
GEOLIFE = "PGT_GEOLIFE"  # a table of GeoLife visits
NEW_YORK = "PGT_NEW_YORK"  # folder with train.csv, valid.csv and test.csv: Foursquare, New York


def from_environment(name: str) -> Path:
    """The path in an environment variable, or one sentence on how to set it."""
    if not os.environ.get(name):
        raise DataError(f"Set {name} to the path of the data; the book says which.")
    return Path(os.environ[name])


def has_data(name: str) -> bool:
    """Whether an environment variable points to data that is there."""
    return bool(os.environ.get(name)) and Path(os.environ[name]).exists()
