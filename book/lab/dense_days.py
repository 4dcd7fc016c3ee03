"""Whether worlds with dense days make the predictor better: its pool, with and without them.

    PGT_GEOLIFE=… PGT_NEW_YORK=… PGT_CITIES=… python book/lab/run.py dense_days

writes ``book/results/dense_days.json``. Two families of worlds, five seeds of networks each; both
are scored on worlds that neither has seen, of people with dense days and of others, and on the
*validation* windows of real tables. A row is the predictor of one family, or "with - without" on
the same windows: Acc@1 in percent or points, with 95 % intervals over people and seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
from wherenext.worlds import WorldConfig, dense, world

from lab.data_sets import DATA
from lab.nobody import FULL, KEYS, NAMES, learned, seen
from lab.reports import Report
from lab.runs import SEEDS
from pgt.config import WindowConfig
from pgt.contextual import MEMORY, OLDER, PAST, Experts
from pgt.history import sample, with_history
from pgt.metrics import evaluate, gains, interval_of_mean
from pgt.windows import Dataset, prepare

FAMILIES = {
    "with": FULL, "without": replace(FULL, config=WorldConfig(dense=False)),
}  # fmt: skip
NUMBERS = range(96, 130)  # worlds that nothing was trained or chosen on
WORLDS = 6  # of each kind
MOST = 4000  # validation windows
Row = dict[str, Any]


def new_worlds(with_dense_days: bool) -> Dataset:
    """The windows of a few worlds of one kind."""
    own = [number for number in NUMBERS if bool(dense(number, WorldConfig())) is with_dense_days]
    visits = pd.concat([world(number) for number in own[:WORLDS]], ignore_index=True)
    data = prepare(visits.drop(columns="world"), config=WindowConfig(protocol="exact"))
    return with_history(data, MEMORY, OLDER)


def tables() -> Iterator[tuple[Row, Dataset]]:
    """Worlds and real tables."""
    for name, with_dense_days in (("dense worlds", True), ("other worlds", False)):
        yield {"data": name, "protocol": "exact"}, new_worlds(with_dense_days)
    for key in KEYS:
        yield {"data": DATA[key].name, "protocol": DATA[key].protocol}, seen(key)


def _rows() -> Iterator[Row]:
    for about, data in tables():
        past = data.train.subset(sample(len(data.train), PAST))
        valid = data.valid.subset(sample(len(data.valid), MOST))
        ranks: dict[str, list[pd.DataFrame]] = {}
        for name, plan in FAMILIES.items():
            experts = (Experts([learned(plan, kind, seed) for kind in NAMES]) for seed in SEEDS)
            ranks[name] = [evaluate(one.eval().weighed(past), valid) for one in experts]
        means = {name: sum(100 * gains(one)["acc@1"].mean() for one in some) / len(some)
                 for name, some in ranks.items()}  # fmt: skip
        means["with - without"] = means["with"] - means["without"]
        for name, mean in means.items():
            runs = ranks[name.split()[0]]
            against = ranks["without"] if name not in ranks else None
            low, high = interval_of_mean(runs, against=against)
            yield {**about, "model": "predictor", "variant": name, "target_time": "unknown",
                   "split": "valid", "group": "all", "seed": None, "n": len(valid),
                   "acc@1": mean, "low": low, "high": high}  # fmt: skip


REPORT = Report(
    question="Do worlds with dense days make the predictor better?",
    rows=_rows,
    data=KEYS,
    more={"seeds": list(SEEDS), "worlds": WORLDS},
)
