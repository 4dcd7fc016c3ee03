#!/usr/bin/env bash
# GeoJSON: whether the ids of features survive depends on whether they are numbers or text.
#
# Version: geopandas 1.2.0 with pyogrio 0.13.0 (its wheel holds GDAL 3.12.4), pandas 3.1.1.
# Expected: `id` of a feature (RFC 7946: a number or a string) becomes a column, or never does.
# Seen: ids that are text make a column `id`; whole numbers from 0 on go to GDAL's own number of
#   the feature, which read_file leaves out, so the table has no id at all. Below 0 they are kept,
#   with a fraction they become text. One number among texts takes the texts with it, and of two
#   features with the number 7 the second is 1.
# Output seen: text ['7', '8'] | numbers: no column | negative [-1, -2] | mixed: no column, [7, 0]
# Why it matters: places exported with whole numbers as ids come back without a name. Who then
#   counts the rows instead joins visits to the wrong places after the first filter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(geopandas==1.2.0 pyogrio==0.13.0 pandas==3.1.1 shapely==2.2.0 pyarrow==26.0.1)
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


def read(ids, **options):
    """A table read from a file whose features have these ids."""
    point = {"type": "Point", "coordinates": [13.4, 52.5]}
    features = [
        {"type": "Feature", "id": i, "properties": {"visits": n}, "geometry": point}
        for n, i in enumerate(ids)
    ]
    with open("places.geojson", "w") as file:
        json.dump({"type": "FeatureCollection", "features": features}, file)
    return gpd.read_file("places.geojson", **options)


text, numbers, negative = read(["7", "8"]), read([7, 8]), read([-1, -2])
print("text:", list(text["id"]), "negative:", list(negative["id"]))
print("numbers, columns:", list(numbers.columns))
assert list(text["id"]) == ["7", "8"]
assert "id" not in numbers and list(numbers.index) == [0, 1]
assert list(negative["id"]) == [-1, -2]
assert list(read([7.5, 8.5])["id"]) == ["7.5", "8.5"]
for arrow in (False, True):
    assert "id" not in read([7, "bakery"], use_arrow=arrow)
print("mixed, asked for:", list(read([7, "bakery"], fid_as_index=True).index))
assert list(read([7, "bakery"], fid_as_index=True).index) == [7, 0]  # the bakery is called 0
assert list(read([7, 7], fid_as_index=True).index) == [7, 1]
PYTHON
