"""The simulated town with clocks that change, and the same town in buckets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from wherenext import city

from pgt.config import WindowConfig
from pgt.scale.buckets import bucket
from pgt.scale.preparing import prepare

ZONE = "Europe/Vienna"
CHANGES = ("2024-03-31", "2024-10-27")  # clocks go forward, and back


def visits() -> pd.DataFrame:
    """Visits of some of the people, half of them around either change of the clocks."""
    table = city.load().visits
    table = table[table.user_id.isin(table.user_id.unique()[:24])].reset_index(drop=True)
    middle = table.started_at.min() + (table.started_at.max() - table.started_at.min()) / 2
    change = [pd.Timestamp(f"{day} 12:00", tz=ZONE) for day in CHANGES]
    for name in ("started_at", "finished_at"):
        moved = [(table[name] + (to - middle)).dt.tz_convert(ZONE) for to in change]
        table[name] = moved[0].where(table.user_id % 2 == 0, moved[1])
    return table.drop(columns=["split", "explored", "p_explore", "why", "kind"])


def folder(at: Path, config: WindowConfig, n_buckets: int = 5) -> str:
    """Bucket and prepare the town."""
    visits().to_parquet(at / "town.parquet", index=False)
    bucket([str(at / "town.parquet")], str(at / "buckets"), n_buckets=n_buckets)
    prepare(str(at / "buckets"), config)
    return str(at / "buckets")
