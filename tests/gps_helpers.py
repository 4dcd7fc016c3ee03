"""Made-up position fixes, and the distance on the sphere."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

EARTH = 6_371_000.0
METRE = 1 / 111_194.93  # degrees of latitude


def haversine(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Metres along the great circle."""
    lon1, lat1, lon2, lat2 = map(math.radians, (lon1, lat1, lon2, lat2))
    square = (
        math.sin((lat2 - lat1) / 2) ** 2
        + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * EARTH * math.asin(min(1.0, math.sqrt(square)))


def fixes_at(
    seconds: list[float] | np.ndarray, lon: object, lat: object, user: object = 1
) -> pd.DataFrame:
    """Fixes so many seconds after a Monday in 2024."""
    begin = pd.Timestamp("2024-01-01", tz="UTC")
    at = begin + pd.to_timedelta(np.asarray(seconds, dtype=float), unit="s").round("us")
    return pd.DataFrame({"user_id": user, "tracked_at": at, "lon": lon, "lat": lat})


def wander(seed: int, n: int = 400, user: object = 1) -> pd.DataFrame:
    """A track with stays, walks, jumps, long silences, moments shared and positions repeated."""
    rng = np.random.default_rng(seed)
    around = (
        rng.choice([0.0, 16.4, 116.3, 179.9995, -179.9995]),
        rng.choice([0.0, 48.2, -60.0, 89.9]),
    )
    seconds, lon, lat = [], [], []
    clock, east, north = 0.0, *around
    while len(seconds) < n:
        how, length = rng.choice(["stay", "walk", "jump"], p=[0.45, 0.45, 0.1]), rng.integers(1, 40)
        pace = rng.choice([0.0, 5.0, 60.0, 300.0])  # seconds between two fixes, some equal
        for _ in range(length):
            clock += np.floor(rng.exponential(pace)) if pace else 0.0
            if how == "walk":
                north += rng.normal(20, 40) * METRE
                east += rng.normal(0, 40) * METRE
            elif how == "jump":
                east, north = rng.uniform(-180, 180), rng.uniform(-89, 89)
                how = "stay"
            noise = rng.choice([0.0, 8.0]) * METRE
            seconds.append(clock)
            lon.append((east + rng.normal(0, 1) * noise + 180) % 360 - 180)
            lat.append(np.clip(north + rng.normal(0, 1) * noise, -89.99, 89.99))
        clock += rng.choice([0, 600, 1900, 7200, 100_000], p=[0.5, 0.2, 0.15, 0.1, 0.05])
    return fixes_at(seconds[:n], np.round(lon[:n], 6), np.round(lat[:n], 6), user)


def commuter(user: object = "ann", days: int = 120, minutes: int = 10) -> pd.DataFrame:
    """Home by night, at work from nine to five, a kilometre apart, one fix every ten minutes."""
    at = pd.date_range("2024-01-01", periods=days * 24 * 60 // minutes, freq=f"{minutes}min")
    away = ((at.hour >= 9) & (at.hour < 17)).astype(float)
    return pd.DataFrame(
        {"user_id": user, "tracked_at": at.tz_localize("UTC"), "lon": 16.37,
         "lat": 48.2 + away * 1000 * METRE}
    )  # fmt: skip
