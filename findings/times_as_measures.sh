#!/usr/bin/env bash
# A line with M: the usual steps lose the times that it carries, or make heights of them.
#
# Version: shapely 2.2.0, geopandas 1.2.0, pyogrio 0.13.0 (GDAL 3.12.4).
# Expected: M (here the time of each fix in seconds) goes along or a step refuses the line.
# Seen: shapely 2.2 reads, reverses and writes M, and GeoParquet keeps it. But `to_crs` on a line
#   with M gives a flat one, and on one with Z and M makes all heights and times NaN; `simplify`
#   and `segmentize` drop M; `to_json` writes M as the third number, which GeoJSON says is the
#   height. Only `to_file` refuses: one sentence, GeometryError.
# Output seen: to_crs M: LINESTRING (...); Z and M: LINESTRING ZM (... NaN NaN, ... NaN NaN);
#   to_json: [[13.0, 52.0, 1709500000.0], ...], a fix 1.7 million kilometres up
# Why it matters: trajectories from PostGIS, MobilityDB and OGC's moving features carry time as M.
#   A change of coordinates, the first thing one does before measuring, loses them in silence.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(
  shapely==2.2.0 geopandas==1.2.0 pyogrio==0.13.0 pandas==3.1.1 pyproj==3.7.2
  pyarrow==26.0.1
)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import json

import geopandas as gpd
import numpy as np
import shapely

flat = shapely.from_wkt("LINESTRING M (13 52 1709500000, 13.1 52 1709500600)")
high = shapely.from_wkt("LINESTRING ZM (13 52 30 1709500000, 13.1 52 31 1709500600)")
assert flat.has_m and high.has_m and high.has_z


def moved(line):
    """The line in metres."""
    return gpd.GeoSeries([line], crs=4326).to_crs(32633).iloc[0]


print("to_crs of M:       ", moved(flat).wkt)
print("to_crs of Z and M: ", moved(high).wkt)
assert not moved(flat).has_m
assert moved(high).has_m
assert np.isnan(shapely.get_coordinates(moved(high), include_z=True, include_m=True)[:, 2:]).all()

third = json.loads(gpd.GeoSeries([flat], crs=4326).to_json())["features"][0]["geometry"]
print("to_json of M:      ", third["coordinates"])
assert third["coordinates"][0] == [13.0, 52.0, 1709500000.0]

assert not shapely.simplify(high, 0.001).has_m and not shapely.segmentize(high, 0.05).has_m
assert shapely.reverse(high).has_m  # not every step loses it
table = gpd.GeoDataFrame(geometry=[high], crs=4326)
table.to_parquet("line.parquet")
assert gpd.read_parquet("line.parquet").geometry.iloc[0].has_m
try:
    table.to_file("line.gpkg")
except Exception as error:
    print("to_file:           ", type(error).__name__, error)
else:
    raise SystemExit("to_file no longer refuses a line with M")
PYTHON
