"""How unevenly locations occur: the counts behind the data's claims."""

from __future__ import annotations

import numpy as np
import pytest
from lab.imbalance import COUNTED, counts

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
