"""The data sets that experiments run on: where their visits come from, and their windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import pandas as pd
from wherenext import city
from wherenext.windows_folder import (
    GEOLIFE,
    GEOLIFE_WINDOWS,
    NEW_YORK,
    from_environment,
    has_data,
    read_windows_folder,
)
from wherenext.worlds import sampled

from lab.provenance import fingerprint
from pgt.config import Anchor, Protocol, WindowConfig
from pgt.datasets import read_visits
from pgt.visits import split_by_days
from pgt.windows import Dataset, prepare


@dataclass(frozen=True)
class Data:
    """A data set that experiments run on.

    Attributes
    ----------
    name : str
        For the rows.
    load : callable
        Gives the visits.
    protocol : {"published", "exact"}
    needs : str
        Environment variable that points to the data, if they are not part of the package.
    preset : str
        Shape and training of every PGT on it, of `pgt.config.PRESETS`; on
        GeoLife those that the design documents name.
    anchor : {"target_day", "last_visit"}, optional
        The day that a window's history goes back from, if it is not the protocol's own.
    """

    name: str
    load: Callable[[], pd.DataFrame]
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
    """The entry of `DATA` with the visits of another one, and windows that go back from ``anchor``.

    Examples
    --------
    >>> anchored("city", "target_day"), anchored("new_york", "target_day")
    ('city_target_day', 'new_york')
    """
    return key if DATA[key].config.goes_back_from == anchor else f"{key}_{anchor}"
