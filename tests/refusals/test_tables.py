"""Tables of other libraries are named for what they are, and can be read as it says."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
import wherenext.city

import pgt
from pgt.predictor.frames import as_visits
from pgt.refusals.tables import require_places


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return wherenext.city.load().visits[:500]


@pytest.mark.parametrize("name", ["started_at", "finished_at"])
def test_times_of_arrow_are_named(visits: pd.DataFrame, name: str) -> None:
    arrow = visits.astype({name: pd.ArrowDtype(pa.timestamp("us", "America/Regina"))})
    with pytest.raises(pgt.DataError, match=f"'{name}' is one of Arrow; .*as_visits"):
        pgt.prepare(arrow)
    assert len(pgt.prepare(as_visits(arrow)).train) == len(pgt.prepare(visits).train)


def test_a_table_of_another_library_is_named(visits: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(visits)
    with pytest.raises(pgt.DataError, match="A Table is no table of pandas"):
        pgt.prepare(table)
    assert len(pgt.prepare(as_visits(table)).train) == len(pgt.prepare(visits).train)


def test_a_table_without_times_is_left_to_others(visits: pd.DataFrame) -> None:
    with pytest.raises(pgt.DataError, match="Column 'started_at' is missing"):
        pgt.prepare(visits.drop(columns="started_at"))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (["user_id", "center"], "t holds locations, which say where and not when; staypoints"),
        (["started_at", "finished_at", "lon", "lat"], "t has stays and no column for the place"),
        (["started_at", "lon", "lat"], "t has positions and no column for the place"),
        (["finished_at", "lon", "lat"], "t has positions and no column for the place"),
        (["lon", "lat"], "t has positions and no column for the place"),
        (["center", "started_at", "lon", "lat"], "t has positions and no column for the place"),
    ],
)
def test_what_has_no_places_is_named(columns: list[str], says: str) -> None:
    with pytest.raises(pgt.DataError, match=says):
        require_places(pd.DataFrame(columns=columns), "t")


@pytest.mark.parametrize(
    "columns",
    [["location_id", "started_at"], ["location_id", "started_at", "lon", "lat"], ["started_at"],
     ["started_at", "lon"], ["started_at", "lat"], ["center", "started_at"]],
)  # fmt: skip
def test_what_has_places_or_lacks_positions_is_left_to_others(columns: list[str]) -> None:
    require_places(pd.DataFrame(columns=columns), "t")
