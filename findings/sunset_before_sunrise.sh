#!/usr/bin/env bash
# astral: in UTC, the sunset "of that day" lies before its sunrise, and is the one of the evening
#   before.
#
# Version: astral 3.2, suntime 1.4.0.
# Expected: `sun(observer, date)` gives one day of light: sunrise, then sunset.
# Seen: asked in UTC (the default), each of the two is the one whose UTC date is the given date. In
#   Los Angeles that is sunset at 03:07 and sunrise at 12:42, in Auckland and Tokyo as well; in
#   Berlin nothing is wrong. suntime gives the local day: a day later for the sunset in Los
#   Angeles, a day earlier for the sunrise in Auckland and Tokyo. With tzinfo the two packages
#   agree to a minute.
# Output seen: Los Angeles, 21 June: astral 12:42 and 03:07, suntime 12:42 and 03:07 of 22 June
# Why it matters: "after dark" is a cue for where somebody goes next. sunrise < t < sunset is never
#   true for anybody in California, Japan or New Zealand if times are kept in UTC, as they should
#   be.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(astral==3.2 suntime==1.4.0)
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

from astral import Observer
from astral.sun import sun
from suntime import Sun

DAY = dt.date(2024, 6, 21)
TOWNS = {
    "Los Angeles": (34.05, -118.24, "America/Los_Angeles"),
    "Auckland": (-36.85, 174.76, "Pacific/Auckland"),
    "Tokyo": (35.68, 139.69, "Asia/Tokyo"),
    "Berlin": (52.52, 13.40, "Europe/Berlin"),
}
day = dt.timedelta(days=1)
minute = dt.timedelta(minutes=1)
for town, (lat, lon, zone) in TOWNS.items():
    light = sun(Observer(lat, lon), date=DAY)
    other = Sun(lat, lon)
    midnight = dt.datetime(DAY.year, DAY.month, DAY.day)
    rise, down = other.get_sunrise_time(midnight), other.get_sunset_time(midnight)
    print(f"{town}: astral {light['sunrise']:%d %H:%M} {light['sunset']:%d %H:%M},", end=" ")
    print(f"suntime {rise:%d %H:%M} {down:%d %H:%M}")
    assert (light["sunrise"] < light["sunset"]) == (town == "Berlin")
    assert abs(down - light["sunset"] - (day if town == "Los Angeles" else 0 * day)) < 3 * minute
    early = town in ("Auckland", "Tokyo")
    assert abs(light["sunrise"] - rise - (day if early else 0 * day)) < 3 * minute
    local = sun(Observer(lat, lon), date=DAY, tzinfo=zoneinfo.ZoneInfo(zone))
    assert local["sunrise"] < local["sunset"]  # asked with the zone, all is well
PYTHON
