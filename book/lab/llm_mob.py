"""The published answers of a large language model beside ours, window by window, for chapter 23.

    PGT_LLM_MOB=… PGT_GEOLIFE_WINDOWS=… PGT_NEW_YORK=… python book/lab/run.py llm_mob

writes ``book/results/llm_mob.json``. LLM-Mob (Wang et al. 2023) asked GPT-3.5 for the next place of
the test windows that we use too, and published every answer. A row compares one of its files with
one of our models on the same windows: ``theirs`` and ``ours`` (mean over seeds) in percent,
``difference`` in points with its 95 % interval, people and seeds resampled. Files called *wot* do
not tell the target's time, the others do; our models know as much as ``target_time`` says. A file
with one answer a window has no Acc@10. Their answers are judged by their own targets. No person,
place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lab import data_sets
from lab.models import Run
from lab.reports import Report, Row
from lab.runs import SEEDS, recorded
from pgt.config import TargetTime
from pgt.metrics import gains, interval_of_mean
from pgt.windows import Windows

RESULTS = ("new_york", "geolife_published", "beyond")  # of our models
ANSWERS = "PGT_LLM_MOB"  # folder of the published answers
# Their files: the windows they are on, whether they were told the time, how many answers there are.
FILES: dict[str, tuple[str, bool, int]] = {
    "geolife_top1": ("geolife_published", True, 1),
    "geolife_top10_wot": ("geolife_published", False, 10),
    "fsq_top1": ("new_york", True, 1),
    "fsq_top10_wot": ("new_york", False, 10),
}
WITHOUT_TIME: tuple[tuple[str, str, TargetTime], ...] = (
    ("most_frequent", "full", "unknown"),
    ("kernel", "full", "unknown"),
    ("pgt", "full", "unknown"),
    ("contextual", "window", "unknown"),
    ("kernel_memory", "memory_100", "unknown"),
    ("contextual", "full", "unknown"),
)
WITH_TIME: tuple[tuple[str, str, TargetTime], ...] = (("contextual", "full", "time"), *WITHOUT_TIME)
NEVER = 10_000  # the rank of a place that is not among the answers


def their_ranks(answers: pd.DataFrame, windows: Windows) -> pd.DataFrame:
    """Ranks as of `pgt.metrics.evaluate`, one a window in our order."""
    ours = pd.DataFrame({"user_id": windows.users})
    ours["order"] = ours.groupby("user_id").cumcount()
    table = ours.merge(answers, "left", ["user_id", "order"], validate="1:1")
    if table.prediction.isna().any():
        raise ValueError(f"{int(table.prediction.isna().sum())} windows have no answer.")
    better = [
        places.index(str(truth)) if str(truth) in (places := text.split()) else NEVER
        for text, truth in zip(table.prediction, table.ground_truth.astype(int), strict=True)
    ]
    return pd.DataFrame({"user_id": pd.factorize(windows.users)[0], "better": better, "tied": 1,
                         "known": windows.vocabulary.is_known(windows.targets),
                         "in_window": windows.in_window})  # fmt: skip


def compare(name: str) -> Iterator[Row]:
    """One of their files beside each of our models."""
    key, told, n_answers = FILES[name]
    windows = data_sets.dataset(key).test
    answers = pd.read_csv(
        data_sets.from_environment(ANSWERS) / f"{name}.csv", dtype={"prediction": str}
    )
    theirs = their_ranks(answers, windows)
    for model, variant, target_time in WITH_TIME if told else WITHOUT_TIME:
        ours = recorded(RESULTS, key, Run(model, variant, target_time))
        for metric, k in (("acc@1", 1), ("acc@10", 10)):
            if k > n_answers:
                continue
            own = 100 * float(np.mean([gains(ranks)[metric].mean() for ranks in ours]))
            other = 100 * float(gains(theirs)[metric].mean())
            low, high = interval_of_mean(ours, metric, against=[theirs])
            yield {
                "file": name, "data": data_sets.DATA[key].name, "told": told, "metric": metric,
                "model": model, "variant": variant, "target_time": target_time,
                "theirs": other, "ours": own, "difference": own - other, "low": low, "high": high,
            }  # fmt: skip


def _rows() -> Iterator[Row]:
    for name in FILES:
        yield from compare(name)


REPORT = Report(
    question="Does a large language model foretell the next place better, on the same windows?",
    rows=_rows,
    data=("geolife_published", "new_york"),
    results=RESULTS,
    more={"seeds": list(SEEDS)},
)
