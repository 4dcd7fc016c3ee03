#!/usr/bin/env bash
# H3: the corners of a cell, given back, are another cell in Python, JavaScript and Rust.
#
# Version: h3 4.5.0 (Python), h3-js 4.5.0, polars-h3 0.7.1 (Rust, h3o) with Polars 2.1.0.
# Expected: Python and JavaScript are the same C code and agree on any coordinates; Rust's own
#   version agrees as well.
# Seen: of the corners of 900 cells that h3 itself gives (cell_to_boundary), each pair of the three
#   disagrees on more than one in twenty, Python and JavaScript too. Of 20,000 random points, and
#   of 20,000 rounded to two decimals, Python and Rust disagree on none.
# Output seen: of 5,402 corners Python and JavaScript differ on 624, JavaScript and Rust on 1,022
# Why it matters: who stores a place by a corner of its cell, cuts polygons along cells, or snaps
#   routes to edges gets other places on the page than in the model. Store centres, or the ids.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(h3==4.5.0 polars==2.1.0 polars-h3==0.7.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi
npm install --silent --no-audit --no-fund --prefix . h3-js@4.5.0 >/dev/null
venv/bin/python - <<'PYTHON'
import json
import random

import h3

draw = random.Random(0)
corners = []
for level in (5, 9, 12):
    for _ in range(300):
        cell = h3.latlng_to_cell(draw.uniform(-80, 80), draw.uniform(-180, 180), level)
        corners += [(lat, lng, level) for lat, lng in h3.cell_to_boundary(cell)]
with open("corners.json", "w") as file:
    json.dump(corners, file)
PYTHON
node -e '
  const h3 = require("h3-js");
  const corners = JSON.parse(require("fs").readFileSync("corners.json"));
  console.log(JSON.stringify(corners.map(([lat, lng, level]) => h3.latLngToCell(lat, lng, level))));
' >javascript.json
venv/bin/python - <<'PYTHON'
import json
import random

import h3
import polars as pl
import polars_h3


def rust(points, level):
    """The cells of points by h3o."""
    frame = pl.DataFrame(points, schema=["lat", "lng"], orient="row")
    cells = frame.select(polars_h3.latlng_to_cell("lat", "lng", level))
    return [h3.int_to_str(int(cell)) for cell in cells.to_series()]


with open("corners.json") as file:
    corners = json.load(file)
with open("javascript.json") as file:
    javascript = json.load(file)
python = [h3.latlng_to_cell(lat, lng, level) for lat, lng, level in corners]
other = []
for level in (5, 9, 12):  # the corners lie in this order
    other += rust([(lat, lng) for lat, lng, one in corners if one == level], level)


def differ(one, two):
    """On how many points two of them differ."""
    return sum(a != b for a, b in zip(one, two, strict=True))


print("of", len(corners), "corners differ: Python and JavaScript", differ(python, javascript))
print("Python and Rust", differ(python, other), "JavaScript and Rust", differ(javascript, other))
pairs = [(python, javascript), (python, other), (javascript, other)]
assert all(differ(one, two) > len(corners) / 20 for one, two in pairs)

draw = random.Random(1)
points = [(draw.uniform(-85, 85), draw.uniform(-180, 180)) for _ in range(20_000)]
for some in (points, [(round(lat, 2), round(lng, 2)) for lat, lng in points]):
    assert differ([h3.latlng_to_cell(*point, 9) for point in some], rust(some, 9)) == 0
PYTHON
