"""Tables are read as a plain look at every text would read them."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from pgt.io.tables import read
from pgt.io.times import utc_offset

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
