"""GETNext on the sessions of the leaderboard, wired as its paper says and as its code is.

    PGT_GETNEXT=… python book/lab/run.py getnext

writes ``book/results/getnext.json``; the data are those of `lab.leaderboard`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from wherenext.relatives import getnext
from wherenext.relatives.getnext import PADDING, Axis, GETNext, Graph, Sessions, Settings

from lab import data_sets
from lab.leaderboard import FOLDER, check_ins
from lab.provenance import hash_of

SEEDS = (42, 1, 2)
WIRINGS: tuple[Axis, ...] = get_args(Axis)
# The published 200 epochs at the published widths would take days on one core: every width is
# halved, and there are fewer epochs. The rest is as published.
BUDGET = replace(
    Settings(), d_place=64, d_user=64, d_time=16, d_category=16, d_graph=(16, 32), d_map=64,
    d_feedforward=512, epochs=40,
)  # fmt: skip
LONGEST = 32  # visits; longer sessions are cut into pieces, or one of 272 pads its whole batch
AT_LEAST = 3  # known visits of a session that is trained on, as published


@dataclass(frozen=True)
class Data:
    """The sessions of each part, of people and places that training knows."""

    n_places: int
    n_users: int
    sessions: dict[str, Sessions]
    rows: dict[str, np.ndarray]  # of each session the row of its last check-in
    known: dict[str, np.ndarray]  # of each session how many known check-ins it has


@cache
def data(folder: Path) -> Data:
    """Read the check-ins and number people and places."""
    table = check_ins(folder)
    listed = table[table.session > 0]
    train = listed[listed.split == "train"]
    places, users = (pd.Index(np.sort(train[c].unique())) for c in ("location_id", "user_id"))
    day = listed.started_at.dt.floor("D")
    listed = listed.assign(
        place=places.get_indexer(listed.location_id), user=users.get_indexer(listed.user_id),
        day=(listed.started_at - day) / pd.Timedelta("1D"),
    )  # fmt: skip
    listed = listed[(listed.place >= 0) & (listed.user >= 0)]
    sessions, rows, known = {}, {}, {}
    for split, at_least in {"train": AT_LEAST, "valid": AT_LEAST, "test": 2}.items():
        own = listed[listed.split == split]
        number = own.groupby("session").session.transform("size")
        own = own.assign(known=number)[number >= at_least]
        piece = own.groupby("session").cumcount(ascending=False) // LONGEST
        own = own.assign(piece=piece)
        if split != "train":
            own = own[own.piece == 0]
        size = own.groupby(["session", "piece"]).session.transform("size")
        own = own[size >= at_least]
        sessions[split] = as_sessions(own)
        ends = own.groupby(["session", "piece"], sort=False).tail(1)
        rows[split], known[split] = ends.index.to_numpy(), ends.known.to_numpy()
    return Data(len(places), len(users), sessions, rows, known)


def as_sessions(own: pd.DataFrame) -> Sessions:
    """Check-ins as padded sessions, in the order of the table."""
    size = own.groupby(["session", "piece"], sort=False).size().to_numpy()
    place = torch.full((len(size), int(size.max())), PADDING)
    time = torch.zeros(place.shape)
    real = torch.arange(place.shape[1]) < torch.tensor(size)[:, None]
    place[real] = torch.tensor(own.place.to_numpy())
    time[real] = torch.tensor(own.day.to_numpy(), dtype=torch.float32)
    return Sessions(place, time, torch.tensor(own.user.to_numpy()[np.cumsum(size) - 1]))


def network(wiring: Axis, seed: int) -> GETNext:
    """A network as it starts."""
    known = data(data_sets.from_environment(FOLDER))
    torch.manual_seed(seed)
    return GETNext(Graph.of(known.sessions["train"], known.n_places), known.n_users, wiring, BUDGET)


def kept(wiring: Axis, seed: int, epoch: int) -> Path:
    """Where the weights after an epoch are kept; the same name with ``.json`` tells of it."""
    name = f"getnext-{wiring.replace(' ', '-')}-{seed}-{hash_of(Path(getnext.__file__))}-{epoch}"
    return Path(tempfile.gettempdir()) / "pgt-runs" / f"{name}.safetensors"


def train(runs: Iterable[tuple[Axis, int]]) -> None:
    """Train several networks, an epoch of each in turn, and keep every epoch."""
    sessions = data(data_sets.from_environment(FOLDER)).sessions
    models = {run: network(*run) for run in runs}
    turns = [getnext.epochs(m, sessions["train"], sessions["valid"], run[1])
             for run, m in models.items()]  # fmt: skip
    for epoch, found in enumerate(zip(*turns, strict=True)):
        for (run, model), row in zip(models.items(), found, strict=True):
            path = kept(*run, epoch)
            path.parent.mkdir(exist_ok=True)
            save_file(model.state_dict(), path)
            path.with_suffix(".json").write_text(json.dumps(row))
            print(*run, epoch, row, flush=True)


if __name__ == "__main__":  # python -m lab.getnext "over time" 42 1 2
    torch.set_num_threads(1)
    train([(axis, int(seed)) for axis in WIRINGS for seed in SEEDS if f"{axis} {seed}" in sys.argv])
