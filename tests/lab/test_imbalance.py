"""How unevenly locations occur: the counts behind the data's claims."""

from __future__ import annotations

import json

import numpy as np
import pytest
from lab.imbalance import COUNTED, counts, uneven
from wherenext import city
from wherenext.results import read_results

from pgt.windows import Dataset, prepare

from ..helpers import random_visits


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130, places=30), protocol="exact")


def test_erratum_21_the_three_counts_are_those_of_loops(data: Dataset) -> None:
    train, known = data.train, data.vocabulary.n_known
    ids = train.features[0].numpy()[1:]
    shown, asked = np.zeros(known + 2, int), np.zeros(known + 2, int)
    for first, target in zip(train.first, train.target, strict=True):
        for location in ids[first:target]:
            shown[location] += 1
        asked[ids[target]] += 1
    visited = np.array([(ids == location).sum() for location in range(known + 2)])
    found = counts(train)
    assert list(found) == list(COUNTED)
    for of, expected in zip(COUNTED, (shown, visited, asked), strict=True):
        assert np.array_equal(found[of], expected[2:]), of
    assert found["in windows"].sum() == train.lengths.sum()
    assert found["targets"].sum() == len(train) and found["visits"].sum() == len(ids)


def test_the_file_has_the_city_as_it_is() -> None:
    kept = read_results("imbalance").rows
    data = prepare(city.load().visits, protocol="exact")
    for row in json.loads(json.dumps([*uneven(data.train)])):
        keys = {k: v for k, v in row.items() if k in ("table", "of")}
        same = kept[
            (kept.data == "city") & np.logical_and.reduce([kept[k] == v for k, v in keys.items()])
        ]
        assert len(same) == 1, keys
        for name, value in row.items():
            if not isinstance(value, str):
                assert float(same[name].iloc[0]) == pytest.approx(value, abs=0.001), (keys, name)
