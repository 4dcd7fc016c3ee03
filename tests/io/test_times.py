"""Times as people write them: a single moment is understood as a column of them is."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pgt.io.times import moment_of, parse_times

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
