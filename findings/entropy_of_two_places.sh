#!/usr/bin/env bash
# Real entropy: skmob and fastmob, one measure from one paper, give values that differ by a factor
#   of 2.
#
# Version: scikit-mobility 1.3.1 (pandas 1.5.3, numpy 1.26.4, shapely 1.8.5), fastmob 0.3.2.
# Expected: the same list of places has the same real entropy; going to and fro between two places
#   is predictable, and staying in one place has entropy 0.
# Seen: for 200 visits A B A B skmob says 0.151 bits, fastmob 0.078; for six 1.11 and 1.29; for six
#   different places 2.22 and 2.58 (log2 of 6). Who never leaves one place has 1.03 or 0.97 bits
#   after six visits. fastmob's predictability of A B A B A B is 0.5, that of guessing. skmob's
#   source looks for repeats only among the visits before the present one.
# Output seen: 0.1506 and 0.0776 bits
# Why it matters: "the limit of predictability" of a data set is made of this. Limits of papers
#   that used different packages cannot be compared, and short lists look random whatever people
#   do.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
make_venv() {  # folder, packages
  if command -v uv >/dev/null; then
    uv venv --quiet --python "$(command -v python3)" "$1"
    uv pip install --quiet --python "$1/bin/python" "${@:2}"
  else
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet "${@:2}"
  fi
}
make_venv skmob scikit-mobility==1.3.1 pandas==1.5.3 numpy==1.26.4 shapely==1.8.5.post1
make_venv fastmob fastmob==0.3.2 pandas==3.1.1 pyarrow==26.0.1

cat >lists.py <<'PYTHON'
import pandas as pd

LISTS = {"to and fro, 200": [1, 2] * 100, "to and fro, 6": [1, 2] * 3}
LISTS |= {"six places": [1, 2, 3, 4, 5, 6], "one place, 6": [1] * 6}


def visits(places):
    """A visit in each hour."""
    hours = pd.date_range("2024-03-04", periods=len(places), freq="h")
    table = pd.DataFrame({"uid": 1, "datetime": hours, "lng": 0.0, "location_id": places})
    return table.assign(lat=table["location_id"].astype(float))
PYTHON
skmob/bin/python -W ignore - >skmob.json <<'PYTHON'
import json

import skmob
from lists import LISTS, visits
from skmob.measures.individual import real_entropy

names = {"latitude": "lat", "longitude": "lng", "datetime": "datetime", "user_id": "uid"}
found = {
    name: real_entropy(skmob.TrajDataFrame(visits(places), **names), show_progress=False)
    for name, places in LISTS.items()
}
print(json.dumps({name: table["real_entropy"].item() for name, table in found.items()}))
PYTHON
fastmob/bin/python -W ignore - <<'PYTHON'
import json
import math

import fastmob
from lists import LISTS, visits

with open("skmob.json") as file:
    one = json.load(file)
two, predictability = {}, {}
for name, places in LISTS.items():
    table = visits(places).astype({"location_id": "uint32"})
    row = fastmob.trajectory_predictability(table).to_dict("records")[0]
    two[name], predictability[name] = row["real_entropy"], row["predictability"]
    print(f"{name}: skmob {one[name]:.4f}, fastmob {two[name]:.4f} bits")
assert 1.9 < one["to and fro, 200"] / two["to and fro, 200"] < 2.0
assert one["to and fro, 6"] < two["to and fro, 6"]
assert one["six places"] < two["six places"] == math.log2(6)
assert min(one["one place, 6"], two["one place, 6"]) > 0.9
assert predictability["to and fro, 6"] == 0.5
PYTHON
