"""Answers: what a predictor says to questions, as tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy

import numpy as np
import pandas as pd
import torch

from pgt.baselines import Rule
from pgt.history import HistoryBatch, HistoryWindows
from pgt.mixture import MixtureModel
from pgt.predictor.asking import Asked
from pgt.predictor.experts import Experts

Model = Experts | Rule
BATCH = 256


@torch.no_grad()
def probabilities(
    model: Model, windows: HistoryWindows, batch_size: int = BATCH
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Say of each window how likely each of its places is.

    Yields
    ------
    index : ndarray
        (B,) which windows.
    place : ndarray
        (B, S) ids of their places, -1 = no more.
    probability : ndarray
        (B, S), adding up to 1 over a window's places.
    """
    # Windows of like length together: the padding of a batch is work, too.
    order = np.argsort(windows.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        index = order[start : start + batch_size]
        batch = windows.batch(index)
        if isinstance(model, Rule):
            place, score = model.own_scores(batch)
            weight = score.masked_fill(place < 0, 0.0)
            value = weight / weight.sum(1, keepdim=True)
        else:
            mixture = model.mixture(batch)
            place, value = mixture.place, mixture.pointer.exp().masked_fill(mixture.place < 0, 0.0)
        yield index, place.numpy(), value.numpy()


def best(model: Model, asked: Asked, new: np.ndarray, top: int) -> pd.DataFrame:
    """The likeliest places of each person.

    Parameters
    ----------
    model : Experts or Rule
    asked : Asked
    new : ndarray
        (W,) how likely the next place is a new one.
    top : int

    Returns
    -------
    DataFrame
        ``user_id``, ``rank``, ``location_id``, ``probability``, ``somewhere_new``, ``after``, and
        ``lon`` and ``lat`` where the visits have them; people in the order of the table.
    """
    parts = []
    for index, place, probability in probabilities(model, asked.windows):
        k = min(top, place.shape[1])
        order = np.argsort(-probability, axis=1, kind="stable")[:, :k]  # (B, K)
        value = np.take_along_axis(probability, order, 1) * (1 - new[index])[:, None]
        row, rank = np.nonzero(value > 0)
        parts.append(
            pd.DataFrame(
                {"window": index[row], "rank": rank + 1,
                 "place": np.take_along_axis(place, order, 1)[row, rank] - 2,
                 "probability": value[row, rank]}
            )
        )  # fmt: skip
    found = pd.concat(parts).sort_values(["window", "rank"], ignore_index=True)
    return named(asked, found, new)


@torch.inference_mode()
def one(model: MixtureModel | Rule, batch: HistoryBatch, top: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest places of a batch of one window, and their probabilities."""
    if isinstance(model, Rule):
        place, vote = (found[0] for found in model.own_scores(batch))
        weight = vote.masked_fill(place < 0, 0.0)
        chance = weight / weight.sum()
    else:
        mixture = model.mixture(batch)
        place = mixture.place[0]
        chance = mixture.pointer[0].exp().masked_fill(place < 0, 0.0)
    value, at = chance.sort(descending=True, stable=True)
    n = min(top, int((value > 0).sum()))
    return place[at[:n]].numpy(), value[:n].numpy()


def sets(model: Model, asked: Asked, new: np.ndarray, limit: float) -> pd.DataFrame:
    """The answers of each person that are no stranger than a limit, "somewhere new" among them.

    Parameters
    ----------
    model, asked, new
        As in `best`.
    limit : float
        1 minus the smallest probability that is in.

    Returns
    -------
    DataFrame
        As of `best`; ``location_id`` is None in a row that means somewhere new.
    """
    parts = [pd.DataFrame({"window": np.arange(len(new)), "place": -1, "probability": new})]
    for index, place, probability in probabilities(model, asked.windows):
        value = probability * (1 - new[index])[:, None]
        row, column = np.nonzero(value > 0)
        parts.append(
            pd.DataFrame({"window": index[row], "place": place[row, column] - 2,
                          "probability": value[row, column]})
        )  # fmt: skip
    found = pd.concat(parts)
    found = found[1 - found.probability <= limit]
    found = found.sort_values(["window", "probability"], ascending=[True, False], ignore_index=True)
    found.insert(1, "rank", found.groupby("window").cumcount() + 1)
    return named(asked, found, new)


def named(asked: Asked, found: pd.DataFrame, new: np.ndarray) -> pd.DataFrame:
    """Rows with the ids of the table in place of numbers."""
    visits, window, place = asked.visits, found.window.to_numpy(), found.place.to_numpy()
    last = visits.iloc[asked.last[window]]
    # The latest visit to each place knows its name and where it is.
    where = visits.drop_duplicates("_place", keep="last").set_index("_place")
    number = np.where(place >= 0, place + asked.first[window], -1)
    about = where.reindex(number)
    out = pd.DataFrame(
        {
            "user_id": last.user_id.to_numpy(),
            "rank": found["rank"].to_numpy(),
            "location_id": about.location_id.astype(object).to_numpy(),
            "probability": found.probability.to_numpy(),
            "somewhere_new": new[window],
            "after": last.started_at.reset_index(drop=True),
        }
    )
    out["location_id"] = out.location_id.where(place >= 0, None)
    if (place >= 0).all():
        out["location_id"] = out.location_id.astype(visits.location_id.dtype)
    for name in ("lon", "lat"):
        if name in visits.columns:
            out[name] = about[name].to_numpy()
    return out


# What each feature of `pgt.contextual` asks of a place, for whoever reads an explanation.
IN_WORDS = {
    "age": "how many visits ago it was visited",
    "days": "how many days ago it was visited",
    "clock": "how near to now the time of day of its visits is",
    "ahead": "how long it is until the time of day of its visits",
    "weekday": "on which days of the week it was visited",
    "stay": "how long its visits lasted",
    "before": "whether it was visited from where the person is now",
    "left": "at what time of day the person set out for it",
    "stayed": "how long the stays before its visits were",
    "gap": "how long the way to it took",
    "here": "whether the person is there now, or was just before",
    "count": "how often it was visited",
    "unknown": "whether it, or the present place, is unknown",
    "older": "how many of its visits are long ago",
    "then_clock": "how near to the time asked about its visits are",
    "then_weekday": "whether it was visited on such days as the one asked about",
    "then_gap": "whether the way to it fits the time until then",
}


def reasons(model: Experts, asked: Asked, new: np.ndarray, top: int) -> pd.DataFrame:
    """What spoke for each of one person's likeliest places, and how much.

    A feature's effect is the probability with it minus that without it, in percentage points; a
    feature that is left out says of all visits the same.

    Parameters
    ----------
    model : Experts
    asked : Asked
        Of one person.
    new : ndarray
        (1,).
    top : int

    Returns
    -------
    DataFrame
        ``location_id``, ``probability``, ``visits`` (of the table), ``feature``, ``about`` (the
        feature in words) and ``effect``; for each place the strongest first.
    """
    table = best(model, asked, new, top)
    assert model.best.scorer is not None
    rows = []
    for name in model.best.scorer.known:
        without = deepcopy(model)
        with torch.no_grad():
            for expert in without.networks:
                assert expert.scorer is not None
                expert.scorer.tables[name].zero_()
        other = best(without, asked, new, len(asked.visits)).set_index("location_id").probability
        for row in table.itertuples():
            less = float(other.get(row.location_id, 0.0))
            rows.append(
                {"location_id": row.location_id, "probability": row.probability,
                 "visits": int((asked.visits.location_id == row.location_id).sum()),
                 "feature": name, "about": IN_WORDS[name],
                 "effect": 100 * (row.probability - less), "rank": row.rank}
            )  # fmt: skip
    found = pd.DataFrame(rows)
    size = found.effect.abs()
    order = found.assign(size=-size).sort_values(["rank", "size"]).index
    return found.loc[order].drop(columns="rank").reset_index(drop=True)


def votes(
    rule: Rule, parts: Mapping[str, Rule], asked: Asked, new: np.ndarray, top: int
) -> pd.DataFrame:
    """What a rule's votes for one person's likeliest places were for, and how much each counted.

    Parameters
    ----------
    rule : Rule
    parts : mapping
        By what they are for (of `IN_WORDS`), rules whose votes add up to those of ``rule``.
    asked : Asked
        Of one person.
    new : ndarray
        (1,).
    top : int

    Returns
    -------
    DataFrame
        As of `reasons`; the effects on a place add up to its probability, in percentage points.
    """
    table, batch = best(rule, asked, new, top), asked.windows.batch([0])
    place, score = (found[0] for found in rule.own_scores(batch))
    every = score.masked_fill(place < 0, 0.0)
    order = every.argsort(descending=True, stable=True)[: len(table)]
    own = {name: part.own_scores(batch)[1][0][order] / every.sum() for name, part in parts.items()}
    rows = []
    for at, row in enumerate(table.itertuples()):
        been = int((asked.visits.location_id == row.location_id).sum())
        about = {"location_id": row.location_id, "probability": row.probability, "visits": been}
        found = [
            about | {"feature": name, "about": IN_WORDS[name],
                     "effect": 100 * (1 - new[0]) * float(share[at])}
            for name, share in own.items()
        ]  # fmt: skip
        rows += sorted(found, key=lambda reason: -reason["effect"])
    return pd.DataFrame(rows)


def strangeness(model: Model, windows: HistoryWindows, new: np.ndarray) -> np.ndarray:
    """(W,) 1 minus the probability of the true answer; "somewhere new" where it is in no window."""
    out = np.empty(len(windows))
    targets = windows.targets
    for index, place, probability in probabilities(model, windows):
        here = place == targets[index][:, None]
        p = np.where(here, probability, 0.0).sum(1) * (1 - new[index])
        out[index] = 1 - np.where(here.any(1), p, new[index])
    return out
