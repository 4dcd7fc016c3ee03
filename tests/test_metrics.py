"""Metrics against loops over all orders, intervals against theory."""

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
    ends,
    evaluate,
    gains,
    group_mask,
    interval,
    interval_of_mean,
    rank,
    resampled_means,
    summarize,
    weighted_f1,
)
from pgt.windows import Windows, prepare

from .helpers import random_visits

# --- ranks and their metrics against brute force


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


# --- intervals against theory, against loops, and against what they must never do


def answers(better: list[int], users: list[int] | None = None) -> pd.DataFrame:
    n = len(better)
    return pd.DataFrame(
        {
            "user_id": users or [1] * n, "better": better, "tied": 1, "known": True,
            "in_window": np.arange(n) % 2 > 0,
        }
    )  # fmt: skip


def test_the_spread_of_a_mean_over_people_of_equal_size_is_that_of_the_theory() -> None:
    """Its variance over draws is the variance between people, divided by their number."""
    rng = np.random.default_rng(1)
    for people, windows in ((12, 40), (300, 3)):
        levels = rng.normal(size=people)
        values = np.repeat(levels, windows) + rng.normal(size=people * windows)
        users = np.repeat(np.arange(people), windows)
        means = resampled_means(values[None], users, draws=20_000)
        own = values.reshape(people, windows).mean(1)
        assert means.std() == pytest.approx(own.std() / math.sqrt(people), rel=0.03)
        assert means.mean() == pytest.approx(own.mean(), abs=5 * means.std() / math.sqrt(20_000))


def test_people_and_seeds_together_have_the_spread_of_the_theory() -> None:
    """With a_p + b_s the two variances add up, each divided by how many were drawn."""
    rng = np.random.default_rng(2)
    person, seed = rng.normal(size=40), rng.normal(size=5)
    values = person[None, :] + seed[:, None]  # (S, W), a window each
    means = resampled_means(values, np.arange(40), draws=20_000)
    assert means.std() == pytest.approx(math.sqrt(person.var() / 40 + seed.var() / 5), rel=0.03)
    alike = np.repeat(person[None], 5, axis=0)
    assert resampled_means(alike, np.arange(40), draws=20_000).std() == pytest.approx(
        person.std() / math.sqrt(40), rel=0.03
    ), "seeds that are alike add nothing"


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
    users = np.repeat(np.arange(30), 4)
    values = np.random.default_rng(0).normal(size=(2, 120, 2))
    values[:, ::4, 0] = np.nan  # a window of everybody
    found = resampled_means(values, users)
    kept = resampled_means(values[:, np.arange(120) % 4 > 0], np.repeat(np.arange(30), 3))
    assert found[:, 0] == pytest.approx(kept[:, 0])
    assert np.isfinite(found).all()
    alone = np.array([[1.0, np.nan]])
    means = resampled_means(alone, [1, 2], draws=200)
    assert set(means[~np.isnan(means)]) == {1.0} and np.isnan(means).any()
    assert ends(means) == (1.0, 1.0)
    with pytest.raises(ValueError, match="other places"):
        resampled_means(np.array([[1.0, np.nan], [1.0, 2.0]]), [1, 2])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        resampled_means(np.ones((1, 3)), [1, 2])


# --- of ranks


def test_people_are_resampled_and_not_windows() -> None:
    # Two people of 500 windows each, one always right, the other never: by windows the interval
    # would be 50 ± 3; by people it spans everything.
    users = [1] * 500 + [2] * 500
    ranks = answers([0] * 500 + [3] * 500, users)
    assert interval(ranks, n_resamples=500) == (0.0, 100.0)


def test_the_interval_of_alike_people_is_that_of_the_theory() -> None:
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.2, 0.8, 200)
    hits = np.concatenate([rng.random(50) < share for share in shares])
    ranks = answers(np.where(hits, 0, 5).tolist(), np.repeat(np.arange(200), 50).tolist())
    low, high = interval(ranks)
    means = 100 * hits.reshape(200, 50).mean(1)
    error = 1.96 * means.std() / math.sqrt(200)
    assert low == pytest.approx(means.mean() - error, abs=0.1 * error)
    assert high == pytest.approx(means.mean() + error, abs=0.1 * error)


def test_the_difference_to_itself_is_zero_and_pairing_narrows() -> None:
    rng = np.random.default_rng(2)
    users = np.repeat(np.arange(20), 30).tolist()
    easy = np.repeat(rng.random(20), 30)
    one = answers(np.where(rng.random(600) < easy, 0, 4).tolist(), users)
    two = one.assign(better=np.where(rng.random(600) < 0.1, 4, one.better))
    assert interval(one, against=one) == (0.0, 0.0)
    low, high = interval(one, against=two)
    alone = interval(one)
    assert high - low < (alone[1] - alone[0]) / 2
    back = interval(two, against=one)
    assert back == pytest.approx((-high, -low))
    with pytest.raises(ValueError, match="not of the same windows"):
        interval(one, against=two.iloc[1:])


@pytest.mark.parametrize("metric", ["acc@1", "mrr"])
def test_the_interval_of_a_group_is_that_of_its_windows(metric: str) -> None:
    rng = np.random.default_rng(8)
    ranks = answers(rng.integers(0, 4, 200).tolist(), (np.arange(200) // 9).tolist())
    for group, inside in (("in_window", True), ("not_in_window", False)):
        alone = ranks[ranks.in_window == inside].reset_index(drop=True)
        assert interval(ranks, metric, group=group) == interval(alone, metric)
        assert interval(ranks, metric, group=group) != interval(ranks, metric)


def runs(shares: list[float], people: int = 40, windows: int = 20) -> list[pd.DataFrame]:
    """A run each, whose hits have this share; the same windows are hard in all of them."""
    rng = np.random.default_rng(7)
    luck = rng.random(people * windows)
    users = np.repeat(np.arange(people), windows).tolist()
    return [answers(np.where(luck < share, 0, 5).tolist(), users) for share in shares]


def width(ends: tuple[float, float]) -> float:
    return ends[1] - ends[0]


def test_runs_are_drawn_in_pairs() -> None:
    """Both models have the same good and bad seeds: their difference does not depend on them."""
    one, other = runs([0.4, 0.6, 0.8]), runs([0.3, 0.5, 0.7])
    paired = width(interval_of_mean(one, against=other))
    assert paired < 1.5 * width(interval_of_mean(one, against=other, seeds=False))
    assert width(interval_of_mean(one, against=other[::-1])) > 2 * paired
    assert interval_of_mean(one, against=one) == (0.0, 0.0)
