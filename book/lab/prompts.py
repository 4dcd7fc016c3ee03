"""The 876 prompts of GNPR-SID: what more of a person's past, and five networks together, are worth.

    PGT_GETNEXT=… python book/lab/run.py prompts

writes ``book/results/prompts.json``. The questions of `lab.leaderboard` that are the same to the
letter as those of others. There a model sees the prompt alone, up to fifty check-ins; but GNPR-SID
and Think2Go were trained on these people's earlier check-ins, by name. So a second ``past`` joins
the person's check-ins of the training part to those of the prompt. "five together" is the mean of
what five trained pointers (seeds) say of each place; a plain "contextual" is the mean of their
scores.

Whatever was chosen was chosen on other ``questions``, "before": each of the same people's ten
check-ins before the one that is asked for, as far as they lie after the training part, each with up
to 49 check-ins before it, as the prompts have it. What else we tried there and left out, since it
gained less than half a point: how busy a place is at each hour and weekday, where everybody goes
from here, places where the person has never been, boosted trees on all that and more, and a network
trained with 49 check-ins of past.

All models are told the time. A row says whether all questions count or those whose place
training ``known`` shows, ``n``, ``people``, in percent how many targets the past holds
(``in_past``), and Acc@1 in percent with its 95 % interval, people and seeds resampled.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from wherenext import pointer_variants

from lab import data_sets
from lab.leaderboard import (
    EVERY,
    FOLDER,
    PROMPTS,
    Questions,
    holds,
    learned,
    prompts,
    questions,
    view,
    windows_apart,
)
from lab.provenance import code_hash
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt import checkpoint
from pgt.metrics import evaluate, gains, interval_of_mean
from pgt.predictor.contextual import ContextualPointer, Mixture
from pgt.predictor.memory import HistoryWindows
from pgt.windows import DEFAULT, Dataset, encode

LONGER = "prompt and training"
ASKED, BEFORE = "prompts", "before"
BACK = 10  # check-ins of each person before the one that is asked for
SHOWN = 49  # check-ins that a prompt shows
FEWEST = 4  # check-ins before one of the questions to choose on
RULES = ("kernel", "predictor")


class Together:
    """Several pointers, whose probabilities are averaged."""

    def __init__(self, models: list[Any]) -> None:
        self.models, self.config = models, models[0].config

    def own_scores(self, batch: Any) -> Mixture:
        """The mean over all, of the window's places."""
        found = [model.own_scores(batch) for model in self.models]
        said = torch.stack([one.pointer for one in found]).logsumexp(0) - np.log(len(found))
        return Mixture(found[0].place, said)


def before_the_prompts(asked: Questions, folder: Path) -> np.ndarray:
    """(W,) rows of the check-ins to choose on, after the training part and before each prompt's."""
    table, (visits, rows) = asked.table, prompts(folder)
    until = table.started_at[table.split == "train"].max()
    minute, own = table.started_at.dt.floor("min"), table.groupby("user_id").indices
    found = []
    for row in (one[-1] for one in rows):
        target = visits.iloc[row]
        mine = own[target.user_id]
        mine = mine[(minute.iloc[mine] < target.started_at.floor("min")).to_numpy()]
        late = mine[FEWEST:][-BACK:]
        found.append(late[(table.started_at.iloc[late] > until).to_numpy()])
    return np.concatenate(found)


def asked_before(asked: Questions, folder: Path) -> dict[str, HistoryWindows]:
    """The questions to choose on, by past."""
    table, rows = asked.table, before_the_prompts(asked, folder)
    own, train = table.groupby("user_id").indices, (table.split == "train").to_numpy()
    parts: dict[str, list[np.ndarray]] = {PROMPTS: [], LONGER: []}
    for row, user in zip(rows, table.user_id.iloc[rows], strict=True):
        past = own[user][own[user] < row]
        parts[PROMPTS].append(np.append(past[-SHOWN:], row))
        parts[LONGER].append(np.append(np.union1d(past[train[past]], past[-SHOWN:]), row))
    vocabulary = asked.train.vocabulary
    features = encode(table, vocabulary)
    return {past: windows_apart(table, features, vocabulary, seen) for past, seen in parts.items()}


def longer(asked: Questions, folder: Path) -> HistoryWindows:
    """The prompts, and before each the person's check-ins of the training part."""
    (visits, rows), table = prompts(folder), asked.table
    own, train = table.groupby("user_id").indices, (table.split == "train").to_numpy()
    both = pd.concat([table[visits.columns], visits], ignore_index=True)
    seen = []
    for prompt in rows:
        first = visits.iloc[prompt[0]]
        past = own[first.user_id]
        early = (table.started_at.iloc[past] < first.started_at.floor("min")).to_numpy()
        seen.append(np.append(past[early & train[past]], len(table) + prompt))
    vocabulary = asked.train.vocabulary
    return windows_apart(both, encode(both, vocabulary), vocabulary, seen)


def pointers(asked: Questions) -> list[ContextualPointer]:
    """The trained pointers that are told the time, one a seed; those that are kept are taken."""
    found, folder = [], Path(tempfile.gettempdir()) / "pgt-runs"
    for seed in SEEDS:
        path = folder / f"prompts-{seed}-{code_hash()}.safetensors"
        if not path.is_file():
            model: Any = learned("contextual", True, seed, asked.train, asked.valid[EVERY])
            folder.mkdir(exist_ok=True)
            checkpoint.write_tensors(path, model.state_dict(), {})
        data = Dataset(asked.train, asked.train, asked.train, asked.train.vocabulary, DEFAULT)
        model, _ = pointer_variants.build(pointer_variants.VARIANTS["full"], data, seed, "time")
        model.load_state_dict(checkpoint.read_tensors(path)[0])
        found.append(model.eval())
    return found


def _rows() -> Iterator[Row]:
    folder = data_sets.from_environment(FOLDER)
    asked = questions(folder)
    parts = {(ASKED, PROMPTS): asked.test[PROMPTS], (ASKED, LONGER): longer(asked, folder)}
    parts |= {(BEFORE, past): part for past, part in asked_before(asked, folder).items()}
    models: dict[str, list[Any]] = {"contextual": pointers(asked)}
    models["five together"] = [Together(models["contextual"])]
    for name in RULES:
        splits = (view(name, True, part) for part in (asked.train, asked.valid[EVERY]))
        models[name] = [learned(name, True, None, *splits)]
    for ((which, past), part), name in itertools.product(parts.items(), models):
        ranks = [evaluate(model, view(name, True, part)) for model in models[name]]
        held = holds(part)
        for known in (False, True):
            kept = ranks[0].known.to_numpy() | (not known)
            some = [run[kept] for run in ranks]
            low, high = interval_of_mean(some)
            means = [100 * gains(run)["acc@1"].mean() for run in some]
            yield {"questions": which, "past": past, "told": True, "model": name,
                   "known": known, "n": int(kept.sum()),
                   "people": int(some[0].user_id.nunique()),
                   "in_past": 100 * float(held[kept].mean()),
                   "acc@1": sum(means) / len(means), "low": low, "high": high}  # fmt: skip


def _about(measured: list[Row]) -> list[Row]:
    return [{"name": "new york, the prompts of GNPR-SID", "prompts": measured[0]["n"]}]


REPORT = Report(
    question="How good are our models on the prompts that others answered, with more of the past?",
    rows=_rows,
    data=_about,
    more={"seeds": [*SEEDS]},
)
