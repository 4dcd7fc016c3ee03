"""How predictable the next place is at all, and how far from it each model is.

    PGT_GEOLIFE=… PGT_GEOLIFE_WINDOWS=… python book/lab/run.py predictability

writes ``book/results/predictability.json``. ``value``, ``low`` and ``high`` (95 %, people
resampled) and all other shares are in percent, entropies in bits. By ``table``:

- entropy: means over the test windows of numbers of each person. ``group`` is which sequence;
  ``value`` the bound of Song et al. on accuracy, ``unordered`` and ``uniform`` the bounds when the
  order, and the frequencies too, are ignored, ``everyone`` the bound if anybody's place could be
  next, ``frequent`` the share of the most frequent symbol, ``repeats`` how often the next symbol is
  the present one.
- agreement: situations alike in ``group``, of the windows that have two of them ("own") or two of
  the most alike ("common"), their ``share``. ``value`` is how often two agree, ``bound`` the
  accuracy possible at most, ``now`` how often one agrees with what happens next; ``kernel``,
  ``pgt`` and ``contextual`` are scores, ``true`` (sum of p²) and ``best`` the city's truth. The
  group "finest" takes every window with the most alike situations that it has.
- novelty: targets that the person has not visited within ``group``.
- truth: the city's own chances. With the "time known" the guess uses all that the simulator does
  before it chooses; with the "time unknown", all but when the next visit will be, and what the
  length of the stay tells.

No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from wherenext import city
from wherenext.results import read_results

from lab import data_sets
from lab.ceilings import Row, alike, entropies, interval, novelty, percent
from lab.city_chances import choice_probabilities
from lab.data_sets import DATA
from lab.reports import Report
from pgt import metrics
from pgt.errors import DataError
from pgt.history import HistoryWindows, with_history

KEYS = ("geolife_exact", "geolife_published", "city")


def hits_of(key: str, model: str) -> np.ndarray:
    """(W,) hits of a model's first guess, mean over its seeds, from the first file that has it."""
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown"}
    for name in (key, "beyond"):
        tables = list(read_results(name).ranks(**about, model=model, variant="full"))
        if tables:
            return np.mean([metrics.gains(table)["acc@1"] for table in tables], axis=0)
    raise DataError(f"No results file of {key} has {model}.")


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


def measured(key: str) -> list[Row]:
    """Every row of one data set."""
    windows = with_history(data_sets.dataset(key), memory=1).test
    assert isinstance(windows, HistoryWindows)
    users = windows.users
    hits = {name: hits_of(key, name) for name in ("kernel", "pgt", "contextual")}
    rows = [*entropies(windows), *novelty(windows)]
    truth: dict[str, np.ndarray] = {}
    if key == "city":
        table = truths(windows)
        rows += truth_rows(table, users)
        truth = {"true": table.agreement.to_numpy(), "best": table.best.to_numpy()}
    rows += alike(windows, hits | truth)
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol}
    return [about | row for row in rows]


def _rows() -> Iterator[Row]:
    for key in KEYS:
        yield from measured(key)


REPORT = Report(
    question="How predictable is the next place at all, and how far from it are models?",
    rows=_rows,
    data=KEYS,
    results=("geolife_exact", "beyond", "geolife_published", "city"),
)
