"""Pretraining: the predictor's weights, learned from simulated people alone.

Its networks know places by their relations, and have no name of any place or person in them. So
they can be trained in worlds that do not exist, and taken to one that does. They are chosen on
worlds that they were not trained on. No real window has a say in it; only the family of worlds
replaced a first one that had been scored on real people (see ``data/README.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from torch import nn
from wherenext.worlds import USERS, WorldConfig, world

from pgt.config import TargetTime, TrainConfig, WindowConfig
from pgt.metrics import evaluate, gains
from pgt.predictor.contextual import MEMORY, OLDER, TRAINING, new_network
from pgt.predictor.memory import with_history
from pgt.predictor.pool import Experts
from pgt.predictor.predictor import NETWORKS, NextLocation, promises
from pgt.train import fit
from pgt.windows import Dataset, Windows, prepare


@dataclass(frozen=True)
class Pretraining:
    """How much is simulated, and how it is learned."""

    worlds: int = 80  # to train in
    held_out: int = 16  # worlds to choose on
    windows: int = 750  # of each world
    held_out_windows: int = 400
    training: TrainConfig = field(default_factory=lambda: replace(TRAINING, max_epochs=6))
    config: WorldConfig = field(default_factory=WorldConfig)  # what the worlds have


def simulated(plan: Pretraining) -> Dataset:
    """The windows of all worlds: ``train`` to learn from, ``valid`` of worlds that are held out."""
    numbers = range(plan.worlds + plan.held_out)
    parts = [world(number, config=plan.config) for number in numbers]
    visits = pd.concat(parts, ignore_index=True)
    visits["split"] = np.where(visits.pop("world") < plan.worlds, "train", "valid")
    data = prepare(visits, config=WindowConfig(protocol="exact", min_visits=1))
    seen = with_history(data, MEMORY, OLDER)
    return replace(seen, train=_some(seen.train, plan.windows),
                   valid=_some(seen.valid, plan.held_out_windows))  # fmt: skip


def diaries(data: Dataset) -> Dataset:
    """The windows of worlds in which visits have an end: whose people keep a diary."""
    parts = {}
    for name in ("train", "valid"):
        windows = getattr(data, name)
        visits = windows.visits
        lasting = (visits.finished_at > visits.started_at).groupby(visits.user_id // USERS).any()
        parts[name] = windows.subset(lasting[np.asarray(windows.users) // USERS].to_numpy())
    return replace(data, **parts)


def _some(windows: Windows, n: int) -> Windows:
    """As many windows of each world, drawn at random."""
    rng = np.random.default_rng(5)
    of = np.asarray(windows.users) // USERS
    kept = [rng.permutation(np.flatnonzero(of == one))[:n] for one in np.unique(of)]
    return windows.subset(np.sort(np.concatenate(kept)))


def expert(data: Dataset, target_time: TargetTime, training: TrainConfig) -> Any:
    """Train one network from its first weights: in worlds of one kind, or on real people."""
    network = new_network(training.seed, target_time)
    fit(network, data.train, data.valid, training, progress=False)
    return network


def pretrain(seed: int = 42) -> NextLocation:
    """The predictor, trained in simulated worlds and calibrated on those that were held out.

    The seed is of first weights, shuffling and dropout; the worlds are always the same.
    """
    plan = Pretraining()
    data = simulated(plan)
    experts: dict[str, Any] = {}
    for name, target_time in NETWORKS.items():
        parts = (data, diaries(data))
        training = replace(plan.training, seed=seed)
        networks = [expert(part, target_time, training) for part in parts]
        experts[name] = Experts(networks)
    both = nn.ModuleDict(experts).eval()
    score = 100 * gains(evaluate(experts["next_place"], data.valid))["acc@1"].mean()
    notes = {
        "trained on": f"{plan.worlds} simulated worlds, {len(data.train)} windows, no real person",
        "seed": seed, "held-out worlds": plan.held_out, "acc@1 there": round(float(score), 1),
    }  # fmt: skip
    return NextLocation(both, *promises(both, data.valid), notes)
