#!/usr/bin/env bash
# PyMEOS: building a sequence throws away the fixes that lie on the way between two others.
#
# Version: pymeos 1.3.0 (MEOS of MobilityDB inside).
# Expected: a sequence made from five fixes has five instants.
# Seen: it has three: a fix that the straight line between its neighbours at even speed gives, too,
#   is left out, and so is each repeated fix of a stay. The line that it draws is the same; the
#   number of fixes, the gaps between them and when the receiver was silent are not. Whole numbers
#   that repeat (a place id) keep the first of a run and the last change only.
# Output seen: 5 fixes in, 3 instants out; longest gap 60 minutes in, 70 out
# Why it matters: sampling rates and gaps decide whether a stay may be bridged. A stay of an hour
#   with a fix each minute becomes two fixes, which looks like a phone that was switched off.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(pymeos==1.3.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import datetime as dt

import pymeos
from pymeos import TGeomPointSeq, TIntSeq

pymeos.pymeos_initialize()
fixes = [("0 0", "10:00"), ("1 0", "10:10"), ("2 0", "10:20"), ("2 0", "10:30"), ("2 0", "11:30")]
text = ", ".join(f"Point({point})@2024-03-04 {clock}:00+00" for point, clock in fixes)
walk = TGeomPointSeq(string=f"[{text}]")
times = walk.timestamps()
gap = max(after - before for before, after in zip(times, times[1:]))
print(len(fixes), "fixes in,", walk.num_instants(), "out:", walk, "longest gap", gap)
assert walk.num_instants() == 3
assert gap == dt.timedelta(minutes=70)  # the fixes are never more than 60 apart
places = TIntSeq(string="[7@2024-03-04, 7@2024-03-05, 7@2024-03-06, 8@2024-03-07]")
print(places)
assert places.num_instants() == 2
pymeos.pymeos_finalize()
PYTHON
