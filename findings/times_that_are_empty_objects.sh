#!/usr/bin/env bash
# pydeck: a column of times reaches the map as empty objects, and a missing coordinate is no JSON.
#
# Version: pydeck 0.9.3, pandas 3.1.1.
# Expected: in the map's JSON times are text or numbers and a missing coordinate is null, or both
#   raise.
# Seen: each time, with a zone or without, is {}, without a warning; so is a duration. A missing
#   latitude is NaN: Python's own json reads it back, JSON.parse in a browser refuses the whole
#   text for one fix.
# Output seen: "left": {} and "lat": NaN
# Why it matters: a tooltip or filter by time shows nothing, and a page that loads the map's JSON
#   stays empty with thousands of good fixes. Write times as text before the table goes to the map.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(pydeck==0.9.3 pandas==3.1.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import json

import pandas as pd
import pydeck


def data(table):
    """The JSON of a map with this table."""
    layer = pydeck.Layer("ScatterplotLayer", table, get_position="[lng, lat]", id="visits")
    return pydeck.Deck(layers=[layer]).to_json()


def refuse(name):
    """What a browser does with NaN."""
    raise ValueError(f"{name} is no JSON")


visits = pd.DataFrame({"lng": [13.4, 13.5], "lat": [52.5, 52.6]})
left = pd.to_datetime(["2024-03-04T08:00", "2024-03-04T09:00"])
for times in (left, left.tz_localize("Europe/Berlin"), left - left[0]):
    rows = json.loads(data(visits.assign(left=times)))["layers"][0]["data"]
    print(rows)
    assert [row["left"] for row in rows] == [{}, {}]

missing = data(visits.assign(lat=[52.5, None]))
assert '"lat": NaN' in missing
try:
    json.loads(missing, parse_constant=refuse)
except ValueError as error:
    print(error)
else:
    raise SystemExit("a missing coordinate is JSON now")
PYTHON
