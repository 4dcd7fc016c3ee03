"""Where PGT and the context kernel win against each other on GeoLife, and why, for chapter 23.

    PGT_GEOLIFE=… python book/lab/run.py wins

writes ``book/results/wins.json``. By ``table``:

- ``windows``: test windows by a property (``by``, ``group``): how often each is right, in percent;
- ``factor``: how each model's weights over visits rise with a feature
(`wherenext.disagreement`), those of tuned PGT (``pgt_tuned``) too;
- ``clock``: mean weight, times the visits in the window, by hours of the day from now;
- ``without``: the kernel without a part, its other numbers chosen anew on the validation windows;
  ``low`` and ``high`` of what it loses, people resampled;
- ``together``: both mixed.

PGT's values are means over seeds. Groups with too few people behind them are left out, and a
grouping as a whole where what is left out could be had by subtraction; no person, place or moment
can be recognized in the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from wherenext.disagreement import CLOSE, factors, visit_weights

from lab import data_sets, models
from lab.anonymity import enough_people
from lab.models import Run
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt import metrics
from pgt.baselines import ContextKernel
from pgt.batch import Batch
from pgt.metrics import interval, percentile_interval, resampled_means
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset, Windows

KEY = "geolife_exact"
ZONE = "Asia/Shanghai"  # the published pipeline leaves UTC; days are those of Beijing


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


def window_groups(windows: Windows, visits: pd.DataFrame, zone: str | None = None) -> pd.DataFrame:
    """What kind of question each window is; every column is a way to group the windows."""
    places = windows.features[0].numpy()[1:]
    seen = visits.assign(place=places[visits.row], target=windows.targets[visits.window])
    seen["hit"] = seen.place == seen.target
    top = seen.groupby("window")["count"].max().to_numpy()
    own = seen["count"].where(seen.hit, 0).groupby(seen.window).max().to_numpy()
    inside, known = windows.in_window, windows.vocabulary.is_known(windows.targets)
    follows = (seen.hit & seen.same_before).groupby(seen.window).any().to_numpy()
    at_hour = (seen.hit & (seen["apart"] <= CLOSE)).groupby(seen.window).any().to_numpy()
    now = windows.visits.finished_at.iloc[windows.target - 1]
    now = now if zone is None else now.dt.tz_convert(zone)
    gap = windows.visits.started_at.iloc[windows.target].array - now.array
    unique = seen.groupby("window").place.nunique().to_numpy() / windows.lengths
    columns = {
        "target": _choose(
            [windows.targets == places[windows.target - 1], inside & (own == top), inside, known],
            ["last place", "most frequent place", "other place in the window",
             "known place, not in the window", "new place"],
        ),
        "match": _choose(
            [~inside, follows & at_hour, follows, at_hour],
            ["not in the window", "both", "same place before", "same hour", "neither"],
        ),
        "unique": _bins(100 * unique, [30, 45, 60], "%"),
        "day": _choose([now.dt.day_of_week < 5], ["Monday to Friday", "weekend"]),
        "gap": _bins(gap / pd.Timedelta(hours=1), [0.5, 1, 3, 12], "hours"),
    }  # fmt: skip
    return pd.DataFrame(columns)


def _choose(conditions: Sequence[object], names: list[str]) -> pd.Categorical:
    """The name of the first condition that holds; the last name where none does."""
    arrays = [np.asarray(condition) for condition in conditions]
    return pd.Categorical(np.select(arrays, names[:-1], names[-1]), names, ordered=True)


def _bins(values: object, edges: list[float], unit: str) -> pd.Categorical:
    """Names such as "under 30 %", "30 to 45 %" (45 is in the next), "from 45 %"."""
    names = [f"under {edges[0]:g} {unit}"]
    names += [f"{low:g} to {high:g} {unit}" for low, high in itertools.pairwise(edges)]
    names.append(f"from {edges[-1]:g} {unit}")
    at = np.searchsorted(edges, np.asarray(values, dtype=float), side="right")
    return pd.Categorical.from_codes(at.tolist(), names, ordered=True)


def windows(
    test: Windows, visits: pd.DataFrame, kernel: np.ndarray, pgt: np.ndarray
) -> Iterator[Row]:
    """Who is right, (W,) each, by what kind of question it is."""
    table, users = window_groups(test, visits, ZONE), test.users
    table.insert(0, "all", pd.Categorical(["all"] * len(table)))
    for by in table:
        masks = {name: (table[by] == name).to_numpy() for name in table[by].cat.categories}
        shown = {name: mask for name, mask in masks.items() if enough_people(users[mask])}
        left = ~np.any([*shown.values()], axis=0)
        if left.any() and not enough_people(users[left]):
            continue  # the whole minus the groups shown would be a few people
        for name, mask in shown.items():
            right = [100 * float(one[mask].mean()) for one in (kernel, pgt)]
            low, high = percentile_interval(
                100 * resampled_means([(kernel - pgt)[mask]], users[mask], draws=1000)
            )
            yield {
                "table": "windows", "by": by, "group": name, "n": int(mask.sum()),
                "people": len(set(users[mask])), "kernel": right[0], "pgt": right[1],
                "difference": right[0] - right[1], "low": float(low), "high": float(high),
            }  # fmt: skip


def weights(plain: list[pd.DataFrame], tuned: list[pd.DataFrame]) -> Iterator[Row]:
    """How attention and votes rise with each feature, from `visit_weights` of PGT by seed."""
    kernel, pgt, of_tuned = (
        ("kernel", "kernel", plain[:1]), ("pgt", "pgt", plain), ("pgt_tuned", "pgt", tuned)
    )  # fmt: skip
    for model, column, some in (kernel, pgt, of_tuned):
        found = pd.DataFrame([factors(visits, column) for visits in some])
        for feature, value in found.mean().items():
            yield {"table": "factor", "model": model, "group": feature, "value": value}
    for model, column, some in (kernel, of_tuned):
        curves = []
        for visits in some:
            length = visits.groupby("window").age.transform("max")
            half_hours = visits["apart"].clip(upper=719) // 30
            curves.append((visits[column] * length).groupby(half_hours.to_numpy()).mean())
        for k, value in enumerate(pd.concat(curves, axis=1).reindex(range(24)).mean(axis=1)):
            yield {"table": "clock", "model": model, "hours": k / 2 + 0.25, "value": value}


def without(data: Dataset) -> Iterator[Row]:
    """The kernel without a part, its other numbers chosen anew."""
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
        low, high = interval(ranked["nothing"], against=ranked[name])
        yield {"table": "without", "group": name, "by": "all", "low": low, "high": high,
               "value": 100 * float(metrics.gains(ranked[name])["acc@1"].mean())}  # fmt: skip


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


def _trained(variant: str) -> list[Any]:
    """PGT with each seed."""
    return [models.trained(KEY, Run("pgt", variant, seed=seed))[0] for seed in SEEDS]


def _rows() -> Iterator[Row]:
    data = data_sets.dataset(KEY)
    kernel: Any = models.trained(KEY, Run("kernel"))[0]
    plain, tuned = _trained("full"), _trained("tuned")
    seen, seen_tuned = ([visit_weights(net, kernel, data.test)[1] for net in nets]
                        for nets in (plain, tuned))  # fmt: skip
    pgt = np.mean([hits(net, data.test) for net in plain], axis=0)
    yield from (
        *windows(data.test, seen[0], hits(kernel, data.test), pgt), *weights(seen, seen_tuned),
        *without(data), *together(kernel, plain, data),
    )  # fmt: skip


REPORT = Report(
    question="Where do PGT and the context kernel win against each other, and why?",
    rows=_rows,
    data=(KEY,),
    more={"seeds": list(SEEDS)},
)
