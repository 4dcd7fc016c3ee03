"""How predictable the next place is at all, and how far from it each model is.

    PGT_GEOLIFE=… PGT_GEOLIFE_WINDOWS=… python book/lab/run.py predictability

writes ``book/results/predictability.json``. ``value``, ``low`` and ``high`` (95 %, people
resampled) and all other shares are in percent, entropies in bits. By ``table``:

- score: Acc@1 of ``model``, mean over its seeds.
- entropy: means over the test windows of numbers of each person. ``group`` is which sequence;
  ``value`` the bound of Song et al. on accuracy, ``unordered`` and ``uniform`` the bounds when the
  order, and the frequencies too, are ignored, ``everyone`` the bound if anybody's place could be
  next, ``frequent`` the share of the most frequent symbol, ``repeats`` how often the next symbol is
  the present one.
- length: the same of people with enough visits, from their first ``length`` ones.
- bias: chains of known truth; ``low`` and ``high`` are the extremes of samples, ``true_entropy``
  and ``true_bound`` what they would be of an endless one, ``best`` the accuracy of the best
  predictor, ``nats`` the bound with the wrong logarithm.
- agreement: situations alike in ``group``, of the windows that have two of them ("own") or two of
  the most alike ("common"), their ``share``. ``value`` is how often two agree, ``bound`` the
  accuracy possible at most, ``now`` how often one agrees with what happens next; ``kernel``,
  ``pgt`` and ``contextual`` are scores, ``true`` (sum of p²) and ``best`` the city's truth. The
  group "finest" takes every window with the most alike situations that it has.
- oracle: any of the models in ``group``, in at most ``guesses`` guesses; ``single`` is ``model``
  alone with as many, for "baselines" with as many as are different, window by window.
- novelty: targets that the person has not visited within ``group``.
- truth: the city's own chances. With the "time known" the guess uses all that the simulator does
  before it chooses; with the "time unknown", all but when the next visit will be, and what the
  length of the stay tells.
- gap: the ceiling ``group`` minus the score of ``model``, in points.

No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from wherenext import city
from wherenext.results import read_results, results_folder

from lab import data_sets
from lab.ceilings import Row, alike, biases, entropies, interval, novelty, percent
from lab.city_chances import choice_probabilities
from lab.data_sets import DATA
from lab.entropy import hits_at, oracle
from lab.reports import Report
from pgt import metrics
from pgt.baselines import baselines, fit_baseline
from pgt.history import HistoryWindows, with_history

KEYS = ("geolife_exact", "geolife_published", "city")
MODELS = (
    ("contextual", "full"), ("kernel_memory", "memory_100"), ("kernel", "full"), ("pgt", "full"),
    ("lstm", "tuned"), ("mhsa", "tuned"), ("most_frequent", "full"), ("markov", "full"),
    ("last", "full"),
)  # fmt: skip
Ranks = dict[tuple[str, str], list[pd.DataFrame]]


def ranks_of(key: str) -> Ranks:
    """The test ranks of every model of `MODELS` that has been run on a data set, by seed."""
    found: Ranks = {}
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown"}
    for name in names_of_results(key):
        here: Ranks = {}
        for table in read_results(name).ranks(**about):
            here.setdefault((table.model.iloc[0], table.variant.iloc[0]), []).append(table)
        for who in MODELS:
            if who in here and who not in found:
                found[who] = sorted(here[who], key=lambda t: t.seed.fillna(0).iloc[0] != 42)
    return found


def names_of_results(key: str) -> list[str]:
    """The results files that hold runs on a data set; one that is not made yet is left out."""
    return [name for name in (key, "beyond") if (results_folder() / f"{name}.json").is_file()]


def scores(ranks: Ranks, users: np.ndarray) -> Iterator[Row]:
    """Acc@1 of each model, means over its seeds."""
    for (model, variant), tables in ranks.items():
        hits = np.mean([hits_at(table, 1) for table in tables], axis=0)
        about = {"table": "score", "model": model, "variant": variant}
        yield about | percent(interval(hits, users))


def named(key: str) -> tuple[np.ndarray, list[pd.DataFrame]]:
    """(W,) how many different places the baselines name first, and their ranks."""
    data = data_sets.dataset(key)
    tables = [
        metrics.evaluate(fit_baseline(name, data.train, data.valid), data.test)
        for name in baselines()
    ]
    guesses = np.sort(np.stack([table.predicted for table in tables]), axis=0)
    return 1 + (guesses[1:] != guesses[:-1]).sum(0), tables


def oracles(key: str, ranks: Ranks, users: np.ndarray) -> Iterator[Row]:
    """Any of several models right, against the best of them with as many guesses."""
    first = {who: tables[0] for who, tables in ranks.items()}
    order = sorted(first, key=lambda who: -hits_at(first[who], 1).mean())
    best = first[order[0]]

    def row(group: str, tables: list[pd.DataFrame], single: np.ndarray, k: float) -> Row:
        values = percent(interval(oracle(tables), users))
        more = {"guesses": k, "single": 100 * float(single.mean()), "model": order[0][0]}
        return {"table": "oracle", "group": group} | values | more

    for k in range(1, len(order) + 1):
        names = " + ".join(model for model, _ in order[:k])
        yield row(names, [first[who] for who in order[:k]], hits_at(best, k), k)
    for who in (("pgt", "full"), ("contextual", "full")):
        tables = ranks.get(who, [])
        for k in range(2, len(tables) + 1):
            single = np.mean([hits_at(table, k) for table in tables], axis=0)
            yield row(f"{k} seeds", tables[:k], single, k) | {"model": who[0]}
    different, tables = named(key)
    kernel = tables[list(baselines()).index("kernel")]
    single = hits_at(kernel, different)
    yield row("baselines", tables, single, float(different.mean())) | {"model": "kernel"}


def truths(windows: HistoryWindows) -> pd.DataFrame:
    """The city's chances at each test window's target."""
    town = city.load()
    table = choice_probabilities(town)
    tested = table[(town.visits.split == "test").to_numpy()].reset_index(drop=True)
    at = data_sets.dataset("city").test
    assert len(tested) == len(at.visits) and len(at) == len(windows)
    return tested.loc[at.target].reset_index(drop=True)


def truth_rows(table: pd.DataFrame, users: np.ndarray) -> Iterator[Row]:
    """The best accuracy that the simulator's own chances allow, and their entropy."""
    for group, column in (("time known", "best"), ("time known, hits", "hit"),
                          ("time unknown", "hit_unaware")):  # fmt: skip
        values = percent(interval(table[column].to_numpy(float), users))
        yield {"table": "truth", "group": group} | values
    yield {"table": "truth", "group": "entropy"} | interval(table.entropy.to_numpy(float), users)


def gaps(rows: list[Row]) -> Iterator[Row]:
    """Every ceiling of one data set minus every model's score."""
    ceilings = {"entropy": pick(rows, "entropy", "visits")}
    for group in ("7 days", "whole past"):
        ceilings[group] = 100 - pick(rows, "novelty", group)
    together = [row for row in rows if row["table"] == "oracle" and "+" in row["group"]]
    ceilings["agreement"] = next(
        row["bound"] for row in rows if row["table"] == "agreement" and row["group"] == "finest"
    )
    ceilings["oracle"] = max(row["value"] for row in together)
    if any(row["table"] == "truth" for row in rows):
        ceilings |= {name: pick(rows, "truth", name) for name in ("time known", "time unknown")}
    for row in rows:
        if row["table"] == "score":
            for group, ceiling in ceilings.items():
                yield {"table": "gap", "group": group, "model": row["model"],
                       "variant": row["variant"], "value": ceiling - row["value"]}  # fmt: skip


def pick(rows: list[Row], table: str, group: str) -> float:
    """The value of one row."""
    return next(r["value"] for r in rows if r["table"] == table and r["group"] == group)


def measured(key: str) -> list[Row]:
    """Every row of one data set."""
    windows = with_history(data_sets.dataset(key), memory=1).test
    assert isinstance(windows, HistoryWindows)
    users, ranks = windows.users, ranks_of(key)
    hits = {
        name: np.mean([hits_at(table, 1) for table in ranks[name, "full"]], axis=0)
        for name in ("kernel", "pgt", "contextual")
        if (name, "full") in ranks
    }
    rows = list(scores(ranks, users)) + list(entropies(windows)) + list(novelty(windows))
    truth: dict[str, np.ndarray] = {}
    if key == "city":
        table = truths(windows)
        rows += truth_rows(table, users)
        truth = {"true": table.agreement.to_numpy(), "best": table.best.to_numpy()}
    rows += alike(windows, hits | truth)
    rows += oracles(key, ranks, users)
    rows += gaps(rows)
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol}
    return [about | row for row in rows]


def _rows() -> Iterator[Row]:
    yield from biases()
    for key in KEYS:
        yield from measured(key)


REPORT = Report(
    question="How predictable is the next place at all, and how far from it are models?",
    rows=_rows,
    data=KEYS,
    results=("geolife_exact", "beyond", "geolife_published", "city"),
)
