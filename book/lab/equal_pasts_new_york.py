"""The same past for all in New York: LSTM, MHSA and PGT with a hundred visits.

    PGT_NEW_YORK=… python book/lab/run.py equal_pasts_new_york

writes ``book/results/equal_pasts_new_york.json``. The questions are New York's, in windows that go
back from the last visit. No network is tuned there: with a hundred visits each has the settings
that were best with a hundred on GeoLife's validation windows (`lab.equal_pasts`), with a week those
that were best with a week (`lab.search_space`), as everywhere. Both are trained here, with the same
seeds. The kernel chooses among its six hundred settings in New York.

A row is as one of ``scores`` in `lab.equal_pasts`, and ``epochs`` are those until the best, a seed
each. The ranks of the contextual pointer are those of other experiments.
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
from lab.search_space import MODELS

HOME = "new_york_last_visit"
FEW = SEEDS[:2]  # an epoch with a hundred visits takes two to four minutes of a core


def chosen(model: str) -> str:
    """The variant that was best with a hundred visits on GeoLife's validation windows."""
    tried = read_results("equal_pasts").rows.query("table == 'candidates' and model == @model")
    best = tried.sort_values("valid", ascending=False, kind="stable").variant.iloc[0]
    return HUNDRED + str(best)


def rows() -> Iterator[Row]:
    """The scores of rules and networks."""
    make([(HOME, KERNEL), (HOME, Run("kernel"))])
    seeded = [(model, seed) for seed in FEW for model in MODELS]
    for variant in (lambda _model: "tuned", chosen):
        make([(HOME, Run(model, variant(model), seed=seed)) for model, seed in seeded])
    base = [runs.ranks_of(HOME, KERNEL)]
    yield score(HOME, "kernel", base, base, [runs.ranks_of(HOME, Run("kernel"))])
    pointer = runs.recorded(("last_visit",), HOME, Run("contextual"))
    yield score(HOME, POINTER.model, pointer, base)
    for model in MODELS:
        week, some = (
            [Run(model, variant, seed=seed) for seed in FEW] for variant in ("tuned", chosen(model))
        )
        notes = [runs.read_kept(HOME, run)[0]["notes"]["epochs"] for run in some]
        ranks, before = ([runs.ranks_of(HOME, run) for run in each] for each in (some, week))
        yield score(HOME, model, ranks, base, before) | {"epochs": notes}


REPORT = Report(
    question="How good are the networks when they see as much of New York's past as the pointer?",
    rows=rows,
    data=(HOME,),
    results=("equal_pasts", "last_visit"),
    more={"seeds": [*FEW], "memory": MEMORY},
)
