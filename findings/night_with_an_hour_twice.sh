#!/usr/bin/env bash
# movingpandas: in the night when the clocks go back, zoned fixes are lost and the speed triples.
#
# Version: movingpandas 0.23.0, geopandas 1.2.0, pandas 3.1.1.
# Expected: fixes with a zone are instants; the same fixes in Berlin's time and in UTC make the
#   same trajectory.
# Seen: a Trajectory takes the zone off and keeps the clock, then drops rows whose time is there
#   already: 02:10 and 02:40 of winter time, since they were 02:10 and 02:40 in summer time. Six
#   fixes become four, 140 minutes 80, and the last speed three times that of the fix before.
# Output seen: UTC 6 fixes, 2:20:00; Europe/Berlin 4 fixes, 1:20:00
# Why it matters: a warning says that the zone goes, not that fixes go. Convert to UTC first; then
#   the hours of day must be taken before.
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
import datetime as dt

import geopandas as gpd
import movingpandas as mpd
import pandas as pd
from shapely.geometry import Point

start = pd.Timestamp("2024-10-26T23:50Z")
minutes = [0, 20, 50, 80, 110, 140]
times = pd.DatetimeIndex([start + pd.Timedelta(minutes=m) for m in minutes])
points = [Point(13.40 + m / 2000, 52) for m in minutes]  # an even speed
fixes = gpd.GeoDataFrame({"person": "a"}, geometry=points, index=times, crs=4326)


def walk(zone):
    """Number of fixes, duration and greatest over smallest speed of the same walk."""
    trajectory = mpd.Trajectory(fixes.tz_convert(zone), "a")
    trajectory.add_speed()
    speed = trajectory.df["speed"]
    return len(trajectory.df), trajectory.get_duration(), round(speed.max() / speed.min(), 2)


utc, berlin = walk("UTC"), walk("Europe/Berlin")
print("UTC:", *utc, "| Europe/Berlin:", *berlin)
assert utc == (6, dt.timedelta(minutes=140), 1.0)
assert berlin[:2] == (4, dt.timedelta(minutes=80))
assert berlin[2] > 2.5
PYTHON
