"""How often intervals hold the truth, when few people own most of the windows, for chapter 23.

    python book/lab/run.py interval_coverage

writes ``book/results/interval_coverage.json``. The people of the simulated large city are the
population: the score of a rule there is known. From it samples are drawn that look like a real
data set: as many people, with as many windows each. A row says for one such set (``like``) and one
``method`` how often its 95 % interval held the truth (``coverage``, percent), how wide it was
(``width``, points), and how many equal people the sample was worth (``effective``). ``of`` is the
Acc@1 of the kernel ("score"), or its paired difference to "most frequent in the window"
("difference").

Methods: the percentile interval of `pgt.metrics` and the BCa interval, both resampling
people; "studentized" bootstraps the ratio of error to standard error; "t" is the linearized
standard error of the ratio with Student's quantile for the effective number of people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from wherenext.results import read_results

from lab.reports import Report
from pgt.metrics import gains

TRIALS = 4000
DRAWS = 1000
LEVEL = 0.95
# Whose windows the samples imitate: results file, and which rows of it.
LIKE: dict[str, tuple[str, dict[str, str]]] = {
    "GeoLife": ("geolife_exact", {"model": "kernel"}),
    "the small town": ("city", {"model": "kernel"}),
    "New York": ("new_york", {"model": "kernel"}),
}
Row = dict[str, Any]
Ends = tuple[float, float]


def ratio_error(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The linearized standard error of Σ sums / Σ counts over people, for (..., P) arrays."""
    people = sums.shape[-1]
    mean = sums.sum(-1) / counts.sum(-1)
    left = sums - mean[..., None] * counts
    variance = (left**2).sum(-1) * people / (people - 1)
    error: np.ndarray = np.sqrt(variance) / counts.sum(-1)
    return error


def intervals(sums: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> dict[str, Ends]:
    """Every method's 95 % interval of Σ sums / Σ counts.

    Parameters
    ----------
    sums, counts : ndarray
        (P,) what a person's windows add up to, and how many they are.
    """
    mean, error = sums.sum() / counts.sum(), ratio_error(sums, counts)
    drawn = rng.integers(len(sums), size=(DRAWS, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    pivots = (means - mean) / ratio_error(sums[drawn], counts[drawn])
    pivots = pivots[np.isfinite(pivots)]
    left, right = np.quantile(pivots, [tail, 1 - tail])
    effective = counts.sum() ** 2 / (counts**2).sum()
    reach = stats.t.ppf(1 - tail, effective - 1) * error
    return {
        "percentile": (low, high),
        "BCa": _bca(sums, counts, means, mean, tail),
        "studentized": (mean - right * error, mean - left * error),
        "t": (mean - reach, mean + reach),
    }


def _bca(sums: np.ndarray, counts: np.ndarray, means: np.ndarray, mean: float, tail: float) -> Ends:
    """Bias-corrected and accelerated (Efron 1987), from means that are drawn already."""
    without = (sums.sum() - sums) / (counts.sum() - counts)
    away = without.mean() - without
    acceleration = (away**3).sum() / (6 * ((away**2).sum() ** 1.5))
    bias = stats.norm.ppf(np.clip((means < mean).mean(), 1e-6, 1 - 1e-6))
    z = bias + stats.norm.ppf([tail, 1 - tail])
    low, high = np.quantile(means, stats.norm.cdf(bias + z / (1 - acceleration * z)))
    return float(low), float(high)


def covered(
    people: list[np.ndarray], counts: np.ndarray, seed: int = 0
) -> Iterator[tuple[str, float, float]]:
    """Draw samples and see how often each method's interval holds the population's mean.

    Parameters
    ----------
    people : list of ndarray
        The values of each person's windows, of the whole population.
    counts : ndarray
        Windows of each person of a sample.

    Yields
    ------
    method : str
    coverage, width : float
        Percent, and points.
    """
    rng = np.random.default_rng(seed)
    truth = float(np.mean([own.mean() for own in people]))
    hits: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for _ in range(TRIALS):
        chosen = rng.integers(len(people), size=len(counts))
        sums = np.array(
            [people[who][rng.integers(len(people[who]), size=n)].sum()
             for who, n in zip(chosen, counts, strict=True)]
        )  # fmt: skip
        for method, (low, high) in intervals(sums, counts, rng).items():
            hits.setdefault(method, []).append(low <= truth <= high)
            widths.setdefault(method, []).append(high - low)
    for method in hits:
        yield method, 100 * float(np.mean(hits[method])), 100 * float(np.mean(widths[method]))


def _rows() -> Iterator[Row]:
    elsewhere = read_results("elsewhere")
    kernel, frequent = (
        next(iter(elsewhere.ranks(data="large city", model=name)))
        for name in ("kernel", "most_frequent")
    )
    score = gains(kernel)["acc@1"]
    measures: dict[str, pd.Series] = {
        "score": score, "difference": score - gains(frequent)["acc@1"],
    }  # fmt: skip
    for like, (file, where) in LIKE.items():
        sample = next(iter(read_results(file).ranks(**where)))
        counts = sample.user_id.value_counts().to_numpy()
        about = {
            "like": like, "people": len(counts),
            "effective": float(counts.sum() ** 2 / (counts**2).sum()),
        }  # fmt: skip
        for of, values in measures.items():
            people = [own.to_numpy() for _, own in values.groupby(kernel.user_id)]
            for method, coverage, width in covered(people, counts):
                yield about | {"of": of, "method": method, "coverage": coverage, "width": width}


REPORT = Report(
    question="How often do intervals hold the truth when few people own most of the windows?",
    rows=_rows,
    data=("city_large",),
    results=("elsewhere", "geolife_exact", "city", "new_york"),
    more={"trials": TRIALS, "draws": DRAWS},
)
