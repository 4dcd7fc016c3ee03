"""A cell of a map is shown only when nobody can be told from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import grid

from pgt.errors import DataError


def crowd(people: int, rows: int, *, lon: float = 0.0, lat: float = 0.0) -> pd.DataFrame:
    """Rows of so many people, in turns, at one place."""
    users = np.arange(rows) % people
    return pd.DataFrame({"user_id": users, "lon": lon, "lat": lat, "value": users / 10})


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        (crowd(5, 20), True),
        (crowd(4, 200), False),  # too few people
        (crowd(5, 19), False),  # too few rows
        (pd.concat([crowd(9, 20), crowd(1, 25)]), False),  # somebody's own place
    ],
)
def test_who_must_stand_behind_a_cell(table: pd.DataFrame, shown: bool) -> None:
    assert len(grid.aggregated(table.reset_index(drop=True), ["value"], 2.0)) == int(shown)


def test_what_stands_in_many_rows_counts_once() -> None:
    # Twenty-five rows of five people, but one visit each.
    table = crowd(5, 25).assign(visit=np.arange(25) % 5)
    assert len(grid.aggregated(table, ["value"], 2.0)) == 1
    assert grid.aggregated(table, ["value"], 2.0, each=["visit"]).empty
    # Ten people with two hundred rows in turns, but one of them made most of the visits.
    mostly_one = crowd(10, 200)
    mostly_one["visit"] = np.where(mostly_one.user_id == 0, np.arange(200), -mostly_one.user_id)
    mostly_one.loc[mostly_one.user_id > 5, "visit"] -= 10 * (np.arange(80) % 2)
    assert mostly_one.drop_duplicates("visit").user_id.value_counts(normalize=True).max() > 0.5
    assert len(grid.aggregated(mostly_one, ["value"], 2.0)) == 1
    assert grid.aggregated(mostly_one, ["value"], 2.0, each=["visit"]).empty
    # A value that no two rows share changes nothing.
    alone = crowd(5, 25).assign(visit=np.arange(25))
    assert len(grid.aggregated(alone, ["value"], 2.0, each=["visit"])) == 1


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


def test_east_west_is_measured_along_the_parallel() -> None:
    km = 10.0
    lon = pd.Series([0.0, km / (grid.KM_PER_DEGREE * np.cos(np.radians(60)))]) + 0.001
    column, _ = grid.cells(lon, pd.Series([60.0, 60.0]), 1.0).T
    assert column[1] - column[0] == 10


def test_no_positions_is_said() -> None:
    with pytest.raises(DataError, match="no positions"):
        grid.cells(pd.Series(dtype=float), pd.Series(dtype=float), 2.0)
