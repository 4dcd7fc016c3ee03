"""What is given instead of windows, a configuration or a vocabulary is named for what it is."""

from __future__ import annotations

from typing import Any

import pytest

import pgt
from pgt.train import fit


@pytest.mark.parametrize("windows", [None, "test", 3, pgt.city.load().visits])
def test_windows_are_windows(windows: Any) -> None:
    with pytest.raises(pgt.DataError, match=r"windows is a .*; give windows, such as data\.test"):
        pgt.evaluate(pgt.MostFrequent(), windows)


def test_training_names_what_it_wants() -> None:
    data = pgt.prepare(pgt.city.load().visits)
    rule: Any = pgt.MostFrequent()
    for arguments, says in (
        ((data, data.valid), "train is a PreparedDataset; give windows, such as data.train"),
        ((data.train, None), "valid is a NoneType; give windows, such as data.valid"),
        ((data.train, data.valid, {"seed": 1}), "config is a dict; give a pgt.TrainConfig"),
    ):
        with pytest.raises(pgt.DataError, match=says):
            fit(rule, *arguments)


def test_preparing_names_what_it_wants() -> None:
    visits: Any = pgt.city.load().visits
    wrong: Any = {"days": 3}
    with pytest.raises(pgt.DataError, match="config is a dict; give a WindowConfig"):
        pgt.prepare(visits, config=wrong)
    with pytest.raises(pgt.DataError, match="vocabulary is a str; give a Vocabulary"):
        pgt.prepare(visits, vocabulary="city")  # type: ignore[arg-type]
