"""Scoring: the predictor and the rules on the same windows, by group and with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
import pandas as pd

from pgt.baselines import Baseline, fit_baseline, looking_back
from pgt.contextual import MEMORY
from pgt.errors import DataError
from pgt.history import HistoryWindows
from pgt.metrics import Predictor, Ranker, evaluate, interval, summarize
from pgt.predictor.asking import drawn
from pgt.predictor.experts import Experts
from pgt.predictor.fitting import remembering
from pgt.windows import PreparedDataset, Windows

SHOWN = ["acc@1", "acc@5", "acc@10", "mrr"]
KERNEL = 20_000  # validation windows that choose the kernel's numbers, at most


def table(
    name: str, model: Predictor | Ranker, windows: PreparedDataset, remembers: bool = True
) -> pd.DataFrame:
    """Scores on the test windows: the model's, and the rules' beside it.

    Parameters
    ----------
    name : str
        What to call the model.
    model : Predictor or Ranker
        Experts are weighed by the training windows.
    windows : PreparedDataset
    remembers : bool
        Whether the model looks at the last hundred visits; else at the windows as they are.

    Returns
    -------
    DataFrame
        As of `pgt.NextLocation.score`.

    Raises
    ------
    DataError
        There are no test windows.
    """
    data = remembering(windows)
    require_test(len(data.test))
    if isinstance(model, Experts):
        model = model.weighed(cast(HistoryWindows, data.train))
    _, some = drawn(np.array([len(data.valid)]), KERNEL)
    beside = rules(data.train, data.valid.subset(some))
    return scores(
        (label, evaluate(fitted, data.test if far else windows.test))
        for label, (fitted, far) in ({name: (model, remembers)} | beside).items()
    )


def require_test(n: int) -> None:
    """Refuse to score on no test windows.

    Raises
    ------
    DataError
    """
    if n == 0:
        raise DataError(
            "The table has no test windows (three visits within seven days, in the last fifth of a "
            "person's days); give more visits."
        )


def rules(train: Windows, valid: Windows) -> dict[str, tuple[Baseline, bool]]:
    """The rules beside the model, and whether each looks at the last hundred visits.

    Parameters
    ----------
    train : Windows
        Of these a rule counts the places.
    valid : Windows
        With the last hundred visits; the kernel's numbers are chosen on them.
    """
    often = fit_baseline("most_frequent", train, valid)
    found = {looking_back("most_frequent", MEMORY): (often, True),
             "most frequent, 7 days": (often, False)}  # fmt: skip
    if len(valid):
        found[looking_back("kernel", MEMORY)] = (fit_baseline("kernel", train, valid), True)
    return found


def scores(ranked: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """The rows of several models, of their names and ranks."""
    rows = []
    for label, ranks in ranked:
        for row in summarize(ranks).to_dict("records"):
            low, high = interval(ranks, "acc@1", group=str(row["group"]))
            about = {"model": label, "group": row["group"], "n": row["n"]}
            shown = {metric: row[metric] for metric in SHOWN}
            rows.append(about | {"acc@1": shown.pop("acc@1"), "low": low, "high": high} | shown)
    return pd.DataFrame(rows)
