#!/usr/bin/env bash
# geopy: a latitude and longitude written as text become another point, without an error.
#
# Version: geopy 2.5.0.
# Expected: "33 54 0 S 151 12 0 E" is near Sydney or is refused; "-33.9 S" is refused or stays
#   south.
# Seen: of degrees, minutes and seconds with spaces, a part that fits is taken: the point is 12 N 0
#   E, in Burkina Faso, with a comma between the two as well. With the signs for degrees, minutes
#   and seconds it is right. A minus and an S cancel each other, so "-33.9 S" is in the north;
#   minus and N is south, minus and W is west. Decimal commas fail or hit something: "48,1;11,6",
#   Munich, is 11 N 6 E.
# Output seen: (12.0, 0.0) | (33.9, 151.2) | (11.0, 6.0)
# Why it matters: exports of places write positions in such ways. geopy's distances take text as
#   well, so a table of wrong distances looks like one of long journeys.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(geopy==2.5.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
from geopy import Point
from geopy.distance import geodesic


def at(text):
    """Latitude and longitude."""
    return tuple(Point(text))[:2]


for text in ("33 54 0 S 151 12 0 E", "-33.9 S, 151.2 E", "48,1;11,6", "33 54 0 S, 151 12 0 E"):
    print(f"{text!r}: {at(text)}")
assert at("33.9 S, 151.2 E") == (-33.9, 151.2)  # as it should be
assert at("33 54 0 S 151 12 0 E") == (12.0, 0.0)
assert at("33 54 0 S, 151 12 0 E") == at("-33 54 0, 151 12 0") == (12.0, 0.0)
deg = chr(176)
assert at(f"33{deg}54'0\"S, 151{deg}12'0\"E") == (-33.9, 151.2)
assert at("-33.9 S, 151.2 E") == (33.9, 151.2)
assert at("-33.9 N, 151.2 W") == (-33.9, -151.2)
assert at("48,1;11,6") == (11.0, 6.0)
away = geodesic("33 54 0 S 151 12 0 E", (-33.9, 151.2)).km
print(f"the same point, {away:,.0f} km apart")
assert away > 10_000
PYTHON
