"""A cell of a map is shown only when nobody can be told from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import grid


def crowd(people: int, rows: int, *, lon: float = 0.0, lat: float = 0.0) -> pd.DataFrame:
    """Rows of so many people, in turns, at one place."""
    users = np.arange(rows) % people
    return pd.DataFrame({"user_id": users, "lon": lon, "lat": lat, "value": users / 10})


def test_means_and_positions_are_those_of_cells() -> None:
    step = 1.5 * 2 / grid.KM_PER_DEGREE  # lands in the middle of the next cell
    near = crowd(5, 40, lon=0.001, lat=0.001)
    far = crowd(10, 30, lon=0.001 + 2 * 2 / grid.KM_PER_DEGREE, lat=step)
    table = pd.concat([near, far], ignore_index=True)
    found = grid.aggregated(table, ["value"], 2.0)
    assert found[["x_km", "y_km", "people", "n"]].to_numpy().tolist() == [
        [0, 0, 5, 40],
        [4, 2, 10, 30],
    ]
    assert found.value.tolist() == pytest.approx([near.value.mean(), far.value.mean()])
    assert not {"lon", "lat", "user_id"} & set(found.columns)
    # A second table on the same grid keeps its origin.
    again = grid.aggregated(far, ["value"], 2.0, found.attrs["origin"])
    assert again[["x_km", "y_km"]].to_numpy().tolist() == [[4, 2]]
