"""Times as people write them: a single moment is understood as a column of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pgt.io.times import moment_of, moments, neat, parse_times, strict

AT = "2024-05-01 09:00"
FORMS = ("+9", " +9", "+9:00", " +09:00", "+0900", "-5:30", " \N{MINUS SIGN}5", "Z", " z", " UTC",
         " GMT ", "", "  ")  # fmt: skip


@pytest.mark.parametrize("offset", FORMS)
def test_a_moment_has_the_offsets_of_tables(offset: str) -> None:
    table: Any = parse_times(pd.Series([AT + offset]), "started_at", None)
    assert pd.Timestamp(moment_of(AT + offset)) == table.iloc[0]


@pytest.mark.parametrize("text", ["now", "", "nine", "2024-05-01 09:00 +99", "NaT"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month|offset|timedelta"):
        moment_of(text)


def made_texts(offsets: list[str], n: int = 300) -> pd.Series:
    """Times in all strict forms, with offsets of these."""
    random = np.random.default_rng(0)
    texts = []
    for at in pd.Timestamp("1999-12-31") + pd.to_timedelta(random.integers(0, 10**15, n), "us"):
        day, clock = str(at.date()), at.time().isoformat()
        cut = random.choice([2, 5, 8, 10, 15])  # hours to microseconds
        texts.append(f"{day}{random.choice(['T', ' '])}{clock[:cut]}{random.choice(offsets)}")
    return pd.Series(texts, index=random.permutation(n), name="started_at", dtype="str")


@pytest.mark.parametrize("offsets", [["Z", "+00:00", "+02:00", "-0530", "-03"], [""]])
def test_what_is_read_at_once_is_read_as_one_by_one(offsets: list[str]) -> None:
    text = made_texts(offsets)
    expected = moments(neat(text))
    expected = expected if offsets[0] else expected.dt.tz_localize(None)
    pd.testing.assert_series_equal(strict(text), expected)


@pytest.mark.parametrize("other", [*(AT + end for end in FORMS[:4]), AT, "now", None, "2024"])
def test_one_other_text_among_many_is_not_read_at_once(other: str | None) -> None:
    assert strict(pd.Series([AT + "Z", other], dtype="str")) is None


def test_a_column_without_a_zone_named_keeps_its_offset() -> None:
    text = pd.Series([AT + "+02:00"] * 2, dtype="str")
    assert strict(text) is not None
    assert str(parse_times(text, "started_at", None).dtype) == "datetime64[us, UTC+02:00]"
