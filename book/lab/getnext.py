"""GETNext on the sessions of the leaderboard, wired as its paper says and as its code is.

    PGT_GETNEXT=… python book/lab/run.py getnext

writes ``book/results/getnext.json`` for the evidence on cities and for chapter 15; the data are
those of `lab.leaderboard`. They hold no categories and no coordinates, so the network is told which
place it is where the published one is told what kind of place it is.

Rows by ``table``: ``targets`` says how many test questions each rule leaves; ``scores`` has Acc@1
and more, in percent, by ``rule`` and ``wiring``, of one seed or, without a seed, of all, with the
95 % interval over people and seeds, and Acc@1 of ``returns`` (``in past`` percent of the targets)
and of ``first`` visits of a person to a place; ``cost`` is the right wiring minus the published
one, paired; ``order`` says of how many questions, in percent, the first guess changes when the
batches are filled in another order, by person, or with one session each, and Acc@1 then; ``epochs``
is the training; ``simple`` has the leaderboard's rules on the same questions, with training and
session as their past.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, reduce
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from wherenext.relatives import getnext
from wherenext.relatives.getnext import PADDING, Axis, GETNext, Graph, Sessions, Settings

from lab import data_sets, leaderboard
from lab.leaderboard import FOLDER, LLM4POI, METRICS, check_ins
from lab.provenance import hash_of, short_hash
from lab.reports import Report, Row
from pgt.metrics import gains, interval_of_mean, rank

SEEDS = (42, 1, 2)
WIRINGS: tuple[Axis, ...] = get_args(Axis)
# The published 200 epochs would take a day on one core for six networks; the rest is as published.
BUDGET = replace(Settings(), epochs=12)
LONGEST = 32  # visits; longer sessions are cut into pieces, or one of 272 pads its whole batch
SCORED = ("ours", "GETNext", "shared")  # the rules whose questions all have a visit before
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
    settings = short_hash(repr(replace(BUDGET, epochs=0)).encode())  # any number of epochs
    code = hash_of(Path(getnext.__file__))
    name = f"getnext-{wiring.replace(' ', '-')}-{seed}-{code}-{settings}-{epoch}"
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


def trained(wiring: Axis, seed: int) -> tuple[GETNext, pd.DataFrame]:
    """A network with the weights of its best validation epoch, and all its epochs."""
    paths = [kept(wiring, seed, epoch) for epoch in range(BUDGET.epochs)]
    if not paths[-1].with_suffix(".json").exists():
        train([(wiring, seed)])
    history = pd.DataFrame([json.loads(p.with_suffix(".json").read_text()) for p in paths])
    model = network(wiring, seed)
    model.load_state_dict(load_file(paths[int(history.valid.argmax())]))
    return model, history.assign(wiring=wiring, seed=seed, epoch=np.arange(len(history)) + 1)


def rules(folder: Path) -> dict[str, np.ndarray]:
    """The test questions that each rule leaves: rows of the last check-ins of sessions."""
    table = check_ins(folder)
    listed = table[table.session > 0]
    train, test = (listed[listed.split == part] for part in ("train", "test"))
    known = test.user_id.isin(train.user_id) & test.location_id.isin(train.location_id)
    number = test[known].groupby("session").session.transform("size")
    ends = {n: test[known][number >= n].groupby("session").tail(1) for n in (1, 2, 3)}
    # STHGCN asks for what comes last of all, if training asks for it, too: not as a first check-in.
    asked = train[listed.groupby("session").cumcount()[train.index] > 0]
    last = test[listed.groupby("session").cumcount(ascending=False)[test.index] == 0]
    last = last[listed.groupby("session").cumcount()[last.index] > 0]
    last = last[last.user_id.isin(asked.user_id) & last.location_id.isin(asked.location_id)]
    found = {"ours": ends[2], "GETNext": ends[3], "STHGCN": last, "LLM4POI": ends[1]}
    rows = {name: one.index.to_numpy() for name, one in found.items()}
    return rows | {"shared": reduce(np.intersect1d, rows.values())}


@torch.no_grad()
def ranks_of(model: GETNext, known: Data, order: np.ndarray, size: int) -> pd.DataFrame:
    """The test ranks, by row, with the sessions in this order in batches of this size."""
    model.eval()
    sessions, found = known.sessions["test"].pick(order), []
    for batch in sessions.batches(size):
        steps = batch.steps()
        said, _, _ = model(steps.place, steps.time, steps.user, steps.last)
        better, tied = rank(said, steps.next_place[steps.last])
        found.append(torch.stack([batch.user, better, tied, said.argmax(1)], 1))
    table = pd.DataFrame(torch.cat(found).numpy(), columns=["user_id", "better", "tied", "guess"])
    return table.set_index(known.rows["test"][order]).sort_index()


def means(ranks: pd.DataFrame, returns: pd.Series) -> Row:
    """All metrics in percent, and Acc@1 of ``returns`` to a place and of ``first`` visits."""
    own, back = 100 * gains(ranks), returns[ranks.index]
    apart = {"returns": own["acc@1"][back].mean(), "first": own["acc@1"][~back].mean()}
    return {**own[METRICS].mean(), **apart}


def scores(
    asked: dict[str, np.ndarray], runs: dict[Axis, list[pd.DataFrame]], returns: pd.Series
) -> Iterator[Row]:
    """What the networks get by each rule, and what the published wiring costs."""
    for rule in SCORED:
        chosen = {name: [run.loc[asked[rule]] for run in own] for name, own in runs.items()}
        for wiring, own in chosen.items():
            found = pd.DataFrame([means(one, returns) for one in own])
            head = {"table": "scores", "rule": rule, "wiring": wiring, "n": len(own[0]),
                    "people": own[0].user_id.nunique(),
                    "in past": 100 * float(returns[own[0].index].mean())}  # fmt: skip
            for seed, (_, mean) in zip(SEEDS, found.iterrows(), strict=True):
                yield head | {"seed": seed, **mean}
            low, high = interval_of_mean(own)
            yield head | {"seed": None, **found.mean(), "low": low, "high": high}
        right, released = (chosen[wiring] for wiring in WIRINGS)
        both = [100 * np.mean([gains(one)["acc@1"].mean() for one in own])
                for own in (right, released)]  # fmt: skip
        low, high = interval_of_mean(right, against=released)
        yield {"table": "cost", "rule": rule, "value": both[0] - both[1], "low": low, "high": high,
               "n": len(right[0]), "people": right[0].user_id.nunique()}  # fmt: skip


def simple(asked: dict[str, np.ndarray], table: pd.DataFrame) -> Iterator[Row]:
    """What rules without training get on the same questions, with training and session as past."""
    for model in ("most_frequent", "kernel"):
        found = leaderboard.ranks_of(model, False, None)[LLM4POI]
        found = found.set_index(leaderboard.targets(table, "test"))
        for rule in SCORED:
            own = found.loc[asked[rule]]
            low, high = interval_of_mean([own])
            yield {"table": "simple", "rule": rule, "model": model, "n": len(own),
                   "people": own.user_id.nunique(), **(100 * gains(own)[METRICS].mean()),
                   "low": low, "high": high}  # fmt: skip


def shuffled(known: Data, seed: int) -> np.ndarray:
    """An order of the test sessions; that of the published code comes from a set."""
    return np.random.default_rng(seed).permutation(len(known.rows["test"]))


def orders(known: Data, wiring: Axis, seed: int, model: GETNext, then: pd.DataFrame) -> Row:
    """How much the answers of one network change with what stands beside a session."""
    row: Row = {"table": "order", "wiring": wiring, "seed": seed, "n": len(then),
                "people": then.user_id.nunique()}  # fmt: skip
    by_person = np.arange(len(then))
    others = {"shuffled": (shuffled(known, 1), BUDGET.batch_size),
              "by person": (by_person, BUDGET.batch_size), "alone": (by_person, 1)}  # fmt: skip
    for name, (order, size) in others.items():
        now = ranks_of(model, known, order, size)
        row[f"{name} acc@1"] = 100 * float(gains(now)["acc@1"].mean())
        row[f"{name} changed"] = 100 * float((now.guess != then.guess).mean())
    return row


def measured() -> Iterator[Row]:
    """All rows."""
    folder = data_sets.from_environment(FOLDER)
    known, asked = data(folder), rules(folder)
    for rule, rows in asked.items():
        yield {"table": "targets", "rule": rule, "n": len(rows)}
    runs: dict[Axis, list[pd.DataFrame]] = {wiring: [] for wiring in WIRINGS}
    histories = []
    for wiring, own in runs.items():
        for seed in SEEDS:
            model, history = trained(wiring, seed)
            histories.append(history)
            own.append(ranks_of(model, known, shuffled(known, 0), BUDGET.batch_size))
            yield orders(known, wiring, seed, model, own[-1])
    table = check_ins(folder)
    yield from scores(asked, runs, table.duplicated(["user_id", "location_id"]))
    yield from simple(asked, table)
    yield from pd.concat(histories).assign(table="epochs").to_dict("records")


def about(measured: list[Row]) -> list[Row]:
    """What there is to say of the data."""
    known = data(data_sets.from_environment(FOLDER))
    sizes = {part: len(own) for part, own in known.sessions.items()}
    return [{"name": "new york, as GETNext cut it", "places": known.n_places,
             "people": known.n_users, "sessions": sizes, "longest": LONGEST}]  # fmt: skip


REPORT = Report(
    question="What does GETNext get on the leaderboard, and what does its published wiring cost?",
    rows=measured,
    data=about,
    more={"seeds": [*SEEDS], "settings": asdict(BUDGET), "published": asdict(Settings())},
)


if __name__ == "__main__":  # python -m lab.getnext "over time 42" "over the batch 1"
    torch.set_num_threads(1)
    train([(axis, int(seed)) for axis in WIRINGS for seed in SEEDS if f"{axis} {seed}" in sys.argv])
