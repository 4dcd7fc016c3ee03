#!/usr/bin/env bash
# China's shifted coordinates: the usual converters also move Osaka, Seoul and Delhi; one moves all
# the world, New York by three kilometres.
#
# Version: eviltransform 0.1.1, coord-convert 0.2.1, prcoords 1.0.2, transbigdata 0.5.3.
# Expected: WGS-84 is turned into GCJ-02 where maps use GCJ-02, in China. Elsewhere nothing moves,
#   or something is said.
# Seen: three packages take a rectangle of degrees for China. Seoul, Osaka and Delhi lie in it and
#   are moved by about half a kilometre, as far as Beijing; Tokyo lies outside and stays. The fourth
#   has no rectangle: it moves Paris by 1.2 km and New York by 3.3 km. Nothing is raised or said.
#   The usual way back is no inverse: 0.4 m are left in Beijing, 2.8 m in Osaka.
# Output seen: Osaka 542 542 542 542, Tokyo 0 0 0 381, New York 0 0 0 3262 (metres, in this order)
# Why it matters: who has recordings of a journey and turns all of them "to be safe" has one country
#   in which each place is a street away, and its neighbour in which it is right. Places that
#   several people share no longer meet, and a model of stays sees new places.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(eviltransform==0.1.1 coord-convert==0.2.1 prcoords==1.0.2 transbigdata==0.5.3
  pandas==3.1.1 geopandas==1.2.0 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import math

import eviltransform
import prcoords
from coord_convert import transform
from transbigdata.coordinates import gcj02towgs84, wgs84togcj02

TOWNS = {
    "Beijing": (116.39, 39.91), "Seoul": (126.98, 37.57), "Osaka": (135.5, 34.69),
    "Delhi": (77.2, 28.6), "Tokyo": (139.75, 35.68), "Paris": (2.35, 48.86),
    "New York": (-74.0, 40.7),
}


def metres(here, there):
    """Between two near points (lon, lat)."""
    east = (there[0] - here[0]) * math.cos(math.radians(here[1]))
    return 6371000 * math.radians(math.hypot(east, there[1] - here[1]))


def by_prcoords(lon, lat):
    moved = prcoords.wgs_gcj(prcoords.Coords(lat, lon))
    return moved.lon, moved.lat


moved = {}
for town, (lon, lat) in TOWNS.items():
    ways = (
        eviltransform.wgs2gcj(lat, lon)[::-1],
        transform.wgs2gcj(lon, lat),
        by_prcoords(lon, lat),
        wgs84togcj02(lon, lat),
    )
    moved[town] = [metres((lon, lat), way) for way in ways]
    back = metres((lon, lat), gcj02towgs84(*ways[-1]))
    print(town, *(round(m) for m in moved[town]), f"there and back {back:.1f}")
for town in ("Beijing", "Seoul", "Osaka", "Delhi"):
    assert min(moved[town]) > 400, town
for town in ("Tokyo", "Paris", "New York"):
    assert max(moved[town][:3]) == 0 and moved[town][3] > 300, town
assert moved["New York"][3] > 3000
PYTHON
