"""A simulated town whose people tell the truth about every choice.

Its people keep the rhythms of real ones (`wherenext.realism`), and every visit carries what no
recording can: whether it was an exploration, and how likely that was. No real person is in it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgt import files
from pgt.visits import check, split_by_days
from wherenext.people import WHY, Behaviour, Life, Town, change, invent
from wherenext.town_map import NAME, TIMEZONE, draw, settle

FIRST_MONDAY = "2022-01-03"  # minute zero of every simulation, local time
PRESETS: dict[str, dict[str, int]] = {
    "small": {"people": 66, "homes": 150, "others": 4400},
    "large": {"people": 600, "homes": 800, "others": 7200},
}
DAYS = (70, 450)  # people are tracked for at least and at most so many days
_VISITS = ["user_id", "location_id", "started_at", "finished_at", "split", "explored",
           "p_explore", "why"]  # fmt: skip


@dataclass(frozen=True)
class City:
    """A town, its people, and where they went."""

    name: str
    timezone: str
    places: pd.DataFrame
    people: pd.DataFrame
    moves: pd.DataFrame
    visits: pd.DataFrame
    base: dict[str, Any]  # the map as a GeoJSON FeatureCollection; see `wherenext.town_map.draw`
    truth: dict[str, Any]  # parameters of behaviour, seed and preset

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edge of the districts, in degrees."""
        features = [f for f in self.base["features"] if f["properties"]["kind"] == "district"]
        xy = np.concatenate([f["geometry"]["coordinates"][0] for f in features])
        (west, south), (east, north) = xy.min(axis=0), xy.max(axis=0)
        return float(west), float(south), float(east), float(north)


def simulate(preset: str = "small", seed: int = 7, behaviour: Behaviour | None = None) -> City:
    """Simulate Larkmere, "small" as committed or "large"; equal arguments give an equal city."""
    size, behaviour = PRESETS[preset], behaviour or Behaviour()
    town = draw()
    places = settle(town, size["homes"], size["others"], np.random.default_rng([seed, 1]))
    people = invent(places, size["people"], DAYS, np.random.default_rng([seed, 2]), behaviour)
    moves = change(people, places, np.random.default_rng([seed, 4]), behaviour)
    arrays = Town(places)
    parts = []
    for person in people.to_dict("records"):
        own = moves.loc[moves["user_id"] == person["user_id"], ["day", "home", "work"]]
        changes = list(own.itertuples(index=False, name=None))
        rng = np.random.default_rng([seed, 3, person["user_id"]])
        parts.append(Life(person, changes, arrays, behaviour, rng).run())
    rows = np.concatenate(parts)
    ids = places["location_id"].to_numpy()
    visits = pd.DataFrame(
        {
            "user_id": np.repeat(people["user_id"].to_numpy(), [*map(len, parts)]),
            "location_id": ids[rows[:, 0].astype(int)],
            "started_at": _local(rows[:, 1]),
            "finished_at": _local(rows[:, 2]),
            "explored": rows[:, 3].astype(bool),
            "p_explore": np.round(rows[:, 4], 4),
            "why": np.array(WHY)[rows[:, 5].astype(int)],
        }
    )
    visits = split_by_days(visits)[_VISITS]
    truth = {"preset": preset, "seed": seed, "first_monday": FIRST_MONDAY, **asdict(behaviour)}
    visits = _locate(visits, places)
    return City(NAME, TIMEZONE, places, people, moves, visits, town.base, truth)


def _local(minutes: np.ndarray) -> pd.DatetimeIndex:
    """Minutes after the first Monday as local times."""
    offset = pd.to_timedelta(minutes.astype(np.int64), unit="min")
    return (pd.Timestamp(FIRST_MONDAY) + offset).as_unit("us").tz_localize(TIMEZONE)


def _locate(visits: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """Put coordinates and kind of the place beside every visit."""
    where = places.set_index("location_id").loc[visits["location_id"], ["lon", "lat", "kind"]]
    visits = visits.copy()
    for at, column in enumerate(("lon", "lat", "kind"), start=4):
        visits.insert(at, column, where[column].to_numpy())
    return visits


def save(city: City, folder: str | Path) -> None:
    """Write a city, each file whole or not at all; the same city gives the same bytes."""
    about = {"name": city.name, "timezone": city.timezone, "truth": city.truth}
    visits = city.visits[_VISITS].copy()
    for column in ("started_at", "finished_at"):
        visits[column] = visits[column].dt.strftime("%Y-%m-%dT%H:%M%z")
    texts = {
        "city.json": json.dumps(about, indent=2) + "\n",
        "base.geojson": json.dumps(city.base, separators=(",", ":")) + "\n",
        "visits.csv": files.write_csv(visits),
    } | {
        f"{name}.csv": files.write_csv(getattr(city, name))
        for name in ("places", "people", "moves")
    }
    for name, text in texts.items():
        files.write_text(Path(folder) / name, text)


def load(folder: str | Path | None = None) -> City:
    """Read a city that `save` wrote; without a folder, the one that comes with the book."""
    root = files.folder("city") if folder is None else Path(folder)
    about = json.loads(root.joinpath("city.json").read_text(encoding="utf-8"))
    tables = {}
    for name in ("places", "people", "moves", "visits"):
        with root.joinpath(f"{name}.csv").open(encoding="utf-8", newline="") as file:
            tables[name] = files.without_marks(pd.read_csv(file))
    visits = tables["visits"]
    for column in ("started_at", "finished_at"):
        moment = pd.to_datetime(visits[column], format="%Y-%m-%dT%H:%M%z", utc=True)
        visits[column] = moment.dt.as_unit("us").dt.tz_convert(about["timezone"])
    base = json.loads(root.joinpath("base.geojson").read_text(encoding="utf-8"))
    visits = check(_locate(visits, tables["places"]))
    return City(**about, **tables | {"visits": visits}, base=base)
