"""What it costs to test a network as the last epoch left it, and not as it was at its best.

    PGT_GEOLIFE_WINDOWS=folder python book/lab/run.py last_epoch

writes ``book/results/last_epoch.json``. The published code of MHSA ends its training before it
loads its best weights again. Ours loads them; here each network is scored with both. It has the
settings that its authors published for GeoLife, in the published protocol.

Rows: ``best`` and ``last`` are Acc@1 of a seed in percent, ``epochs`` and ``best epoch`` how long
it trained; the row without a seed has the means, and ``value`` is best minus last, paired, with its
95 % interval over people and seeds.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch

from lab.data_sets import dataset
from lab.models import Run, untrained
from lab.reports import Report, Row
from pgt.metrics import evaluate, gains, interval_of_mean
from pgt.train import fit

DATA, SEEDS = "geolife_published", (42, 1, 2)


def rows() -> Iterator[Row]:
    """Every seed, and what the best weights are worth."""
    windows, found = dataset(DATA), []
    for seed in SEEDS:
        model, training = untrained(DATA, Run("mhsa", seed=seed))
        last: dict[str, Any] = {}
        history = fit(
            model, windows.train, windows.valid, training, progress=False,
            after_epoch=lambda row, now=last, net=model: now.update(  # type: ignore[misc]
                copy.deepcopy(net.state_dict())
            ),
        )  # fmt: skip
        best = evaluate(model, windows.test)
        model.load_state_dict({name: torch.as_tensor(value) for name, value in last.items()})
        found.append((best, evaluate(model.eval(), windows.test)))
        hits = [100 * float(gains(one)["acc@1"].mean()) for one in found[-1]]
        yield {"model": "mhsa", "seed": seed, "best": hits[0], "last": hits[1],
               "epochs": len(history.rows), "best epoch": history.best_epoch,
               "n": len(best), "people": best.user_id.nunique()}  # fmt: skip
    both = [list(one) for one in zip(*found, strict=True)]
    means = [100 * sum(gains(one)["acc@1"].mean() for one in own) / len(own) for own in both]
    low, high = interval_of_mean(both[0], against=both[1])
    yield {"model": "mhsa", "seed": None, "best": means[0], "last": means[1],
           "value": means[0] - means[1], "low": low, "high": high,
           "n": len(both[0][0]), "people": both[0][0].user_id.nunique()}  # fmt: skip


REPORT = Report(
    question="What does it cost to test the last epoch's weights, and not the best?",
    rows=rows,
    data=(DATA,),
    more={"seeds": [*SEEDS]},
)
