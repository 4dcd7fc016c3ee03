"""A question: a window whose target is not there yet, behind each person's visits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.errors import DataError
from pgt.predictor.contextual import MEMORY, OLDER
from pgt.predictor.memory import HistoryWindows, is_new, of_rows, sample
from pgt.predictor.pool import PAST, Experts
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
        found, zone = pd.Timestamp(at), visits.started_at.dt.tz
        if found.tz is not None:
            return found.tz_convert(zone)
        local = found.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
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
CALIBRATED = 6000  # late windows of a table by which sets are calibrated, at most


@dataclass(frozen=True)
class Questions:
    """For each person a window whose target is not there yet."""

    windows: HistoryWindows
    past: HistoryWindows  # windows of everybody whose target has happened, in their later halves
    late: HistoryWindows  # and in their last quarters
    new: np.ndarray  # (W,) how likely the next place is a new one
    last: np.ndarray  # (W,) the row of the person's last visit
    first: np.ndarray  # (W,) the number of the person's first place
    visits: pd.DataFrame  # everybody's, by person and time
    place: np.ndarray  # (N,) the number of each visit's place; nobody shares one

    def named(self, found: pd.DataFrame) -> pd.DataFrame:
        """Windows and places by their ids; a place below 0 is "somewhere new"."""
        row = pd.Series(np.arange(len(self.place)), index=self.place)
        row = row[~row.index.duplicated(keep="last")]  # the latest visit knows name and position
        window, known = found.window.to_numpy(), found.place.to_numpy() >= 0
        last = self.visits.iloc[self.last[window]]
        about = self.visits.iloc[row.reindex(found.place, fill_value=0)].reset_index(drop=True)
        ids = about.location_id if known.all() else about.location_id.astype(object)
        out = pd.DataFrame({
            "user_id": last.user_id.to_numpy(), "rank": found["rank"],
            "location_id": ids.where(known, None), "probability": found.probability,
            "somewhere_new": self.new[window], "after": last.started_at.reset_index(drop=True),
        })  # fmt: skip
        where = about[about.columns.intersection(["lon", "lat"])]
        return out.join(where[known])


def ask(
    visits: pd.DataFrame, at: pd.Timestamp | None, novelty: tuple[float, float], user: Any = None
) -> Questions:
    """Ask where everybody, or one person, goes next; and of some visits of all later halves."""
    person, begins = person_rows(visits.user_id)
    codes, names = pd.factorize(visits.location_id)
    place, _ = pd.factorize(person * len(names) + codes)
    own = place - place[begins]  # everybody's from 0
    last = np.flatnonzero(np.diff(person, append=-1))
    time = visits.finished_at.iloc[last] if at is None else at
    empty = visits.iloc[last].assign(location_id=-1, started_at=time, finished_at=time)
    table = pd.concat([visits.assign(location_id=own), empty], ignore_index=True)
    order = np.argsort(np.append(person, person[last]), kind="stable")
    table = table.iloc[order].reset_index(drop=True)
    target = last + 1 + np.arange(len(last))
    n = last + 1 - begins[last]
    half = np.maximum(0, n - np.maximum(3, n // 2))
    earlier = []
    for sizes, most in ((half, PAST), (half // 2, CALIBRATED)):
        ends, some = np.cumsum(sizes), sample(int(sizes.sum()), most)
        of = np.searchsorted(ends, some, side="right")
        earlier.append(target[of] - ends[of] + some)
    vocabulary = Vocabulary(tuple(range(int(own.max(initial=0)) + 1)), (), 0)
    features = encode(table, vocabulary)
    if user is not None:
        mine = visits.user_id.to_numpy()[last] == user
        last, target = last[mine], target[mine]
    rows = [target, *earlier]
    windows, past, late = of_rows(table, features, vocabulary, rows, MEMORY, OLDER)
    new = share_of_new(windows, *novelty)
    return Questions(windows, past, late, new, last, place[begins[last]], visits, place)


@torch.no_grad()
def likeliest(model: Experts, asked: Questions, top: int | None = None) -> pd.DataFrame:
    """By ``window``, ``rank`` and ``place`` the probability, the likeliest first."""
    if top is not None and (not isinstance(top, int | np.integer) or top < 1):
        raise DataError(f"top is {top!r}; it must be a whole number, at least 1.")
    parts = []
    for batch in asked.windows.batches(256):
        index, found = batch.index.numpy(), model.mixture(batch)
        place, share = found.place.numpy(), found.pointer.exp().where(found.place >= 0, 0).numpy()
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
