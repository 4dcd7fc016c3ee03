"""The reference for building windows: one visit after the other, with pandas filters.

Published code of this kind walks through the table row by row, filters the person's earlier
visits by their distance in days, and stores every window as a dictionary of arrays. This is that
procedure in our words; `pgt.windows.prepare` must give the very same windows, only sooner.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.batch import DURATIONS
from pgt.vocabulary import Vocabulary
from pgt.windows import Dataset

Sample = dict[str, np.ndarray]


def columns(visits: pd.DataFrame, vocabulary: Vocabulary) -> pd.DataFrame:
    """The visits as whole numbers, one column a feature, with the person's own day count."""
    start = visits.started_at
    minutes = (visits.finished_at - start).dt.total_seconds() // 60
    midnight = start.dt.tz_localize(None).dt.normalize()
    first = midnight.groupby(visits.user_id).transform("min")
    numbers = pd.DataFrame(
        {
            "user": vocabulary.encode_users(visits.user_id),
            "location": vocabulary.encode_locations(visits.location_id),
            "day": (midnight - first).dt.days,
            "start_minute": start.dt.hour * 60 + start.dt.minute,
            "time": start.dt.hour * 4 + start.dt.minute // 15 + 1,
            "weekday": start.dt.day_of_week + 1,
            "duration": np.minimum(minutes // 30, DURATIONS - 1).astype(int) + 1,
        }
    )
    return numbers.astype("int64").assign(user_id=visits.user_id)


def windows_by_loop(
    visits: pd.DataFrame, vocabulary: Vocabulary, *, days: int = 7, min_visits: int = 3
) -> list[Sample]:
    """Build the windows of one split, row by row.

    Each has (L,) arrays, with ``diff`` the days before the target's day, and scalars ``user``,
    ``target`` and ``gap`` (days from the last visit's day to the target's).
    """
    table = columns(visits, vocabulary)
    samples: list[Sample] = []
    for _, person in table.groupby("user_id"):
        person = person.reset_index(drop=True)
        for i, row in person.iterrows():
            if row["day"] < days:
                continue
            earlier = person.iloc[:i]
            window = earlier[row["day"] - earlier["day"] <= days]
            if len(window) < min_visits:
                continue
            diff = (row["day"] - window["day"]).to_numpy(dtype=np.int64)
            sample = {
                name: window[name].to_numpy()
                for name in ("location", "time", "weekday", "duration", "start_minute")
            }
            sample["diff"] = diff
            sample["user"] = np.asarray(row["user"])
            sample["target"] = np.asarray(row["location"])
            sample["gap"] = diff[-1]
            samples.append(sample)
    return samples


def prepare_by_loop(
    data: Dataset, *, days: int = 7, min_visits: int = 3
) -> dict[str, list[Sample]]:
    """The windows of the three splits, from the same visits and with the same ids as ``data``."""
    return {
        name: windows_by_loop(
            getattr(data, name).visits, data.vocabulary, days=days, min_visits=min_visits
        )
        for name in ("train", "valid", "test")
    }
