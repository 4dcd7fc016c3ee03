"""The data sets that experiments run on: where their visits come from, and their windows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from wherenext import city

from lab.provenance import fingerprint
from pgt.config import Anchor, Protocol, WindowConfig
from pgt.errors import DataError
from pgt.readers.tables import read_visits
from pgt.visits import SPLITS, check, split_by_days
from pgt.windows import Dataset, prepare

# Environment variables that say where data lie that are not part of the package.
GEOLIFE_WINDOWS = "PGT_GEOLIFE_WINDOWS"  # folder with train.csv, valid.csv and test.csv
GEOLIFE = "PGT_GEOLIFE"  # a table of GeoLife visits
NEW_YORK = "PGT_NEW_YORK"  # folder with train.csv, valid.csv and test.csv: Foursquare, New York
CITIES = "PGT_CITIES"  # folder with hanover.csv (of phones) and phoenix.csv (check-ins)

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


def read_windows_folder(folder: str | Path) -> pd.DataFrame:
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
    return check(visits)


def sampled(visits: pd.DataFrame, people: int, share: float = 0.7, seed: int = 0) -> pd.DataFrame:
    """Some people's visits, drawn at random, and not all of them: nobody checks in everywhere."""
    rng = np.random.default_rng(seed)
    own = visits[visits.user_id.isin(rng.choice(visits.user_id.unique(), people, replace=False))]
    return own[rng.random(len(own)) < share]


@dataclass(frozen=True)
class Data:
    """A data set that experiments run on."""

    name: str  # for the rows
    load: Callable[[], pd.DataFrame]  # gives the visits
    protocol: Protocol
    needs: str = ""
    preset: str = "default"
    anchor: Anchor | None = None

    @property
    def config(self) -> WindowConfig:
        """Of its windows."""
        return WindowConfig(protocol=self.protocol, anchor=self.anchor)

    @property
    def there(self) -> bool:
        """Whether the data can be loaded."""
        return not self.needs or has_data(self.needs)


def _long_test() -> pd.DataFrame:
    """The large town's visits, trained on the first fifth of everybody's days, tested on most."""
    visits = city.simulate(preset="large").visits.drop(columns="split")
    return split_by_days(visits, (0.2, 0.3))


def _checkins() -> pd.DataFrame:
    """Visits of 500 people of a large town, three in ten missing, none with an end."""
    visits = sampled(city.simulate(preset="large").visits.drop(columns="split"), people=500)
    return visits.assign(finished_at=visits.started_at)


def _new_york() -> pd.DataFrame:
    return read_windows_folder(from_environment(NEW_YORK))


def _city(name: str, zone: str) -> Callable[[], pd.DataFrame]:
    return lambda: read_visits(from_environment(CITIES) / f"{name}.csv", timezone=zone)


_DATA: dict[str, Data] = {
    "city": Data("city", lambda: city.load().visits, "exact", preset="city"),
    "geolife_published": Data(
        "geolife", lambda: read_windows_folder(from_environment(GEOLIFE_WINDOWS)), "published",
        GEOLIFE_WINDOWS, "geolife",
    ),
    "geolife_exact": Data(
        "geolife", lambda: read_visits(from_environment(GEOLIFE), timezone="UTC"), "exact", GEOLIFE,
        "geolife",
    ),
    "city_large": Data(
        "large city", lambda: city.simulate(preset="large").visits, "exact", preset="city"
    ),
    "city_large_long_test": Data("large city, long test", _long_test, "exact", preset="city"),
    "checkins": Data("check-ins", _checkins, "exact", preset="city"),
    "new_york": Data("new york", _new_york, "published", NEW_YORK),
    "hanover": Data("hanover", _city("hanover", "America/New_York"), "exact", CITIES),
    "phoenix": Data("phoenix", _city("phoenix", "America/Phoenix"), "exact", CITIES),
}  # fmt: skip
# The same visits in the other kind of windows: those of the literature go back from the target's
# day, and so tell when the next visit is.
_OTHER: dict[str, Anchor] = {
    "city": "target_day", "geolife_exact": "target_day", "new_york": "last_visit"
}  # fmt: skip
DATA = _DATA | {f"{key}_{other}": replace(_DATA[key], anchor=other)
                for key, other in _OTHER.items()}  # fmt: skip


@cache
def dataset(key: str) -> Dataset:
    """The windows of an entry of `DATA`, prepared once a process."""
    return prepare(DATA[key].load(), config=DATA[key].config)


@cache
def data_fingerprint(key: str) -> str:
    """Of an entry of `DATA`."""
    return fingerprint(dataset(key))


def anchored(key: str, anchor: Anchor) -> str:
    """The entry with the visits of another one, and windows that go back from ``anchor``."""
    return key if DATA[key].config.goes_back_from == anchor else f"{key}_{anchor}"
