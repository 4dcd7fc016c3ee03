"""More towns whose people behave alike: does the next sample of people show the same curve?

    python book/lab/run.py position_bias_towns

writes ``book/results/position_bias_towns.json``. `lab.position_bias` simulates three towns that
differ from Larkmere in their people alone and trains a fast bias on each; here are seven more, for
chapter 12, which looks at all ten. Rows are as there.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.position_bias import FEW, SEEDS, Job, one
from lab.reports import Report, Row

WHAT, VARIANT = "other people", "fast bias"
MORE = tuple(seed for seed in SEEDS if seed not in FEW)


def jobs() -> list[Job]:
    """Every model that is trained: one a town."""
    return [Job(WHAT, VARIANT, seed) for seed in MORE]


def _rows() -> Iterator[Row]:
    for job in jobs():  # one after the other, for a small machine
        row = one(job)
        print(f"{job}  Acc@1 {row['acc@1']:.1f}", flush=True)
        del row["seconds"]
        yield row


REPORT = Report(
    question="Do other people who behave alike teach the position bias the same curve?",
    rows=_rows,
    data=lambda rows: [{"name": "simulated towns", "towns": len(rows)}],
)
