"""Data that the package may not bring: where it lies, and folders of the published protocol."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from pgt.errors import DataError
from pgt.visits import REQUIRED, SPLITS, check

# Environment variables that say where data lie that are not part of the package.
GEOLIFE_WINDOWS = "PGT_GEOLIFE_WINDOWS"  # folder with train.csv, valid.csv and test.csv
GEOLIFE = "PGT_GEOLIFE"  # a table of GeoLife visits
NEW_YORK = "PGT_NEW_YORK"  # folder with train.csv, valid.csv and test.csv: Foursquare, New York

COLUMNS = ("user_id", "location_id", "start_day", "start_min", "weekday")
# The numbers that such a folder can hold: days of a person from 0, minutes of the day, Monday 0.
RANGES = {"start_day": (0, 36_524), "start_min": (0, 1439), "weekday": (0, 6)}


def from_environment(name: str) -> Path:
    """The path in an environment variable, or one sentence on how to set it."""
    if not os.environ.get(name):
        raise DataError(f"Set {name} to the path of the data; the book says which.")
    return Path(os.environ[name])


def has_data(name: str) -> bool:
    """Whether an environment variable points to data that is there."""
    return bool(os.environ.get(name)) and Path(os.environ[name]).exists()


def read_windows_folder(folder: str | Path, *, drop_duplicates: bool = False) -> pd.DataFrame:
    """Read train.csv, valid.csv and test.csv of the published protocol as visits with ``split``.

    The day number says nothing of the date, so each person's day 0 is placed in the first week of
    2000, on the weekday that the file gives; times are labelled UTC, as the published pipeline
    takes them. Without durations the visits are check-ins, which end when they begin; those of one
    person at one place in the same minute are set a second apart, so that each stays a visit.
    """
    parts = []
    for split in SPLITS:
        path = Path(folder) / f"{split}.csv"
        if not path.is_file():
            raise DataError(f"There is no {split}.csv in {folder}; it needs train, valid and test.")
        part = pd.read_csv(path)
        if missing := [name for name in COLUMNS if name not in part.columns]:
            raise DataError(f"Column '{missing[0]}' is missing in {path}; is it the right file?")
        for name, (low, high) in RANGES.items():
            bad = ~(part[name].between(low, high) & (part[name] % 1 == 0))
            if bad.any():
                raise DataError(
                    f"'{name}' is {part.loc[bad, name].iloc[0]:g} in line {bad.argmax() + 2} of "
                    f"{path}; it must be a whole number from {low} to {high}."
                )
        parts.append(part.assign(split=split))
    raw = pd.concat(parts, ignore_index=True)
    first_weekday = (raw.weekday - raw.start_day) % 7
    if (first_weekday.groupby(raw.user_id).nunique() > 1).any():
        raise DataError(f"weekday and start_day disagree in {folder}; the files are not one set.")
    start = (
        pd.Timestamp("2000-01-03", tz="UTC")  # a Monday
        + pd.to_timedelta(first_weekday + raw.start_day, unit="D")
        + pd.to_timedelta(raw.start_min, unit="min")
    )
    if "duration" in raw.columns:
        # end_day and end_min slip by a day at midnight in some rows; duration does not.
        end = start + pd.to_timedelta(raw.duration, unit="min")
    else:
        again = raw.groupby(["user_id", "location_id", start]).cumcount()
        end = start = start + pd.to_timedelta(again, unit="s")
    visits = raw[["user_id", "location_id"]].assign(started_at=start, finished_at=end)
    visits["split"] = raw.split
    return check(visits.drop_duplicates([*REQUIRED]) if drop_duplicates else visits)
