"""The same steps by trackintel, for `bench.py`: fixes -> staypoints, triplegs, locations, visits.

    PYTHON book/lab/bench/trackintel_visits.py FIXES.parquet

PYTHON has trackintel 1.4 and an older pandas than 3. One person after the other, on one core;
reading and building the geometries is not timed. Prints one line of JSON.
"""

import json
import sys
import time
import warnings

import geopandas as gpd
import pandas as pd
import trackintel as ti

warnings.simplefilter("ignore")
seconds, n_legs, parts = 0.0, 0, []
for _, frame in pd.read_parquet(sys.argv[1]).groupby("user_id"):
    there = gpd.points_from_xy(frame.lon, frame.lat)
    rest = frame.reset_index(drop=True).drop(columns=["lon", "lat"]).rename_axis("id")
    person = ti.Positionfixes(gpd.GeoDataFrame(rest, geometry=there, crs=4326))
    began = time.perf_counter()
    person, stays = ti.preprocessing.generate_staypoints(
        person, dist_threshold=200, time_threshold=30, gap_threshold=24 * 60, include_last=True
    )
    _, legs = ti.preprocessing.generate_triplegs(person, stays if len(stays) else None)
    seconds += time.perf_counter() - began
    n_legs += len(legs)
    parts += [stays] if len(stays) else []
began = time.perf_counter()
stays = ti.Staypoints(pd.concat(parts, ignore_index=True).rename_axis("id"))
found, places = ti.preprocessing.generate_locations(
    stays, epsilon=20, num_samples=2, distance_metric="haversine", agg_level="dataset"
)
merged = ti.preprocessing.merge_staypoints(
    found[found.location_id.notna()], pd.DataFrame([]), max_time_gap="1min",
    agg={"location_id": "first"},
)  # fmt: skip
seconds += time.perf_counter() - began
counts = {"staypoints": len(stays), "triplegs": n_legs, "locations": places.index.nunique()}
counts["visits"] = len(merged)
print(json.dumps({"seconds": seconds, "counts": counts, "version": ti.__version__}))
