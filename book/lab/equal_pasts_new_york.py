"""The same past for all in New York: LSTM, MHSA and PGT with a hundred visits.

    PGT_NEW_YORK=… python book/lab/run.py equal_pasts_new_york

writes ``book/results/equal_pasts_new_york.json``. The questions are New York's, in windows that go
back from the last visit. No network is tuned there: each has the settings that were best with a
hundred visits on GeoLife's validation windows (`lab.equal_pasts`), and one seed. The kernel chooses
among its six hundred settings in New York.

A row is as one of ``scores`` in `lab.equal_pasts`, and ``epochs`` are those until the best. A
network's ``gain`` is over the same kind with a week, its documented settings and the same seed, if
its training, too, is stopped on accuracy; these ranks and the pointer's are of other experiments.
PGT's settings are those that are best with a week, too; the row of ``same settings`` has its gain
over a week with them.
"""

from __future__ import annotations

from collections.abc import Iterator

from wherenext.results import read_results

from lab import runs
from lab.equal_pasts import KERNEL, POINTER, make, score
from lab.models import HUNDRED, Run
from lab.provenance import MEMORY
from lab.reports import Report, Row
from lab.runs import SEEDS

HOME, SEED = "new_york_last_visit", SEEDS[0]
WEEK = Run("pgt", "tuned", seed=SEED)
MODELS = ("mhsa", "pgt", "lstm")  # an epoch takes two to four minutes of a core


def chosen(model: str) -> Run:
    """With the settings that were best with a hundred visits on GeoLife's validation windows."""
    tried = read_results("equal_pasts").rows.query("table == 'candidates' and model == @model")
    best = tried.sort_values("valid", ascending=False, kind="stable").variant.iloc[0]
    return Run(model, HUNDRED + str(best), seed=SEED)


def rows() -> Iterator[Row]:
    """The scores of rules and networks."""
    make([(HOME, run) for run in (*map(chosen, MODELS), KERNEL, Run("kernel"), WEEK)])
    base = [runs.ranks_of(HOME, KERNEL)]
    yield score(HOME, "kernel", base, base, [runs.ranks_of(HOME, Run("kernel"))])
    pointer = runs.recorded(("last_visit",), HOME, Run("contextual"))
    yield score(HOME, POINTER.model, pointer, base)
    for model in MODELS:
        week = runs.recorded(("last_visit",), HOME, Run("on_accuracy", model))
        some = [runs.ranks_of(HOME, chosen(model))]
        notes = runs.read_kept(HOME, chosen(model))[0]["notes"]
        yield score(HOME, model, some, base, week) | {"epochs": notes["epochs"]}
    some, week = ([runs.ranks_of(HOME, one)] for one in (chosen(WEEK.model), WEEK))
    yield score(HOME, WEEK.model, some, base, week) | {"table": "same settings"}


REPORT = Report(
    question="How good are the networks when they see as much of New York's past as the pointer?",
    rows=rows,
    data=(HOME,),
    results=("last_visit",),
    more={"seeds": [SEED], "memory": MEMORY},
)
