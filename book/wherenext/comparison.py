"""What a table of comparisons may say: paired changes, their intervals, and a word for each claim.

Many variants are compared with one model, on the same windows, with the same seeds. So all changes
are resampled together: one draw takes people, and takes seeds, and gives a change of every
variant. That keeps what the comparisons share, the luck of the model that all are compared with,
and lets an interval be widened until it holds for all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.metrics import ends, gains, group_mask, resampled_means
from wherenext.results import Results

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

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(K,) ends of each variant's interval, each on its own."""
        return ends(self.draws.T, level)

    def together(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(K,) ends of intervals that hold for all K changes at once with this probability.

        The largest distance of a resample, over all variants, is in this share of the resamples no
        more than the half-width, counted in standard errors (the "max-t" of Westfall and Young
        1993).
        """
        factor = np.quantile(np.abs(self.deviations).max(0), level)
        half = factor * self.draws.std(1)
        return self.mean - half, self.mean + half

    def false_alarms(self, level: float = 0.95) -> np.ndarray:
        """(R,) how many of the K intervals would miss zero if no variant changed anything.

        Every resample is moved so that its mean is zero, and counted where it lies beyond the
        middle ``level`` of its own row.
        """
        away = self.deviations.T
        low, high = ends(away, level)
        return ((away < low) | (away > high)).sum(1)

    def table(self, level: float = 0.95) -> pd.DataFrame:
        """By variant ``mean``, ``low``, ``high``, and for all at once ``low_all``, ``high_all``."""
        four = (*self.interval(level), *self.together(level))
        columns = dict(zip(("low", "high", "low_all", "high_all"), four, strict=True))
        return pd.DataFrame({"mean": self.mean} | columns, index=list(self.names))


def compare(
    results: Results, variants: Mapping[str, Mapping[str, Any]], base: Mapping[str, Any], *,
    metric: str = "acc@1", group: str = "all", draws: int = 2000, seed: int = 0, **where: Any,
) -> Changes:  # fmt: skip
    """Compare variants with a base, paired by window and by seed.

    Parameters
    ----------
    results : Results
    variants : mapping of str to mapping
        What chooses the runs of each, as in ``{"geglu": {"variant": "geglu"}}``.
    base : mapping
        What chooses the runs that they are compared with; a model without seeds counts for every
        seed.
    metric, group : str
        Of `pgt.metrics.MEANS` and `pgt.metrics.GROUPS`.
    draws : int
        How many resamples.
    where
        What all of them share, such as ``data="city"``.

    Examples
    --------
    >>> from wherenext.results import read_results
    >>> full, other = ({"model": "pgt", "variant": v} for v in ("full", "no_pointer"))
    >>> table = compare(read_results("ablations"), {"no pointer": other}, full, data="city").table()
    >>> bool(table.high["no pointer"] < 0)
    True
    """
    runs = list(results.ranks(**where))  # the file is read once
    if not runs:
        raise DataError(f"{results.name}.ranks.parquet has no run with {dict(where)}.")
    before = _hits(runs, dict(base), metric, group)
    after = {name: _hits(runs, dict(chosen), metric, group) for name, chosen in variants.items()}
    seeds = list(before) if set(before) != {None} else list(next(iter(after.values())))
    changes = []
    first = next(iter(before.values()))
    for name, found in after.items():
        if set(found) not in ({None}, set(seeds)):
            raise DataError(f"{name} has seeds {sorted(found)}, the base has {sorted(seeds)}.")
        if any(not run.index.equals(first.index) for run in found.values()):
            raise DataError(f"{name} was scored on other windows than the base.")
        changes.append([_gain(found, s) - _gain(before, s) for s in seeds])
    values = 100 * np.array(changes)  # (K, S, W)
    drawn = resampled_means(
        np.moveaxis(values, 0, -1), first.index.to_numpy(), draws=draws, seed=seed
    )
    return Changes(tuple(after), values.mean(2), drawn.T)


def verdict(low: float, high: float, expected: Literal[-1, 0, 1] = 1, margin: float = 1.0) -> str:
    """A word for a claim that something raises a metric (1), lowers it (-1), or is no help (0).

    Raises or lowers: "confirmed" when the whole interval lies on the claimed side of zero,
    "contradicted" when it lies on the other. Otherwise "not confirmed" when the interval leaves out
    a change of ``margin`` points in the claimed direction, and "cannot tell" when it does not. No
    help: "contradicted" above zero, "confirmed" when a gain of ``margin`` points is left out.

    >>> verdict(0.2, 1.4), verdict(-2.0, -0.1), verdict(-0.5, 0.6), verdict(-0.5, 1.6)
    ('confirmed', 'contradicted', 'not confirmed', 'cannot tell')
    """
    if expected == 0:
        return CONTRADICTED if low > 0 else CONFIRMED if high < margin else CANNOT_TELL
    if expected < 0:
        low, high = -high, -low
    if low > 0:
        return CONFIRMED
    if high < 0:
        return CONTRADICTED
    return NOT_CONFIRMED if high < margin else CANNOT_TELL


def _hits(
    runs: list[pd.DataFrame], chosen: dict[str, Any], metric: str, group: str
) -> dict[Any, pd.Series]:
    """The chosen runs by seed (None where there is none): by person, what each window adds."""
    found: dict[Any, pd.Series] = {}
    for run in runs:
        about = run.iloc[0]
        if any(about[column] != value for column, value in chosen.items()):
            continue
        seed = None if pd.isna(about.seed) else int(about.seed)
        if seed in found:
            raise DataError(f"{chosen} is more than one run with seed {seed}; choose one model.")
        part = run[group_mask(run, group)]
        found[seed] = pd.Series(gains(part)[metric].to_numpy(), part.user_id.to_numpy())
    if not found:
        raise DataError(f"There is no run with {chosen}.")
    return found


def _gain(runs: dict[Any, pd.Series], seed: Any) -> np.ndarray:
    """A run's gains; a model without seeds has one run for all."""
    return np.asarray(runs[seed if seed in runs else None])
