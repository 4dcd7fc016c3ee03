#!/usr/bin/env bash
# trackintel: for one who works at home the method OSNA says that the gym is her home.
#
# Version: trackintel 1.4.2, pandas 3.1.1, geopandas 1.2.0.
# Expected: `location_identifier(method="OSNA")` sums up the time at each place in the hours of rest
#   (2 to 8), work (8 to 19) and leisure. Who is at her flat for 23 hours a day and at the gym for
#   one lives in the flat.
# Seen: a stay counts as a whole for the hour of its middle. From 21:00 to 20:00 of the next day
#   the middle is 8:30, so all 23 hours of it, the night with them, are "work". The only place with
#   time left for a home is the gym: the gym is "home", the flat is "work". The same stays cut at
#   midnight, as a recorder that makes a file a day has them, make the flat "home". The text says
#   that the data are "divided in three time frames" and that "the time spent" is summed; that stays
#   are not divided it does not say.
# Output seen: whole {'flat': 'work', 'gym': 'home'}, cut at midnight {'flat': 'home', 'gym': None}
# Why it matters: home and work are the features and labels of many studies. The better the record
#   (long stays without gaps), the worse they are; those who stay at home all day lose their home.
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
from trackintel.analysis import location_identifier

DAYS = pd.date_range("2024-01-08", "2024-01-19", freq="B", tz="Europe/Berlin")
PLACES = {"flat": Point(13.40, 52.50), "gym": Point(13.42, 52.51)}


def recorded(cut_at_midnight):
    """Each day at the gym from 20:00 to 21:00, else at the flat."""
    stays = []
    for day in DAYS:
        evening, gym = day - pd.Timedelta(hours=3), day + pd.Timedelta(hours=20)
        edges = [evening, day, gym] if cut_at_midnight else [evening, gym]
        stays += [("flat", *pair) for pair in zip(edges, edges[1:])]
        stays.append(("gym", gym, gym + pd.Timedelta(hours=1)))
    table = pd.DataFrame(stays, columns=["location_id", "started_at", "finished_at"])
    points = [PLACES[place] for place in table["location_id"]]
    table = gpd.GeoDataFrame(table.assign(user_id=0), geometry=points, crs=4326)
    return ti.Staypoints(table)


def labels(stays, method):
    """What each place is called."""
    table = location_identifier(stays, method=method, pre_filter=False)
    first = table.groupby("location_id")["purpose"].unique()
    assert all(len(names) == 1 for names in first)
    return {place: None if pd.isna(names[0]) else names[0] for place, names in first.items()}


def weighed(stays):
    """Hours at each place in the time frames of home, by the minute, with the method's weights."""
    hours = dict.fromkeys(PLACES, 0.0)
    for stay in stays.itertuples():
        for minute in pd.date_range(stay.started_at, stay.finished_at, freq="min", inclusive="left"):
            if minute.weekday() < 5 and not 8 <= minute.hour < 19:
                hours[stay.location_id] += (0.739 if 2 <= minute.hour < 8 else 0.358) / 60
    return {place: round(value, 1) for place, value in hours.items()}


whole, cut = recorded(False), recorded(True)
time = (whole["finished_at"] - whole["started_at"]).groupby(whole["location_id"]).sum()
print("hours:", (time / pd.Timedelta(hours=1)).to_dict(), "weighed by the minute:", weighed(whole))
assert time["flat"] == 23 * time["gym"] and weighed(whole)["flat"] > 10 * weighed(whole)["gym"]
assert weighed(whole) == weighed(cut)
print("whole:", labels(whole, "OSNA"), "cut at midnight:", labels(cut, "OSNA"))
assert labels(whole, "OSNA") == {"flat": "work", "gym": "home"}
assert labels(cut, "OSNA") == {"flat": "home", "gym": None}
assert labels(whole, "FREQ") == labels(cut, "FREQ") == {"flat": "home", "gym": "work"}
PYTHON
