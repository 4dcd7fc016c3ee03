"""Tables are read as a plain look at every text would read them."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from pgt.io.tables import read
from pgt.io.times import neat, parse_times, utc_offset

PLAIN = re.compile(r"\d[T ].*\d\s*(Z|z|UTC|GMT|[+-]\d\d?(?::?\d\d)?)\s*$")
TIMES = [
    "".join(parts)
    for parts in product(
        ("2024-05-01", "2024-05", "", "x"), ("T", " ", "", "\n"),
        ("09:00", "09:00:00.123456789", "9", "", "0900"),
        ("", "Z", "+02:00", "-0230", "+02", "-05", "+2", "z", " +02:00", "+9:00", " UTC"),
        ("", "\n", " "),
    )
]  # fmt: skip


def test_an_offset_is_that_of_one_expression_on_every_text() -> None:
    text = pd.Series([*TIMES, None], index=range(5, len(TIMES) + 6))
    found = utc_offset(text)
    expected = [match and match[1] for match in map(PLAIN.search, TIMES)]
    assert found.index.equals(text.index)
    assert found.astype(object).where(found.notna(), None).tolist() == [*expected, None]
    assert len(set(expected)) > 5


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (("7", "-8", "0"), [7, -8, 0]),
        (("007", "8", "9"), ["007", "8", "9"]),
        (("+7", "8", "9"), ["+7", "8", "9"]),
        (("-0", "8", "9"), ["-0", "8", "9"]),
        ((" 7", "8", "9"), [7, 8, 9]),
        (("7", "8", "a"), ["7", "8", "a"]),
        (("18446744073709551615", "8", "9"), [2**64 - 1, 8, 9]),
    ],
)
def test_an_id_is_a_number_only_if_no_character_is_lost(
    ids: tuple[str, ...], found: list[object], tmp_path: Path
) -> None:
    rows = [f"1,{name},2024-05-0{i}T09:00Z,2024-05-0{i}T10:00Z" for i, name in enumerate(ids, 1)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["user_id,location_id,started_at,finished_at", *rows]))
    table = read(path)
    assert table.location_id.tolist() == found
    assert table.user_id.tolist() == [1, 1, 1]


SPELLINGS = {
    -300: ("-05:00", "-0500", "-05", "-5", "-5:00", "\N{MINUS SIGN}05:00"),
    0: ("Z", "z", "UTC", "utc", "GMT", "+00:00", "+0", "-00:00"),
    330: ("+05:30", "+0530", "+5:30", "+530"),
    540: ("+09:00", "+0900", "+09", "+9", "+9:00"),
}
FORMS = [
    (f"2024-05-01{between}{clock}{space}{offset}{after}", minutes)
    for minutes, spelled in SPELLINGS.items()
    for offset, between, clock, space, after in product(
        spelled, "T ", ("09:00", "09:00:00", "09:00:00.000"), ("", " "), ("", " ", "\t")
    )
]


@pytest.mark.parametrize("zone", [None, "Asia/Shanghai"])
def test_an_offset_means_the_same_however_it_is_spelled(zone: str | None) -> None:
    for minutes in SPELLINGS:
        text = pd.Series([form for form, of in FORMS if of == minutes])
        offset = utc_offset(neat(text))
        assert offset.notna().all()
        # Without a zone a table has one offset only, spelled in one way.
        parts = [text] if zone else [text[offset == one] for one in offset.unique()]
        for part in parts:
            moments = parse_times(part, "started_at", zone)
            expected = pd.Timestamp("2024-05-01 09:00", tz="UTC") - pd.Timedelta(minutes, "min")
            assert (moments == expected).all()
            assert str(moments.dt.tz) == zone or zone is None


def test_good_times_are_not_touched() -> None:
    good = ["2024-05-01T09:00:00Z", "2024-05-01 09:00+02:00", "2024-05-01", "2024-05-01T09:00"]
    assert neat(pd.Series(good)).tolist() == good
