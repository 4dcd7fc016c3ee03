"""A question: a window whose target is not there yet, behind each person's visits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.errors import DataError
from pgt.predictor.contextual import MEMORY, OLDER
from pgt.predictor.memory import HistoryWindows, is_new, of_rows, sample
from pgt.predictor.pool import PAST, Experts
from pgt.progress import bar
from pgt.visits import person_rows
from pgt.vocabulary import Vocabulary
from pgt.windows import encode


def find_user(visits: pd.DataFrame, name: Any) -> Any:
    """The ``user_id`` written as ``name``, say "7" for 7."""
    users = visits.user_id.unique()
    for user in users:
        if str(user) == str(name):
            return user
    some = ", ".join(map(str, users[:3])) + (", …" if len(users) > 3 else "")
    raise DataError(
        f"There is no user '{name}' in the table (it has {len(users)}: {some}); check the id."
    )


def until(visits: pd.DataFrame, at: pd.Timestamp | None) -> pd.DataFrame:
    """Visits begun by ``at``; one that is under way is cut there."""
    if at is None:
        return visits.reset_index(drop=True)
    if at.tz is None:
        raise DataError(f"The moment {at} has no time zone; write one, as in {at}+02:00.")
    at = at.tz_convert(visits.started_at.dt.tz)
    visits = visits[visits.started_at <= at]
    ended = visits.finished_at.where(visits.finished_at <= at, at)
    return visits.assign(finished_at=ended).reset_index(drop=True)


def moment(at: Any, visits: pd.DataFrame) -> pd.Timestamp:
    """What somebody wrote, by the clocks of a table; an hour that is skipped ends at once."""
    try:
        asked, zone = pd.Timestamp(at), visits.started_at.dt.tz
        if asked.tz is not None:
            return asked.tz_convert(zone)
        local = asked.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"at is {at!r}; write a moment as ISO 8601 has it, such as 2024-05-01T12:00+02:00, or "
            "without an offset for local time."
        ) from None
    if "utc_offset" in visits.columns:
        raise DataError(
            f"The table has the clocks of several zones; write at with an offset, as in {at}+02:00."
        )
    return local


def nobody_before(at: pd.Timestamp | None, user: Any = None) -> DataError:
    """The refusal to ask where a person, or anybody, goes who has no visit yet."""
    who, has = ("Nobody in the table", "has a") if user is None else (f"User {user}", "has no")
    return DataError(f"{who} {has} visit before {at}; choose a later moment.")


RECENT = 50  # visits in which the share of new places is counted
PEOPLE_AT_ONCE = 10_000  # whose questions are in memory together
CALIBRATED = 6000  # late windows of a table by which sets are calibrated, at most


@dataclass(frozen=True)
class Questions:
    """For each person a window whose target is not there yet."""

    windows: HistoryWindows
    new: np.ndarray  # (W,) how likely the next place is a new one
    last: np.ndarray  # (W,) the row of the person's last visit
    first: np.ndarray  # (W,) the number of the person's first place
    visits: pd.DataFrame  # of those who are asked about, by person and time
    place: np.ndarray  # (N,) the number of each visit's place; nobody shares one
    everybody: pd.DataFrame  # all visits, by which the experts are weighed

    @cached_property
    def past(self) -> HistoryWindows:
        """`past_windows` of everybody."""
        return past_windows(self.everybody)

    @cached_property
    def late(self) -> HistoryWindows:
        """`late_windows` of everybody."""
        return late_windows(self.everybody)

    def named(self, guesses: pd.DataFrame) -> pd.DataFrame:
        """Windows and places by their ids; a place below 0 is "somewhere new"."""
        row = pd.Series(np.arange(len(self.place)), index=self.place)
        row = row[~row.index.duplicated(keep="last")]  # the latest visit knows name and position
        window, known = guesses.window.to_numpy(), guesses.place.to_numpy() >= 0
        last = self.visits.iloc[self.last[window]]
        about = self.visits.iloc[row.reindex(guesses.place, fill_value=0)].reset_index(drop=True)
        ids = about.location_id if known.all() else about.location_id.astype(object)
        out = pd.DataFrame({
            "user_id": last.user_id.to_numpy(), "rank": guesses["rank"],
            "location_id": ids.where(known, None), "probability": guesses.probability,
            "somewhere_new": self.new[window], "after": last.started_at.reset_index(drop=True),
        })  # fmt: skip
        where = about[about.columns.intersection(["lon", "lat"])]
        return out.join(where[known])


def ask(
    visits: pd.DataFrame, at: pd.Timestamp | None, novelty: tuple[float, float], user: Any = None
) -> Questions:
    """Ask where everybody, or one person, goes next."""
    everybody = visits
    if user is not None:
        visits = visits[visits.user_id == user].reset_index(drop=True)
    person, begins = person_rows(visits.user_id)
    table, place, vocabulary = _with_own_places(visits, person, begins)
    last = np.flatnonzero(np.diff(person, append=-1))
    time = visits.finished_at.iloc[last] if at is None else at
    empty = table.iloc[last].assign(location_id=-1, started_at=time, finished_at=time)
    table = pd.concat([table, empty], ignore_index=True)
    order = np.argsort(np.append(person, person[last]), kind="stable")
    table = table.iloc[order].reset_index(drop=True)
    target = last + 1 + np.arange(len(last))
    features = encode(table, vocabulary)
    (windows,) = of_rows(table, features, vocabulary, [target], MEMORY, OLDER)
    new = share_of_new(windows, *novelty)
    return Questions(windows, new, last, place[begins[last]], visits, place, everybody)


def in_groups(
    visits: pd.DataFrame, at: pd.Timestamp | None, novelty: tuple[float, float], user: Any = None
) -> Iterator[Questions]:
    """`ask` for so many people at a time that memory is bounded; each knows everybody's visits."""
    person, begins = person_rows(visits.user_id)
    if user is not None or not len(person) or person[-1] < PEOPLE_AT_ONCE:
        yield ask(visits, at, novelty, user)
        return
    bounds = [*np.flatnonzero((person % PEOPLE_AT_ONCE == 0) & (begins == np.arange(len(person)))),
              len(person)]  # fmt: skip
    for start, end in bar(pairwise(bounds), "asking", len(bounds) - 1):
        some = ask(visits.iloc[start:end].reset_index(drop=True), at, novelty)
        yield replace(some, everybody=visits)


def past_windows(visits: pd.DataFrame) -> HistoryWindows:
    """Windows whose targets have happened, in the later halves of everybody's visits."""
    return _earlier(visits, 1, PAST)


def late_windows(visits: pd.DataFrame) -> HistoryWindows:
    """Such windows in everybody's last quarters."""
    return _earlier(visits, 2, CALIBRATED)


def _earlier(visits: pd.DataFrame, parts: int, most: int) -> HistoryWindows:
    """Up to ``most`` windows of what came last; only visits of the people drawn are encoded."""
    person, begins = person_rows(visits.user_id)
    last = np.flatnonzero(np.diff(person, append=-1))
    n = last + 1 - begins[last]
    sizes = np.maximum(0, n - np.maximum(3, n // 2)) // parts
    ends, drawn = np.cumsum(sizes), sample(int(sizes.sum()), most)
    whose = np.searchsorted(ends, drawn, side="right")
    rows = last[whose] + 1 - (ends[whose] - drawn)
    kept = np.isin(person, whose)
    some, rows = visits[kept].reset_index(drop=True), (np.cumsum(kept) - 1)[rows]
    table, _, vocabulary = _with_own_places(some, *person_rows(some.user_id))
    features = encode(table, vocabulary)
    (windows,) = of_rows(table, features, vocabulary, [rows], MEMORY, OLDER)
    return windows


def _with_own_places(
    visits: pd.DataFrame, person: np.ndarray, begins: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, Vocabulary]:
    """The visits with everybody's places numbered from 0, (N,) a number that nobody shares, ids."""
    codes, names = pd.factorize(visits.location_id)
    place, _ = pd.factorize(person * len(names) + codes)
    own = place - place[begins]
    vocabulary = Vocabulary(tuple(range(int(own.max(initial=0)) + 1)), (), 0)
    return visits.assign(location_id=own), place, vocabulary


@torch.no_grad()
def likeliest(model: Experts, asked: Questions, top: int | None = None) -> pd.DataFrame:
    """By ``window``, ``rank`` and ``place`` the probability, the likeliest first."""
    if top is not None and (not isinstance(top, int | np.integer) or top < 1):
        raise DataError(f"top is {top!r}; it must be a whole number, at least 1.")
    parts = []
    for batch in asked.windows.batches(512):
        index, answers = batch.index.numpy(), model.mixture(batch)
        share = answers.pointer.exp().where(answers.place >= 0, 0).numpy()
        place = answers.place.numpy()
        order = np.argsort(-share, axis=1, kind="stable")[:, :top]  # (B, K)
        value = np.take_along_axis(share, order, 1) * (1 - asked.new[index])[:, None]
        at, rank = np.nonzero(value > 0)
        number = np.take_along_axis(place, order, 1)[at, rank] - 2 + asked.first[index[at]]
        parts.append(pd.DataFrame({"window": index[at], "rank": rank + 1, "place": number,
                                   "probability": value[at, rank]}))  # fmt: skip
    return pd.concat(parts).sort_values(["window", "rank"], ignore_index=True)


def share_of_new(windows: HistoryWindows, mean: float, strength: float) -> np.ndarray:
    """(W,) how many of the latest visits were to new places, the share drawn towards a mean."""
    before = np.append(0, np.cumsum(is_new(windows)))
    begin = np.maximum(windows.floor, windows.target - RECENT)
    n_new = before[windows.target] - before[begin]
    return np.asarray((n_new + strength * mean) / (windows.target - begin + strength))
