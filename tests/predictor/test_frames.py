"""Tables of other libraries are read as the same visits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pgt.io.tables import write
from pgt.io.trackintel import to_trackintel
from pgt.predictor.frames import as_visits

import pgt
from pgt.errors import DataError
from pgt.visits import check

from ..helpers import ZONE, random_visits, routine_visits


class Relation:
    """As DuckDB's relation: a table that gives a pandas one by ``df()``."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def df(self) -> pd.DataFrame:
        return self.table


class Lazy:
    """As Polars' lazy table."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def lazy(self) -> Lazy:
        return self

    def collect(self) -> pa.Table:
        return pa.Table.from_pandas(self.table)


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return check(random_visits(1, users=2, visits=20))


def test_every_kind_of_table_is_the_same_visits(visits: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    write(visits, path)
    arrow = pa.Table.from_pandas(visits)
    kinds = [visits, arrow, Relation(visits), Lazy(visits), path, str(path),
             arrow.to_pandas(types_mapper=pd.ArrowDtype)]  # fmt: skip
    for table in kinds:
        found = as_visits(table)
        same = [found[name].tolist() == visits[name].tolist() for name in visits.columns]
        assert all(same), type(table)
        assert str(found.started_at.dt.tz) == ZONE


def test_other_names_rows_without_a_place_and_check_ins(visits: pd.DataFrame) -> None:
    theirs = visits.drop(columns="finished_at").rename(
        columns={"user_id": "uid", "started_at": "datetime"}
    )
    theirs["location_id"] = theirs.location_id.astype(float).mask(theirs.index == 3)
    found = as_visits(theirs)
    assert len(found) == len(visits) - 1
    assert (found.finished_at == found.started_at).all()
    assert found.location_id.dtype.kind == "i"


@pytest.mark.parametrize(
    ("kind", "is_meant"),
    [("int64[pyarrow]", int), ("double[pyarrow]", int), ("string[pyarrow]", str)],
)
def test_ids_in_columns_of_arrow_are_ids(visits: pd.DataFrame, kind: str, is_meant: type) -> None:
    dtype = pd.ArrowDtype(pa.string()) if is_meant is str else kind
    plain = str if is_meant is str else "int64"
    arrow = visits.assign(
        user_id=visits.user_id.astype(plain).astype("int64[pyarrow]" if is_meant is int else dtype),
        location_id=visits.location_id.astype(plain).astype(dtype),
    )
    read = as_visits(arrow)
    assert read.location_id.tolist() == visits.location_id.astype(is_meant).tolist()
    assert set(read.user_id) == set(visits.user_id.astype(is_meant))


def test_a_column_that_stands_twice_is_named(visits: pd.DataFrame) -> None:
    for name in ("location_id", "user_id", "started_at"):
        twice = pd.concat([visits, visits[[name]]], axis=1)
        with pytest.raises(DataError, match=name):
            as_visits(twice)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(DataError, match=r"A list is no table of visits; give a pandas, Polars"):
        as_visits([1, 2])
    with pytest.raises(DataError, match="'user_id' is missing"):
        as_visits(pd.DataFrame({"a": [1]}))


def test_a_reader_of_arrow_and_a_folder_of_parquet_are_tables(
    visits: pd.DataFrame, tmp_path: Path
) -> None:
    arrow = pa.Table.from_pandas(visits)
    assert as_visits(arrow.to_reader()).started_at.tolist() == visits.started_at.tolist()
    for user, part in visits.drop(columns="finished_at").groupby("user_id"):
        write(part, tmp_path / f"{user}.parquet")
    found = as_visits(tmp_path, timezone=ZONE)
    assert found.location_id.tolist() == visits.location_id.tolist()
    assert (found.finished_at == found.started_at).all()


class Points:
    """As GeoPandas' array of points in metres, as far as it is asked."""

    class crs:
        is_projected = True

    x = y = 5e6

    def to_crs(self, crs: str) -> Any:
        assert crs == "EPSG:4326"
        return SimpleNamespace(x=16.4, y=48.2)


def test_points_in_metres_are_brought_to_degrees(
    visits: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = visits.drop(columns=["lon", "lat"], errors="ignore")
    holds = SimpleNamespace(array=Points())
    get = pd.DataFrame.get
    monkeypatch.setattr(
        pd.DataFrame, "get", lambda self, name: holds if name == "geometry" else get(self, name)
    )
    found = as_visits(table)
    assert set(found.lon) == {16.4} and set(found.lat) == {48.2}


def test_geometries_of_geopandas_are_read_or_left_alone(visits: pd.DataFrame) -> None:
    pytest.importorskip("geopandas", reason="GeoPandas is not installed")
    located = visits.assign(lon=16.4, lat=48.2)
    staypoints, _ = to_trackintel(located)
    found = as_visits(staypoints.to_crs(3857))
    assert found.lon.to_numpy() == pytest.approx(16.4) and found.lat.to_numpy() == pytest.approx(
        48.2
    )
    assert "lon" not in as_visits(staypoints.set_geometry(staypoints.to_crs(3857).buffer(9)))


def test_staypoints_and_locations_are_one_table(visits: pd.DataFrame) -> None:
    locations = pd.DataFrame({"id": visits.location_id.unique()}).assign(lat=48.2)
    locations["lon"] = 16 + locations.index / 100
    staypoints = visits.drop(columns=["lon", "lat"], errors="ignore")
    found = as_visits((staypoints, locations))
    where = locations.set_index("id").lon
    assert found.lon.tolist() == where[visits.location_id].tolist()
    assert found.started_at.tolist() == visits.started_at.tolist()
    with pytest.raises(DataError, match="A tuple is no table"):
        as_visits((visits,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"datetime": 1, "lat": 48.2, "lng": 16.4},
            "has positions .* python -m pgt visits .*fixes",
        ),
        ({"tracked_at": 1, "lat": 48.2, "lon": 16.4}, "has positions and no column for the place"),
        ({"started_at": 1, "finished_at": 2, "lat": 48.2, "lon": 16.4}, "has stays .*locations"),
        ({"center": 0, "lat": 48.2, "lon": 16.4}, "holds locations.*; staypoints are needed"),
    ],
)
def test_a_table_without_places_or_times_is_named_for_what_it_is(
    change: dict[str, float], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        as_visits(pd.DataFrame({"uid": [1], **{name: [value] for name, value in change.items()}}))


def test_a_question_in_arrow_is_answered_in_arrow() -> None:
    visits = routine_visits(users=2, days=60)
    model = pgt.NextLocation.pretrained()
    asked = pa.Table.from_pandas(visits)
    for ask in (
        lambda table: model.predict(table, top=2),
        lambda table: model.predict_set(table),
        lambda table: model.explain(table, visits.user_id.iloc[0]),
        lambda table: model.score(table),
    ):
        found, usual = ask(asked), ask(visits)
        assert isinstance(found, pa.Table)
        assert found.equals(pa.Table.from_pandas(usual, preserve_index=False))
    model.plot(asked, visits.user_id.iloc[0])  # what asks within is not confused by it


def test_a_question_in_polars_is_answered_in_polars() -> None:
    polars = pytest.importorskip("polars")
    visits = routine_visits(users=2, days=20)
    model = pgt.NextLocation.pretrained()
    found = model.predict(polars.from_pandas(visits), top=2)
    assert isinstance(found, polars.DataFrame)
    assert found["location_id"].to_list() == model.predict(visits, top=2).location_id.tolist()
    lazy = model.predict(polars.from_pandas(visits).lazy(), top=2)
    assert lazy.equals(found)
