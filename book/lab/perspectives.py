"""The same answers, scored in other ways: does the order of the models hang on the way?

    python book/lab/run.py perspectives

writes ``book/results/perspectives.json``. Accuracy is usually the mean over windows, so people with
many windows count more. A row says how a model does by one ``scoring``, ``value`` in percent:

- "windows": the usual mean, with all ``n`` test windows;
- "people": the mean of the people's own means, so that everybody counts alike;
- "return" and "explore_known": over the windows whose target the person has been to before, in any
  split, and over those of the others that a training visit of anybody shows. Source of the words:
  Song et al. 2010, https://doi.org/10.1038/nphys1760. The published windows of New York give places
  that training does not show one label: whoever has been to one of them returns to all;
- "metres": whether the first guess lies within `NEAR` metres of where the person went, where places
  have coordinates.

All are means over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lab import data_sets, models
from lab.models import Run
from lab.reports import Report, Row
from lab.runs import SEEDS, recorded
from pgt import metrics
from pgt.readers.gps import on_sphere
from pgt.visits import EARTH_RADIUS, SPLITS
from pgt.windows import Dataset

DATA_SETS = ("city", "geolife_exact", "new_york")
MAPPED = DATA_SETS[:2]  # the published windows of New York have no coordinates in degrees
RESULTS = ("city", "geolife_exact", "beyond", "new_york")  # whose test ranks are scored
RUNS = (Run("markov"), Run("kernel_memory", "memory_100"), Run("pgt"), Run("contextual"))
AWAY = ("pgt", "contextual")
AWAY_SEEDS = 3
NEAR = 500


def explored(data: Dataset) -> np.ndarray:
    """(W,) of the test windows, whether the person has never been to the target before."""
    parts = [getattr(data, name).visits.assign(part=name) for name in SPLITS]
    table = pd.concat(parts, ignore_index=True)
    order = table.sort_values(["user_id", "started_at"], kind="stable")
    first = ~order.duplicated(["user_id", "location_id"]).sort_index()
    found: np.ndarray = first[table.part == "test"].to_numpy()[data.test.target]
    return found


def scored(tables: list[pd.DataFrame], new: np.ndarray) -> Iterator[Row]:
    """A model's rows, but for the metres, from its ranks by seed."""
    known, users = tables[0].known.to_numpy(), tables[0].user_id
    masks = {"windows": np.ones(len(new), bool), "return": ~new, "explore_known": new & known}
    gains = [100 * metrics.gains(table)[["acc@1", "acc@10"]] for table in tables]
    for measure in gains[0]:
        mean = pd.Series(np.mean([one[measure] for one in gains], axis=0))
        for name, mask in masks.items():
            yield {"scoring": name, "measure": measure, "n": int(mask.sum()),
                   "value": float(mean[mask].mean())}  # fmt: skip
        yield {"scoring": "people", "measure": measure, "n": len(mean),
               "value": float(mean.groupby(users).mean().mean())}  # fmt: skip


def away(data: Dataset, ranks: pd.DataFrame) -> np.ndarray:
    """(W,) metres from the first guess to where the person went."""
    columns = ["location_id", "lon", "lat"]
    visits = pd.concat([getattr(data, name).visits[columns] for name in SPLITS])
    where = visits.groupby("location_id")[["lon", "lat"]].mean()
    guess, truth = (
        on_sphere(*where.reindex(data.vocabulary.decode(ids)).to_numpy().T).T
        for ids in (ranks.predicted.to_numpy(), ranks.target.to_numpy())
    )
    chord = np.linalg.norm(guess - truth, axis=1)  # of a sphere with radius 1
    metres: np.ndarray = 2 * EARTH_RADIUS * np.arcsin(chord / 2)
    return metres


def near(key: str, model: str) -> Row:
    """The row of a model's metres: it is trained again, since runs keep ranks, not answers."""
    found, data = [], data_sets.dataset(key)
    for seed in SEEDS[:AWAY_SEEDS]:
        run = Run(model, seed=seed)
        predictor, _ = models.trained(key, run)
        ranks = metrics.evaluate(predictor, models.windows_of(key, run).test)
        found.append(away(data, ranks) <= NEAR)
    return {"scoring": "metres", "measure": "near", "n": len(data.test),
            "value": 100 * float(np.mean(found))}  # fmt: skip


def _rows() -> Iterator[Row]:
    for key in DATA_SETS:
        new = explored(data_sets.dataset(key))
        for run in RUNS:
            some = recorded(RESULTS, key, run)
            rows = [*scored(some, new)]
            if key in MAPPED and run.model in AWAY:
                rows.append(near(key, run.model))
            about = {"data": data_sets.DATA[key].name, "protocol": data_sets.DATA[key].protocol,
                     "model": run.model, "seeds": len(some)}  # fmt: skip
            yield from (about | row for row in rows)


REPORT = Report(
    question="Does the order of the models depend on how answers are scored?",
    rows=_rows,
    data=DATA_SETS,
    results=RESULTS,
    more={"near": NEAR},
)
