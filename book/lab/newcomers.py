"""How good are the models on people whom training has not seen, visit by visit? For chapter 22.

    PGT_GEOLIFE=… python book/lab/run.py newcomers

writes ``book/results/newcomers.json``. The people are cut into five folds. Models are trained and
chosen on the training and validation days of four of them and asked for every visit of the fifth
but each person's first. A row is a ``group`` of these questions: all, how many visits the person
has made so far, as in "11-20" or "200+", or "test days", the windows on which the other results
files judge. ``reach`` is the share of targets in percent where the person has been before, so that
copying from a whole past could find them, ``known`` the share whose place training shows. Rows
without a seed are means over seeds, from ``low`` to ``high`` their 95 % interval, people and seeds
resampled; the variant "seen" is the same model trained on the same people's earlier days, and
"seen - new" the difference on the same windows. A group of fewer than five people is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from lab.data_sets import DATA
from lab.reports import Report
from pgt import metrics
from pgt.baselines import fit_baseline
from pgt.contextual import MEMORY
from pgt.history import with_history
from pgt.metrics import interval_of_mean
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.visits import check, local_day, split_by_days
from pgt.vocabulary import Vocabulary
from pgt.windows import DEFAULT, Dataset, Windows, build, encode

DATA_SETS = {"geolife_exact": "geolife_exact", "city": "city"}  # and their results files
FOLDS = 5
DAYS = 7
ENOUGH_PEOPLE = 5
SEEDS = {"contextual": (42, 1), "pgt": (42,), "kernel": (None,), "most_frequent": (None,)}
COLUMNS = ["user_id", "target", "predicted", "better", "tied", "known", "in_window"]


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


def so_far(windows: Windows) -> np.ndarray:
    """(W,) how many visits each window's person has made before its target."""
    return windows.visits.groupby("user_id").cumcount().to_numpy()[windows.target]


def been_there(windows: Windows) -> np.ndarray:
    """(W,) whether the person has ever been at the target's place before."""
    return (windows.visits.groupby(["user_id", "location_id"]).cumcount() > 0).to_numpy()[
        windows.target
    ]


def most_frequent(data: Dataset, seed: int | None, key: str) -> pd.DataFrame:
    """Ranks of the most frequent of the last hundred visits' places."""
    seen = with_history(data, MEMORY)
    return metrics.evaluate(fit_baseline("most_frequent", seen.train, seen.valid), seen.test)


def kernel(data: Dataset, seed: int | None, key: str) -> pd.DataFrame:
    """Ranks of the context kernel over the last hundred visits.

    Its numbers are chosen on every fourth validation window: so many visits make the choice slow.
    """
    seen = with_history(data, MEMORY)
    some = seen.valid.subset(np.arange(0, len(seen.valid), 4))
    return metrics.evaluate(fit_baseline("kernel", seen.train, some), seen.test)


def ranks_of_contextual(data: Dataset, seed: int | None, key: str) -> pd.DataFrame:
    """Ranks of the contextual pointer."""
    assert seed is not None
    variant = pointer_variants.VARIANTS["full"]
    seen = pointer_variants.windows(data, variant)
    built: Any = pointer_variants.build(variant, data, seed)  # its batches are of another kind
    model, training = built
    fit(model, seen.train, seen.valid, training, progress=False)
    return metrics.evaluate(model, seen.test)


def pgt(data: Dataset, seed: int | None, key: str) -> pd.DataFrame:
    """Ranks of PGT, which sees the seven-day window; a new person is the padding of its table."""
    assert seed is not None
    config, training = models.preset(key, data.vocabulary, seed)
    torch.manual_seed(seed)
    model = PointerGeneratorTransformer(config)
    fit(model, data.train, data.valid, replace(training, patience=3), progress=False)
    return metrics.evaluate(model, data.test)


MODELS: dict[str, Callable[[Dataset, int | None, str], pd.DataFrame]] = {
    "most_frequent": most_frequent, "kernel": kernel, "pgt": pgt, "contextual": ranks_of_contextual,
}  # fmt: skip


def asked(key: str) -> dict[tuple[str, int | None], pd.DataFrame]:
    """A table for each model and seed, with a row for every question to every person.

    Beside the ranks: ``so_far``, ``been_there``, and ``row``, the target's in the visits table.
    """
    visits = check(DATA[key].load()).reset_index(drop=True)
    visits = visits if "split" in visits else split_by_days(visits)
    fold = visits.user_id.map(folds(visits)).to_numpy()
    found: dict[tuple[str, int | None], list[pd.DataFrame]] = {}
    for k in range(FOLDS):
        data = without(visits, fold == k)
        about = {
            "so_far": so_far(data.test),
            "been_there": been_there(data.test),
            "row": np.flatnonzero(fold == k)[data.test.target],
        }
        for name, ranks_of in MODELS.items():
            for seed in SEEDS[name]:
                ranks = ranks_of(data, seed, key)[COLUMNS].assign(**about)
                found.setdefault((name, seed), []).append(ranks)
        print(f"{key} fold {k + 1} of {FOLDS}: {len(data.test)} questions", flush=True)
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def seen_before(key: str) -> dict[tuple[str, int | None], pd.DataFrame]:
    """Ranks of the models that were trained on everybody, in the order of the test windows."""
    (about,) = read_results(DATA_SETS[key]).ranks(**RUN_OF_PGT)
    everybody = data_sets.dataset(key)
    known = {("contextual", seed): ranks_of_contextual(everybody, seed, key)
             for seed in SEEDS["contextual"]}  # fmt: skip
    return known | {("pgt", SEEDS["pgt"][0]): about}


RUN_OF_PGT = {"model": "pgt", "variant": "full", "target_time": "unknown", "seed": SEEDS["pgt"][0]}


def same_windows(ranks: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows of `asked` that are the data set's test windows, in the windows' order."""
    windows = data_sets.dataset(key).test
    visits = check(DATA[key].load()).reset_index(drop=True)
    visits = visits if "split" in visits else split_by_days(visits)
    rows = np.flatnonzero(visits.split == "test")[windows.target]
    return ranks.set_index("row").loc[rows].reset_index()


def rows_of(
    tables: list[pd.DataFrame], seeds: tuple[int | None, ...], about: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The rows of one model's groups: every seed's, and the mean with its interval."""
    names = group_of(tables[0].so_far.to_numpy())
    for group in ("all", *dict.fromkeys(group_of(np.arange(1, ENDS[-1] + 2)))):
        keep = np.full(len(names), True) if group == "all" else names == group
        yield from summary([table[keep] for table in tables], seeds, about | {"group": group})


def summary(
    tables: list[pd.DataFrame], seeds: tuple[int | None, ...], about: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The rows of one group, if enough people are in it."""
    first = tables[0]
    if first.user_id.nunique() < ENOUGH_PEOPLE:
        return
    about = about | {"n": len(first), "people": int(first.user_id.nunique())}
    about |= {
        "reach": 100 * float(first.been_there.mean()),
        "known": 100 * float(first.known.mean()),
    }
    scores = [100 * float(metrics.gains(table)["acc@1"].mean()) for table in tables]
    for seed, score in zip(seeds, scores, strict=True):
        if seed is not None:
            yield about | {"seed": seed, "acc@1": score}
    low, high = interval_of_mean(tables)
    yield about | {"seed": None, "acc@1": float(np.mean(scores)), "low": low, "high": high}


def measured(key: str) -> Iterator[dict[str, Any]]:
    """The rows of a data set."""
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown",
             "split": "test"}  # fmt: skip
    found, known = asked(key), seen_before(key)
    for name, seeds in SEEDS.items():
        new = [found[name, seed] for seed in seeds]
        own = about | {"model": name, "variant": "new"}
        yield from rows_of(new, seeds, own)
        tested = [same_windows(table, key) for table in new]
        yield from summary(tested, seeds, own | {"group": "test days"})
        if (name, seeds[0]) not in known:
            continue
        more = tested[0][["user_id", "been_there", "known"]]
        old = [known[name, seed][["better", "tied", "in_window"]].assign(**more) for seed in seeds]
        own |= {"variant": "seen", "group": "test days"}
        yield from summary(old, seeds, own)
        low, high = interval_of_mean(old, against=tested)
        gap = np.mean([_score(a) - _score(b) for a, b in zip(old, tested, strict=True)])
        yield own | {"variant": "seen - new", "seed": None, "n": len(more), "acc@1": float(gap),
                     "low": low, "high": high, "people": int(more.user_id.nunique())}  # fmt: skip


def _score(ranks: pd.DataFrame) -> float:
    return 100 * float(metrics.gains(ranks)["acc@1"].mean())


def _rows() -> Iterator[dict[str, Any]]:
    for key in DATA_SETS:
        yield from measured(key)


REPORT = Report(
    question="How good are the models on people whom training has not seen?",
    rows=_rows,
    data=tuple(DATA_SETS),
    results=tuple(DATA_SETS.values()),
)
