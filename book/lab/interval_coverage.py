"""How often intervals hold the truth, when few people own most of the windows, for chapter 23.

    python book/lab/run.py interval_coverage

writes ``book/results/interval_coverage.json``. The people of the simulated large city are the
population: the paired difference of two rules there, the kernel and "most frequent in the window",
is known. From it samples are drawn that look like GeoLife: as many people, with as many windows
each. A row says for one ``method`` how often its 95 % interval held the truth (``coverage``,
percent), how wide it was (``width``, points), and how many equal people the sample was worth
(``effective``).

Methods: the percentile interval of `pgt.metrics` and the BCa interval, both resampling
people; "studentized" bootstraps the ratio of error to standard error; "t" is the linearized
standard error of the ratio with Student's quantile for the effective number of people. Rows of a
"nominal level" are percentile intervals that promise more: which promise is kept as 95 % should be?
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats
from wherenext.results import read_results

from lab.reports import Report, Row
from pgt.metrics import gains

TRIALS = 4000
DRAWS = 1000
TAIL = 0.025  # on either side of an interval
LEVELS = {f"{level:g} %": (100 - level) / 200 for level in (97, 98, 98.5, 99, 99.5)}
Ends = tuple[float, float]


def effective(counts: np.ndarray) -> float:
    """To how many people with equally many windows these amount."""
    return float(counts.sum() ** 2 / (counts**2).sum())


def ratio_error(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The linearized standard error of Σ sums / Σ counts over people, for (..., P) arrays."""
    people = sums.shape[-1]
    mean = sums.sum(-1) / counts.sum(-1)
    left = sums - mean[..., None] * counts
    variance = (left**2).sum(-1) * people / (people - 1)
    error: np.ndarray = np.sqrt(variance) / counts.sum(-1)
    return error


def intervals(sums: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> dict[str, Ends]:
    """Every method's 95 % interval of Σ sums / Σ counts over people, (P,) each; and `LEVELS`."""
    mean, error = sums.sum() / counts.sum(), ratio_error(sums, counts)
    drawn = rng.integers(len(sums), size=(DRAWS, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, [TAIL, 1 - TAIL])
    pivots = (means - mean) / ratio_error(sums[drawn], counts[drawn])
    left, right = np.quantile(pivots[np.isfinite(pivots)], [TAIL, 1 - TAIL])
    reach = stats.t.ppf(1 - TAIL, effective(counts) - 1) * error
    return {
        "percentile": (low, high),
        "BCa": _bca(sums, counts, means, mean),
        "studentized": (mean - right * error, mean - left * error),
        "t": (mean - reach, mean + reach),
    } | {
        name: (float(np.quantile(means, tail)), float(np.quantile(means, 1 - tail)))
        for name, tail in LEVELS.items()
    }


def _bca(sums: np.ndarray, counts: np.ndarray, means: np.ndarray, mean: float) -> Ends:
    """Bias-corrected and accelerated (Efron 1987), from means that are drawn already."""
    without = (sums.sum() - sums) / (counts.sum() - counts)
    away = without.mean() - without
    acceleration = (away**3).sum() / (6 * ((away**2).sum() ** 1.5))
    bias = stats.norm.ppf(np.clip((means < mean).mean(), 1e-6, 1 - 1e-6))
    z = bias + stats.norm.ppf([TAIL, 1 - TAIL])
    low, high = np.quantile(means, stats.norm.cdf(bias + z / (1 - acceleration * z)))
    return float(low), float(high)


def covered(
    people: list[np.ndarray], counts: np.ndarray, seed: int = 0
) -> Iterator[tuple[str, float, float]]:
    """Each method, how often its interval holds the population's mean in %, its width in points.

    ``people`` are the values of each person's windows, ``counts`` the windows of a sample's people.
    """
    rng = np.random.default_rng(seed)
    truth = float(np.mean([own.mean() for own in people]))
    found: dict[str, list[Ends]] = {}
    for _ in range(TRIALS):
        chosen = rng.integers(len(people), size=len(counts))
        sums = np.array(
            [people[who][rng.integers(len(people[who]), size=n)].sum()
             for who, n in zip(chosen, counts, strict=True)]
        )  # fmt: skip
        for method, ends in intervals(sums, counts, rng).items():
            found.setdefault(method, []).append(ends)
    for method, ends_of in found.items():
        low, high = np.transpose(ends_of)
        held = (low <= truth) & (truth <= high)
        yield method, 100 * float(held.mean()), 100 * float((high - low).mean())


def _rows() -> Iterator[Row]:
    kernel, frequent = (
        next(iter(read_results("elsewhere").ranks(data="large city", model=name)))
        for name in ("kernel", "most_frequent")
    )
    values = gains(kernel)["acc@1"] - gains(frequent)["acc@1"]
    people = [own.to_numpy() for _, own in values.groupby(kernel.user_id)]
    sample = next(iter(read_results("geolife_exact").ranks(model="kernel")))
    counts = sample.user_id.value_counts().to_numpy()
    for method, coverage, width in covered(people, counts):
        yield {
            "like": "GeoLife", "people": len(counts), "effective": effective(counts),
            "of": "nominal level" if method in LEVELS else "difference", "method": method,
            "coverage": coverage, "width": width,
        }  # fmt: skip


REPORT = Report(
    question="How often do intervals hold the truth when few people own most of the windows?",
    rows=_rows,
    data=("city_large",),
    results=("elsewhere", "geolife_exact"),
    more={"trials": TRIALS, "draws": DRAWS},
)
