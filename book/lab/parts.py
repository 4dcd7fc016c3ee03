"""What each part of the predictor is worth alone: networks, fixed kernels, and fitted weights.

    PGT_GEOLIFE=… PGT_NEW_YORK=… PGT_CITIES=… python book/lab/run.py parts

writes ``book/results/parts.json``. The shipped predictor, as it comes, on the test windows of five
tables. Three kinds of things made it, and a ``variant`` leaves one of them out:

- two networks, trained on simulated people alone ("no networks");
- four kernels and a ridge, chosen on simulated worlds and on validation windows of real people
  (`lab.pool`; "no kernels"), and two facts, whether a place is the present one or the one before
  ("no facts");
- eight weights, fitted to earlier windows of the very people who are asked about ("nothing fitted":
  the weights that a fit starts from, both networks alike and nothing else).

"one network" is the first of the two as it is, and "kernels alone" are the four kernels alike, with
nothing fitted. ``fitted`` says how many weights a variant fits. Acc@1 is in percent, with its 95 %
interval, people resampled; ``lead`` is that of the whole predictor over the variant on the same
windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from lab.nobody import KEYS, about, seen
from lab.reports import Report, Row
from pgt import NextLocation
from pgt.metrics import evaluate, gains, interval
from pgt.predictor.memory import sample
from pgt.predictor.pool import PAST, RIDGE, Experts, pool_weights

WHOLE = "whole"
# By variant: the networks, kernels and facts that speak, and whether their weights are fitted.
VARIANTS: dict[str, tuple[int, int, int, bool]] = {
    WHOLE: (2, 4, 2, True), "no networks": (0, 4, 2, True), "no kernels": (2, 0, 2, True),
    "no facts": (2, 4, 0, True), "nothing fitted": (2, 0, 0, False),
    "one network": (1, 0, 0, False), "kernels alone": (0, 4, 0, False),
}  # fmt: skip


def columns_of(networks: int, kernels: int, facts: int) -> list[int]:
    """The numbers of what speaks, among two networks, four kernels and two facts."""
    return [*range(networks), *range(2, 2 + kernels), *range(6, 6 + facts)]


def part(experts: Experts, said: list[Any], variant: str) -> Experts:
    """The pool with what a variant leaves of it; ``said`` of past windows, as of `returns`."""
    networks, kernels, facts, fitted = VARIANTS[variant]
    columns = columns_of(networks, kernels, facts)
    start = torch.zeros(len(columns), dtype=torch.double)
    start[: networks or kernels] = 1 / (networks or kernels)
    if fitted:
        start[networks:] = 0
        own = [(one[..., columns], used, hit) for one, used, hit in said]
        start = pool_weights(own, start, RIDGE)
    found = Experts([*experts.experts]).eval()
    found.weights = torch.zeros_like(found.weights)
    found.weights[columns] = start.float()
    return found


def _rows() -> Iterator[Row]:
    experts = NextLocation.pretrained().experts["next_place"]
    for key in KEYS:
        data, ranks = seen(key), {}
        said = experts.returns(data.train.subset(sample(len(data.train), PAST)))
        for variant, (*_, fitted) in VARIANTS.items():
            found = evaluate(part(experts, said, variant), data.test)
            ranks[variant] = found
            acc = [100 * float(gains(ranks[one])["acc@1"].mean()) for one in (WHOLE, variant)]
            low, high = interval(found)
            lead_low, lead_high = interval(ranks[WHOLE], against=found)
            yield about(key, model="predictor", variant=variant, n=len(found),
                        people=int(found.user_id.nunique()),
                        fitted=len(columns_of(*VARIANTS[variant][:3])) if fitted else 0,
                        **{"acc@1": acc[1], "low": low, "high": high, "lead": acc[0] - acc[1],
                           "lead_low": lead_low, "lead_high": lead_high})  # fmt: skip


REPORT = Report(
    question="What is each part of the predictor worth, and what of it has seen real people?",
    rows=_rows,
    data=KEYS,
)
