"""The baselines by name, and how each is fitted."""

from __future__ import annotations

from pgt.baselines import ContextKernel, Last, Markov, MostFrequent
from pgt.windows import Windows

Baseline = Last | MostFrequent | Markov | ContextKernel


def baselines() -> dict[str, Baseline]:
    """The baselines by the names that results files use."""
    return {
        "last": Last(),
        "most_frequent": MostFrequent(),
        "markov": Markov(),
        "kernel": ContextKernel(),
    }


def looking_back(name: str, visits: int) -> str:
    """What tables call a baseline that looks at a person's last visits instead of a week.

    Examples
    --------
    >>> looking_back("most_frequent", 100)
    'most frequent, 100 visits'
    """
    return f"{name.replace('_', ' ')}, {visits} visits"


def fit_baseline(name: str, train: Windows, valid: Windows) -> Baseline:
    """A baseline, fitted; the kernel's numbers are chosen on the validation windows, if any.

    Examples
    --------
    >>> import numpy as np, pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits)
    >>> few = data.valid.subset(np.arange(len(data.valid)) % 10 == 0)
    >>> fit_baseline("kernel", data.train, few).scores(data.test.batch([0])).shape[0]
    1
    """
    baseline = baselines()[name].fit(train)
    if isinstance(baseline, ContextKernel) and len(valid):
        return baseline.choose(valid)
    return baseline
