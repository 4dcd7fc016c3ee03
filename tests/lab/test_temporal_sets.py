"""What chapter 18 measures: its rows are what the tables say."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
import torch
from lab import temporal_sets as report
from lab.temporal_sets import DC, read_baskets

from pgt.temporal_sets import METRICS

from ..test_temporal_sets import made


@pytest.mark.skipif(not os.environ.get(DC), reason=f"{DC} names no DC.json")
def test_the_baskets_are_those_of_the_paper() -> None:
    parts = read_baskets(os.environ[DC])
    assert {part: len(one) for part, one in parts.items()} == {
        "train": 6307, "valid": 900, "test": 1803,
    }  # fmt: skip
    assert parts["test"].n_elements == 217
    everybody = torch.cat([one.user for one in parts.values()])
    assert everybody.unique().numel() == 6307 + 900 + 1803


def test_the_report_says_what_the_tables_say() -> None:
    rng = np.random.default_rng(0)

    def table() -> pd.DataFrame:
        values = pd.DataFrame(rng.uniform(size=(80, len(report.COLUMNS))), columns=report.COLUMNS)
        return values.assign(user_id=np.arange(80))

    tables = {("personal", "backoff"): [table()], ("dnntsp", "full"): [table(), table()]}
    rows = pd.DataFrame(report.rows_of(tables, (42, 1), {"data": "made"}))
    own = rows[(rows.model == "dnntsp")].set_index("group")
    runs = own.loc["all"]
    assert runs.seed.tolist() == [42, 1]
    for metric in METRICS:
        gap = runs[metric].mean() - 100 * tables["personal", "backoff"][0][metric].mean()
        assert own.loc["lead", metric] == pytest.approx(gap)
        assert own.loc["lead low", metric] < gap < own.loc["lead high", metric]
        assert own.loc["low", metric] < runs[metric].mean() < own.loc["high", metric]
    assert "gain" not in own.index and "gain" in set(rows[rows.model == "personal"].group)
    facts = report.facts({"test": made()})
    assert 0 < facts["alone"] < 100 and facts["repeats"] == 100
