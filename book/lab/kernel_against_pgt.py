"""Where PGT and the context kernel win against each other on GeoLife, and why, for chapter 23.

    PGT_GEOLIFE=… python book/lab/run.py wins

writes ``book/results/wins.json``. Its rows belong to several tables, told apart by ``table``:

- ``windows``: test windows by a property (``by``, ``group``): who is right, in percent;
- ``people``: quantiles over people of the kernel's lead, in points;
- ``factor``: how each model's weights over visits rise with a feature
(`wherenext.disagreement`), those of tuned PGT (``pgt_tuned``) too;
- ``clock``: mean weight, times the visits in the window, by hours of the day from now;
- ``without``: the kernel without a part, its other numbers chosen anew on the validation windows;
  on all test windows (with ``low`` and ``high`` of what it loses, people resampled), and on those
  whose target is the last place; ``together``: both mixed;
- ``cells``: means over the cells of a grid with many people in each (`lab.grid`).

PGT's values are means over seeds. Groups and cells with too few people behind them are left out
(`lab.grid.enough_people`), and a grouping as a whole where what is left out could be had
by subtraction; no person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from wherenext import disagreement

from lab import data_sets, grid, models, questions
from lab.models import Run
from lab.reports import Report
from lab.runs import SEEDS
from pgt import metrics
from pgt.baselines import ContextKernel
from pgt.batch import Batch
from pgt.metrics import interval
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset, Windows

KEY = "geolife_exact"
ZONE = "Asia/Shanghai"  # the published pipeline leaves UTC; hours are read in Beijing's
SIZES = (2.0, 3.0, 4.0)  # kilometres; the finest grid with enough cells is taken
ENOUGH_CELLS = 8
Row = dict[str, Any]


@dataclass
class Opened:
    """Test windows with what every model did on them."""

    windows: Windows
    kernel: np.ndarray  # (W,) hits, 0 to 1
    pgt: list[np.ndarray]  # (W,) hits of each seed
    gate: np.ndarray  # (W,) mean over seeds
    visits: list[pd.DataFrame]  # `wherenext.disagreement.visit_weights`, by seed


@dataclass(frozen=True)
class Together:
    """Both models, their probabilities mixed; ``share`` is that of the network, 0 to 1."""

    network: PointerGeneratorTransformer
    kernel: ContextKernel
    share: float

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """(B, V) probabilities."""
        votes = self.kernel.scores(batch).clamp(min=0)  # places outside the window: no vote
        votes = votes / votes.sum(1, keepdim=True)
        mixed: Tensor = self.share * self.network(batch).log_probs.exp() + (1 - self.share) * votes
        return mixed


def hits(predictor: metrics.Predictor, windows: Windows) -> np.ndarray:
    """(W,) 1 where the first guess is right, a fraction where it shares its score."""
    return metrics.gains(metrics.evaluate(predictor, windows))["acc@1"].to_numpy()


def opponents(data: Dataset) -> Iterator[Any]:
    """The kernel, then PGT with each seed."""
    yield models.trained(KEY, Run("kernel"))[0]
    for seed in SEEDS:
        yield models.trained(KEY, Run("pgt", seed=seed))[0]


def opened(kernel: ContextKernel, nets: list[PointerGeneratorTransformer], data: Dataset) -> Opened:
    """Score the test windows once and keep what happened inside."""
    rivals: list[metrics.Predictor] = [kernel, *nets]
    right = [hits(one, data.test) for one in rivals]
    inside = [disagreement.visit_weights(net, kernel, data.test) for net in nets]
    gate = np.mean([gate for gate, _ in inside], axis=0)
    visits = [visits for _, visits in inside]
    return Opened(data.test, right[0], right[1:], gate, visits)


def windows(seen: Opened, train: Windows) -> Iterator[Row]:
    """Who is right, by what kind of question it is; then the spread over people."""
    table = questions.window_groups(seen.windows, seen.visits[0], ZONE)
    users = seen.windows.users
    counts = train.visits.user_id.value_counts()
    past = counts.reindex(users, fill_value=0).to_numpy()
    table["history"] = questions.bins(past, [150, 400, 800], "visits in training")
    table.insert(0, "all", "all")
    for by in table:
        names = table[by].cat.categories if by != "all" else ["all"]
        masks = {name: (table[by] == name).to_numpy() for name in names}
        left = np.ones(len(users), dtype=bool)
        for mask in masks.values():
            left &= ~mask if grid.enough_people(users[mask]) else True
        if left.any() and not grid.enough_people(users[left]):
            continue  # the whole minus the groups shown would be a few people
        for name, mask in masks.items():
            values = questions.paired_accuracy(seen.kernel, seen.pgt, users, mask)
            if values:
                named = {key.replace("one", "kernel").replace("other", "pgt"): value
                         for key, value in values.items()}  # fmt: skip
                yield {"table": "windows", "by": by, "group": name} | named
    lead = seen.kernel - np.mean(seen.pgt, axis=0)
    yield {"table": "people", "by": "kernel - pgt"} | questions.by_person(lead, users)


def weights(seen: Opened, tuned: list[pd.DataFrame]) -> Iterator[Row]:
    """How attention and votes rise with each feature; ``tuned`` are the visits of tuned PGT."""
    some_of = (("kernel", "kernel", seen.visits[:1]), ("pgt", "pgt", seen.visits),
               ("pgt_tuned", "pgt", tuned))  # fmt: skip
    for model, column, some in some_of:
        found = pd.DataFrame([disagreement.factors(visits, column) for visits in some])
        for feature, value in found.items():
            yield {"table": "factor", "model": model, "group": feature, "value": value.mean(),
                   "low": value.min(), "high": value.max()}  # fmt: skip
    for model, column, some in some_of:
        curves = []
        for visits in some:
            length = visits.groupby("window").age.transform("max")
            half_hours = visits["apart"].clip(upper=719) // 30
            curves.append((visits[column] * length).groupby(half_hours.to_numpy()).mean())
        for k, value in enumerate(pd.concat(curves, axis=1).reindex(range(24)).mean(axis=1)):
            yield {"table": "clock", "model": model, "hours": k / 2 + 0.25, "value": value}


def without(data: Dataset, kinds: np.ndarray) -> Iterator[Row]:
    """The kernel without a part, its other numbers chosen anew; ``kinds`` are those of targets."""
    less: dict[str, dict[str, tuple[float, ...]]] = {
        "nothing": {}, "the clock": {"clock": (0.0,), "width": (1.0,)},
        "the place before": {"same": (0.0,)},
        "the clock and the place before": {"clock": (0.0,), "width": (1.0,), "same": (0.0,)},
        "decay": {"decay": (1.0,)},
    }  # fmt: skip
    ranked = {}
    for name, fixed in less.items():
        restricted: Any = type("Restricted", (ContextKernel,), {"GRID": ContextKernel.GRID | fixed})
        kernel = restricted().fit(data.train).choose(data.valid)
        ranked[name] = metrics.evaluate(kernel, data.test)
    for name, ranks in ranked.items():
        right = metrics.gains(ranks)["acc@1"].to_numpy()
        low, high = interval(ranked["nothing"], against=ranks)
        ends = {"all": {"low": low, "high": high}}
        for group in ("all", "last place"):
            value = 100 * float(right[(kinds == group) | (group == "all")].mean())
            row = {"table": "without", "group": name, "by": group, "value": value}
            yield row | ends.get(group, {})


def together(
    kernel: ContextKernel, nets: list[PointerGeneratorTransformer], data: Dataset
) -> Iterator[Row]:
    """Both models mixed, the share of each chosen on the validation windows."""
    for seed, net in zip(SEEDS, nets, strict=True):
        net.eval()
        mixes = [Together(net, kernel, share) for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
        best = max(mixes, key=lambda mix: float(hits(mix, data.valid).mean()))
        yield {"table": "together", "seed": seed, "share": best.share,
               "value": 100 * float(hits(best, data.test).mean())}  # fmt: skip


def cells(seen: Opened) -> Iterator[Row]:
    """Means by where the person is now, and by where the visits are that get the attention."""
    now = seen.windows.visits.iloc[seen.windows.target - 1].reset_index(drop=True)
    now = now.assign(gate=seen.gate, kernel=100 * seen.kernel, in_window=seen.windows.in_window,
                     pgt=100 * np.mean(seen.pgt, axis=0))  # fmt: skip
    past = seen.windows.visits.iloc[seen.visits[0].row].reset_index(drop=True)
    length = seen.visits[0].groupby("window").age.transform("max").to_numpy()
    attention = np.mean([visits.pgt for visits in seen.visits], axis=0)
    past = past.assign(attention=attention * length, votes=seen.visits[0].kernel * length,
                       window=seen.visits[0].window, visit=seen.visits[0].row)  # fmt: skip
    for size in SIZES:
        here = grid.aggregated(now, ["gate", "in_window", "pgt", "kernel"], size)
        if len(here) >= ENOUGH_CELLS:
            break
    looked = grid.aggregated(
        past, ["attention", "votes"], size, here.attrs.get("origin"), each=("window", "visit")
    )
    for by, table in (("now", here), ("visits", looked)):
        for row in table.to_dict("records"):
            yield {"table": "cells", "by": by, "size_km": size} | {
                str(k): v for k, v in row.items()
            }


def _rows() -> Iterator[Row]:
    data = data_sets.dataset(KEY)
    kernel, *nets = opponents(data)
    seen = opened(kernel, nets, data)
    tuned: list[Any] = [models.trained(KEY, Run("pgt", "tuned", seed=seed))[0] for seed in SEEDS]
    looked = [disagreement.visit_weights(net, kernel, data.test)[1] for net in tuned]
    kinds = questions.window_groups(data.test, seen.visits[0]).target.to_numpy()
    yield from (
        *windows(seen, data.train), *weights(seen, looked), *without(data, kinds),
        *together(kernel, nets, data), *cells(seen),
    )  # fmt: skip


REPORT = Report(
    question="Where do PGT and the context kernel win against each other, and why?",
    rows=_rows,
    data=(KEY,),
    more={
        "seeds": list(SEEDS),
        "cell_rule": {
            "people": grid.PEOPLE,
            "windows": grid.WINDOWS,
            "largest_share_of_one_person": grid.LARGEST,
        },
    },
)  # fmt: skip
