"""Ranks and their metrics against brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from pgt.baselines import MostFrequent
from pgt.batch import Batch
from pgt.metrics import (
    GROUPS,
    KS,
    MEANS,
    METRICS,
    evaluate,
    gains,
    group_mask,
    summarize,
    weighted_f1,
)
from pgt.sparse import rank
from pgt.windows import Windows, prepare

from .helpers import random_visits


def table(better: list[int], tied: list[int], users: list[int] | None = None) -> pd.DataFrame:
    n = len(better)
    return pd.DataFrame(
        {
            "user_id": users or [1] * n,
            "target": np.arange(n),
            "predicted": np.arange(n),
            "better": better,
            "tied": tied,
            "known": np.arange(n) % 3 > 0,
            "in_window": np.arange(n) % 2 > 0,
        }
    )


def by_permutation(scores: list[float], target: int) -> dict[str, float]:
    """Mean of every metric over all orders of the tied locations."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    places = [order.index(target) + 1 for order in orders]
    out = {f"acc@{k}": np.mean([p <= k for p in places]) for k in KS}
    out["mrr"] = np.mean([1 / p for p in places])
    out["ndcg@10"] = np.mean([1 / math.log2(p + 1) if p <= 10 else 0 for p in places])
    return out


@pytest.mark.parametrize("seed", range(12))
def test_ties_are_worth_the_mean_over_all_orders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, 7).astype(float)
    target = int(rng.integers(7))
    better, tied = rank(torch.tensor(scores)[None], torch.tensor([target]))
    actual = gains(table(better.tolist(), tied.tolist())).iloc[0].to_dict()
    assert actual == pytest.approx(by_permutation(scores.tolist(), target), abs=1e-12)


def test_ties_across_the_tenth_place() -> None:
    got = gains(table([8], [4])).iloc[0]  # places 9, 10, 11, 12
    assert got["acc@10"] == pytest.approx(2 / 4)
    assert got["mrr"] == pytest.approx((1 / 9 + 1 / 10 + 1 / 11 + 1 / 12) / 4)
    assert got["ndcg@10"] == pytest.approx((1 / math.log2(10) + 1 / math.log2(11)) / 4)


def test_minus_infinity_is_a_miss_everywhere() -> None:
    scores = torch.tensor([[-math.inf, 2.0, -math.inf], [-math.inf] * 3])
    better, tied = rank(scores, torch.tensor([0, 1]))
    assert tied.tolist() == [0, 0]
    assert (gains(table(better.tolist(), tied.tolist())).to_numpy() == 0).all()


@dataclass
class Fixed:
    """Scores that are a function of the window's number."""

    n_locations: int
    seen: list[int]

    def scores(self, batch: Batch) -> Tensor:
        self.seen += batch.index.tolist()
        rows = [
            torch.randn(self.n_locations, generator=torch.Generator().manual_seed(i)).round()
            for i in batch.index.tolist()
        ]
        return torch.stack(rows)


@pytest.fixture(scope="module")
def windows() -> Windows:
    return prepare(random_visits(3, users=4, visits=130, places=12)).test


@pytest.mark.parametrize("batch_size", [1, 5, 512])
def test_evaluate_ranks_every_window_once_in_the_windows_order(
    windows: Windows, batch_size: int
) -> None:
    predictor = Fixed(windows.vocabulary.n_locations, [])
    ranks = evaluate(predictor, windows, batch_size)
    assert sorted(predictor.seen) == list(range(len(windows)))
    scores = predictor.scores(windows.batch(np.arange(len(windows))))
    better, tied = rank(scores, torch.from_numpy(windows.targets))
    assert ranks.better.tolist() == better.tolist()
    assert ranks.tied.tolist() == tied.tolist()
    assert ranks.user_id.tolist() == windows.users.tolist()
    assert ranks.target.tolist() == windows.targets.tolist()
    assert ranks.known.tolist() == (windows.targets >= 2).tolist()
    assert ranks.in_window.tolist() == windows.in_window.tolist()
    top = scores.gather(1, torch.tensor(ranks.predicted.to_numpy())[:, None]).squeeze(1)
    assert torch.equal(top, scores.max(1).values)


def test_groups_partition_the_windows(windows: Windows) -> None:
    ranks = evaluate(Fixed(windows.vocabulary.n_locations, []), windows)
    summary = summarize(ranks).set_index("group")
    assert tuple(summary.index) == GROUPS
    assert summary.n["all"] == len(windows)
    for one, other in (("known", "unknown"), ("in_window", "not_in_window")):
        assert not (group_mask(ranks, one) & group_mask(ranks, other)).any()
        assert summary.n[one] + summary.n[other] == summary.n["all"]
        for metric in MEANS:
            shares = summary.n * summary[metric].fillna(0)
            weighted = shares[one] + shares[other]
            assert weighted / summary.n["all"] == pytest.approx(summary.loc["all", metric])
    assert summary.loc["all", "acc@1"] == pytest.approx(100 * gains(ranks)["acc@1"].mean())


def test_an_empty_group_has_no_metrics() -> None:
    ranks = table([0, 1], [1, 1]).assign(known=True)
    summary = summarize(ranks).set_index("group")
    assert summary.n["unknown"] == 0
    assert tuple(summary.columns[1:]) == METRICS
    assert summary.loc["unknown", [*METRICS]].isna().all()
    assert summary.loc["known", [*METRICS]].notna().all()
    assert tuple(summarize(ranks, ["unknown"]).columns) == ("group", "n", *METRICS)


def test_the_f1_of_a_group_is_that_of_its_windows(windows: Windows) -> None:
    ranks = evaluate(Fixed(windows.vocabulary.n_locations, []), windows)
    summary = summarize(ranks).set_index("group")
    for group in GROUPS:
        part = ranks[group_mask(ranks, group)]
        if len(part):
            expected = f1_score(part.target, part.predicted, average="weighted", zero_division=0)
            assert summary.loc[group, "f1"] == pytest.approx(100 * expected)
    assert summary.f1["all"] > 0


def test_f1_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    target, predicted = rng.integers(0, 6, 200), rng.integers(0, 6, 200)
    expected = f1_score(target, predicted, average="weighted", zero_division=0)
    assert weighted_f1(target, predicted) == pytest.approx(expected)
    total = 0.0
    for place in range(6):
        hits = ((target == place) & (predicted == place)).sum()
        f1 = 2 * hits / ((target == place).sum() + (predicted == place).sum())
        total += f1 * (target == place).mean()
    assert weighted_f1(target, predicted) == pytest.approx(total)


def test_tied_predictions_are_drawn_and_not_always_the_first(windows: Windows) -> None:
    ranks = evaluate(MostFrequent().fit(windows), windows)
    tied = ranks[ranks.tied > 1]
    pd.testing.assert_frame_equal(ranks, evaluate(MostFrequent().fit(windows), windows))
    tops = MostFrequent().fit(windows).scores(windows.batch(np.arange(len(windows)))).argmax(1)
    assert len(tied) > 5
    assert (ranks.predicted.to_numpy() != tops.numpy()).any()
