"""What the clock and the kind of a place do to a choice: hours, stays, and the way home."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from wherenext.city.places import KINDS

HOME, WORK = KINDS.index("home"), KINDS.index("work")

#: When a kind of place draws explorers: weight by time of day (night, morning,
#: midday, afternoon, evening, late), then the factor at weekends.
OPEN = {
    "home": (0.0, 0.1, 0.2, 0.4, 0.8, 0.5, 1.5),
    "work": (0.1, 0.8, 0.4, 0.3, 0.05, 0.0, 0.3),
    "school": (0.0, 1.0, 0.6, 0.5, 0.2, 0.0, 0.2),
    "food": (0.2, 0.6, 2.0, 0.8, 2.0, 1.5, 1.2),
    "shopping": (0.0, 0.6, 1.0, 1.5, 1.0, 0.1, 1.5),
    "leisure": (0.2, 0.4, 0.5, 1.0, 2.0, 2.0, 1.5),
    "park": (0.2, 1.0, 1.0, 1.5, 0.8, 0.1, 2.0),
    "health": (0.0, 1.5, 0.8, 1.0, 0.1, 0.0, 0.2),
    "errand": (0.0, 1.2, 1.0, 1.2, 0.4, 0.0, 0.8),
    "transit": (0.6, 1.2, 0.8, 1.0, 0.8, 0.8, 0.8),
}
_PART = np.array([0] * 6 + [1] * 5 + [2] * 3 + [3] * 4 + [4] * 3 + [5] * 3)  # hour -> column
OPENING = np.array(  # (hour of the week type: weekday 0..23, weekend 24..47; kind)
    [[OPEN[k][_PART[h]] * (OPEN[k][6] if w else 1.0) for k in KINDS]
     for w in (0, 1) for h in range(24)]
)  # fmt: skip
#: Median stay in minutes and its log-normal spread, by kind.
STAY = {
    "home": (120, 0.8), "work": (300, 0.5), "school": (250, 0.45), "food": (62, 0.45),
    "shopping": (55, 0.5), "leisure": (105, 0.5), "park": (70, 0.6), "health": (60, 0.5),
    "errand": (45, 0.45), "transit": (40, 0.4),
}  # fmt: skip
#: How the kind of the present place changes the wish to explore.
CURIOSITY = {"home": 0.9, "work": 0.8, "school": 0.9, "food": 1.2, "shopping": 1.3,
             "leisure": 1.1, "park": 1.2, "health": 1.2, "errand": 1.3, "transit": 1.5}  # fmt: skip
#: Chance of going home when out, by hour of day.
HOMING = np.interp(np.arange(24), [0, 3, 5, 10, 14, 17, 19, 21, 22, 23],
                   [1, 1, 0.1, 0.04, 0.10, 0.35, 0.55, 0.85, 0.97, 1])  # fmt: skip


class Town:
    """Arrays over places that all people share: kinds, metres, appeal."""

    def __init__(self, places: pd.DataFrame) -> None:
        self.kind = np.array([KINDS.index(k) for k in places["kind"]])  # (P,)
        lat = places["lat"].to_numpy()
        self.x = (
            (places["lon"].to_numpy() - places["lon"].mean())
            * 111_320
            * math.cos(math.radians(float(lat.mean())))
        )
        self.y = (lat - lat.mean()) * 111_320
        self.appeal = places["appeal"].to_numpy()
        self.row = {int(i): r for r, i in enumerate(places["location_id"])}
