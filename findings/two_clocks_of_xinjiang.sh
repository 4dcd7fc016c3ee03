#!/usr/bin/env bash
# Time zones: in the west of China the two offline finders disagree by two hours.
#
# Version: tzfpy 2.1.1, timezonefinder 9.0.0.
# Expected: both read the same boundaries (OpenStreetMap's) and give one zone, or say that two are
#   used.
# Seen: in Urumqi, Kashgar and Hotan tzfpy's `get_tz` is Asia/Shanghai (UTC+8), timezonefinder's
#   `timezone_at` Asia/Urumqi (UTC+6). Both zones hold there, and tzfpy's `get_tzs` names both. In
#   Berlin, Beijing and Tokyo they agree.
# Output seen: Urumqi Asia/Shanghai ['Asia/Shanghai', 'Asia/Urumqi'], Asia/Urumqi
# Why it matters: which clock a person lives by differs from person to person there, not by
#   position. Home and work read off the clock shift by two hours with the package, for 25 million
#   people.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(tzfpy==2.1.1 timezonefinder==9.0.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import datetime as dt
import zoneinfo

import tzfpy
from timezonefinder import TimezoneFinder

finder = TimezoneFinder()
WEST = {"Urumqi": (87.6, 43.8), "Kashgar": (75.99, 39.47), "Hotan": (79.92, 37.11)}
ELSEWHERE = {"Berlin": (13.4, 52.5), "Beijing": (116.4, 39.9), "Tokyo": (139.7, 35.7)}


def hours(zone):
    """Hours before UTC."""
    moment = dt.datetime(2024, 3, 4, tzinfo=zoneinfo.ZoneInfo(zone))
    return moment.utcoffset() / dt.timedelta(hours=1)


for town, (lng, lat) in WEST.items():
    one, two = tzfpy.get_tz(lng, lat), finder.timezone_at(lng=lng, lat=lat)
    print(town, one, tzfpy.get_tzs(lng, lat), two)
    assert hours(one) - hours(two) == 2
    assert {one, two} <= set(tzfpy.get_tzs(lng, lat))
for lng, lat in ELSEWHERE.values():
    assert tzfpy.get_tz(lng, lat) == finder.timezone_at(lng=lng, lat=lat)
PYTHON
