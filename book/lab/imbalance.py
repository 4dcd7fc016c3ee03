"""How long windows are, and how unevenly they show the locations.

    python book/lab/run.py imbalance

writes ``book/results/imbalance.json``, for the claims about the data with which the improvements
document begins. The rows with ``table`` "lengths" tell of the windows of a split; "uneven" how
often the known locations occur in the training split, counted in three ways (see `COUNTED`);
"top" compares the three ways for the location that training windows show most often.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lab.data_sets import DATA, dataset
from lab.reports import Report
from pgt.improvements import occurrences
from pgt.visits import SPLITS
from pgt.windows import Dataset, Windows

DATA_SETS = ("city", "geolife_exact")
# A visit stands in as many windows as there are targets within a week of it.
COUNTED = ("in windows", "visits", "targets")


def counts(train: Windows) -> dict[str, np.ndarray]:
    """How often each known location occurs in training, by what is counted."""
    known = slice(2, 2 + train.vocabulary.n_known)
    size = train.vocabulary.n_locations
    visited = np.bincount(train.features[0].numpy()[1:], minlength=size)
    asked = np.bincount(train.targets, minlength=size)
    shown = occurrences(train).numpy().astype(int)
    return dict(zip(COUNTED, (shown[known], visited[known], asked[known]), strict=True))


def lengths(data: Dataset) -> Iterator[dict[str, Any]]:
    """One row a split, and one for all windows."""
    parts = {name: getattr(data, name).lengths for name in SPLITS}
    for split, values in {**parts, "all": np.concatenate(list(parts.values()))}.items():
        low, median, high = np.quantile(values, [0.1, 0.5, 0.9])
        yield {"table": "lengths", "split": split, "n": len(values), "mean": float(values.mean()),
               "median": float(median), "low": float(low), "high": float(high)}  # fmt: skip


def uneven(train: Windows) -> Iterator[dict[str, Any]]:
    """How unevenly the locations occur, by what is counted."""
    found = counts(train)
    for of, count in found.items():
        ordered = np.sort(count)[::-1]
        yield {
            "table": "uneven", "of": of, "n": int(count.sum()), "locations": len(count),
            "top": int(ordered[0]), "once": int((count == 1).sum()),
            "never": int((count == 0).sum()),
            "top_tenth": float(100 * ordered[: len(count) // 10].sum() / count.sum()),
        }  # fmt: skip
    most = int(found["in windows"].argmax())
    yield {"table": "top"} | {of: int(count[most]) for of, count in found.items()}


def _rows() -> Iterator[dict[str, Any]]:
    for key in DATA_SETS:
        data = dataset(key)
        for row in (*lengths(data), *uneven(data.train)):
            yield {"data": DATA[key].name, "protocol": DATA[key].protocol} | row


REPORT = Report(
    question="How long are the windows, and how unevenly do they show the locations?",
    rows=_rows,
    data=tuple(DATA_SETS),
)
