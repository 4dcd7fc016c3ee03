"""Metrics against loops over all orders, intervals against theory."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from pgt import metrics
from pgt.batch import Batch
from pgt.metrics import gains, interval, interval_of_mean, rank, resampled_means
from pgt.windows import Windows, prepare

from .helpers import random_visits


def table(better: list[int], tied: list[int], users: list[int] | None = None) -> pd.DataFrame:
    """Ranks of windows, of which every second has its target in sight."""
    number = np.arange(len(better))
    return pd.DataFrame(
        {
            "user_id": users or [1] * len(better), "target": number, "predicted": number,
            "better": better, "tied": tied, "known": number % 3 > 0, "in_window": number % 2 > 0,
        }
    )  # fmt: skip


def test_ties_are_worth_the_mean_over_all_places_that_the_target_may_have() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 14, 14, 14):  # fourteen: ties across the tenth place
        scores, target = rng.integers(0, 3, n).astype(float), int(rng.integers(n))
        better, tied = rank(torch.tensor(scores)[None], torch.tensor([target]))
        above, alike = (scores > scores[target]).sum(), (scores == scores[target]).sum()
        places = range(above + 1, above + alike + 1)
        expected = {f"acc@{k}": np.mean([p <= k for p in places]) for k in metrics.KS}
        expected["mrr"] = np.mean([1 / p for p in places])
        expected["ndcg@10"] = np.mean([1 / math.log2(p + 1) if p <= 10 else 0 for p in places])
        found = gains(table(better.tolist(), tied.tolist())).iloc[0].to_dict()
        assert found == pytest.approx(expected, abs=1e-12)


def test_minus_infinity_is_a_miss_everywhere() -> None:
    scores = torch.tensor([[-math.inf, 2.0, -math.inf], [-math.inf] * 3])
    better, tied = rank(scores, torch.tensor([0, 1]))
    assert tied.tolist() == [0, 0]
    assert (gains(table(better.tolist(), tied.tolist())).to_numpy() == 0).all()
    assert gains(table([0], [1])[:0]).empty


class Fixed:
    """Scores that are a function of the window's number."""

    def __init__(self, windows: Windows) -> None:
        shape = len(windows), windows.vocabulary.n_locations
        self.table = torch.randn(shape, generator=torch.Generator().manual_seed(0)).round()

    def scores(self, batch: Batch) -> Tensor:
        return self.table[batch.index]


@pytest.fixture(scope="module")
def windows() -> Windows:
    return prepare(random_visits(3, users=4, visits=130, places=12)).test


@pytest.mark.parametrize("batch_size", [5, 512])
def test_evaluate_ranks_every_window_once_in_the_windows_order(
    windows: Windows, batch_size: int
) -> None:
    predictor = Fixed(windows)
    ranks, scores = metrics.evaluate(predictor, windows, batch_size), predictor.table
    better, tied = rank(scores, torch.from_numpy(windows.targets))
    expected = {
        "user_id": windows.users, "target": windows.targets, "better": better, "tied": tied,
        "known": windows.targets >= 2, "in_window": windows.in_window,
    }  # fmt: skip
    for name, values in expected.items():
        assert ranks[name].tolist() == values.tolist(), name
    top = scores.gather(1, torch.tensor(ranks.predicted.to_numpy())[:, None]).squeeze(1)
    assert torch.equal(top, scores.max(1).values)
    # Of several best one is drawn, and not always the first.
    tied_tops = (scores == scores.amax(1, keepdim=True)).sum(1) > 1
    assert (ranks.predicted.to_numpy() != scores.argmax(1).numpy())[tied_tops].any()


def test_groups_partition_the_windows(windows: Windows) -> None:
    ranks = metrics.evaluate(Fixed(windows), windows)
    summary = metrics.summarize(ranks).set_index("group")
    assert tuple(summary.index) == metrics.GROUPS
    assert summary.n["all"] == len(windows)
    for one, other in (("known", "unknown"), ("in_window", "not_in_window")):
        assert not (metrics.group_mask(ranks, one) & metrics.group_mask(ranks, other)).any()
        assert summary.n[one] + summary.n[other] == summary.n["all"]
        for metric in metrics.MEANS:
            shares = summary.n * summary[metric].fillna(0)
            weighted = shares[one] + shares[other]
            assert weighted / summary.n["all"] == pytest.approx(summary.loc["all", metric])
    assert summary.loc["all", "acc@1"] == pytest.approx(100 * gains(ranks)["acc@1"].mean())
    total = 0.0
    for place in ranks.target.unique():
        target, predicted = ranks.target == place, ranks.predicted == place
        total += target.mean() * 2 * (target & predicted).sum() / (target.sum() + predicted.sum())
    assert summary.loc["all", "f1"] == pytest.approx(100 * total)
    empty = metrics.summarize(ranks.assign(known=True)).set_index("group")
    assert empty.n["unknown"] == 0 and empty.loc["unknown", list(metrics.METRICS)].isna().all()
    assert tuple(empty.columns) == ("n", *metrics.METRICS) and empty.loc["known"].notna().all()


def answers(better: np.ndarray, users: np.ndarray) -> pd.DataFrame:
    return table(better.tolist(), [1] * len(better), users.tolist())


@pytest.mark.parametrize("n_seeds", [1, 2, 4])
def test_one_draw_is_a_mean_over_rows_that_are_drawn_one_by_one(n_seeds: int) -> None:
    rng = np.random.default_rng(3)
    users = rng.integers(0, 6, 80)
    values = rng.normal(size=(n_seeds, 80, 2))
    found = resampled_means(values, users, draws=50, seed=9)
    draw, names = np.random.default_rng(9), pd.unique(users)
    seeds = np.zeros((50, 1), dtype=int)  # of one seed nothing is drawn
    if n_seeds > 1:
        seeds = draw.integers(n_seeds, size=(50, n_seeds))
    people = draw.integers(6, size=(50, 6))
    for r in range(50):
        rows = np.concatenate([np.flatnonzero(users == names[k]) for k in people[r]])
        assert found[r] == pytest.approx(values[seeds[r]][:, rows].mean((0, 1)))
    assert resampled_means(values[..., 1], users, draws=50, seed=9) == pytest.approx(found[:, 1])


def test_what_is_missing_is_left_out() -> None:
    values = np.random.default_rng(0).normal(size=(2, 120))
    values[:, ::4] = np.nan  # a window of everybody
    found = resampled_means(values, np.repeat(np.arange(30), 4))
    kept = resampled_means(values[:, np.arange(120) % 4 > 0], np.repeat(np.arange(30), 3))
    assert found == pytest.approx(kept)
    means = resampled_means(np.array([[1.0, np.nan]]), [1, 2], draws=200)
    assert set(means[~np.isnan(means)]) == {1.0} and np.isnan(means).any()
    assert metrics.percentile_interval(means) == (1.0, 1.0)
    with pytest.raises(ValueError, match="other places"):
        resampled_means(np.array([[1.0, np.nan], [1.0, 2.0]]), [1, 2])


@pytest.mark.parametrize(("level", "quantile"), [(0.95, 1.96), (0.5, 0.674)])
def test_the_interval_of_alike_people_is_that_of_the_theory(level: float, quantile: float) -> None:
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.2, 0.8, 200)
    hits = np.concatenate([rng.random(50) < share for share in shares])
    ranks = answers(np.where(hits, 0, 5), np.repeat(np.arange(200), 50))
    low, high = interval(ranks, level=level)
    means = 100 * hits.reshape(200, 50).mean(1)
    error = quantile * means.std() / math.sqrt(200)
    assert low == pytest.approx(means.mean() - error, abs=0.1 * error)
    assert high == pytest.approx(means.mean() + error, abs=0.1 * error)


@pytest.mark.parametrize("metric", ["acc@1", "mrr"])
def test_the_interval_of_a_group_is_that_of_its_windows(metric: str) -> None:
    rng = np.random.default_rng(8)
    ranks = answers(rng.integers(0, 4, 200), np.arange(200) // 9)
    for group, inside in (("in_window", True), ("not_in_window", False)):
        alone = ranks[ranks.in_window == inside].reset_index(drop=True)
        found = interval(ranks, metric, group=group, n_resamples=200)
        assert found == interval(alone, metric, n_resamples=200)
        assert found != interval(ranks, metric, n_resamples=200)


def width(found: tuple[float, float]) -> float:
    return found[1] - found[0]


def test_runs_are_drawn_in_pairs() -> None:
    """Both models have the same good and bad seeds: their difference does not depend on them."""
    luck, users = np.random.default_rng(7).random(800), np.repeat(np.arange(40), 20)
    one, other = ([answers(np.where(luck < share, 0, 5), users) for share in shares]
                  for shares in ((0.4, 0.6, 0.8), (0.3, 0.5, 0.7)))  # fmt: skip
    paired = width(interval_of_mean(one, against=other))
    assert paired < 1.5 * width(interval_of_mean(one, against=other, seeds=False))
    assert width(interval_of_mean(one, against=other[::-1])) > 2 * paired
    assert interval_of_mean(one, against=one) == (0.0, 0.0)
    assert interval_of_mean(one[:1]) == interval(one[0])
    beside = other[:1]  # one run is paired with each of the others
    assert interval_of_mean(one, against=beside) == interval_of_mean(one, against=beside * 3)
    with pytest.raises(ValueError, match="not of the same windows"):
        interval(one[0], against=other[0].iloc[1:])
    with pytest.raises(ValueError, match="3 runs cannot be paired with 2"):
        interval_of_mean(one, against=other[:2])
    with pytest.raises(ValueError, match="intervals exist for acc@1"):
        interval(one[0], "f1")
