"""How good are the models on people whom training has not seen, visit by visit? For chapter 22.

    PGT_GEOLIFE=… python book/lab/run.py newcomers

writes ``book/results/newcomers.json``. The people are cut into five folds. Models are trained and
chosen on the training and validation days of four of them and asked for every visit of the fifth
but each person's first. A row is a ``group`` of these questions: all, or how many visits the person
has made so far, as in "11-20" or "200+". ``reach`` is the share of targets in percent where the
person has been before, so that copying from a whole past could find them, ``known`` the share whose
place training shows. "seen - new" is what the same model gains, trained on the same people's
earlier days, on the windows on which the other results files judge ("test days"). All are means
over seeds, from ``low`` to ``high`` their 95 % intervals, people and seeds resampled. A group of
fewer than five people is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from wherenext import pointer_variants
from wherenext.results import read_results
from wherenext.window_features import ENDS, group_of

from lab import data_sets, models
from lab.anonymity import PEOPLE
from lab.data_sets import DATA
from lab.reports import Report, Row
from pgt import metrics
from pgt.baselines import fit_baseline
from pgt.metrics import interval_of_mean
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.contextual import MEMORY
from pgt.predictor.memory import with_history
from pgt.train import fit
from pgt.visits import check, local_day, split_by_days
from pgt.vocabulary import Vocabulary
from pgt.windows import DEFAULT, Dataset, Windows, build, encode

DATA_SETS = {"geolife_exact": "geolife_exact", "city": "city"}  # and their results files
FOLDS, WORKERS = 5, 2
DAYS = 7
SEEDS = {"contextual": (42, 1), "pgt": (42,), "kernel": (None,), "most_frequent": (None,)}
COLUMNS = ["user_id", "better", "tied", "known", "in_window"]


def folds(visits: pd.DataFrame, seed: int = 0, n: int = FOLDS) -> pd.Series:
    """The fold, 0 … n - 1, of every person, by ``user_id``.

    Whoever shares a visit to the minute is in the same fold: the same trips are filed under
    several people (chapter 15), and somebody whose twin was in training is not new.
    """
    names = np.sort(visits.user_id.unique())
    number = pd.Series(np.arange(len(names)), index=names)
    same = visits[["user_id", "location_id", "started_at", "finished_at"]]
    pairs = same.merge(same, on=["location_id", "started_at", "finished_at"])
    links = (pairs[f"user_id_{side}"].map(number).to_numpy() for side in "xy")
    matrix = coo_matrix((np.ones(len(pairs)), tuple(links)), shape=(len(names),) * 2)
    n_groups, group = connected_components(matrix, directed=False)
    of_group, sizes = np.zeros(n_groups, dtype=int), np.zeros(n)
    for one in np.random.default_rng(seed).permutation(n_groups):
        of_group[one] = sizes.argmin()  # the fold with the fewest people so far
        sizes[of_group[one]] += (group == one).sum()
    return pd.Series(of_group[group], index=names)


def questions(visits: pd.DataFrame, vocabulary: Vocabulary) -> Windows:
    """A window for every visit but each person's first: seven days, or at least the last visit."""
    visits = visits.reset_index(drop=True)
    person = pd.factorize(visits.user_id)[0]
    day = local_day(visits.started_at).to_numpy()
    # Days increase over the whole table by an offset per person, as in `pgt.windows.build`.
    key = day - day.min() + person * (int(np.ptp(day)) + DAYS + 1)
    rows = np.arange(len(visits))
    first = np.minimum(np.searchsorted(key, key - DAYS), rows - 1)
    asked = rows > np.searchsorted(person, person)
    return Windows(visits, encode(visits, vocabulary), first[asked], rows[asked], vocabulary)


def without(visits: pd.DataFrame, new: np.ndarray) -> Dataset:
    """Train and valid are those of the other people, test is every question to the new ones."""
    as_split = visits.split.where(~new, "test")
    kept = visits.assign(split=as_split)[new | (visits.split != "test")]
    vocabulary = Vocabulary.build(kept, "exact")
    parts = {name: build(kept[kept.split == name], vocabulary) for name in ("train", "valid")}
    test = questions(kept[kept.split == "test"], vocabulary)
    return Dataset(**parts, test=test, vocabulary=vocabulary, config=DEFAULT)


def ranks_of(name: str, data: Dataset, seed: int | None, key: str) -> pd.DataFrame:
    """Test ranks of a model. PGT sees seven days, the others a hundred visits.

    A new person is the padding of PGT's table. The kernel's numbers are chosen on every fourth
    validation window: so many visits make the choice slow.
    """
    if seed is None:
        seen = with_history(data, MEMORY)
        some = seen.valid.subset(np.arange(0, len(seen.valid), 4))
        return metrics.evaluate(fit_baseline(name, seen.train, some), seen.test)
    model: Any  # the pointer's batches are of another kind
    if name == "pgt":
        config, training = models.preset(key, data.vocabulary, seed)
        training = replace(training, patience=3)
        torch.manual_seed(seed)
        model = PointerGeneratorTransformer(config)
    else:
        variant = pointer_variants.VARIANTS["full"]
        model, training = pointer_variants.build(variant, data, seed)
        data = pointer_variants.windows(data, variant)
    fit(model, data.train, data.valid, training, progress=False)
    return metrics.evaluate(model, data.test)


def visits_of(key: str) -> pd.DataFrame:
    """All visits of a data set, each in its split."""
    visits = check(DATA[key].load()).reset_index(drop=True)
    return visits if "split" in visits else split_by_days(visits)


def of_fold(job: tuple[str, int]) -> dict[tuple[str, int | None], pd.DataFrame]:
    """A table for each model and seed, with a row for every question to the people of one fold.

    Beside the ranks: ``so_far``, the visits that the person has made before the target,
    ``been_there``, whether one was to its place, and ``row``, the target's in the visits table.
    """
    torch.set_num_threads(1)
    key, k = job
    visits = visits_of(key)
    new = visits.user_id.map(folds(visits)).to_numpy() == k
    data = without(visits, new)
    table, target = data.test.visits, data.test.target
    again = table.groupby(["user_id", "location_id"]).cumcount() > 0
    about = {
        "so_far": table.groupby("user_id").cumcount().to_numpy()[target],
        "been_there": again.to_numpy()[target],
        "row": np.flatnonzero(new)[target],
    }
    print(f"{key} fold {k + 1} of {FOLDS}: {len(data.test)} questions", flush=True)
    return {(name, seed): ranks_of(name, data, seed, key)[COLUMNS].assign(**about)
            for name, seeds in SEEDS.items() for seed in seeds}  # fmt: skip


def asked(key: str) -> dict[tuple[str, int | None], pd.DataFrame]:
    """As `of_fold`, of all folds."""
    with ProcessPoolExecutor(WORKERS) as pool:
        parts = list(pool.map(of_fold, [(key, k) for k in range(FOLDS)]))
    return {name: pd.concat([part[name] for part in parts], ignore_index=True)
            for name in parts[0]}  # fmt: skip


def seen_before(key: str) -> dict[str, list[pd.DataFrame]]:
    """Ranks of the models that were trained on everybody, in the order of the test windows."""
    pgt: Row = {"model": "pgt", "variant": "full", "target_time": "unknown"}
    everybody = data_sets.dataset(key)
    return {
        "contextual": [ranks_of("contextual", everybody, seed, key)
                       for seed in SEEDS["contextual"]],
        "pgt": [*read_results(DATA_SETS[key]).ranks(**pgt, seed=SEEDS["pgt"][0])],
    }  # fmt: skip


def same_windows(ranks: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows of `asked` that are the data set's test windows, in the windows' order."""
    rows = np.flatnonzero(visits_of(key).split == "test")[data_sets.dataset(key).test.target]
    return ranks.set_index("row").loc[rows].reset_index()


def rows_of(tables: list[pd.DataFrame], about: Row) -> Iterator[Row]:
    """The rows of one model's groups of enough people, from a table a seed."""
    names = group_of(tables[0].so_far.to_numpy())
    for group in ("all", *dict.fromkeys(group_of(np.arange(1, ENDS[-1] + 2)))):
        keep = np.full(len(names), True) if group == "all" else names == group
        first, people = tables[0][keep], int(tables[0][keep].user_id.nunique())
        if people >= PEOPLE:
            some = [table[keep] for table in tables]
            low, high = interval_of_mean(some)
            yield about | {
                "variant": "new", "group": group, "n": len(first), "people": people,
                "reach": 100 * float(first.been_there.mean()),
                "known": 100 * float(first.known.mean()), "seed": None,
                "acc@1": np.mean([_score(table) for table in some]), "low": low, "high": high,
            }  # fmt: skip


def worth(new: list[pd.DataFrame], known: list[pd.DataFrame], key: str) -> Row:
    """What it is worth to have been in training, on the test days."""
    tested = [same_windows(table, key) for table in new]
    more = tested[0][["user_id", "been_there", "known"]]
    old = [table[["better", "tied", "in_window"]].assign(**more) for table in known]
    low, high = interval_of_mean(old, against=tested)
    gap = np.mean([_score(a) - _score(b) for a, b in zip(old, tested, strict=True)])
    return {"variant": "seen - new", "group": "test days", "seed": None, "n": len(more),
            "acc@1": float(gap), "low": low, "high": high,
            "people": int(more.user_id.nunique())}  # fmt: skip


def _score(ranks: pd.DataFrame) -> float:
    return 100 * float(metrics.gains(ranks)["acc@1"].mean())


def measured(key: str) -> Iterator[Row]:
    """The rows of a data set."""
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown",
             "split": "test"}  # fmt: skip
    found, known = asked(key), seen_before(key)
    for name, seeds in SEEDS.items():
        new = [found[name, seed] for seed in seeds]
        yield from rows_of(new, about | {"model": name})
        if name in known:
            yield about | {"model": name} | worth(new, known[name], key)


def _rows() -> Iterator[Row]:
    for key in DATA_SETS:
        yield from measured(key)


REPORT = Report(
    question="How good are the models on people whom training has not seen?",
    rows=_rows,
    data=tuple(DATA_SETS),
    results=tuple(DATA_SETS.values()),
)
