"""fastmob's Markov predictor on the leaderboard, where our baselines stand.

    PGT_GETNEXT=… python book/lab/run.py fastmob

writes ``book/results/fastmob.json``. It needs fastmob (``pip install fastmob``), on which nothing
else here depends. Its predictor learns one chain for each person from that person's visits. Each
question of `lab.leaderboard` is handed over as a person with the past that the question may see, so
the chain learns from the same visits as our rules. ``order`` is how many of the last visits choose
the row of the table; where such a row was never seen, it takes a shorter one. Order 0 is the most
frequent place. Times must be named (``started_at_col``): without it, rows count as they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from lab import data_sets
from lab.leaderboard import EVERY, FOLDER, LLM4POI, METRICS, as_llm4poi, check_ins, targets
from lab.reports import Report, Row
from pgt.errors import DataError
from pgt.metrics import gains, interval_of_mean

ORDERS = (0, 1, 2)
ALL = 1_000_000  # as many candidates as there are


def asked(table: pd.DataFrame) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """By past: the rows of the targets, and of each the rows that may be seen."""
    rows = targets(table, "test")
    first = table.groupby("user_id").user_id.transform(lambda own: own.index[0]).to_numpy()
    yield EVERY, rows, [np.arange(first[row], row) for row in rows]
    yield LLM4POI, rows, [seen[:-1] for seen in as_llm4poi(table, rows)]


def predicted(visits: pd.DataFrame, order: int) -> pd.DataFrame:
    """fastmob's probabilities: a row for each question (``uid``) and candidate place."""
    try:
        from fastmob.models import NextLocationPredictor  # type: ignore[import-not-found]
    except ImportError as error:
        raise DataError("fastmob is not installed; pip install fastmob, and run again.") from error
    model = NextLocationPredictor(order=order).fit(
        visits, location_col="location_id", uid_col="uid", started_at_col="started_at"
    )
    found: pd.DataFrame = model.predict_proba(top_k=ALL)
    return found


def ranks(said: pd.DataFrame, place: np.ndarray, user: np.ndarray) -> pd.DataFrame:
    """Where the (W,) targets stand among the candidates; a place that is none is no answer."""
    number = said.uid.to_numpy()
    own = said.probability.where(said.location_id.to_numpy() == place[number])
    score = own.groupby(number).max().reindex(range(len(place)))  # NaN: not among the candidates
    mine = score.to_numpy()[number]
    better = (said.probability > mine).groupby(number).sum().reindex(score.index, fill_value=0)
    tied = (said.probability == mine).groupby(number).sum().reindex(score.index, fill_value=0)
    return pd.DataFrame({"user_id": user, "better": better.to_numpy(), "tied": tied.to_numpy()})


def rows() -> Iterator[Row]:
    """Every order with every past."""
    table = check_ins(data_sets.from_environment(FOLDER))
    for past, at, seen in asked(table):
        visits = table.iloc[np.concatenate(seen)][["location_id", "started_at"]]
        uid = np.repeat(np.arange(len(seen)), [len(one) for one in seen])
        visits = visits.assign(uid=uid).reset_index(drop=True)
        place, user = (table[name].to_numpy()[at] for name in ("location_id", "user_id"))
        for order in ORDERS:
            found = ranks(predicted(visits, order), place, user)
            low, high = interval_of_mean([found])
            yield {"past": past, "order": order, "n": len(found), "people": len(np.unique(user)),
                   **(100 * gains(found)[METRICS].mean()), "low": low, "high": high}  # fmt: skip


def about(measured: list[Row]) -> list[Row]:
    """What there is to say of the data."""
    return [{"name": "new york, as GETNext cut it"}]


def installed() -> dict[str, Any]:
    """fastmob's version, if it is there."""
    try:
        return {"fastmob": version("fastmob")}
    except PackageNotFoundError:
        return {}


REPORT = Report(
    question="What does fastmob's Markov predictor get on the leaderboard?",
    rows=rows,
    data=about,
    more=installed(),
)
