"""The same answers, scored in other ways: does the order of the models hang on the way?

    python book/lab/run.py perspectives

writes ``book/results/perspectives.json``. Accuracy is usually the mean over windows, so people with
many windows count more. A row says how a model does by one ``scoring``:

- "windows": the usual mean, with all ``n`` test windows;
- "people": the mean of the people's own means, so that everybody counts alike;
- "return" and "explore": over the windows whose target the person has been to before, in any
  split, and over the others ("explore_known": those of them that a training visit of anybody
  shows). Source of the words: Song et al. 2010, https://doi.org/10.1038/nphys1760. The published
  windows of New York give places that training does not show one label: whoever has been to one of
  them returns to all;
- "metres": how far the first guess lies from where the person went, where places have coordinates:
  the ``median``, and the percentage within `NEAR` metres, ``value``.

Accuracies are in percent, means over seeds; the 95 % interval is from people, and seeds, resampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from lab import data_sets, models, runs
from lab.models import Run
from lab.reports import Report
from lab.runs import SEEDS
from pgt import metrics
from pgt.gps import on_sphere
from pgt.metrics import ends, resampled_means
from pgt.visits import EARTH_RADIUS, SPLITS
from pgt.windows import Dataset

DATA_SETS = ("city", "geolife_exact", "new_york")
MAPPED = DATA_SETS[:2]  # the published windows of New York have no coordinates in degrees
RULES = {
    "markov": Run("markov"),
    "most_frequent": Run("most_frequent"),
    "kernel": Run("kernel"),
    "kernel_memory": Run("kernel_memory", "memory_100"),
}
NETWORKS = ("pgt", "contextual")
AWAY = ("most_frequent", "kernel", "pgt", "contextual")
AWAY_SEEDS = 3
NEAR = 500
MEASURES = ("acc@1", "acc@5", "acc@10")
Row = dict[str, Any]


def runs_of(key: str, model: str) -> list[Run]:
    """A rule's one run, or a network's run with each seed."""
    if model in RULES:
        return [RULES[model]]
    return [Run(model, seed=seed) for seed in SEEDS]


def explored(data: Dataset) -> np.ndarray:
    """(W,) of the test windows, whether the person has never been to the target before."""
    parts = [getattr(data, name).visits.assign(part=name) for name in SPLITS]
    table = pd.concat(parts, ignore_index=True)
    order = table.sort_values(["user_id", "started_at"], kind="stable")
    first = ~order.duplicated(["user_id", "location_id"]).sort_index()
    found: np.ndarray = first[table.part == "test"].to_numpy()[data.test.target]
    return found


def by_person(values: np.ndarray, users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(S, P, M) means of each person, and the (P,) people."""
    person, names = pd.factorize(users)
    sums = np.zeros((len(names), *values.shape[::2]))  # (P, S, M)
    np.add.at(sums, person, values.swapaxes(0, 1))
    means = sums / np.bincount(person)[:, None, None]
    return means.swapaxes(0, 1), np.asarray(names)


def scored(
    values: np.ndarray, users: np.ndarray, new: np.ndarray, known: np.ndarray
) -> Iterator[Row]:
    """A model's rows, but for the metres: of (S, W, M) gains."""
    masks = {"windows": np.ones(len(new), bool), "return": ~new, "explore": new,
             "explore_known": new & known}  # fmt: skip
    for name, mask in masks.items():
        yield from _measured(name, values[:, mask], users[mask], int(mask.sum()))
    yield from _measured("people", *by_person(values, users), len(users))


def _measured(scoring: str, values: np.ndarray, users: np.ndarray, n: int) -> Iterator[Row]:
    low, high = ends(100 * resampled_means(values, users))  # (M,)
    for at, measure in enumerate(MEASURES):
        yield {"scoring": scoring, "measure": measure, "n": n, "people": len(np.unique(users)),
               "value": 100 * float(values[..., at].mean()),
               "low": float(low[at]), "high": float(high[at])}  # fmt: skip


def away(data: Dataset, ranks: pd.DataFrame) -> np.ndarray:
    """(W,) metres from the first guess to where the person went."""
    columns = ["location_id", "lon", "lat"]
    visits = pd.concat([getattr(data, name).visits[columns] for name in SPLITS])
    where = visits.groupby("location_id")[["lon", "lat"]].mean()
    guess, truth = (
        np.stack(on_sphere(*where.reindex(data.vocabulary.decode(ids)).to_numpy().T), axis=1)
        for ids in (ranks.predicted.to_numpy(), ranks.target.to_numpy())
    )
    chord = np.linalg.norm(guess - truth, axis=1)  # of a sphere with radius 1
    metres: np.ndarray = 2 * EARTH_RADIUS * np.arcsin(chord / 2)
    return metres


def _distances(key: str, model: str) -> Row:
    """The row of a model's metres: it is trained again, since runs keep ranks, not answers."""
    found, data = [], data_sets.dataset(key)
    for run in runs_of(key, model)[:AWAY_SEEDS]:
        predictor, _ = models.trained(key, run)
        ranks = metrics.evaluate(predictor, models.windows_of(key, run).test)
        found.append(away(data, ranks))
    metres = np.stack(found)  # (S, W)
    near = 100 * (metres <= NEAR)[..., None]
    low, high = ends(resampled_means(near, data.test.users))
    return {"scoring": "metres", "measure": "near", "n": metres.shape[1],
            "people": len(np.unique(data.test.users)), "value": float(near.mean()),
            "low": float(low[0]), "high": float(high[0]), "seeds": len(found),
            "median": float(np.median(metres))}  # fmt: skip


def _rows() -> Iterator[Row]:
    for key in DATA_SETS:
        data = data_sets.dataset(key)
        new = explored(data)
        for model in (*RULES, *NETWORKS):
            tables = [runs.ranks_of(key, run) for run in runs_of(key, model)]
            values = np.stack([metrics.gains(table)[list(MEASURES)] for table in tables])
            known = tables[0].known.to_numpy()
            rows = [*scored(values, tables[0].user_id.to_numpy(), new, known)]
            if key in MAPPED and model in AWAY:
                rows.append(_distances(key, model))
            about = {"data": data_sets.DATA[key].name, "protocol": data_sets.DATA[key].protocol,
                     "model": model, "seeds": len(tables)}  # fmt: skip
            yield from (about | row for row in rows)


REPORT = Report(
    question="Does the order of the models depend on how answers are scored?",
    rows=_rows,
    data=DATA_SETS,
    more={"near": NEAR},
)
