"""What a table of comparisons may say: paired changes, their intervals, and a word for each claim.

All changes are resampled together: one draw takes people and seeds, and gives a change of every
variant. So an interval can be widened until it holds for all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from pgt.errors import DataError
from pgt.metrics import gains, percentile_interval, resampled_means
from wherenext.results import KEYS, Results

# Of each of `IMPROVEMENTS` a title, where it was proposed (under a number, in the
# lists "avoid" and "list", of the summarizer ("original"), or in the notebook of temporal "sets"),
# and what `verdict` is to expect of a proposal.
_FILE = Path(__file__).with_name("claims.csv")
CLAIMS = pd.read_csv(_FILE, index_col="name", dtype=str, keep_default_na=False)
CLAIMS["expected"] = pd.to_numeric(CLAIMS.expected)  # NaN where nothing is claimed
CONFIRMED, CONTRADICTED = "confirmed", "contradicted"
NOT_CONFIRMED, CANNOT_TELL = "not confirmed", "cannot tell"


@dataclass(frozen=True)
class Changes:
    """How much each of K variants differs from one model, in points of a metric."""

    names: tuple[str, ...]  # K variants
    seeds: np.ndarray  # (K, S) the change with each seed
    draws: np.ndarray  # (K, R) in each resample; column r is the same people and seeds for all

    @property
    def mean(self) -> np.ndarray:
        """(K,) mean over the seeds."""
        return self.seeds.mean(1)

    @property
    def deviations(self) -> np.ndarray:
        """(K, R) each resample's distance from the mean, in standard errors."""
        away = self.draws - self.draws.mean(1, keepdims=True)
        error = away.std(1, keepdims=True)
        return np.divide(away, error, out=np.zeros_like(away), where=error > 0)

    def together(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(K,) ends of intervals that hold for all changes at once (max-t, Westfall and Young)."""
        factor = np.quantile(np.abs(self.deviations).max(0), level)
        half = factor * self.draws.std(1)
        return self.mean - half, self.mean + half

    def false_alarms(self, level: float = 0.95) -> np.ndarray:
        """(R,) how many of the K intervals would miss zero if no variant changed anything."""
        away = self.deviations.T
        low, high = percentile_interval(away, level)
        return ((away < low) | (away > high)).sum(1)

    def table(self, level: float = 0.95) -> pd.DataFrame:
        """By variant ``mean``, ``low``, ``high``, and for all at once ``low_all``, ``high_all``."""
        four = (*percentile_interval(self.draws.T, level), *self.together(level))
        columns = dict(zip(("low", "high", "low_all", "high_all"), four, strict=True))
        return pd.DataFrame({"mean": self.mean} | columns, index=list(self.names))


def compare(
    results: Results, variants: Mapping[str, Mapping[str, Any]], base: Mapping[str, Any], *,
    metric: str = "acc@1", draws: int = 2000, **where: Any,
) -> Changes:  # fmt: skip
    """Compare variants with a base, paired by window and by seed; ``where`` is what all share.

    ``variants`` and ``base`` choose runs, as in ``{"geglu": {"variant": "geglu"}}``; a model
    without seeds counts for every seed. The metric is one of `pgt.metrics`.
    """
    runs = list(results.ranks(**where))  # the file is read once
    before = _hits(runs, dict(base), metric)
    after = {name: _hits(runs, dict(chosen), metric) for name, chosen in variants.items()}
    seeds = list(before) if set(before) != {None} else list(next(iter(after.values())))
    changes = []
    first = next(iter(before.values()))
    for name, found in after.items():
        if set(found) not in ({None}, set(seeds)):
            raise DataError(f"{name} has seeds {sorted(found)}, the base has {sorted(seeds)}.")
        if any(not run.index.equals(first.index) for run in found.values()):
            raise DataError(f"{name} was scored on other windows than the base.")
        changes.append(
            [
                found[s if s in found else None].to_numpy()
                - before[s if s in before else None].to_numpy()
                for s in seeds
            ]
        )
    values = 100 * np.array(changes)  # (K, S, W)
    drawn = resampled_means(np.moveaxis(values, 0, -1), first.index.to_numpy(), draws=draws)
    return Changes(tuple(after), values.mean(2), drawn.T)


def verdict(low: float, high: float, expected: Literal[-1, 0, 1] = 1) -> str:
    """A word for a claim that something raises a metric (1), lowers it (-1), or is no help (0).

    An interval on the claimed side of zero confirms, one on the other contradicts; else it counts
    whether it leaves out a change of one point in the claimed direction.
    """
    if expected == 0:
        return CONTRADICTED if low > 0 else CONFIRMED if high < 1 else CANNOT_TELL
    if expected < 0:
        low, high = -high, -low
    if low > 0:
        return CONFIRMED
    if high < 0:
        return CONTRADICTED
    return NOT_CONFIRMED if high < 1 else CANNOT_TELL


def _hits(runs: list[pd.DataFrame], chosen: dict[str, Any], metric: str) -> dict[Any, pd.Series]:
    """The chosen runs by seed (None where there is none): by person, what each window adds."""
    found: dict[Any, pd.Series] = {}
    for run in runs:
        about = run.iloc[0]
        if any(about[column] != value for column, value in chosen.items()):
            continue
        seed = None if pd.isna(about.seed) else int(about.seed)
        if seed in found:
            raise DataError(f"{chosen} is more than one run with seed {seed}; choose one model.")
        found[seed] = pd.Series(gains(run)[metric].to_numpy(), run.user_id.to_numpy())
    if not found:
        raise DataError(f"There is no run with {chosen}.")
    return found


def seed_outside(results: Results) -> list[bool]:
    """Of what one seed was trained anew: whether it leaves the 95 % prediction interval."""
    old, found = results.header["earlier"]["seeds"], []
    for _, one in results.select().dropna(subset="seed").groupby(KEYS[:-1]):
        is_old = one.seed.isin(old)
        before, now = one[is_old]["acc@1"], one[~is_old]["acc@1"].mean()
        if (n := len(before)) > 1:  # else there is no spread
            reach = stats.t.ppf(0.975, n - 1) * before.std() * (1 + 1 / n) ** 0.5
            found.append(bool(abs(now - before.mean()) > reach))
    return found
