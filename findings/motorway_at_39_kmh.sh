#!/usr/bin/env bash
# OSMnx: a motorway without a limit is driven at the mean of the streets with one, here 39 km/h.
#
# Version: osmnx 2.1.1, networkx 3.6.1, geopandas 1.2.0.
# Expected: maxspeed=none (OpenStreetMap's tag for a motorway without a limit, usual in Germany) is
#   fast; a motorway is one-way (OpenStreetMap: implied by highway=motorway).
# Seen: `add_edge_speeds` reads no number from "none" and takes the mean of all edges of the same
#   kind that have one, and if there are none, as for motorways without limits, the mean over the
#   kinds. The motorway is also open in both directions, and a footway is as fast as it.
# Output seen: streets 30 and 48 km/h (30 mph), motorway 39.1 km/h, footway 39.1 km/h
# Why it matters: times of travel decide who can have gone where. On these edges a motorway never
#   pays, routes go through towns, and real journeys look impossible.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(osmnx==2.1.1 networkx==3.6.1 geopandas==1.2.0 pandas==3.1.1 shapely==2.2.0 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import osmnx

NODES = [(1, 52.50, 13.40), (2, 52.50, 13.41), (3, 52.50, 13.42)]
NODES += [(4, 52.51, 13.42), (5, 52.49, 13.41)]
WAYS = [
    ((1, 2, 3), {"highway": "residential", "maxspeed": "30"}),
    ((3, 4), {"highway": "primary", "maxspeed": "30 mph", "oneway": "yes"}),
    ((2, 5), {"highway": "motorway", "maxspeed": "none"}),
    ((2, 4), {"highway": "footway"}),
]
rows = [f'<node id="{n}" lat="{lat}" lon="{lon}"/>' for n, lat, lon in NODES]
for number, (nodes, tags) in enumerate(WAYS, 1):
    inner = "".join(f'<nd ref="{n}"/>' for n in nodes)
    inner += "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())
    rows.append(f'<way id="{number}">{inner}</way>')
with open("town.osm", "w") as file:
    file.write(f'<?xml version="1.0"?><osm version="0.6">{"".join(rows)}</osm>')

town = osmnx.add_edge_speeds(osmnx.graph_from_xml("town.osm", retain_all=True))
speeds = {}
for _, _, edge in town.edges(data=True):
    speeds.setdefault(edge["highway"], set()).add(round(edge["speed_kph"], 1))
print(speeds)
assert speeds["residential"] == {30.0} and speeds["primary"] == {48.3}
assert speeds["motorway"] == speeds["footway"] and max(speeds["motorway"]) < 40
assert town.has_edge(2, 5) and town.has_edge(5, 2)  # the motorway in both directions
assert not town.has_edge(4, 3)  # a tag, not the kind, makes a way one-way
PYTHON
