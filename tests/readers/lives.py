"""One invented life of four weeks, as visits and as recorded positions, for tests of reading."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataNote

ZONE = "Europe/Vienna"
PLACES = {
    "home": (14.29041, 48.30513), "work": (14.31288, 48.32077), "shop": (14.29877, 48.30921),
    "gym": (14.27415, 48.29544), "cafe": (14.28033, 48.31266),
}  # fmt: skip


def stays(days: int = 28, seed: int = 0, zone: str = ZONE) -> pd.DataFrame:
    """Work by day, shop, gym and café in turn, home between; a quarter of an hour on the way."""
    rng, rows = np.random.default_rng(seed), []
    begin = pd.Timestamp("2025-03-03 00:00")
    for day in pd.date_range(begin, periods=days, freq="D"):
        plan = [("work", 8.25, 16.5), (("shop", "gym")[day.day % 2], 17, 18)]
        if day.weekday() > 4:
            plan = [("cafe", 10, 12)]
        for place, start, end in plan:
            late = pd.Timedelta(minutes=int(rng.integers(0, 9)))
            first = day + pd.Timedelta(hours=start) + late
            rows.append(("home", begin, first - pd.Timedelta(minutes=15)))
            rows.append((place, first, day + pd.Timedelta(hours=end) + late))
            begin = rows[-1][2] + pd.Timedelta(minutes=15)
        if len(plan) == 2:  # from work straight to the evening
            del rows[-2]
    table = pd.DataFrame(rows, columns=["location_id", "started_at", "finished_at"])
    for name in ("started_at", "finished_at"):
        table[name] = table[name].dt.as_unit("us").dt.tz_localize(zone)
    table["lon"], table["lat"] = zip(*table.location_id.map(PLACES), strict=True)
    return table


def positions(visits: pd.DataFrame, minutes: int = 10, seed: int = 0) -> pd.DataFrame:
    """A fix each few minutes of every stay, some metres off."""
    rng, parts = np.random.default_rng(seed), []
    for row in visits.itertuples():
        at = pd.date_range(row.started_at, row.finished_at, freq=f"{minutes}min", inclusive="left")
        off = rng.normal(0, 2.5e-5, (2, len(at)))
        parts.append(pd.DataFrame({"at": at.tz_convert("UTC"), "lon": row.lon + off[0],
                                   "lat": row.lat + off[1]}))  # fmt: skip
    return pd.concat(parts, ignore_index=True).round({"lon": 6, "lat": 6})


def resting(days: int = 28, minutes: int = 20) -> pd.DataFrame:
    """What stays at home, and records."""
    at = pd.date_range("2025-03-03 00:04", periods=days * 1440 // minutes, freq=f"{minutes}min",
                       tz=ZONE)  # fmt: skip
    one = pd.DataFrame({"started_at": at[:1], "finished_at": at[-1:], "lon": 14.29041,
                        "lat": 48.30513})  # fmt: skip
    return positions(one, minutes, seed=5)


def iso(times: pd.Series) -> list[str]:
    return [one.isoformat() for one in times]


def zulu(times: pd.Series) -> list[str]:
    return times.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ").tolist()


def timeline(visits: pd.DataFrame, **more: list[Any]) -> list[dict[str, Any]]:
    """The segments of a phone's export."""
    segments = []
    for number, row in enumerate(visits.itertuples()):
        place = {"placeId": row.location_id,
                 "placeLocation": {"latLng": f"{row.lat:.7f}°, {row.lon:.7f}°"}}  # fmt: skip
        segments.append({
            "startTime": row.started_at.isoformat(), "endTime": row.finished_at.isoformat(),
            **{name: values[number] for name, values in more.items()},
            "visit": {"hierarchyLevel": 0, "topCandidate": place},
        })  # fmt: skip
    return segments


def phone(visits: pd.DataFrame, **more: list[Any]) -> str:
    return json.dumps({"semanticSegments": timeline(visits, **more)})


def records(**devices: pd.DataFrame) -> str:
    """Google's older positions, with the tag of each device."""
    rows = [{"latitudeE7": round(row.lat * 1e7), "longitudeE7": round(row.lon * 1e7),
             "accuracy": 12, "deviceTag": int(tag[1:]), "timestamp": at}
            for tag, table in devices.items()
            for row, at in zip(table.itertuples(), zulu(table["at"]), strict=True)]  # fmt: skip
    return json.dumps({"locations": sorted(rows, key=lambda row: row["timestamp"])})


def gpx(inside: str = "", **tracks: pd.DataFrame) -> str:
    text = "".join(
        f"<trk><name>{name}</name><trkseg>" + "".join(
            f'<trkpt lat="{row.lat}" lon="{row.lon}"><time>{at}</time>{inside}</trkpt>'
            for row, at in zip(table.itertuples(), zulu(table["at"]), strict=True)
        ) + "</trkseg></trk>" for name, table in tracks.items()
    )  # fmt: skip
    return f'<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">{text}</gpx>'


def told(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives, and its notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(one.message) for one in caught if issubclass(one.category, DataNote)]
