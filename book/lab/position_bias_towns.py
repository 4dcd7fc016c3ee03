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


def _rows() -> Iterator[Row]:
    for seed in SEEDS[len(FEW) :]:  # one after the other, for a small machine
        yield one(Job("other people", "fast bias", seed))


REPORT = Report(
    question="Do other people who behave alike teach the position bias the same curve?",
    rows=_rows,
    data=lambda rows: [{"name": "simulated towns", "towns": len(rows)}],
)
