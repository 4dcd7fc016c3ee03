"""Scoring: the predictor and the rules on the same windows, by group and with intervals."""

from __future__ import annotations

from typing import cast

import pandas as pd

from pgt.analysis.intervals import interval
from pgt.contextual.history import HistoryWindows
from pgt.errors import DataError
from pgt.metrics import Predictor, Ranker, evaluate, summarize
from pgt.predictor.experts import Experts
from pgt.predictor.fitting import remembering
from pgt.training.baselines import fit_baseline
from pgt.windows import PreparedDataset

SHOWN = ["acc@1", "acc@5", "acc@10", "mrr"]


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
    if len(data.test) == 0:
        raise DataError(
            "The table has no test windows (three visits within seven days, in the last fifth of a "
            "person's days); give more visits."
        )
    if isinstance(model, Experts):
        model = model.weighed(cast(HistoryWindows, data.train))
    train, valid = windows.train, windows.valid
    models: dict[str, tuple[Predictor | Ranker, bool]] = {
        name: (model, remembers),
        "most frequent, 100 visits": (fit_baseline("most_frequent", data.train, data.valid), True),
        "most frequent, 7 days": (fit_baseline("most_frequent", train, valid), False),
    }
    if len(data.valid):
        models["kernel, 100 visits"] = (fit_baseline("kernel", data.train, data.valid), True)
    rows = []
    for label, (fitted, far) in models.items():
        ranks = evaluate(fitted, data.test if far else windows.test)
        for row in summarize(ranks).to_dict("records"):
            low, high = interval(ranks, "acc@1", group=str(row["group"]))
            about = {"model": label, "group": row["group"], "n": row["n"]}
            shown = {metric: row[metric] for metric in SHOWN}
            rows.append(about | {"acc@1": shown.pop("acc@1"), "low": low, "high": high} | shown)
    return pd.DataFrame(rows)
