"""Intervals against theory, against loops, and against what they must never do."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from pgt import metrics
from pgt.metrics import drawn_people, ends, interval, interval_of_mean, resampled_means


def table(better: list[int], users: list[int] | None = None) -> pd.DataFrame:
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


def test_two_thousand_draws_unless_more_or_fewer_are_wanted() -> None:
    values, users = np.random.default_rng(5).normal(size=(2, 9)), np.arange(9)
    usual = resampled_means(values, users)
    assert len(usual) == 2_000 and np.array_equal(usual, resampled_means(values, users, seed=0))


def test_blocks_change_neither_draws_nor_means(monkeypatch: pytest.MonkeyPatch) -> None:
    values, users = np.random.default_rng(4).normal(size=(3, 70)), np.arange(70) // 2
    whole = resampled_means(values, users, draws=40)
    drawn = np.concatenate(list(drawn_people(35, 40, np.random.default_rng(0))))
    for cells in (1, 35 * 2, 35 * 7, 35 * 40):
        monkeypatch.setattr(metrics, "CELLS", cells)
        blocks = list(drawn_people(35, 40, np.random.default_rng(0)))
        assert max(block.size for block in blocks) <= max(35, cells)
        assert np.array_equal(np.concatenate(blocks), drawn)
        assert resampled_means(values, users, draws=40) == pytest.approx(whole)


def test_memory_does_not_grow_with_the_draws() -> None:
    users = np.arange(50_000)
    values = np.random.default_rng(0).normal(size=(1, 50_000))
    peaks = []
    for draws in (20, 200):
        tracemalloc.start()
        resampled_means(values, users, draws=draws)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0]


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


def test_lists_are_understood() -> None:
    values, users = [[1.0, 2.0, 4.0], [0.0, 1.0, 5.0]], ["ann", "ann", "bob"]
    found = resampled_means(values, users, draws=30)
    assert np.array_equal(found, resampled_means(np.array(values), np.array(users), draws=30))
    assert ends([1, 2, 3], 0.5) == (1.5, 2.5)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="people of 2 windows"):
        resampled_means(np.ones((1, 3)), [1, 2])
    with pytest.raises(ValueError, match="people of 0 windows"):
        resampled_means(np.ones((1, 0)), [])


# --- of ranks


def test_one_user_with_all_windows_has_an_interval_without_width() -> None:
    ranks = table([0, 3, 0, 0])
    assert interval(ranks) == (75.0, 75.0)


def test_people_are_resampled_and_not_windows() -> None:
    # Two people of 500 windows each, one always right, the other never: by windows the interval
    # would be 50 ± 3; by people it spans everything.
    users = [1] * 500 + [2] * 500
    ranks = table([0] * 500 + [3] * 500, users)
    assert interval(ranks, n_resamples=500) == (0.0, 100.0)


def test_the_interval_of_alike_people_is_that_of_the_theory() -> None:
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.2, 0.8, 200)
    hits = np.concatenate([rng.random(50) < share for share in shares])
    ranks = table(np.where(hits, 0, 5).tolist(), np.repeat(np.arange(200), 50).tolist())
    low, high = interval(ranks)
    means = 100 * hits.reshape(200, 50).mean(1)
    error = 1.96 * means.std() / math.sqrt(200)
    assert low == pytest.approx(means.mean() - error, abs=0.1 * error)
    assert high == pytest.approx(means.mean() + error, abs=0.1 * error)


def test_the_difference_to_itself_is_zero_and_pairing_narrows() -> None:
    rng = np.random.default_rng(2)
    users = np.repeat(np.arange(20), 30).tolist()
    easy = np.repeat(rng.random(20), 30)
    one = table(np.where(rng.random(600) < easy, 0, 4).tolist(), users)
    two = one.assign(better=np.where(rng.random(600) < 0.1, 4, one.better))
    assert interval(one, against=one) == (0.0, 0.0)
    low, high = interval(one, against=two)
    alone = interval(one)
    assert high - low < (alone[1] - alone[0]) / 2
    back = interval(two, against=one)
    assert back == pytest.approx((-high, -low))
    with pytest.raises(ValueError, match="not of the same windows"):
        interval(one, against=two.iloc[1:])


def test_intervals_repeat_and_only_exist_for_means() -> None:
    ranks = table([0, 3, 0, 0], [1, 1, 2, 3])
    assert interval(ranks) == interval(ranks)
    with pytest.raises(ValueError, match=r"acc@1"):
        interval(ranks, "f1")


def test_an_empty_group_has_no_interval() -> None:
    assert all(math.isnan(end) for end in interval(table([0, 1]), group="unknown"))


@pytest.mark.parametrize("metric", ["acc@1", "mrr"])
def test_the_interval_of_a_group_is_that_of_its_windows(metric: str) -> None:
    rng = np.random.default_rng(8)
    ranks = table(rng.integers(0, 4, 200).tolist(), (np.arange(200) // 9).tolist())
    for group, inside in (("in_window", True), ("not_in_window", False)):
        alone = ranks[ranks.in_window == inside].reset_index(drop=True)
        assert interval(ranks, metric, group=group) == interval(alone, metric)
        assert interval(ranks, metric, group=group) != interval(ranks, metric)


def test_blocks_of_windows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    ranks = table(rng.integers(0, 30, 200).tolist(), (np.arange(200) // 9).tolist())
    whole = interval(ranks, "mrr")
    monkeypatch.setattr(metrics, "ROWS", 7)
    assert interval(ranks, "mrr") == whole


# --- of several runs


def runs(shares: list[float], people: int = 40, windows: int = 20) -> list[pd.DataFrame]:
    """A run each, whose hits have this share; the same windows are hard in all of them."""
    rng = np.random.default_rng(7)
    luck = rng.random(people * windows)
    users = np.repeat(np.arange(people), windows).tolist()
    return [table(np.where(luck < share, 0, 5).tolist(), users) for share in shares]


def width(ends: tuple[float, float]) -> float:
    return ends[1] - ends[0]


def test_seeds_that_differ_widen_and_seeds_that_are_alike_do_not() -> None:
    different, alike = runs([0.3, 0.5, 0.7]), runs([0.5, 0.5, 0.5])
    people = width(interval_of_mean(different, seeds=False))
    assert width(interval_of_mean(different)) > 2 * people
    assert width(interval_of_mean(alike)) == pytest.approx(
        width(interval_of_mean(alike, seeds=False)), rel=0.1
    )
    assert interval_of_mean(alike[:1]) == interval(alike[0])


def test_runs_are_drawn_in_pairs() -> None:
    """Both models have the same good and bad seeds: their difference does not depend on them."""
    one, other = runs([0.4, 0.6, 0.8]), runs([0.3, 0.5, 0.7])
    paired = width(interval_of_mean(one, against=other))
    assert paired < 1.5 * width(interval_of_mean(one, against=other, seeds=False))
    assert width(interval_of_mean(one, against=other[::-1])) > 2 * paired
    assert interval_of_mean(one, against=one) == (0.0, 0.0)


def test_a_single_run_counts_for_every_run_of_the_other() -> None:
    one, rule = runs([0.4, 0.6, 0.8]), runs([0.5])
    assert interval_of_mean(one, against=rule) == interval_of_mean(one, against=rule * 3)
    low, high = interval_of_mean(rule, against=one)
    back = interval_of_mean(one, against=rule)
    assert (-high, -low) == pytest.approx(back)
    with pytest.raises(ValueError, match="3 runs cannot be paired with 2"):
        interval_of_mean(one, against=one[:2])
    low, high = interval_of_mean(one, against=one[:2], seeds=False)
    assert low < 10.0 < high
