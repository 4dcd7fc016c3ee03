"""What chapter 18 measures: baskets are read whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from lab.temporal_sets import DC, read_baskets

from pgt.errors import DataError
from pgt.temporal_sets import padded


def test_files_of_baskets_are_read_and_faults_named(tmp_path: Path) -> None:
    path = tmp_path / "DC.json"
    with pytest.raises(DataError, match="PGT_DC"):
        read_baskets(path)
    parts = {"train": {"a": [[0, 0, 1], [2]]}, "validate": {"b": [[1], [1]]}}
    path.write_text(json.dumps(parts))
    with pytest.raises(DataError, match="no part 'test'"):
        read_baskets(path)
    path.write_text(json.dumps(parts | {"test": {"c": [[1], [0], [3]]}}))
    found = read_baskets(path)
    assert [len(one) for one in found.values()] == [1, 1, 1]
    assert found["test"].n_elements == 4 and found["test"].target.tolist() == [[3]]
    assert found["train"].elements.tolist() == [[0, 1]], "an element is in a set once"
    assert len({int(one.user) for one in found.values()}) == 3
    path.write_text(json.dumps(parts | {"test": {"c": [[1]]}}))
    with pytest.raises(DataError, match="User c"):
        read_baskets(path)
    with pytest.raises(DataError, match="outside 0 to 2"):
        padded([[[5]]], [[1]], n_elements=3)
    with pytest.raises(DataError, match="no element"):
        padded([[[]]], [[1]], n_elements=3)


@pytest.mark.skipif(not os.environ.get(DC), reason=f"{DC} names no DC.json")
def test_the_baskets_are_those_of_the_paper() -> None:
    parts = read_baskets(os.environ[DC])
    assert {part: len(one) for part, one in parts.items()} == {
        "train": 6307, "valid": 900, "test": 1803,
    }  # fmt: skip
    assert parts["test"].n_elements == 217
    everybody = torch.cat([one.user for one in parts.values()])
    assert everybody.unique().numel() == 6307 + 900 + 1803
