"""One seed of every trained variant again, against the spread of the seeds that were run before.

The training loop draws its batches and its dropout in another way than when most results were
made. A network trained now is another draw of the same lottery, if nothing else has changed; so
its score lies where a new seed would, in 19 of 20 cases.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats
from wherenext.results import KEYS, read_results

from lab import runs
from lab.experiments import EXPERIMENTS
from lab.models import Run
from lab.reports import Report, Row

# Experiments and their data that take minutes, not hours, and need no data of others.
REPEATED = {
    "city": ("city",),
    "beyond": ("city",),
}
SEED = 42
LEVEL = 0.95


def prediction_interval(scores: np.ndarray) -> tuple[float, float]:
    """Where one more score of the same distribution lies with 95 %, after (S,) of them."""
    n = len(scores)
    reach = stats.t.ppf((1 + LEVEL) / 2, n - 1) * scores.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(scores.mean() - reach), float(scores.mean() + reach)


def repeated() -> list[tuple[str, str, Run]]:
    """Each experiment, data and run of the seed that is made again, once."""
    found: dict[tuple[str, Run], str] = {}
    for name, keys in REPEATED.items():
        for key, run in EXPERIMENTS[name].jobs:
            if key in keys and run.seed == SEED:
                found.setdefault((key, run), name)
    return [(name, key, run) for (key, run), name in found.items()]


def rows() -> Iterator[Row]:
    """The score of the seed before and again, and where the others let one expect it."""
    todo = repeated()
    for _, key, run in todo:
        print(runs.make((key, run)), flush=True)
    for name, key, run in todo:
        result, _ = runs.read_kept(key, run)
        (now,) = (
            row["acc@1"] for row in result["rows"]
            if (row["split"], row["group"]) == ("test", "all")
        )  # fmt: skip
        about = {column: result["rows"][0][column] for column in KEYS[:-1]}
        before = read_results(name).select(**about).set_index("seed")["acc@1"]
        low, high = prediction_interval(before.to_numpy())
        yield about | {
            "experiment": name, "seed": SEED, "seeds_before": len(before),
            "before": float(before[SEED]), "again": now, "low": low, "high": high,
            "inside": low <= now <= high, "seconds": result["seconds"],
        }  # fmt: skip


REPORT = Report(
    "Does a network that is trained by today's loop score like those of the results files?",
    rows,
    data=tuple(sorted({key for keys in REPEATED.values() for key in keys})),
    results=tuple(REPEATED),
)
