#!/usr/bin/env bash
# KML: a gx:Track with a time for each fix is read as one line and the times of its two ends.
#
# Version: geopandas 1.2.0 with pyogrio 0.13.0 (GDAL 3.12.4, driver LIBKML), pandas 3.1.1.
# Expected: one row for each fix with its `when`, as GPX gives (layer track_points), or a refusal.
# Seen: one row for the whole track: a line without times, `begin` and `end`. When the person was
#   where in between is gone, without a warning. `<when>2024-03</when>`, which KML allows for "some
#   time in March", is 1 March at midnight, without a zone, while begin and end are in UTC.
# Output seen: LINESTRING Z (13.4 52.5 0, 13.4 52.5 0, 13.5 52.6 0) 08:00 to 17:00; 2024-03-01
# Why it matters: Google's old location history, Google Earth and many loggers export gx:Track.
#   Below, a person stays from 8:00 to 16:00 and then leaves; what is read looks like a long walk.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(geopandas==1.2.0 pyogrio==0.13.0 pandas==3.1.1 shapely==2.2.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import geopandas as gpd
import pandas as pd

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>
<Placemark><name>day</name><gx:Track>
"""
TAIL = """</gx:Track></Placemark>
<Placemark><name>some day</name><TimeStamp><when>2024-03</when></TimeStamp>
<Point><coordinates>13.4,52.5,0</coordinates></Point></Placemark>
</Document></kml>
"""
fixes = [("08:00", "13.4 52.5"), ("16:00", "13.4 52.5"), ("17:00", "13.5 52.6")]
whens = "".join(f"<when>2024-03-04T{clock}:00Z</when>\n" for clock, _ in fixes)
coords = "".join(f"<gx:coord>{place} 0</gx:coord>\n" for _, place in fixes)
with open("day.kml", "w") as file:
    file.write(HEAD + whens + coords + TAIL)

table = gpd.read_file("day.kml")
day, month = table.iloc[0], table.iloc[1]
print(day.geometry, day["begin"], day["end"], month["timestamp"])
assert len(table) == 2 and len(day.geometry.coords) == 3
assert day["begin"] == pd.Timestamp("2024-03-04T08:00Z")
assert day["end"] == pd.Timestamp("2024-03-04T17:00Z")
assert not any("16:00" in str(value) for value in day)  # the moment of leaving is nowhere
assert month["timestamp"] == pd.Timestamp("2024-03-01") and month["timestamp"].tzinfo is None
PYTHON
