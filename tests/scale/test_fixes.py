"""Visits of recorded positions are the same on every engine."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pgt.errors import DataError
from pgt.gps import fixes_to_visits
from pgt.io.fixes import people_in, read_fixes
from pgt.io.fixes_base import Report
from pgt.scale import fixes
from pgt.scale.engines import engine

from ..gps_helpers import commuter


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fixes") / "fixes.csv"
    people = [commuter(user, days=20) for user in range(5)]
    nobody = people[0].head(2).assign(user_id=99, lat=95.0)  # all of whose fixes are wrong
    unnamed = people[0].head(3).assign(user_id=None)
    pd.concat([*people, nobody, unnamed]).to_csv(path, index=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "pool"])
@pytest.mark.parametrize("at_once", [1, 4])
def test_visits_and_report_are_those_of_one_process(
    table: Path, kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixes, "PEOPLE", at_once)
    whole, parts = Report(), Report()
    expected = fixes_to_visits(read_fixes(table, report=whole), everybody=True)
    with engine(kind, 2 if kind == "pool" else 1) as running:
        found = fixes.fixes_to_visits(table, report=parts, engine=running, everybody=True)
    for name in ("visits", "counts", "people", "staypoints", "locations"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))
    assert parts.as_dict() == whole.as_dict()
    assert parts.bad["without a user_id"] == 3


def test_people_come_in_the_order_in_which_they_are_read(table: Path) -> None:
    read = [frame.user_id.iloc[0] for frame in read_fixes(table, report=Report())]
    assert [user for user in people_in(table) if user != 99] == read


def test_bad_settings_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'Mars' is no known time zone"):
        fixes.fixes_to_visits(tmp_path / "none.csv", timezone="Mars")


def test_a_source_without_any_usable_fix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fixes.csv"
    commuter(1, days=1).assign(lat=95.0).to_csv(path, index=False)
    with pytest.raises(DataError, match="There is no usable fix"):
        fixes.fixes_to_visits(path, everybody=True)
