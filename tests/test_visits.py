"""The table of visits: what is checked, whose clocks count, and how rows lie."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.errors import DataError
from pgt.predictor.questions import until
from pgt.visits import check, local_clock, split_by_days
from pgt.windows import ENCODED_FIELDS, encode, prepare

from .helpers import ZONE, at, random_visits


def test_check_only_sorts() -> None:
    visits = random_visits(1).assign(note="kept")
    mixed = visits.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(check(mixed), visits)
    at_once = visits[:3].assign(location_id=[3, 1, 2], started_at=visits.started_at[0])
    assert check(at_once).location_id.tolist() == [3, 1, 2]


@pytest.mark.parametrize("rows", [[5], [5, 7]])
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [("user_id", None, "'user_id' is empty"), ("location_id", None, "'location_id' is empty"),
     ("started_at", pd.NaT, "'started_at' is empty"), ("finished_at", pd.NaT, "is empty"),
     ("finished_at", pd.Timestamp("2001-01-01", tz=ZONE), "lies before 'started_at'"),
     ("lon", np.nan, "'lon' is empty"), ("lat", np.nan, "'lat' is empty"),
     ("lon", 180.5, "'lon' is 180.5"), ("lat", -90.5, "'lat' is -90.5"),
     ("split", "exam", "'split' is 'exam'")],
)  # fmt: skip
def test_one_bad_row_among_good_ones_is_named(
    name: str, value: object, says: str, rows: list[int]
) -> None:
    visits = random_visits(1, users=1, visits=9).astype({"user_id": str, "location_id": str})
    visits = visits.assign(lon=180.0, lat=-90.0, split="train")
    visits.loc[3, "split"] = None  # left out of all windows
    check(visits)
    visits.loc[rows, name] = value
    more = r" \(and 1 more\)" if len(rows) > 1 else r"(?! \()"
    with pytest.raises(DataError, match=f"{says}.* in row 5{more}"):
        check(visits)


@pytest.mark.parametrize("fractions", [(0.6, 0.8), (0.25, 0.5)])
def test_days_are_split_by_each_persons_calendar(fractions: tuple[float, float]) -> None:
    visits = check(random_visits(3, users=3, visits=80))
    split = split_by_days(visits, fractions)
    pd.testing.assert_frame_equal(split.drop(columns="split"), visits)
    for _, own in split.groupby("user_id"):
        day = [(one - own.started_at.min().date()).days for one in own.started_at.dt.date]
        first, second = (part * max(day) for part in fractions)
        assert own.split.tolist() == [
            "train" if one < first else "valid" if one < second else "test" for one in day
        ]
    for wrong in ((0.8, 0.6), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (-0.1, 0.5), (0.5, 1.2)):
        with pytest.raises(DataError, match="fractions"):
            split_by_days(visits, wrong)


def test_until_a_moment_visits_have_begun_and_end_by_then() -> None:
    start = at("2024-04-01 08:00", "2024-04-01 10:00", "2024-04-01 12:00")
    visits = pd.DataFrame({"user_id": 1, "location_id": [1, 2, 3], "started_at": start})
    visits["finished_at"] = visits.started_at + pd.Timedelta(hours=1)
    for clock, known, last in (("08:00", 1, "08:00"), ("10:59", 2, "10:59"), ("11:30", 2, "11:00"),
                               ("12:00", 3, "12:00"), ("20:00", 3, "13:00")):  # fmt: skip
        moment = at(f"2024-04-01 {clock}")[0]
        cut = until(visits, moment)
        assert cut.location_id.tolist() == [1, 2, 3][:known]
        assert cut.finished_at.iloc[-1] == at(f"2024-04-01 {last}")[0]
        assert cut.columns.equals(visits.columns) and cut.index.equals(pd.RangeIndex(known))
        assert until(visits, moment.tz_convert("Asia/Tokyo")).equals(cut)
    assert until(visits[1:], None).equals(visits[1:].reset_index(drop=True))
    with pytest.raises(DataError, match=r"2024-05-01 09:00:00 has no time zone; write one"):
        until(visits, pd.Timestamp("2024-05-01 09:00"))


def test_a_visit_may_have_a_clock_of_its_own() -> None:
    home, away = check(random_visits(1, zone="Europe/Vienna")), check(random_visits(1, zone="UTC"))
    own = away.assign(
        started_at=home.started_at.dt.tz_convert("UTC"),
        finished_at=home.finished_at.dt.tz_convert("UTC"),
        utc_offset=[int(one.utcoffset().total_seconds() // 60) for one in home.started_at],
    )
    pd.testing.assert_series_equal(
        local_clock(own, "started_at"), home.started_at.dt.tz_localize(None)
    )
    vocabulary = prepare(home, days=1).vocabulary
    both = [encode(table, vocabulary) for table in (home, own)]
    known = [ENCODED_FIELDS.index(name) for name in ("time", "weekday", "duration", "start_day")]
    assert torch.equal(both[0][known], both[1][known])
    assert split_by_days(own).split.tolist() == split_by_days(home).split.tolist()


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_windows_are_the_same_whatever_the_resolution_of_times(unit: str) -> None:
    visits = check(random_visits(1))
    other = visits.assign(**{name: visits[name].dt.as_unit(unit)
                             for name in ("started_at", "finished_at")})  # fmt: skip
    vocabulary = prepare(visits).vocabulary
    assert torch.equal(encode(other, vocabulary), encode(visits, vocabulary))


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_types_of_arrow_categories_and_nullable_ones_become_plain(backend: str) -> None:
    plain = check(random_visits(1)).assign(lon=1.5, lat=-2.5, note="kept")
    given = plain.convert_dtypes(dtype_backend=backend).astype({"user_id": "category"})
    pd.testing.assert_frame_equal(check(given), plain, check_dtype=False)
    prepare(given, days=1)
