"""The same steps by trackintel, for `bench.py`: fixes -> staypoints, triplegs, locations, visits.

    PYTHON book/lab/bench/trackintel_visits.py FIXES.parquet

PYTHON has trackintel 1.4 and an older pandas than 3. One person after the other, on one core;
reading and building the geometries is not timed. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import geopandas as gpd
import pandas as pd
import trackintel as ti


def points(table: pd.DataFrame, kind: type) -> gpd.GeoDataFrame:
    """A table with lon and lat as trackintel wants it."""
    rest = table.drop(columns=["lon", "lat"]).rename_axis("id")
    return kind(gpd.GeoDataFrame(rest, geometry=gpd.points_from_xy(table.lon, table.lat), crs=4326))


def main(path: str) -> None:
    """Time the four steps on all people of a file."""
    warnings.simplefilter("ignore")
    fixes = pd.read_parquet(path)
    seconds = {"staypoints": 0.0, "triplegs": 0.0, "locations and visits": 0.0}
    parts, n_legs = [], 0
    for _, frame in fixes.groupby("user_id"):
        person = points(frame.reset_index(drop=True), ti.Positionfixes)
        began = time.perf_counter()
        person, stays = ti.preprocessing.generate_staypoints(
            person, dist_threshold=200, time_threshold=30, gap_threshold=24 * 60,
            include_last=True,
        )  # fmt: skip
        seconds["staypoints"] += time.perf_counter() - began
        began = time.perf_counter()
        _, legs = ti.preprocessing.generate_triplegs(person, stays if len(stays) else None)
        seconds["triplegs"] += time.perf_counter() - began
        n_legs += len(legs)
        if len(stays):
            parts.append(stays)
    began = time.perf_counter()
    stays = ti.Staypoints(pd.concat(parts, ignore_index=True).rename_axis("id"))
    found, places = ti.preprocessing.generate_locations(
        stays, epsilon=20, num_samples=2, distance_metric="haversine", agg_level="dataset"
    )
    merged = ti.preprocessing.merge_staypoints(
        found[found.location_id.notna()], pd.DataFrame([]), max_time_gap="1min",
        agg={"location_id": "first"},
    )  # fmt: skip
    seconds["locations and visits"] = time.perf_counter() - began
    counts = {
        "staypoints": len(stays), "triplegs": n_legs, "locations": places.index.nunique(),
        "visits": len(merged),
    }  # fmt: skip
    print(json.dumps({"seconds": seconds, "counts": counts, "version": ti.__version__}))


if __name__ == "__main__":
    main(sys.argv[1])
