"""How long windows are and how unevenly locations occur: the counts behind the data's claims."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from lab.imbalance import COUNTED, RANKS, counts, lengths, uneven
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


def test_the_rows_say_what_they_name(data: Dataset) -> None:
    rows: list[dict[str, Any]] = [*lengths(data), *uneven(data.train)]
    by = {(r["table"], r.get("split", r.get("of"))): r for r in rows if r["table"] != "rank"}
    every = np.concatenate([getattr(data, split).lengths for split in ("train", "valid", "test")])
    assert by["lengths", "all"]["mean"] == pytest.approx(every.mean())
    assert by["lengths", "all"]["median"] == np.median(every)
    found = counts(data.train)
    for of in COUNTED:
        row, ordered = by["uneven", of], np.sort(found[of])[::-1]
        assert (row["top"], row["once"], row["never"]) == (
            ordered[0], (ordered == 1).sum(), (ordered == 0).sum(),
        )  # fmt: skip
        ranks = [r for r in rows if r["table"] == "rank" and r["of"] == of]
        assert [r["rank"] for r in ranks] == [k for k in RANKS if k <= len(ordered)]
        assert all(r["count"] == ordered[r["rank"] - 1] for r in ranks)
    top = by["top", None]
    most = int(np.argmax(found["in windows"]))
    assert [top[of] for of in COUNTED] == [found[of][most] for of in COUNTED]


def test_the_file_has_the_city_as_it_is() -> None:
    kept = read_results("imbalance").rows
    data = prepare(city.load().visits, protocol="exact")
    for row in json.loads(json.dumps([*lengths(data), *uneven(data.train)])):
        keys = {k: v for k, v in row.items() if k in ("table", "split", "of", "rank")}
        same = kept[
            (kept.data == "city") & np.logical_and.reduce([kept[k] == v for k, v in keys.items()])
        ]
        assert len(same) == 1, keys
        for name, value in row.items():
            if not isinstance(value, str):
                assert float(same[name].iloc[0]) == pytest.approx(value, abs=0.001), (keys, name)
