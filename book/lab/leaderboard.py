"""The leaderboard that the field quotes: New York as GETNext cut it, for chapter 23.

    PGT_GETNEXT=… python book/lab/run.py leaderboard

writes ``book/results/leaderboard.json``. The folder holds what GNPR-SID's public repository has of
these check-ins: ``train_data.csv``, ``test_data.csv`` and ``test_id.json``, the 876 prompts. The
sessions are rebuilt as GETNext's paper says (Yang et al. 2022): check-ins of one person less than a
day apart, three or more of them, cut by time; the target is the last check-in of a session of the
last part, of a person and a place that training shows. That leaves a few sessions more than the
published file has (``sessions`` in the header); the file itself is lost with its repository.

A row says on which ``questions`` (sessions or prompts), with which ``past``, whether the model was
``told`` when the target is, which model, and Acc@1 with its 95 % interval, people and seeds
resampled; ``lead`` is that over the kernel of the same past that was told as much. ``in_past`` is
the share of targets, in percent, that the past holds. Rows with a seed are single runs. Rows whose
questions are "published" hold figures of papers and what each model saw; their sessions are nearly,
not exactly, these.

Every number of the kernel, and the epoch of a network, is chosen on sessions of the validation
part. Training is the same for both pasts, since before the cut they are the same.
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from wherenext import pointer_variants

from lab import data_sets, models
from lab.provenance import code_hash
from lab.reports import Report
from lab.runs import SEEDS
from pgt.baselines import fit_baseline
from pgt.config import TargetTime
from pgt.errors import DataError
from pgt.metrics import Predictor, evaluate, gains, interval_of_mean
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.contextual import MEMORY, OLDER
from pgt.predictor.memory import HistoryBatch, HistoryWindows, of_rows
from pgt.predictor.predictor import NextLocation
from pgt.train import fit
from pgt.visits import check
from pgt.vocabulary import Vocabulary
from pgt.windows import DEFAULT, ENCODED_FIELDS, Dataset, Windows, encode

FOLDER = "PGT_GETNEXT"
EVERY, LLM4POI, PROMPTS = "every earlier visit", "training and session", "prompt"
BEGINS = 3  # earlier visits of a person, before training asks for the next
METRICS = ["acc@1", "acc@5", "acc@10", "mrr"]
MODELS: dict[str, Sequence[int | None]] = {
    "most_frequent": (None,), "kernel": (None,), "pgt": SEEDS[:3], "contextual": SEEDS,
    "predictor": (None,),
}  # fmt: skip
CANNOT_BE_TOLD = ("most_frequent", "pgt")
# Acc@1 in percent, told the time or not, and what the model sees of the person, by its paper.
PUBLISHED = (
    ("GETNext", 24.35, False, "the session; all training sessions as weights and a graph"),
    ("STHGCN", 27.34, False, "the session, and a graph of all earlier sessions of everybody"),
    ("LLM4POI", 33.72, True, "the session, and like training sessions of everybody"),
    ("GNPR-SID", 36.18, True, "the 876 prompts: up to fifty visits"),
)
PROMPT = re.compile(r"<(\d+)> at (\d+-\d+-\d+ \d+:\d+)")
ASKED = re.compile(r"When (\d+-\d+-\d+ \d+:\d+) user_(\d+)")
Row = dict[str, Any]


def visits_of(user: Any, place: Any, time: Any, of: Any = 0) -> pd.DataFrame:
    """Check-ins as visits, a second apart where one file ``of`` a person has several a minute."""
    table = pd.DataFrame({"user_id": user, "location_id": place, "time": pd.to_datetime(time)})
    same = table.assign(of=of).groupby(["of", "user_id", "time"]).cumcount()
    # In truth the clock is New York's.
    when = (table.pop("time") + pd.to_timedelta(same, unit="s")).dt.tz_localize("UTC")
    return table.assign(started_at=when, finished_at=when)


def check_ins(folder: Path) -> pd.DataFrame:
    """All check-ins, with ``split`` by time and the number of their ``session``, 0 = too short."""
    parts = [pd.read_csv(folder / f"{name}_data.csv") for name in ("train", "test")]
    until = pd.Timestamp(parts[0].Time.max(), tz="UTC")
    key = ["Uid", "Pid", "Time"]
    # The two files overlap; a check-in made twice in a minute stands twice in one file.
    raw = pd.concat([part.assign(again=part.groupby(key).cumcount()) for part in parts])
    raw = raw.drop_duplicates([*key, "again"]).sort_values("Time", kind="stable", ignore_index=True)
    table = check(visits_of(raw.Uid, raw.Pid, raw.Time))
    time, minute = table.started_at, table.started_at.dt.floor("min")
    later = np.sort(minute[minute > until])
    middle = later[len(later) // 2]
    table["split"] = np.select([minute <= until, minute <= middle], ["train", "valid"], "test")
    begins = (table.user_id != table.user_id.shift()) | (time.diff() > pd.Timedelta("24h"))
    table["session"] = begins.cumsum()
    long = table.groupby("session").session.transform("size") >= 3
    return table.assign(session=table.session.where(long, 0))


def targets(table: pd.DataFrame, split: str) -> np.ndarray:
    """(W,) rows of the last check-in of each session, of people and places of the training."""
    table = table[table.session > 0]
    train, own = table[table.split == "train"], table[table.split == split]
    known = own.user_id.isin(train.user_id) & own.location_id.isin(train.location_id)
    own = own[known]
    own = own[own.groupby("session").session.transform("size") >= 2]
    return own.groupby("session").tail(1).index.to_numpy()


def as_llm4poi(table: pd.DataFrame, rows: np.ndarray) -> list[np.ndarray]:
    """Of each target what may be seen: the person's training sessions and this one; it is last."""
    listed = table[table.session > 0]
    train = listed[listed.split == "train"]
    before = dict(iter(train.groupby("user_id").groups.items()))
    session = dict(iter(listed.groupby("session").groups.items()))
    user, number = table.user_id.to_numpy()[rows], table.session.to_numpy()[rows]
    seen = (np.union1d(before[u], session[s]) for u, s in zip(user, number, strict=True))
    return [own[own <= row] for own, row in zip(seen, rows, strict=True)]


def windows_apart(
    table: pd.DataFrame, features: Tensor, vocabulary: Vocabulary, seen: list[np.ndarray]
) -> HistoryWindows:
    """Windows with a past of their own: the rows that each may see, its target the last."""
    rows, sizes = np.concatenate(seen), np.array([len(own) for own in seen])
    visits = table.iloc[rows].reset_index(drop=True)
    apart = visits.assign(user_id=np.repeat(np.arange(len(seen)), sizes))
    columns = features[:, np.append(0, 1 + rows)]
    ends = np.cumsum(sizes) - 1
    (found,) = of_rows(apart, columns, vocabulary, [ends], MEMORY, OLDER)
    return replace(found, visits=visits)


def prompts(folder: Path) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """The published prompts as visits, and the rows of each, with its target behind them."""
    listed = []
    for number, one in enumerate(json.loads((folder / "test_id.json").read_text())):
        asked = ASKED.search(one["input"])
        if asked is None:
            raise DataError(f"A prompt of test_id.json names no time: {one['input'][-60:]!r}.")
        past = [*PROMPT.findall(one["input"]), (one["output"].strip("<>"), asked[1])]
        listed += [(number, int(asked[2]), int(place), time) for place, time in past]
    of, user, place, time = (np.array(column) for column in zip(*listed, strict=True))
    ends = np.flatnonzero(np.diff(of)) + 1
    return visits_of(user, place, time, of), np.split(np.arange(len(of)), ends)


@dataclass(frozen=True)
class Questions:
    """What is learned from, what is chosen on, and what is asked, by the past that is seen."""

    train: HistoryWindows
    valid: dict[str, HistoryWindows]
    test: dict[str, HistoryWindows]
    table: pd.DataFrame


@cache
def questions(folder: Path) -> Questions:
    """All windows of the leaderboard."""
    table = check_ins(folder)
    vocabulary = Vocabulary.build(table, "exact")
    features = encode(table, vocabulary)
    number = table.groupby("user_id").cumcount()
    train = np.flatnonzero((table.split == "train") & (number >= BEGINS))
    rows = [train, targets(table, "valid"), targets(table, "test")]
    found = [*of_rows(table, features, vocabulary, rows, MEMORY, OLDER)]
    as_theirs = [windows_apart(table, features, vocabulary, as_llm4poi(table, r)) for r in rows[1:]]
    asked, seen = prompts(folder)
    last = windows_apart(asked, encode(asked, vocabulary), vocabulary, seen)
    return Questions(found[0], {EVERY: found[1], LLM4POI: as_theirs[0]},
                     {EVERY: found[2], LLM4POI: as_theirs[1], PROMPTS: last}, table)  # fmt: skip


class Told(HistoryWindows):
    """Windows whose *now* is the moment of the target, for the kernel's clock."""

    def batch(
        self, index: np.ndarray | list[int] | int, max_len: int | None = None
    ) -> HistoryBatch:
        batch = super().batch(index, max_len)
        return replace(batch, now_minute=batch.target_minute)


def week(windows: HistoryWindows) -> Windows:
    """The same questions with the visits of seven days alone, which is what PGT looks at."""
    day = windows.features.numpy()[ENCODED_FIELDS.index("start_day"), 1:]
    rows = windows.target[:, None] - np.arange(1, MEMORY + 1)  # (W, MEMORY) the last one first
    recent = day[rows.clip(0)] >= day[rows[:, :1]] - DEFAULT.days
    seen = (recent & (rows >= windows.floor[:, None])).sum(1)
    return Windows(windows.visits, windows.features, windows.target - seen, windows.target,
                   windows.vocabulary)  # fmt: skip


def view(name: str, told: bool, windows: HistoryWindows) -> Windows:
    """The windows as a model looks at them."""
    if name == "pgt":
        return week(windows)
    if not (told and name == "kernel"):
        return windows
    return Told(**{one.name: getattr(windows, one.name) for one in fields(HistoryWindows)})


def learned(name: str, told: bool, seed: int | None, train: Windows, valid: Windows) -> Predictor:
    """A model, fitted or trained on the training part; what is chosen is chosen on validation."""
    if name == "predictor":
        part = "at_a_time" if told else "next_place"
        return NextLocation.pretrained().experts[part].fit_weights(train)
    if seed is None:
        return fit_baseline(name, train, valid)
    torch.manual_seed(seed)
    time: TargetTime = "time" if told else "unknown"
    if name == "pgt":
        shape, training = models.preset("new_york", train.vocabulary, seed)
        model: Any = PointerGeneratorTransformer(shape)
    else:
        data = Dataset(train, valid, valid, train.vocabulary, DEFAULT)
        full: Any = pointer_variants.VARIANTS["full"]
        model, training = pointer_variants.build(full, data, seed, time)
    fit(model, train, valid, training, progress=False)
    return model


def ranks_of(name: str, told: bool, seed: int | None) -> dict[str, pd.DataFrame]:
    """The ranks of one run, by the past that is seen; finished runs are kept."""
    path = Path(tempfile.gettempdir()) / "pgt-runs"
    path = path / f"leaderboard-{name}-{told}-{seed}-{code_hash()}.parquet"
    if not path.exists():
        asked, parts, model = questions(data_sets.from_environment(FOLDER)), [], None
        for past, windows in asked.test.items():
            if model is None or seed is None:  # a network is trained once
                splits = asked.train, asked.valid.get(past, asked.valid[EVERY])
                model = learned(name, told, seed, *(view(name, told, one) for one in splits))
            ranks = evaluate(model, view(name, told, windows))
            parts.append(ranks.assign(past=past, in_past=holds(windows)))
        path.parent.mkdir(exist_ok=True)
        pd.concat(parts).to_parquet(path, index=False)
    return dict(iter(pd.read_parquet(path).groupby("past", sort=False)))


def holds(windows: HistoryWindows) -> np.ndarray:
    """(W,) whether the past, summaries included, holds the target's place."""
    found = np.zeros(len(windows), dtype=bool)
    for batch in windows.batches(256):
        found[batch.index] = (batch.location == batch.target[:, None]).any(1)
    return found


def rows() -> Iterator[Row]:
    """Every model on every kind of question, then what papers report."""
    for told in (False, True):
        names = [name for name in MODELS if not (told and name in CANNOT_BE_TOLD)]
        runs = {name: [ranks_of(name, told, seed) for seed in MODELS[name]] for name in names}
        for past, name in itertools.product((EVERY, LLM4POI, PROMPTS), names):
            own, kernel = ([run[past] for run in runs[one]] for one in (name, "kernel"))
            about = {"questions": "prompts" if past == PROMPTS else "sessions", "past": past,
                     "told": told, "model": name, "n": len(own[0]),
                     "people": own[0].user_id.nunique(),
                     "in_past": 100 * float(own[0].in_past.mean())}  # fmt: skip
            means = [100 * gains(one)[METRICS].mean() for one in own]
            for seed, mean in zip(MODELS[name], means, strict=True):
                if seed is not None:
                    yield about | {"seed": seed, **mean}
            mean, base = sum(means) / len(means), 100 * gains(kernel[0])["acc@1"].mean()
            spans = interval_of_mean(own), interval_of_mean(own, against=kernel)
            yield about | {"seed": None, **mean, "low": spans[0][0], "high": spans[0][1],
                           "lead": mean["acc@1"] - base, "lead_low": spans[1][0],
                           "lead_high": spans[1][1]}  # fmt: skip
    for name, value, told, saw in PUBLISHED:
        yield {"questions": "published", "past": saw, "told": told, "model": name, "acc@1": value}


def about(measured: list[Row]) -> list[Row]:
    """What there is to say of the data."""
    table = questions(data_sets.from_environment(FOLDER)).table
    listed = table[table.session > 0]
    return [{"name": "new york, as GETNext cut it", "check-ins": len(table),
             "sessions": int(listed.session.nunique()), "in sessions": len(listed),
             "people": int(listed.user_id.nunique())}]  # fmt: skip


REPORT = Report(
    question="How good are our models on the leaderboard of next-place prediction in New York?",
    rows=rows,
    data=about,
    more={"published": {"check-ins": 147_938, "sessions": 14_130}, "seeds": [*SEEDS]},
)
