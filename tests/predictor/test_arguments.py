"""What people write when they ask: understood as it is meant, or refused in one sentence."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pgt.predictor.arguments import moment, number, one_of, required, whole

from pgt.errors import DataError

VIENNA = "Europe/Vienna"


@pytest.mark.parametrize(
    ("written", "is_meant"),
    [
        ("2024-05-01 12:00", "2024-05-01 12:00:00+02:00"),
        (" 2024-05-01T12:00 ", "2024-05-01 12:00:00+02:00"),
        ("2024-05-01", "2024-05-01 00:00:00+02:00"),
        ("2024-05-01T12:00Z", "2024-05-01 14:00:00+02:00"),
        ("2024-05-01T12:00-06:00", "2024-05-01 20:00:00+02:00"),
        ("2024-05-01 12:00 +9", "2024-05-01 05:00:00+02:00"),
        ("2024-05-01 12:00 UTC", "2024-05-01 14:00:00+02:00"),
        (pd.Timestamp("2024-05-01 12:00"), "2024-05-01 12:00:00+02:00"),
        (pd.Timestamp("2024-05-01 12:00", tz="Asia/Tokyo"), "2024-05-01 05:00:00+02:00"),
        (datetime.datetime(2024, 5, 1, 12), "2024-05-01 12:00:00+02:00"),
        (datetime.date(2024, 5, 1), "2024-05-01 00:00:00+02:00"),
        (np.datetime64("2024-05-01T12:00"), "2024-05-01 12:00:00+02:00"),
        # In these nights the clocks are put forward and back.
        ("2023-03-26 02:30", "2023-03-26 03:00:00+02:00"),
        ("2022-10-30 02:30", "2022-10-30 02:30:00+02:00"),
        ("2022-10-30 02:30+01:00", "2022-10-30 02:30:00+01:00"),
    ],
)
def test_a_moment_is_by_the_clocks_of_the_table(written: Any, is_meant: str) -> None:
    assert str(moment(written, VIENNA)) == is_meant


@pytest.mark.parametrize(
    "written",
    ["", "nan", "now", "garbage", "09:00", "10.01.2023", "9999-01-01", "1500-01-01", pd.NaT, None,
     True, 7, 7.5, [1], "2024-13-01", pd.Series([1]), np.datetime64("NaT")],
)  # fmt: skip
def test_what_is_no_moment_is_refused(written: Any) -> None:
    with pytest.raises(DataError, match=r"^at is ") as caught:
        moment(written, VIENNA)
    assert "2024-05-01T12:00+02:00" in str(caught.value) or "1678 to 2261" in str(caught.value)


def test_without_a_zone_a_moment_must_name_its_own() -> None:
    assert str(moment("2024-05-01 12:00+09:00", None)) == "2024-05-01 12:00:00+09:00"
    with pytest.raises(DataError, match=r"started_at is 2024-05-01 12:00:00, without a time zone"):
        moment("2024-05-01 12:00", None, "started_at")


@pytest.mark.parametrize("written", ["2024-05-01 12:00", "2024-05-01 12:00Z"])
def test_a_zone_that_is_none_is_named(written: str) -> None:
    with pytest.raises(DataError, match="'Mars' is no known time zone"):
        moment(written, "Mars")


@pytest.mark.parametrize("value", [0, -1, 1.0, "3", None, True, 2**31])
def test_what_is_no_number_of_places_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match=r"^top is "):
        whole(value, "top")


def test_a_whole_number_may_be_of_numpy() -> None:
    whole(np.int64(3), "top")
    whole(0, "seed", least=0)


def test_a_share_a_word_and_a_person() -> None:
    assert number(np.float32(0.5)) == 0.5
    with pytest.raises(DataError, match="coverage is None"):
        number(None)
    one_of(("a", "b"), "a", "model")
    for value in ("c", None, ["a"]):
        with pytest.raises(DataError, match="must be one of a, b"):
            one_of(("a", "b"), value, "model")
    assert required(0) == 0
    with pytest.raises(DataError, match="name one of the table"):
        required(None)
