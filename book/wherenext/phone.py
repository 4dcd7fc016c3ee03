"""An invented Google Timeline export of one person of the simulated town, as a phone writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wherenext.city import City

TIMELINE = Path(__file__).with_name("Timeline.json")  # `timeline(city.load())`
MEANING = {"home": "HOME", "work": "WORK"}


def timeline(town: City) -> str:
    """A person's last visits as the JSON of an Android phone, with the ways between them."""
    visits = town.visits[town.visits.user_id == 32].tail(120)
    segments: list[dict[str, Any]] = []
    before: Any = None
    for visit in visits.itertuples():
        here = f"{visit.lat:.7f}°, {visit.lon:.7f}°"
        if before is not None and (visit.started_at - before.finished_at).total_seconds() < 7200:
            ends = {"start": {"latLng": f"{before.lat:.7f}°, {before.lon:.7f}°"},
                    "end": {"latLng": here}}  # fmt: skip
            times = _times(before.finished_at, visit.started_at)
            segments.append(times | {"activity": ends | {"topCandidate": {"type": "WALKING"}}})
        place = {"placeId": f"larkmere-{visit.location_id}",
                 "semanticType": MEANING.get(visit.kind, "UNKNOWN"),
                 "placeLocation": {"latLng": here}}  # fmt: skip
        times = _times(visit.started_at, visit.finished_at)
        segments.append(times | {"visit": {"hierarchyLevel": 0, "topCandidate": place}})
        before = visit
    content = {"semanticSegments": segments, "rawSignals": [], "userLocationProfile": {}}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def _times(start: Any, end: Any) -> dict[str, str]:
    return {"startTime": start.isoformat(), "endTime": end.isoformat()}
