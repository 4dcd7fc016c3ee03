"""Answers to the exercises of Part I, on visits and windows and without a model.

Where it can, an answer is computed in another way than the chapter's folded solution.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.exercises.answer import Answer, Answers
from pgt.exercises.answer import visits as all_visits
from pgt.exercises.answer import windows as windows_of
from pgt.metrics import summarize
from pgt.visits import local_day
from pgt.windows import Windows

PART_ONE = Answers()


def _seen(windows: Windows) -> list[tuple[np.ndarray, int]]:
    """For each window its places, newest first, and the true next one."""
    places = windows.visits.location_id.to_numpy()
    ranges = zip(windows.first, windows.target, strict=True)
    return [(places[first:target][::-1], places[target]) for first, target in ranges]


def _by_count(places: np.ndarray) -> np.ndarray:
    """The different places, most frequent first; of equals, the one that comes first."""
    values, first, counts = np.unique(places, return_index=True, return_counts=True)
    return values[np.lexsort((first, -counts))]


@PART_ONE.to("1.1")
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
    )


@PART_ONE.to("1.2")
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
    return Answer(newest, tuple(slips.items()))


@PART_ONE.to("1.3")
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
    )


@PART_ONE.to("1.4")
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
    )


@PART_ONE.to("1.5")
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
    return Answer(low, atol=0.01)


@PART_ONE.to("3.1")
def _how_many_days() -> Answer:
    exact, published = (
        [100 * windows_of(days, protocol).test.in_window.mean() for days in (1, 3, 7, 14, 28)]
        for protocol in ("exact", "published")
    )
    return Answer(
        exact, ((published, "these are the windows of the published protocol; use the exact one."),)
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


@PART_ONE.to("3.2")
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
    )


@PART_ONE.to("3.3")
def _padding() -> Answer:
    lengths = windows_of(7, "published").train.lengths
    order = np.random.default_rng(0).permutation(len(lengths))

    def share(size: int, pool: int) -> float:
        """Percent of the seats that stay empty."""
        seats, step = 0, max(pool, 1) * size
        for at in range(0, len(order), step):
            part = lengths[order[at : at + step]]
            part = np.sort(part) if pool else part
            cuts = range(0, len(part), size)
            seats += sum(part[k : k + size].max() * len(part[k : k + size]) for k in cuts)
        return 100 * (1 - lengths.sum() / seats)

    right = [[share(size, pool) for pool in (0, 32)] for size in (16, 64, 128, 512)]
    turned = [row[::-1] for row in right]
    return Answer(right, ((turned, "the columns are exchanged: random first, then pools of 32."),))


@PART_ONE.to("3.4")
def _hours() -> Answer:
    test = _test()
    minutes = (test.started_at - test.started_at.min()).dt.total_seconds().to_numpy() / 60
    by_hours = _starts(test, minutes, 168 * 60)
    by_days = _starts(test, local_day(test.started_at).to_numpy(), 7)
    value, other = (np.array([list(s.values()), list(s)]) for s in (by_hours, by_days))
    return Answer(value, ((other, "these windows still count calendar days."),))


@PART_ONE.to("3.5")
def _reach_back() -> Answer:
    visits = all_visits()
    days, places = local_day(visits.started_at).to_numpy(), visits.location_id.to_numpy()
    rows = np.flatnonzero(visits.split == "test")
    inside = {k: f for k, f in _starts(visits, days, 7).items() if visits.split.iat[k] == "test"}
    old = {int(rows[k]) for k in _starts(_test(), days[rows], 7)}
    found = pd.Series({k: places[k] in places[f:k] for k, f in inside.items()})
    new = ~found.index.isin(list(old))
    value = [int(new.sum()), 100 * found[new].mean(), 100 * found[~new].mean()]
    slip = [len(found), 100 * found.mean(), 100 * found[~new].mean()]
    return Answer(value, ((slip, "you counted all windows; leave out those there were before."),))


@PART_ONE.to("4.1")
def _favourite() -> Answer:
    data = windows_of()
    train = data.train.visits
    counts = train.groupby("user_id").location_id.value_counts()
    test = data.test
    targets = test.visits.location_id.to_numpy()[test.target]
    rows = []
    for user, target in zip(test.users, targets, strict=True):
        own = counts[user] if user in counts.index.get_level_values(0) else pd.Series(dtype=float)
        score = own.get(target, 0)
        tied = int((own == score).sum()) if score > 0 else 0
        rows.append((user, target, -1, int((own > score).sum()), tied, True, True))
    names = ["user_id", "target", "predicted", "better", "tied", "known", "in_window"]
    scores = summarize(pd.DataFrame(rows, columns=names), ["all"]).iloc[0]
    value = [scores["acc@1"], scores["acc@10"]]
    return Answer(value, ((value[::-1], "the two are exchanged: Acc@1 first."),))
