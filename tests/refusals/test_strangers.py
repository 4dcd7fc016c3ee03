"""People and places that only share ids with those of the training are noted, and no others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from pgt.errors import DataNote
from pgt.refusals.strangers import note_people, note_places

KNOWN = dict.fromkeys(range(8), "a")


def people(others: int) -> dict[int, str]:
    """Eight people, of whom so many begin otherwise than in the training."""
    return {user: "b" if user < others else "a" for user in range(8)}


@pytest.mark.parametrize(
    ("others", "says"), [(8, "None of the 8 .* begins with"), (7, "Only 1 of the 8 .* begins with"),
                         (5, "Only 3 of the 8 .* begin with")],
)  # fmt: skip
def test_most_people_are_others(others: int, says: str) -> None:
    with pytest.warns(DataNote, match=f"{says}.*user_id 0 does not"):
        note_people(KNOWN, people(others))


@pytest.mark.parametrize("others", [0, 1, 4])
def test_most_people_are_the_same(others: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_people(KNOWN, people(others))
        note_people({}, {})


@pytest.mark.parametrize("places", [[1, 2], ["home", "work", "4ad4c0"], ["Café"]])
def test_numbers_and_words_may_be_shared_by_chance(places: list[int | str]) -> None:
    with pytest.warns(DataNote, match="numbers or common words"):
        note_places(pd.Series(places), np.ones(len(places), dtype=bool))


@pytest.mark.parametrize(
    ("places", "shared"),
    [
        (["venue 12", "4ad4c0"], [True, True]),
        (["home", "venue 12"], [False, True]),
        (["a"], [False]),
        (["home", "work", "venue 1", "venue 2", "venue 3"], [True] * 5),
    ],
)
def test_names_with_digits_are_not(places: list[str], shared: list[bool]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_places(pd.Series(places), np.array(shared))
