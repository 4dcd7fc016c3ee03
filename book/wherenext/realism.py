"""How real does a table of visits look? Numbers that describe mobility, beside GeoLife's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.config import WindowConfig
from pgt.errors import DataError
from pgt.visits import check
from pgt.windows import prepare

#: The same statistics on the test windows of GeoLife (Zheng et al. 2010), made
#: with the pipeline of Hong et al. (2023): 45 people, 3,500 test windows.
#: ``real_locations`` keeps every place apart and is what :mod:`wherenext.city` aims
#: at; ``unknown_merged`` counts all places that training never saw as a single
#: one, as the published windows do.  ``None``: not measured.
REFERENCE: pd.DataFrame = pd.DataFrame(
    [
        ("target_in_window", "target in the window, %", 68.4, 83.8),
        ("position_from_end", "position of the target from the end, mean", 3.67, 3.33),
        ("unique_share", "unique locations / window length", 0.475, 0.340),
        ("repeats", "consecutive repeats, %", 14.8, 26.9),
        ("target_is_last", "target = last location, %", 15.0, 27.1),
        ("target_is_top1", "target = most frequent in the window, %", 33.8, 44.2),
        ("target_in_top3", "target in the window's top three, %", 60.9, 78.5),
        ("entropy", "entropy of locations in the window, nats", 1.59, 1.20),
        ("length", "visits in a window, mean", 18.4, 18.4),
        ("target_unseen", "target not in any train visit, %", 22.8, 22.8),
        ("first_visits", "first-ever visits, % of all visits", 21.1, None),
        ("first_20_50", "… after 20 to 50 visits, %", 30.0, None),
        ("first_50_100", "… after 50 to 100 visits, %", 23.7, None),
        ("first_100_200", "… after 100 to 200 visits, %", 17.9, None),
        ("visits_per_day", "visits per active day", 2.45, None),
        ("active_days", "days with a visit, median person, %", 45.5, None),
    ],
    columns=["statistic", "meaning", "real_locations", "unknown_merged"],
).set_index("statistic")


def realism(visits: pd.DataFrame, days: int = 7, min_visits: int = 3) -> pd.Series:
    """Describe visits (with a ``split``) by the statistics of `REFERENCE`, in its units."""
    if "split" not in visits:
        raise DataError(
            "Column 'split' is missing: realism() needs it; "
            "pgt.visits.split_by_days(visits) adds it."
        )
    # As in the windows of the literature, of which the reference was counted.
    config = WindowConfig(days, min_visits, "exact", anchor="target_day")
    windows = prepare(visits, config=config).test
    if len(windows) == 0:
        raise DataError(
            "The visits have no test window: track people for more than "
            f"{5 * (days + 1)} days, or lower days or min_visits."
        )
    place = windows.features[0].numpy()[1:]  # (N,) the test split's visits
    pairs = zip(windows.first, windows.target, strict=True)
    found = pd.DataFrame(_one_window(place[lo:hi], place[hi]) for lo, hi in pairs)
    known = windows.vocabulary.is_known(windows.targets)
    inside = found.position_from_end.notna()
    found = found.assign(target_in_window=inside, target_unseen=~known)
    means = found.astype(float).mean()
    percent = REFERENCE.index[REFERENCE.meaning.str.endswith("%")].intersection(means.index)
    means[percent] *= 100
    return pd.concat([means, _habits(check(visits))]).reindex(REFERENCE.index).rename("value")


def _one_window(window: np.ndarray, target: int) -> dict[str, float]:
    """Statistics of one window (L,); the position is nan when the target is not in it."""
    hits = np.flatnonzero(window[::-1] == target)
    # `seen` is the first position of each place in the window: it breaks ties.
    places, seen, count = np.unique(window, return_index=True, return_counts=True)
    top = places[np.lexsort((seen, -count))][:3]
    share = count / len(window)
    return {
        "position_from_end": hits[0] + 1 if len(hits) else np.nan,
        "unique_share": len(places) / len(window),
        "repeats": np.mean(window[1:] == window[:-1]),
        "target_is_last": window[-1] == target,
        "target_is_top1": top[0] == target,
        "target_in_top3": target in top,
        "entropy": -(share * np.log(share)).sum(),
        "length": len(window),
    }


def _habits(visits: pd.DataFrame) -> pd.Series:
    """First-ever visits and active days, over all visits of all people."""
    user = visits["user_id"]
    first = ~visits.duplicated(["user_id", "location_id"])
    n = visits.groupby("user_id").cumcount()
    day = visits["started_at"].dt.tz_localize(None).dt.normalize()
    by_user = day.groupby(user)
    active = by_user.nunique()
    span = (by_user.max() - by_user.min()).dt.days + 1
    found = {"first_visits": 100 * float(first.mean())}
    for lo, hi in ((20, 50), (50, 100), (100, 200)):
        found[f"first_{lo}_{hi}"] = 100 * float(first[(n >= lo) & (n < hi)].mean())
    found["visits_per_day"] = len(visits) / float(active.sum())
    found["active_days"] = 100 * float((active / span).median())
    return pd.Series(found)
