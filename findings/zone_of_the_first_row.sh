#!/usr/bin/env bash
# utm: a column of places is put into the zone of its first row, however far the others are.
#
# Version: utm 0.9.0, numpy 2.4.6.
# Expected: two cities of a table, given as arrays, get two zones, or an error as two hemispheres do.
# Seen: one zone comes back, that of the first row, and all rows are computed in it. After Zurich,
#   Tokyo's northing is 30,178 km, three times the way from the equator to the pole, and the way
#   back gives a latitude of 3.3 billion degrees. After New York, two places in Los Angeles that are
#   923 m apart are 1,132 m apart. Row by row the same function is right. That the latitudes of an
#   array differ in sign is refused, that they lie in zones far apart is not.
# Output seen: zone 32 for both, Tokyo 30178 km north; 923 m become 1132 m
# Why it matters: metres are what thresholds of stays and clusters are given in. In a table that
#   begins with another city, a stay of 100 m is one of 80 m, and which city that is depends on the
#   order of the rows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(utm==0.9.0 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import numpy as np
import utm

ZURICH, TOKYO, NEW_YORK = (47.4, 8.5), (35.7, 139.7), (40.7, -74.0)
LOS_ANGELES = [(34.05, -118.25), (34.05, -118.24)]


def columns(*places):
    """Eastings and northings of places given at once, and their zone."""
    return utm.from_latlon(*np.array(places).T)


east, north, zone, letter = columns(ZURICH, TOKYO)
alone = utm.from_latlon(*TOKYO)
print(f"together zone {zone}, Tokyo {north[1] / 1000:.0f} km north; alone zone {alone[2]}")
back = utm.to_latlon(east, north, zone, letter, strict=False)[0][1]
print(f"its latitude on the way back: {back:.3g}")
assert zone == 32 and north[1] > 3e7 and alone[2] == 54 and abs(back) > 1e9

first = columns(*LOS_ANGELES)
after = columns(NEW_YORK, *LOS_ANGELES)
right, wrong = (np.hypot(np.diff(e)[-1], np.diff(n)[-1]) for e, n, *_ in (first, after))
print(f"two places in Los Angeles: {right:.0f} m alone, {wrong:.0f} m after New York")
assert round(right) == 923 and round(wrong) == 1132
try:
    columns((1.0, 103.8), (-1.0, 103.8))
except ValueError as error:
    print("two hemispheres:", error)
else:
    raise AssertionError("two hemispheres are no error")
PYTHON
