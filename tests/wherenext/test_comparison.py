"""Comparisons of many variants with one: pairing, intervals, and the words for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from wherenext.comparison import (
    compare,
)
from wherenext.results import Results

from pgt.metrics import interval_of_mean, percentile_interval

PLAIN = {"model": "m", "variant": "plain"}


def made_up(folder: Path, lift: dict[str, float], people: int = 30, seeds: int = 5) -> Results:
    """Ranks of variants that are right more often than the plain one, by chance alone or not."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(people), 40)
    level = rng.uniform(0.2, 0.7, people)[user]
    parts = []
    for variant, more in {"plain": 0.0, **lift}.items():
        for seed in range(seeds):
            hit = rng.random(len(user)) < level + more
            parts.append(
                pd.DataFrame(
                    {
                        "user": user, "better": np.where(hit, 0, 3), "tied": 1, "known": True,
                        "in_window": True, "data": "town", "protocol": "exact", "model": "m",
                        "variant": variant, "target_time": "unknown", "seed": seed,
                    }
                )
            )  # fmt: skip
    rule = parts[0].assign(model="rule", variant="full", seed=None)
    table = pd.concat([*parts, rule], ignore_index=True).astype({"seed": "Int16"})
    folder.mkdir(exist_ok=True)
    table.to_parquet(folder / "made.ranks.parquet")
    return Results("made", {}, pd.DataFrame(), folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    lift = {"good": 0.15, "bad": -0.15} | {f"idle {k}": 0.0 for k in range(20)}
    return made_up(tmp_path_factory.mktemp("made"), lift)


def variants(results: Results) -> dict[str, dict[str, str]]:
    table = pd.read_parquet(results.folder / "made.ranks.parquet")
    names = [v for v in table.variant.unique() if v not in ("plain", "full")]
    return {name: {"model": "m", "variant": name} for name in names}


def test_all_intervals_over_people_and_seeds_are_one(results: Results) -> None:
    """The comparison, the runs in pairs, and the results file: the same draws, the same ends."""
    good, plain = ({"model": "m", "variant": variant} for variant in ("good", "plain"))
    low, high = compare(results, {"good": good}, plain).table()[["low", "high"]].iloc[0]
    runs = [list(results.ranks(**where)) for where in (good, plain)]
    assert interval_of_mean(runs[0], against=runs[1]) == pytest.approx((low, high))
    assert results.interval(**good) == interval_of_mean(runs[0])
    fixed = results.interval(**good, seeds=False)
    assert fixed == interval_of_mean(runs[0], seeds=False) != results.interval(**good)


def test_together_the_intervals_are_wider_and_hold_more_often(results: Results) -> None:
    changes = compare(results, variants(results), PLAIN)
    (low, high), (low_all, high_all) = (
        percentile_interval(changes.draws.T, 0.95),
        changes.together(),
    )
    assert ((high_all - low_all) > (high - low)).all()
    assert (high_all[0] - low_all[0]) < 2 * (high[0] - low[0])
    alarms = changes.false_alarms()
    assert 0.2 < (alarms > 0).mean() < 0.8  # at least one of 22, by chance
    assert alarms.mean() == pytest.approx(0.05 * len(changes.names), rel=0.05)
    factor = np.quantile(np.abs(changes.deviations).max(0), 0.95)
    outside = (np.abs(changes.deviations) > factor).any(0).mean()
    assert outside == pytest.approx(0.05, abs=0.001)
