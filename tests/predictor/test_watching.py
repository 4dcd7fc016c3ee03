"""Diaries: a visit is read as the table would be, and one that is refused leaves no trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pgt.predictor.estimator import NextLocation

from pgt.errors import DataError
from pgt.visits import check

from ..helpers import routine_visits

AT = pd.Timestamp("2024-05-01 08:00+02:00")


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    table = check(routine_visits(users=1, days=20))
    for name in ("started_at", "finished_at"):
        table[name] = table[name].dt.tz_localize(None).dt.tz_localize("Europe/Vienna")
    return table


def guesses(model: NextLocation, visits: pd.DataFrame, last: dict[str, Any]) -> np.ndarray:
    """What `update` says of the last visit after a diary of those before."""
    found = model.remember(visits.iloc[:-1]).update(last, top=20)
    return found.set_index("location_id").probability.sort_index().to_numpy()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Europe/Vienna"])
def test_a_visit_is_read_by_the_clocks_of_the_table(visits: pd.DataFrame, zone: str) -> None:
    model = NextLocation.pretrained()
    last = visits.iloc[-1].to_dict()
    expected = guesses(model, visits, last)
    for name in ("started_at", "finished_at"):
        last[name] = last[name].tz_convert(zone)
    assert np.array_equal(guesses(model, visits, last), expected)
    whole = model.predict(visits, top=20).set_index("location_id").probability.sort_index()
    assert np.allclose(expected, whole, atol=1e-3)  # the weights are those of the visits before


def test_without_a_table_times_are_brought_to_the_zone_of_the_predictor() -> None:
    answers = []
    for start in (AT, AT.tz_convert("UTC"), AT.tz_localize(None), "2024-05-01T08:00"):
        model = NextLocation.pretrained(timezone="Europe/Vienna")
        for place in ("home", "work", "home"):
            found = model.update({"user_id": 1, "location_id": place, "started_at": start})
        answers.append(found.probability.tolist())
    assert all(one == answers[0] for one in answers)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"user_id": None}, "user_id of the visit is None"),
        ({"location_id": float("nan")}, "location_id of the visit is nan"),
        ({"location_id": [1]}, r"location_id of the visit is \[1\]"),
        ({"started_at": "x"}, "started_at is 'x'"),
        ({"started_at": None}, "started_at is None"),
        ({"started_at": AT.tz_localize(None)}, "without a time zone"),
        ({"started_at": AT - pd.Timedelta(days=9)}, "begins before the last one"),
        ({"finished_at": AT - pd.Timedelta(days=9)}, "ends before it begins"),
        ({"location_id": 7}, "location_id is 7, a number, and those of the visits before are text"),
    ],
)
def test_a_visit_that_cannot_be_read_is_refused_and_leaves_no_trace(
    change: dict[str, Any], says: str
) -> None:
    good = {"user_id": 1, "location_id": "home", "started_at": AT}
    one, other = NextLocation.pretrained(), NextLocation.pretrained()
    one.update(good)
    other.update(good)
    with pytest.raises(DataError, match=says):
        one.update(good | change)
    later = good | {"started_at": AT + pd.Timedelta(hours=3), "location_id": "work"}
    pd.testing.assert_frame_equal(one.update(later), other.update(later))
    for name in good:
        with pytest.raises(DataError, match=name):
            one.update({key: value for key, value in good.items() if key != name})
    with pytest.raises(DataError, match="top is 0"):
        one.update(later, top=0)


def test_a_newcomer_whose_first_visit_is_refused_is_nobody_yet() -> None:
    model = NextLocation.pretrained()
    for bad in ({"started_at": "x"}, {"finished_at": AT - pd.Timedelta(days=1)}):
        with pytest.raises(DataError):
            model.update({"user_id": "7", "location_id": "home", "started_at": AT} | bad)
    found = model.update({"user_id": 7, "location_id": "home", "started_at": AT})
    assert found.user_id.tolist() == [7] and list(model.watcher_.diaries) == [7]


def test_a_place_that_a_gap_made_a_fraction_is_a_whole_number(visits: pd.DataFrame) -> None:
    fractions = visits.astype({"location_id": float})
    last = fractions.iloc[-1]
    assert isinstance(last.location_id, float)
    model = NextLocation.pretrained().remember(fractions.iloc[:-1])
    found = model.update(last)
    assert set(found.location_id) <= set(visits.location_id)
    with pytest.raises(DataError, match=r"location_id of the visit is 1\.5"):
        model.update(last.to_dict() | {"location_id": 1.5})


def test_a_row_of_a_table_without_an_end_is_a_check_in() -> None:
    row = {"user_id": 1, "location_id": "home", "started_at": AT}
    one, other = NextLocation.pretrained(), NextLocation.pretrained()
    without_end = other.update(row | {"finished_at": pd.NaT})
    pd.testing.assert_frame_equal(one.update(row), without_end)


def test_a_person_is_found_as_predict_finds_them(visits: pd.DataFrame) -> None:
    user = visits.user_id.iloc[0]
    last = visits.iloc[-1].to_dict()
    model = NextLocation.pretrained().remember(visits.iloc[:-1])
    found = model.update(last | {"user_id": str(user)})
    assert found.user_id.unique().tolist() == [user] and len(found) > 1


def test_another_fit_begins_new_diaries() -> None:
    visits = check(routine_visits(users=4, days=40))
    model = NextLocation.pretrained().remember(visits)
    model.set_params(model="kernel")
    with pytest.raises(DataError, match="not fitted"):
        model.update(visits.iloc[-1].to_dict())
    model.fit(visits)
    last = visits.iloc[-1]
    assert model.update(last.to_dict()).location_id.tolist() == [last.location_id]
