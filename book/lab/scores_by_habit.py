"""Whom the predictor that was trained on nobody serves well, and whom it fails.

    PGT_GEOLIFE=… PGT_NEW_YORK=… python book/lab/run.py whom

writes ``book/results/whom.json``. The shipped predictor answers the test windows of real people, as
it is. A row is a third of the people, by one habit of theirs in the training part (``habit``,
`HABITS`): 1 has least of it. ``acc@1`` and ``kernel`` are the predictor and the kernel with a
hundred visits, fitted there, on the windows of these people; ``minus`` is the one minus the other,
with its 95 % interval from ``minus_low`` to ``minus_high``, people
resampled. The ``habit`` "person by person" has one row: in percent of the people, ``better`` and
``worse`` tell for how many the predictor is right more often, or less often, than the kernel.

The weights are the shipped ones, of one seed. No person, place or moment can be recognized.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lab import data_sets, runs
from lab.anonymity import enough_people
from lab.data_sets import DATA
from lab.models import Run
from lab.nobody import REAL, seen
from lab.reports import Report, Row
from pgt import NextLocation
from pgt.metrics import evaluate, gains, interval
from pgt.predictor.memory import HistoryWindows

KERNEL = Run("kernel_memory", "memory_100")
THIRDS = 3
EARLY = 50  # a person's first visits are to new places anyhow
HABITS = ("visits", "at the favourite place", "to new places")


def habits(visits: pd.DataFrame) -> pd.DataFrame:
    """What people do in a table of visits: one row a person, one column a habit."""
    of = visits.groupby("user_id", sort=False)
    favourite = of.location_id.agg(lambda place: place.value_counts(normalize=True).iloc[0])
    new = ~visits.duplicated(["user_id", "location_id"])
    late = of.cumcount() >= EARLY
    share = new[late].groupby(visits.user_id[late]).mean()
    table = {"visits": of.size().astype(float), "at the favourite place": 100 * favourite,
             "to new places": 100 * share}  # fmt: skip
    return pd.DataFrame(table).reindex(of.size().index)[list(HABITS)]


def thirds(values: np.ndarray) -> np.ndarray:
    """(U,) which third each person is in, 1 to 3, by rank; 0 where there is no value."""
    known = ~np.isnan(values)
    rank = pd.Series(values[known]).rank(method="first").to_numpy() - 1
    found = np.zeros(len(values), dtype=int)
    found[known] = 1 + (rank * THIRDS // max(1, known.sum())).astype(int)
    return found


def rows_of(ours: pd.DataFrame, theirs: pd.DataFrame, people: pd.DataFrame) -> Iterator[Row]:
    """The rows of one data set."""
    user = ours.user_id.to_numpy()
    asked = people[np.isin(np.arange(len(people)), user)]
    for habit in HABITS:
        third = np.zeros(len(people), dtype=int)
        third[np.isin(np.arange(len(people)), user)] = thirds(asked[habit].to_numpy())
        for k in range(1, THIRDS + 1):
            mine = third[user] == k
            if not enough_people(user[mine]):
                continue
            one, other = (ranks[mine].reset_index(drop=True) for ranks in (ours, theirs))
            low, high = interval(one, against=other)
            right, kernel = (100 * float(gains(ranks)["acc@1"].mean()) for ranks in (one, other))
            yield {
                "habit": habit, "third": k, "people": int((third == k).sum()),
                "acc@1": right, "kernel": kernel, "minus": right - kernel, "minus_low": low,
                "minus_high": high,
            }  # fmt: skip
    lead = pd.Series(gains(ours)["acc@1"] - gains(theirs)["acc@1"]).groupby(user).mean()
    yield {
        "habit": "person by person", "people": len(lead),
        "better": 100 * float((lead > 0).mean()), "worse": 100 * float((lead < 0).mean()),
    }  # fmt: skip


def measured(key: str) -> Iterator[Row]:
    """The rows of an entry of `lab.data_sets.DATA`."""
    data = seen(key)
    assert isinstance(data.train, HistoryWindows)
    model = NextLocation.pretrained().experts["next_place"].fit_weights(data.train)
    ours = evaluate(model, data.test)
    codes, users = pd.factorize(ours.user_id)
    people = habits(data_sets.dataset(key).train.visits).reindex(users)
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown"}
    for row in rows_of(ours.assign(user_id=codes), runs.ranks_of(key, KERNEL), people):
        yield about | {"model": "predictor", "variant": "full"} | row


def _rows() -> Iterator[Row]:
    for key in REAL:
        yield from measured(key)


REPORT = Report(
    question="Which people does the predictor that was trained on nobody serve, and whom not?",
    rows=_rows,
    data=REAL,
)
