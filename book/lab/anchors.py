"""What a window tells of the time of the next visit by where it begins, for chapter 15.

    PGT_GEOLIFE=… PGT_NEW_YORK=… python book/lab/run.py anchors

writes ``book/results/anchors.json``. The windows of the literature go back from the *target's* day.
After a pause they are shorter, so their oldest visit tells when the next one is. Windows that go
back from the last visit do not. By ``table``, for each
``anchor``; models are compared on GeoLife and the city:

- told: what the span of a window (days between its first and its last visit) tells of the gap to
  the target (days after the last visit): ``today`` the share of windows whose gap is 0,
  ``proved`` the share that cannot have another gap, both in percent; ``bits`` of information on
  the gap in the span, of ``entropy`` bits in all.
- score: Acc@1 in percent of ``model`` on the targets that both kinds of windows have, mean over
  seeds, trained and chosen on windows of the same kind.
- gain: the same, target's day minus last visit, in points, with its 95 % interval, people and seeds
  resampled.

No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from lab import data_sets, models, runs
from lab.data_sets import DATA, anchored
from lab.models import Run
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt.config import Anchor
from pgt.metrics import gains, interval_of_mean
from pgt.windows import Windows

KEYS = ("geolife_exact", "new_york", "city")
TRAINED_ON = ("geolife_exact", "city")  # where models are compared
MODELS = (("most_frequent", "full"), ("kernel", "full"), ("kernel_memory", "memory_100"),
          ("pgt", "full"), ("contextual", "window"), ("contextual", "full"))  # fmt: skip
RESULTS = ("city", "geolife_exact", "beyond")
ANCHORS: tuple[Anchor, ...] = ("target_day", "last_visit")


def given_away(windows: Windows, days: int) -> Row:
    """What the span of windows tells of the gap to their targets."""
    spans, gaps = [], []
    for batch in windows.batches(512):
        spans.append(batch.days_ago.max(1).values.numpy())
        gaps.append(batch.gap_days.numpy())
    span, gap = np.concatenate(spans), np.concatenate(gaps)
    together = pd.crosstab(span, gap)
    # A span proves "today" where no window of it has another gap.
    only_today = together.index[(together.drop(columns=0, errors="ignore").sum(axis=1) == 0)]
    return {
        "today": 100 * float((gap == 0).mean()),
        "proved": 100 * float(np.isin(span, only_today[only_today >= days]).mean()),
        "bits": float(mutual_info_score(span, gap) / np.log(2)),
        "entropy": float(entropy(np.bincount(gap), base=2)),
    }


def common(key: str, model: str, variant: str) -> list[list[pd.DataFrame]]:
    """A model's test ranks with either kind of windows, by seed, on the targets of both.

    Windows that go back from the last visit are those of the experiments, which keep their ranks.
    """
    seeds = SEEDS if model in models.NETWORKS else (None,)
    other = anchored(key, "target_day")
    tables = [
        [runs.ranks_of(other, Run(model, variant, seed=seed)) for seed in seeds],
        runs.recorded(RESULTS, key, Run(model, variant)),
    ]
    rows = np.intersect1d(tables[0][0].row, tables[1][0].row)
    return [
        [ranks[ranks.row.isin(rows)].sort_values("row", ignore_index=True) for ranks in some]
        for some in tables
    ]


def compared(key: str) -> Iterator[Row]:
    """Every model with both kinds of windows."""
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol}
    for model, variant in MODELS:
        here = common(key, model, variant)
        # People are numbered by their windows, which are not the same.
        for ranks in here[1]:
            ranks["user_id"] = here[0][0].user_id
        who = {"model": model, "variant": variant}
        scores = [100 * float(np.mean([gains(ranks)["acc@1"].mean() for ranks in some]))
                  for some in here]  # fmt: skip
        for anchor, score in zip(ANCHORS, scores, strict=True):
            yield {"table": "score", **about, "anchor": anchor, **who, "value": score}
        low, high = interval_of_mean(here[0], against=here[1])
        yield {"table": "gain", **about, **who, "value": scores[0] - scores[1], "low": low,
               "high": high}  # fmt: skip


def _rows() -> Iterator[Row]:
    for key in KEYS:
        for anchor in ANCHORS:
            data = data_sets.dataset(anchored(key, anchor))
            yield {"table": "told", "data": DATA[key].name, "protocol": DATA[key].protocol,
                   "anchor": anchor, **given_away(data.test, data.config.days)}  # fmt: skip
    for key in TRAINED_ON:
        yield from compared(key)


REPORT = Report(
    question="What do windows that go back from the target's day tell of the time of the target?",
    rows=_rows,
    data=tuple(anchored(key, anchor) for key in KEYS for anchor in ANCHORS),
    results=RESULTS,
    more={"seeds": list(SEEDS)},
)
