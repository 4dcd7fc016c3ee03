"""How unevenly windows show the locations.

    python book/lab/run.py imbalance

writes ``book/results/imbalance.json``, for the claims about the data with which the improvements
document begins. The rows with ``table`` "uneven" tell how often the known locations occur in the
training split, counted in three ways (see `COUNTED`); "top" compares the three ways for the
location that training windows show most often.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from wherenext.relatives.improvements import occurrences

from lab.data_sets import DATA, dataset
from lab.reports import Report, Row
from pgt.windows import Windows

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


def uneven(train: Windows) -> Iterator[Row]:
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


def _rows() -> Iterator[Row]:
    for key in DATA_SETS:
        for row in uneven(dataset(key).train):
            yield {"data": DATA[key].name, "protocol": DATA[key].protocol} | row


REPORT = Report(
    question="How unevenly do the windows show the locations?",
    rows=_rows,
    data=tuple(DATA_SETS),
)
