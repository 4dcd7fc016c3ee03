#!/usr/bin/env bash
# Offline geocoders: in the north every third fix gets a town that is not the nearest.
#
# Version: reverse_geocode 1.6.6 and reverse_geocoder 1.5.1 (each ships its own towns).
# Expected: the nearest town, by distance.
# Seen: reverse_geocode compares degrees, as if a degree of longitude were as long as one of
#   latitude. In Lapland and around (60 to 69 N) a third of random points gets another town than
#   the nearest one of its own list, up to 75 km farther. East of the date line both packages miss
#   the Fijian town over it: Labasa, 80 km away, is not seen from 179.99 W; they name towns 203 and
#   341 km off, the second one in another country. From 179.99 E both find it.
# Output seen: 99 of 300; Labasa from the east of the line: Tubou and Sigave (Wallis and Futuna)
# Why it matters: the name of the town, or its country, is joined to fixes as a feature. The error
#   is nil near the equator, where one tries it first, and grows to the north.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(reverse_geocode==1.6.6 reverse_geocoder==1.5.1 scipy==1.17.1 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import random

import numpy as np
import reverse_geocode
import reverse_geocoder


def km(one, many):
    """Distance on the sphere."""
    (lat, lon), (lats, lons) = np.radians(one), np.radians(np.asarray(many, dtype=float)).T
    half = np.sin((lats - lat) / 2) ** 2
    half += np.cos(lat) * np.cos(lats) * np.sin((lons - lon) / 2) ** 2
    return 2 * 6371 * np.arcsin(np.sqrt(half))


def town(point):
    """Name and distance in reverse_geocode, then in reverse_geocoder."""
    one = reverse_geocode.get(point)
    two = reverse_geocoder.search([point], mode=1, verbose=False)[0]
    places = [(one["latitude"], one["longitude"]), (two["lat"], two["lon"])]
    return one["city"], two["name"], km(point, places).round()


towns = reverse_geocode.GeocodeData()._locations  # its own list
places = [(place["latitude"], place["longitude"]) for place in towns]
draw = random.Random(0)
points = [(round(draw.uniform(60, 69), 2), round(draw.uniform(11, 28), 2)) for _ in range(300)]
extra = []
for point in points:
    found = reverse_geocode.get(point)
    extra.append(km(point, [(found["latitude"], found["longitude"])])[0] - km(point, places).min())
wrong = sum(more > 0.001 for more in extra)
print(wrong, "of 300 get another town than the nearest, up to", round(max(extra)), "km farther")
assert wrong > 60 and max(extra) > 50

east, west = town((-16.8, 179.99)), town((-16.8, -179.99))
print("from the one side of the date line", east, "from the other", west)
assert east[0] == "Labasa" and (east[2] < 80).all()
assert "Labasa" not in west[:2] and (west[2] > 200).all()
PYTHON
