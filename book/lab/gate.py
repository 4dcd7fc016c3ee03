"""What gates say and what they know, over seeds and on real people, for chapter 11.

    PGT_GEOLIFE_WINDOWS=… python book/lab/run.py gate

writes ``book/results/gate.json``. A row is a ``group`` of test windows of one run: all, in_window,
not_in_window, or a tenth of the windows by gate ("tenth 1" has the lowest); its ``gate`` and
``in_window`` are means from 0 to 1, ``acc@1`` is in percent. Rows of all windows also hold scores
of the gate against two outcomes. Rows without a seed hold the ends of 95 % intervals of the mean
over seeds, people resampled. The row "difference" is the AUC of "window_features", a logistic
regression without any network (`wherenext.window_features.forecast`), minus the mean of the
gates'. No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from wherenext.window_features import forecast, gates

from lab import data_sets, forecasts, models, runs
from lab.data_sets import DATA
from lab.models import Run
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt.config import TargetTime
from pgt.files import whole
from pgt.metrics import percentile_interval
from pgt.model import PointerGeneratorTransformer
from pgt.predictor import calibration

TARGET_TIME: dict[str, TargetTime] = {"city": "unknown", "geolife_published": "day"}
TENTHS = 10


def opened(key: str, run: Run) -> pd.DataFrame:
    """The gates of a run's test windows, kept beside its other results once they are made.

    Where the data tell, ``returned`` says whether the person had been at the target's place before.
    """
    path = runs.kept(key, run).with_suffix(".gates.parquet")
    windows = data_sets.dataset(key).test
    if not path.exists():
        model, _ = models.trained(key, run)
        assert isinstance(model, PointerGeneratorTransformer)
        with whole(path) as half:
            gates(model, windows).to_parquet(half, index=False)
    table = pd.read_parquet(path)
    if "explored" in windows.visits:
        table["returned"] = ~windows.visits.explored.to_numpy()[windows.target]
    return table


def scores(table: pd.DataFrame) -> dict[str, float]:
    """What a gate knows of each outcome, and how it says so, as in ``auc_in_window``."""
    values: dict[str, float] = {}
    for outcome in ("in_window", "returned"):
        if outcome in table:
            gate, happened, users = (table[c].to_numpy() for c in ("gate", outcome, "user_id"))
            intercept, slope = forecasts.calibration_line(gate, happened)
            values |= {
                f"auc_{outcome}": float(roc_auc_score(happened, gate)),
                f"auc_within_{outcome}": forecasts.auc_within(gate, happened, users),
                f"skill_{outcome}": forecasts.skill(gate, happened),
                f"intercept_{outcome}": intercept,
                f"slope_{outcome}": slope,
            }
    return values


def means(table: pd.DataFrame) -> dict[str, float]:
    """Means of a group of windows."""
    values = {name: float(table[name].mean()) for name in ("gate", "in_window")}
    return values | {"acc@1": 100 * float(table.correct.mean())}


def groups(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All windows, those with and without the target in them, and tenths by gate."""
    yield "all", table
    yield "in_window", table[table.in_window]
    yield "not_in_window", table[~table.in_window]
    for k, part in table.groupby(calibration.bins_of(table.gate, TENTHS)):
        yield f"tenth {int(k) + 1}", part


def rows_of(tables: list[pd.DataFrame], about: Row) -> Iterator[Row]:
    """The rows of one data set: every seed's, and the ends of the intervals of their means."""
    for seed, table in zip(SEEDS, tables, strict=True):
        for group, part in groups(table):
            values = means(part) | (scores(part) if group == "all" else {})
            yield about | {"seed": seed, "group": group, "n": len(part)} | values
    for group, values in zip(("low", "high"), intervals(tables), strict=True):
        yield about | {"seed": None, "group": group, "n": len(tables[0])} | values


def intervals(tables: list[pd.DataFrame], n_resamples: int = 200) -> Iterator[dict[str, float]]:
    """The 95 % interval of the mean over seeds of all `scores`, people resampled."""
    users = tables[0].user_id
    rows = np.arange(len(users))
    draws = calibration.resampled(users, rows, users, n_resamples=n_resamples)
    drawn = pd.DataFrame([
        pd.DataFrame([scores(table.iloc[at].assign(user_id=who)) for table in tables]).mean()
        for at, who in draws
    ])  # fmt: skip
    for end in percentile_interval(drawn):
        yield dict(zip(drawn.columns, end.tolist(), strict=True))


def ahead(key: str, tables: list[pd.DataFrame]) -> Row:
    """By how much the AUC of a regression on window features leads over the gates'."""

    def lead(y: np.ndarray, p: np.ndarray, *gates: np.ndarray) -> float:
        rival = np.mean([roc_auc_score(y, gate) for gate in gates])
        return float(roc_auc_score(y, p) - rival)

    p = forecast(data_sets.dataset(key), lambda windows: windows.in_window)["test"]
    columns = (tables[0].in_window.to_numpy(), p, *(table.gate.to_numpy() for table in tables))
    low, high = calibration.people_interval(lead, tables[0].user_id, *columns, n_resamples=500)
    return {"auc_in_window": lead(*columns), "low_in_window": low, "high_in_window": high}


def measured() -> Iterator[Row]:
    """The rows of every data set."""
    for key, target_time in TARGET_TIME.items():
        tables = [opened(key, Run("pgt", "full", target_time, seed)) for seed in SEEDS]
        about: Row = {"data": DATA[key].name, "protocol": DATA[key].protocol, "model": "pgt",
                      "variant": "full", "target_time": target_time, "split": "test"}  # fmt: skip
        yield from rows_of(tables, about)
        features: Row = {"model": "window_features", "target_time": "unknown", "seed": None,
                         "group": "difference", "n": len(tables[0])}  # fmt: skip
        yield about | features | ahead(key, tables)
        learned = data_sets.dataset(key).train
        yield about | {"split": "train", "seed": None, "group": "all", "n": len(learned),
                       "in_window": float(learned.in_window.mean())}  # fmt: skip


REPORT = Report(
    question="What does the gate say, and what does it know?",
    rows=measured,
    data=tuple(TARGET_TIME),
)
