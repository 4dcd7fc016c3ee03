"""What gates say and what they know, over seeds and on real people, for chapter 11.

    PGT_GEOLIFE_WINDOWS=… python book/lab/run.py gate

writes ``book/results/gate.json``. A row is a ``group`` of test windows of one run: all, known,
in_window, not_in_window, or a tenth of the windows by gate ("tenth 1" has the lowest); its
``gate``, ``in_window`` and ``returned`` are means from 0 to 1, ``acc@1`` is in percent. Rows of all
and of known windows also hold scores of the gate against two outcomes. Rows without a seed hold
the ends of 95 % intervals of the mean over seeds, people resampled. The model
"window_features" is a logistic regression without any network
(`wherenext.window_features.forecast`); its row "difference" is its AUC minus the mean of the
gates'. No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from wherenext.window_features import forecast, gates

from lab import data_sets, forecasts, models, runs
from lab.data_sets import DATA
from lab.models import Run
from lab.reports import Report
from lab.runs import SEEDS
from pgt import calibration
from pgt.config import TargetTime
from pgt.files import whole
from pgt.metrics import ends
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows

TARGET_TIME: dict[str, TargetTime] = {"city": "unknown", "geolife_published": "day"}
MEANS = ("gate", "in_window", "returned")
TENTHS = 10


def opened(key: str, run: Run) -> pd.DataFrame:
    """The gates of a run's test windows, kept beside its other results once they are made."""
    path = runs.kept(key, run).with_suffix(".gates.parquet")
    if not path.exists():
        model, _ = models.trained(key, run)
        assert isinstance(model, PointerGeneratorTransformer)
        with whole(path) as half:
            gates(model, data_sets.dataset(key).test).to_parquet(half, index=False)
    return pd.read_parquet(path)


def returned(windows: Windows) -> np.ndarray | None:
    """(W,) whether the person had been at the target's place ever before; None if unknowable."""
    if "explored" not in windows.visits:
        return None
    return ~windows.visits.explored.to_numpy()[windows.target]


def scores(gate: np.ndarray, outcome: np.ndarray, users: np.ndarray) -> dict[str, float]:
    """What a gate knows of an outcome, and how it says so; see `pgt.calibration`."""
    parts = forecasts.brier(gate, outcome)
    intercept, slope = forecasts.calibration_line(gate, outcome)
    return {
        "auc": forecasts.auc(gate, outcome),
        "auc_within": forecasts.auc_within(gate, outcome, users),
        "brier": parts.score,
        "reliability": parts.reliability,
        "skill": parts.skill,
        "intercept": intercept,
        "slope": slope,
    }


def means(table: pd.DataFrame) -> dict[str, float]:
    """Means of a group of windows."""
    values = {name: float(table[name].mean()) for name in MEANS if name in table}
    return values | {"acc@1": 100 * float(table.correct.mean())}


def summary(table: pd.DataFrame) -> dict[str, float]:
    """Means, and the gate against each outcome, as in ``auc_in_window``."""
    values = means(table) | {"gate_sd": float(table.gate.std())}
    for outcome in ("in_window", "returned"):
        if outcome in table:
            arrays = (table[name].to_numpy() for name in ("gate", outcome, "user_id"))
            found = scores(*arrays)
            values |= {f"{name}_{outcome}": value for name, value in found.items()}
    return values


def groups(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All windows, those of known targets, with and without it in them, and tenths by gate."""
    yield "all", table
    yield "known", table[table.known]
    yield "in_window", table[table.in_window]
    yield "not_in_window", table[~table.in_window]
    for k, part in table.groupby(calibration.bins_of(table.gate, TENTHS)):
        yield f"tenth {int(k) + 1}", part


def rows_of(tables: list[pd.DataFrame], about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of one data set: every seed's, and the ends of the intervals of their means."""
    for seed, table in zip(SEEDS, tables, strict=True):
        for group, part in groups(table):
            values = summary(part) if group in ("all", "known") else means(part)
            yield about | {"seed": seed, "group": group, "n": len(part)} | values
    for group, values in zip(("low", "high"), intervals(tables), strict=True):
        yield about | {"seed": None, "group": group, "n": len(tables[0])} | values


def intervals(tables: list[pd.DataFrame], n_resamples: int = 200) -> Iterator[dict[str, float]]:
    """The 95 % interval of the mean over seeds of everything in `summary`, people resampled."""
    users = tables[0].user_id
    rows = np.arange(len(users))
    draws = calibration.resampled(users, rows, users, n_resamples=n_resamples)
    drawn = [
        pd.DataFrame([summary(table.iloc[at].assign(user_id=who)) for table in tables]).mean()
        for at, who in draws
    ]
    table = pd.DataFrame(drawn)
    for end in ends(table):
        yield dict(zip(table.columns, end.tolist(), strict=True))


def without_network(
    key: str, tables: list[pd.DataFrame], about: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The same scores for a regression on window features, and its AUC's lead over the gates'."""
    about = about | {"model": "window_features", "target_time": "unknown"}
    about |= {"seed": None, "n": len(tables[0])}
    outcomes = {"in_window": lambda windows: windows.in_window, "returned": returned}
    found: dict[str, float] = {}
    ahead: dict[str, float] = {}
    for outcome, ask in outcomes.items():
        if outcome not in tables[0]:
            continue
        p, users = forecast(data_sets.dataset(key), ask)["test"], tables[0].user_id
        happened = tables[0][outcome].to_numpy()
        own = scores(p, happened, users.to_numpy())
        found |= {f"{name}_{outcome}": value for name, value in own.items()}

        def lead(y: np.ndarray, p: np.ndarray, *gates: np.ndarray) -> float:
            rival = np.mean([forecasts.auc(gate, y) for gate in gates])
            return forecasts.auc(p, y) - float(rival)

        columns = (happened, p, *(table.gate.to_numpy() for table in tables))
        low, high = calibration.interval(lead, users, *columns, n_resamples=500)
        values = {"auc": lead(*columns), "low": low, "high": high}
        ahead |= {f"{name}_{outcome}": value for name, value in values.items()}
    yield about | {"group": "all"} | found
    yield about | {"group": "difference"} | ahead


def measured() -> Iterator[dict[str, Any]]:
    """The rows of every data set."""
    for key, target_time in TARGET_TIME.items():
        tables = []
        for seed in SEEDS:
            table = opened(key, Run("pgt", "full", target_time, seed))
            outcome = returned(data_sets.dataset(key).test)
            tables.append(table if outcome is None else table.assign(returned=outcome))
            print(f"{key} seed {seed}: mean gate {table.gate.mean():.3f}", flush=True)
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "model": "pgt",
                 "variant": "full", "target_time": target_time, "split": "test"}  # fmt: skip
        yield from rows_of(tables, about)
        yield from without_network(key, tables, about)
        learned = data_sets.dataset(key).train
        yield about | {"split": "train", "seed": None, "group": "all", "n": len(learned),
                       "in_window": float(learned.in_window.mean())}  # fmt: skip


REPORT = Report(
    question="What does the gate say, and what does it know?",
    rows=measured,
    data=tuple(TARGET_TIME),
)
