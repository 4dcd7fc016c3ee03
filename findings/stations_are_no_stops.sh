#!/usr/bin/env bash
# partridge: a timetable is read without its stations, to which its platforms still point.
#
# Version: partridge 1.1.2, pandas 3.1.1, networkx 3.6.1.
# Expected: `load_feed(...).stops` is stops.txt, which by GTFS holds platforms, stations,
#   entrances.
# Seen: without any view given, only stops remain at which a trip stops. Vehicles stop at
#   platforms, so stations (location_type 1) and entrances (2) are gone, and so is a stop without a
#   trip; the platform's parent_station names a row that is not there. `load_raw_feed` keeps them,
#   as text.
# Output seen: stops ['platform', 'bridge'], parent_station ['station', nan]
# Why it matters: people say and visit "the station", not platform 7. A join of platforms with
#   their stations, to make one place of them, drops every platform (inner) or its name (left).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(partridge==1.1.2 pandas==3.1.1 networkx==3.6.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import zipfile

import partridge

FILES = {
    "agency": "agency_id,agency_name,agency_url,agency_timezone\n1,Invented,,Europe/Berlin\n",
    "stops": "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n"
    "station,Central,52.5,13.4,1,\nplatform,Track 1,52.5,13.4,0,station\n"
    "door,North door,52.5,13.41,2,station\nbridge,Bridge,52.6,13.4,0,\nmoor,Moor,52.7,13.4,0,\n",
    "routes": "route_id,agency_id,route_short_name,route_type\n7,1,7,3\n",
    "calendar": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,"
    "start_date,end_date\ndaily,1,1,1,1,1,1,1,20240301,20241231\n",
    "trips": "route_id,service_id,trip_id\n7,daily,first\n",
    "stop_times": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
    "first,08:00:00,08:00:00,platform,1\nfirst,08:10:00,08:10:00,bridge,2\n",
}
with zipfile.ZipFile("timetable.zip", "w") as feed:
    for name, text in FILES.items():
        feed.writestr(f"{name}.txt", text)

stops = partridge.load_feed("timetable.zip").stops
print(stops[["stop_id", "parent_station"]].to_string(index=False))
assert set(stops["stop_id"]) == {"platform", "bridge"}
parent = stops.set_index("stop_id").loc["platform", "parent_station"]
assert parent == "station" and parent not in set(stops["stop_id"])
raw = partridge.load_raw_feed("timetable.zip").stops
assert len(raw) == 5
PYTHON
