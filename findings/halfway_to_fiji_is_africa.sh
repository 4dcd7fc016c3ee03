#!/usr/bin/env bash
# movingpandas: half of the way over the date line is on the meridian of Greenwich.
#
# Version: movingpandas 0.23.0, geopandas 1.2.0, shapely 2.2.0.
# Expected: length, direction and the position in between belong to one way. It is 10.6 km long and
#   goes east, so half of it is 5.3 km east of its start.
# Seen: length and direction go over the line. `get_position_at(method="interpolated")` draws the
#   line on the flat map: the point is at longitude 0, 16,243 km from the start, more than a
#   thousand times the length of the way.
# Output seen: length 10.6 km, direction 90 degrees, halfway POINT (0 -17)
# Why it matters: resampling to even steps interpolates. A ferry in Fiji then crosses Africa in
#   each of its voyages, and a place is found there; a check of length or speed finds nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(movingpandas==0.23.0 geopandas==1.2.0 pandas==3.1.1 shapely==2.2.0 pyproj==3.7.2)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import geopandas as gpd
import movingpandas as mpd
import pandas as pd
from pyproj import Geod
from shapely.geometry import Point

times = pd.to_datetime(["2024-03-04T10:00", "2024-03-04T10:10"])
points = [Point(179.95, -17), Point(-179.95, -17)]
ferry = mpd.Trajectory(
    gpd.GeoDataFrame({"ship": "a"}, geometry=points, index=times, crs=4326), "a"
)
half = ferry.get_position_at(pd.Timestamp("2024-03-04T10:05"), method="interpolated")
away = Geod(ellps="WGS84").inv(179.95, -17, half.x, half.y)[2]
print(f"length {ferry.get_length():.0f} m, direction {ferry.get_direction():.0f},", end=" ")
print(f"halfway {half}, {away / 1000:.0f} km from the start")
assert 10_000 < ferry.get_length() < 11_000 and 85 < ferry.get_direction() < 95
assert half.equals(Point(0, -17)) and away > 15_000_000
PYTHON
