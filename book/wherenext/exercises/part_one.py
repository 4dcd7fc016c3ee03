"""Answers to the exercises of Part I, on fixes, visits, windows and baselines, without a model."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from pgt.config import Protocol
from pgt.readers import gps
from pgt.visits import local_day, spread
from pgt.windows import Dataset, Windows, prepare
from wherenext import city
from wherenext.exercises import Worked, works_out
from wherenext.fixes import simulate_fixes, true_visits
from wherenext.gps_matching import match, recovery

DAYS, PEOPLE = 28, 8  # of chapter 2
SIZES = (16, 64, 128, 512)  # of a batch
TIES = "ties still go to the smallest place number."


@cache
def town() -> city.City:
    """The simulated town; do not change it."""
    return city.load()


@cache
def windows_of(days: int = 7, protocol: Protocol = "exact") -> Dataset:
    """The town's windows."""
    return prepare(town().visits, days=days, protocol=protocol)


def _seen(windows: Windows) -> list[tuple[np.ndarray, int]]:
    """For each window its places, newest first, and the true next one."""
    places = windows.visits.location_id.to_numpy()
    ranges = zip(windows.first, windows.target, strict=True)
    return [(places[first:target][::-1], places[target]) for first, target in ranges]


def _by_count(places: np.ndarray) -> np.ndarray:
    """The different places, most frequent first; of equals, the one that comes first."""
    values, first, counts = np.unique(places, return_index=True, return_counts=True)
    return values[np.lexsort((first, -counts))]


KINDS = tuple(sorted(town().visits.kind.unique()))


@works_out("1.1", ["Least often explored"], choices=KINDS, code=True)
def _kinds() -> Worked:
    """Home is returned to; at which kind most visits explore is a matter of chance."""
    explored = town().visits.groupby("kind").explored
    share, total = explored.mean(), explored.sum()
    return (str(share.idxmin()),), {
        "you counted explorations; a kind with few visits has few of those. "
        "Divide by the visits.": (str(total.idxmin()),),
    }


@works_out("1.2", ["Test windows in which the rule is right [%]"], code=True)
def _newest_of_equals() -> Worked:
    """A way to break ties is a part of the rule, and it is seldom written down."""
    seen = _seen(windows_of().test)
    newest, oldest = (
        100 * np.mean([_by_count(places[::step])[0] == target for places, target in seen])
        for step in (1, -1)
    )  # ties to the smallest number are right as often as those to the oldest visit
    return newest, {"ties go to the oldest visit, or to the smallest place number; you want "
                    "the newest visit.": oldest}  # fmt: skip


@works_out(
    "1.3", [f"A list of {k} [%]" for k in ("one", "two", "three", "four", "five")], code=True
)
def _short_list() -> Worked:
    """The second place helps most, for the first is often where the person is."""
    hits = np.zeros((2, 5))
    seen = _seen(windows_of().test)
    for places, target in seen:
        for row, ordered in enumerate((_by_count(places), _by_count(np.sort(places)))):
            hits[row] += [target in ordered[:k] for k in range(1, 6)]
    right, sorted_ = 100 * hits / len(seen)
    gains = np.diff(right, prepend=0)
    return right, {TIES: sorted_, "these are the gains of each place; add them up.": gains}


@cache
def _truth() -> pd.DataFrame:
    """The first four weeks of the people with most visits in theirs."""
    visits = true_visits(town(), town().people.user_id.tolist(), days=DAYS)
    return visits[visits.user_id.isin(visits.user_id.value_counts().index[:PEOPLE])]


@cache
def _fixes(noise_m: float = 5.0) -> pd.DataFrame:
    people = sorted(_truth().user_id.unique().tolist())
    return simulate_fixes(town(), people, days=DAYS, every_s=60, noise_m=noise_m)


@works_out("2.1", ["With 100 metres", "With 200 metres"], code=True)
def _bad_receiver() -> Worked:
    """A bad receiver breaks stays in pieces where the threshold is as small as its error."""

    def left(noise_m: float, located: bool = True) -> list[float]:
        counts = []
        for metres in (100, 200):
            found = gps.generate_staypoints(_fixes(noise_m=noise_m), dist_threshold=metres)
            if located:
                found = gps.merge_staypoints(*gps.generate_locations(found))
            counts.append(float(match(found, _truth()).found.count()))
        return counts

    return left(40.0), {
        "that is the usual receiver; take record(noise_m=40).": left(5.0),
        "those are found as staypoints; take what is left as visits.": left(40.0, located=False),
    }


@works_out("2.2", ["With all fixes [m]"], atol=0.01, code=True)
def _middles() -> Worked:
    """A perfect receiver repeats its position, and repeated fixes must count."""
    fixes = _fixes(noise_m=0.0)
    stays = gps.generate_staypoints(fixes)
    # Each fix's staypoint, since a staypoint's fixes are consecutive rows.
    row, within = spread(stays.n_fixes.to_numpy())
    own = fixes.iloc[stays.first_fix.to_numpy()[row] + within]
    middles = own[["lon", "lat"]].groupby(row).mean()
    distinct, all_fixes = (
        match(table, _truth()).metres for table in (stays, stays.assign(**middles))
    )
    return float(all_fixes.median()), {
        "this is the mean; a few far ones decide it. Take the median.": float(all_fixes.mean()),
        "that is with the distinct positions; take mean_of_all.": float(distinct.median()),
    }


@works_out("2.3", ["Recall [%]", "Precision [%]"], atol=0.01, code=True)
def _generous() -> Worked:
    """The price is a vocabulary in which most places appear once."""
    stays = gps.generate_staypoints(_fixes())

    def scores(min_samples: int) -> list[float]:
        found = gps.merge_staypoints(*gps.generate_locations(stays, min_samples=min_samples))
        return recovery(found, _truth(), people=False).loc[0, ["recall", "precision"]].tolist()

    return scores(1), {"that is min_samples=2, as published.": scores(2)}


@works_out(
    "3.1", [f"In the window, {d} day{'s' * (d > 1)} [%]" for d in (1, 3, 7, 14, 28)], code=True
)
def _how_many_days() -> Worked:
    """More history finds more targets, but it costs windows: the start must be longer."""
    exact, published = (
        [100 * windows_of(days, protocol).test.in_window.mean() for days in (1, 3, 7, 14, 28)]
        for protocol in ("exact", "published")
    )
    return exact, {"these are the windows of the published protocol; use the exact one.": published}


def _starts(visits: pd.DataFrame, at: np.ndarray, width: float) -> dict[int, int]:
    """Target row -> first row of its window, `at` being each visit's time in any unit."""
    starts = {}
    for rows in visits.groupby("user_id", sort=False).indices.values():
        own = at[rows]
        first = np.searchsorted(own, own - width)
        for k, since in enumerate(first):
            if k - since >= 3 and own[k] - own[0] >= width:
                starts[int(rows[k])] = int(rows[since])
    return starts


@works_out(
    "3.2",
    ["Windows", "Common windows that begin elsewhere [%]", "Visits on another day [%]"],
    digits=(0, 1, 1),
    code=True,
)
def _utc() -> Worked:
    """Few visits change their day, and more windows change their beginning."""
    test = town().visits.query("split == 'test'").reset_index(drop=True)
    local = local_day(test.started_at).to_numpy()
    utc = local_day(test.started_at.dt.tz_convert("UTC")).to_numpy()
    ours, theirs = _starts(test, local, 7), _starts(test, utc, 7)
    elsewhere = 100 * np.mean([ours[k] != theirs[k] for k in ours.keys() & theirs.keys()])
    return [len(theirs), elsewhere, 100 * np.mean(local != utc)], {
        "nothing has moved; tz_convert('UTC') changes the clock, and the day must be "
        "taken after it.": [len(ours), 0, 0]
    }


@works_out("3.3", ["Windows", "Visits in the longest"], digits=0)
def _by_hand() -> Worked:
    """A gap costs twice: the days themselves, and the windows after it that stay too thin."""
    days = np.array([1, 3, 3, 7, 8, 10, 10, 18, 19, 20])
    one = pd.DataFrame({"user_id": 0}, index=range(len(days)))

    def asked(width: int) -> list[int]:
        starts = _starts(one, days, width)
        return [len(starts), max(target - first for target, first in starts.items())]

    return asked(7), {
        "day 7 is too early: seven days must have passed since the first day.": [4, 5],
        "after the long gap no window holds three visits.": [6, 5],
        "the seventh day before the target's is still in the window.": asked(6),
    }


@works_out("4.1", ["Acc@1 [%]", "Acc@10 [%]"], code=True)
def _favourite() -> Worked:
    """The rule does not know where the person is, but its list of ten reaches beyond the window."""
    train, test = windows_of().train.visits, windows_of().test
    counts = train.groupby("user_id").location_id.value_counts()
    targets = test.visits.location_id.to_numpy()[test.target]
    credit = []
    for user, target in zip(test.users, targets, strict=True):
        own = counts.get(user, pd.Series(dtype=float))
        score = own.get(target, 0)
        better, tied = (own > score).sum(), (own == score).sum()
        credit.append([score and np.clip((k - better) / max(tied, 1), 0, 1) for k in (1, 10)])
    value = (100 * np.array(credit, dtype=float)).clip(max=100).mean(0)
    return value, {}


@works_out("4.2", ["Lower end", "Upper end"], atol=0.15, code=True)
def _clock() -> Worked:
    """The two rules' intervals overlap almost entirely, and yet the difference is clear of zero."""
    return [0.3, 1.8], {"kernel minus the other, not the other way round.": [-1.8, -0.3]}


@works_out("4.3", ["Acc@1", "Acc@3", "MRR"], digits=2, atol=0.005)
def _three_tied() -> Worked:
    """If the order of columns broke the ties, Acc@3 of this window would be 1 or 0."""
    ranks = np.array([2, 3, 4])  # that the target may have: one place is ahead, three are level
    first = [1 / 3, 2 / 3, (1 + 1 / 2 + 1 / 3) / 3]
    return [credit.mean() for credit in (ranks <= 1, ranks <= 3, 1 / ranks)], {
        "you let the target win its ties; take the mean over all orders.": [0, 1, 1 / 2],
        "you let the target lose its ties; take the mean over all orders.": [0, 0, 1 / 4],
        "that is the mean rank; the mean is taken of the credit at each rank.": [0, 1, 1 / 3],
        "one place is ahead of all three, so the best rank is the second.": first,
    }
