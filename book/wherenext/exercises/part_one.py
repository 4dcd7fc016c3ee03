"""Answers to the exercises of Part I, on visits and windows and without a model.

Where it can, an answer is computed in another way than the chapter's folded solution.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.visits import local_day
from pgt.windows import Windows
from wherenext.exercises.answer import ANSWERS, Answer, Field
from wherenext.exercises.answer import visits as all_visits
from wherenext.exercises.answer import windows as windows_of


def _seen(windows: Windows) -> list[tuple[np.ndarray, int]]:
    """For each window its places, newest first, and the true next one."""
    places = windows.visits.location_id.to_numpy()
    ranges = zip(windows.first, windows.target, strict=True)
    return [(places[first:target][::-1], places[target]) for first, target in ranges]


def _by_count(places: np.ndarray) -> np.ndarray:
    """The different places, most frequent first; of equals, the one that comes first."""
    values, first, counts = np.unique(places, return_index=True, return_counts=True)
    return values[np.lexsort((first, -counts))]


@ANSWERS.to("1.1")
def _kinds() -> Answer:
    share = all_visits().groupby("kind").explored.mean()
    total = all_visits().groupby("kind").explored.sum()
    most, least = str(share.idxmax()), str(share.idxmin())
    return Answer(
        (most, least),
        (
            ((least, most), "the two are exchanged: the most explored kind comes first."),
            (
                (str(total.idxmax()), str(total.idxmin())),
                "you counted explorations; a kind with many visits has many of those. "
                "Divide by the visits.",
            ),
        ),
        fields=tuple(
            Field(label, choices=tuple(sorted(share.index)))
            for label in ("Most often explored", "Least often explored")
        ),
        then="Home and work are returned to; the next shop is often a new one.",
        code=True,
    )


@ANSWERS.to("1.2")
def _newest_of_equals() -> Answer:
    seen = _seen(windows_of().test)
    newest, oldest, smallest = (
        100 * np.mean([_by_count(order(places))[0] == target for places, target in seen])
        for order in (lambda x: x, lambda x: x[::-1], np.sort)
    )
    slips = {
        smallest: "ties still go to the smallest place number.",
        oldest: "ties go to the oldest visit; you want the newest.",
    }
    if smallest == oldest:  # by chance they are right equally often
        slips = {oldest: "ties go to the oldest visit, or to the smallest place number; you want "
                         "the newest visit."}  # fmt: skip
    return Answer(
        newest,
        tuple(slips.items()),
        fields=(Field("Test windows in which the rule is right", "%"),),
        then="A way to break ties is a part of the rule, and it is seldom written down.",
        code=True,
    )


@ANSWERS.to("1.3")
def _honest() -> Answer:
    visits = all_visits()

    def gap(bins: pd.Series) -> float:
        table = visits.groupby(bins, observed=True)[["p_explore", "explored"]].mean()
        return 100 * float((table.p_explore - table.explored).abs().max())

    return Answer(
        gap(pd.qcut(visits.p_explore, 10, duplicates="drop")),
        (
            (
                gap(pd.cut(visits.p_explore, 10)),
                "your bins are equally wide; make them equally full, with pd.qcut.",
            ),
        ),
        fields=(Field("Largest difference", "percentage points"),),
        then="The town's probabilities come true as often as they say, up to chance.",
        code=True,
    )


@ANSWERS.to("1.4")
def _short_list() -> Answer:
    hits = np.zeros((2, 5))
    seen = _seen(windows_of().test)
    for places, target in seen:
        for row, ordered in enumerate((_by_count(places), _by_count(np.sort(places)))):
            hits[row] += [target in ordered[:k] for k in range(1, 6)]
    right, sorted_ = 100 * hits / len(seen)
    return Answer(
        right,
        (
            (sorted_, "ties still go to the smallest place number."),
            (np.diff(right, prepend=0), "these are the gains of each place; add them up."),
        ),
        fields=tuple(Field(f"A list of {k}", "%") for k in ("one", "two", "three", "four", "five")),
        then="The second place helps most, for home and work take turns.",
        code=True,
    )


@ANSWERS.to("1.5")
def _law() -> Answer:
    visits = all_visits()
    new = ~visits.duplicated(["user_id", "location_id"])
    known = new.groupby(visits.user_id).cumsum() - new
    keep = (known > 1).to_numpy()
    logs, new = np.log(known.to_numpy(dtype=float)[keep]), new.to_numpy()[keep]
    person = pd.factorize(visits.user_id)[0][keep]
    explorations = np.bincount(person, new)

    def slope(gamma: float) -> float:
        """Derivative of the log-likelihood, once each person's rho is chosen best."""
        weight = np.exp(-gamma * logs)
        mean = np.bincount(person, weight * logs) / np.bincount(person, weight).clip(1e-300)
        return float((explorations * mean).sum() - logs[new].sum())

    low, high = -1.0, 2.0  # the derivative falls with gamma: halve the interval
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return Answer(
        low,
        atol=0.01,
        fields=(Field("γ, with a ρ for each person", digits=2),),
        then="One line for all people is flatter, for it mixes the curious with everybody else.",
        code=True,
    )


@ANSWERS.to("3.1")
def _how_many_days() -> Answer:
    exact, published = (
        [100 * windows_of(days, protocol).test.in_window.mean() for days in (1, 3, 7, 14, 28)]
        for protocol in ("exact", "published")
    )
    return Answer(
        exact,
        ((published, "these are the windows of the published protocol; use the exact one."),),
        fields=tuple(
            Field(f"In the window, {days}", "%")
            for days in ("1 day", "3 days", "7 days", "14 days", "28 days")
        ),
        then="More history finds more targets, but it costs windows: the start must be longer.",
        code=True,
    )


def _test() -> pd.DataFrame:
    visits = all_visits()
    return visits[visits.split == "test"].reset_index(drop=True)


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


@ANSWERS.to("3.2")
def _utc() -> Answer:
    test = _test()
    local = local_day(test.started_at).to_numpy()
    utc = local_day(test.started_at.dt.tz_convert("UTC")).to_numpy()
    ours, theirs = _starts(test, local, 7), _starts(test, utc, 7)
    both = ours.keys() & theirs.keys()
    elsewhere = 100 * np.mean([ours[k] != theirs[k] for k in both])
    return Answer(
        [len(theirs), elsewhere, 100 * np.mean(local != utc)],
        (
            (
                [len(ours), 0, 0],
                "nothing has moved; tz_convert('UTC') changes the clock, and the day must be "
                "taken after it.",
            ),
        ),
        fields=(
            Field("Windows", digits=0),
            Field("Common windows that begin elsewhere", "%"),
            Field("Visits on another day", "%"),
        ),
        then="Few visits change their day, and more windows change their beginning.",
        code=True,
    )


@ANSWERS.to("3.3")
def _by_hand() -> Answer:
    days = np.array([1, 3, 3, 7, 8, 10, 10, 18, 19, 20])
    one = pd.DataFrame({"user_id": 0}, index=range(len(days)))

    def asked(width: int) -> list[int]:
        starts = _starts(one, days, width)
        return [len(starts), max(target - first for target, first in starts.items())]

    return Answer(
        asked(7),
        (
            ([4, 5], "day 7 is too early: seven days must have passed since the first day."),
            ([6, 5], "after the long gap no window holds three visits."),
            (asked(6), "the seventh day before the target's is still in the window."),
        ),
        fields=(Field("Windows", digits=0), Field("Visits in the longest", digits=0)),
        then="A gap costs twice: the days themselves, and the windows after it that stay too thin.",
    )
