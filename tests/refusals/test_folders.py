"""What a folder of prepared windows cannot hold is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pgt.errors import DataError
from pgt.refusals import folders
from pgt.refusals.folders import (
    require_arrays,
    require_done,
    require_features,
    require_manifest,
    require_prepared,
)
from pgt.visits import SPLITS
from pgt.windows import FEATURES, encode, prepare

from ..helpers import routine_visits

MANIFEST = {"made_from": {"files": {}}, "n_buckets": 2, "visits": {"0": 9, "12": 0}}
PREPARED = {"windows": {}, "vocabulary": "a9", "counts": {}}
DONE = {"about": {}, "counts": {"train": 9, "valid": 0, "test": 1}}


@pytest.mark.parametrize(
    ("require", "good", "bad"),
    [
        (require_manifest, [MANIFEST, {"made_from": {}}],
         [None, [], {}, MANIFEST | {"made_from": 1}, MANIFEST | {"n_buckets": 0},
          MANIFEST | {"n_buckets": True}, MANIFEST | {"n_buckets": "2"}, MANIFEST | {"visits": [1]},
          MANIFEST | {"visits": {"x": 1}}, MANIFEST | {"visits": {"٣": 1}},
          MANIFEST | {"visits": {"1": -1}}, MANIFEST | {"visits": {"1": 1.0}}]),
        (require_prepared, [PREPARED],
         [None, [], {}, PREPARED | {"windows": None}, PREPARED | {"vocabulary": 1}]),
        (require_done, [DONE],
         [None, [], {}, DONE | {"about": 1}, DONE | {"counts": {"train": 1, "valid": 1}},
          DONE | {"counts": {"train": 1, "valid": 1, "test": True}}, DONE | {"counts": 3}]),
    ],
)  # fmt: skip
def test_a_header_says_what_it_must(
    require: Callable[[str, Any], None], good: list[Any], bad: list[Any]
) -> None:
    for raw in good:
        require("b/x.json", raw)
    for raw in bad:
        with pytest.raises(DataError, match=r"^b/x\.json is damaged \(it.*\); remove the folder"):
            require("b/x.json", raw)


ARRAYS = (
    np.zeros((9, 6), dtype=np.int32), np.array([0, 1], dtype=np.int32),
    np.array([1, 4], dtype=np.int32), np.array([True, False]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("number", "other"),
    [
        (0, ARRAYS[0].astype(np.int64)), (0, ARRAYS[0][:8]), (0, ARRAYS[0][:, :5]),
        (0, ARRAYS[0][0]), (1, ARRAYS[1][:1]), (1, ARRAYS[1].astype(float)), (1, ARRAYS[1] - 1),
        (1, ARRAYS[1] + 1), (1, ARRAYS[1][None]), (2, ARRAYS[2] + 1), (2, ARRAYS[2][:1]),
        (2, ARRAYS[2].astype(np.int8)), (2, ARRAYS[2].astype(np.int64)),
        (3, ARRAYS[3].astype(np.int8)), (3, ARRAYS[3][:1]),
    ],
)  # fmt: skip
def test_arrays_belong_together(number: int, other: np.ndarray) -> None:
    require_arrays("a", 5, *ARRAYS)
    require_arrays("a", 5, ARRAYS[0], *(one.astype(np.int64) for one in ARRAYS[1:3]), ARRAYS[3])
    arrays = [other if i == number else array for i, array in enumerate(ARRAYS)]
    with pytest.raises(DataError, match=r"^a is damaged \(.*\); remove the folder, and prepare"):
        require_arrays("a", 5, *arrays)


@pytest.mark.parametrize(("row", "most"), [*enumerate((8, 3, 96, 7, 100, 1439, 1439))])
def test_features_are_in_their_ranges(row: int, most: int) -> None:
    features = ARRAYS[0].copy()
    require_features("a", features, 9, 4)
    for value, fits in ((0, True), (most, True), (most + 1, False), (-1, False)):
        features[row, 3] = value
        if fits:
            require_features("a", features, 9, 4)
        else:
            with pytest.raises(DataError, match="at places or times that are none"):
                require_features("a", features, 9, 4)


def test_padding_is_empty() -> None:
    features = ARRAYS[0].copy()
    features[8, 0] = -1
    with pytest.raises(DataError, match="its padding is not empty"):
        require_features("a", features, 9, 4)


def test_visits_of_all_kinds_are_in_range() -> None:
    assert folders.SPLITS == SPLITS
    assert FEATURES[2:7] == tuple(folders.MOST)
    table = routine_visits(users=2, days=40)
    table["finished_at"] = table.started_at.dt.floor("D") + (table.started_at - table.started_at[0])
    table["finished_at"] = table.finished_at.clip(lower=table.started_at)
    words = prepare(table).vocabulary
    features = encode(table, words).numpy()
    require_features("a", features, words.n_locations, words.n_users)
    assert int(features[4].max()) == folders.MOST["duration"]
