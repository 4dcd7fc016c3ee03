#!/usr/bin/env bash
# trackintel: the tracking quality of a fully recorded day is 1.04, and `week_monday` is a Sunday.
#
# Version: trackintel 1.4.2, pandas 3.1.1, geopandas 1.2.0.
# Expected: the share of the time that is recorded lies between 0 and 1; `week_monday` is the
#   Monday on which the week begins.
# Seen: a day counts as 24 hours. With local times a day with a stay from midnight to midnight has
#   25 / 24 when the clocks go back and 23 / 24 when they go forward. `week_monday` is the Sunday
#   on which the week ends: a stay on Monday 1 January is in the row of the 7th. Overlapping stays
#   give 1.5.
# Output seen: days [1.0, 1.0417] and [1.0, 0.9583]; week_monday 2024-01-07, a Sunday
# Why it matters: people are chosen by it ("at least 0.99 tracked", or "< 1" as a check), and rows
#   of weeks are joined by their Monday: none matches.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(trackintel==1.4.2 pandas==3.1.1 geopandas==1.2.0 shapely==2.2.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import geopandas as gpd
import pandas as pd
import trackintel as ti
from shapely.geometry import Point
from trackintel.analysis import temporal_tracking_quality


def quality(stays, granularity):
    """The table of tracking quality of stays in Berlin."""
    starts, ends = (pd.to_datetime(times).tz_localize("Europe/Berlin") for times in zip(*stays))
    table = gpd.GeoDataFrame(
        {"user_id": 0, "started_at": starts, "finished_at": ends},
        geometry=[Point(13.4, 52.5)] * len(stays),
        crs=4326,
    )
    return temporal_tracking_quality(ti.Staypoints(table), granularity=granularity)


autumn = quality([("2024-10-26", "2024-10-28")], "day")["quality"].round(4).tolist()
spring = quality([("2024-03-30", "2024-04-01")], "day")["quality"].round(4).tolist()
print("days in autumn:", autumn, "in spring:", spring)
assert autumn == [1.0, 1.0417] and spring == [1.0, 0.9583]

monday = quality([("2024-01-01", "2024-01-02")], "week")["week_monday"][0]
print("week_monday of Monday, 1 January:", monday.date(), monday.day_name())
assert str(monday.date()) == "2024-01-07" and monday.day_name() == "Sunday"

twice = [("2024-01-01 06:00", "2024-01-01 18:00"), ("2024-01-01 10:00", "2024-01-01 16:00")]
assert quality(twice, "all")["quality"][0] == 1.5
PYTHON
