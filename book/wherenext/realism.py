"""How real does a table of visits look? Numbers that describe mobility, beside GeoLife's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pgt.config import WindowConfig
from pgt.visits import check
from pgt.windows import prepare

# The same statistics of the test windows of GeoLife (Zheng et al. 2010), by the pipeline of Hong et
# al. (2023): 45 people, 3,500 windows. Larkmere aims at ``real_locations``; ``unknown_merged``
# counts all places that training never saw as one, as the published windows do.
REFERENCE = pd.read_csv(Path(__file__).with_name("geolife.csv"), index_col="statistic")


def realism(visits: pd.DataFrame) -> pd.Series:
    """Describe visits (with a ``split``) by the statistics of `REFERENCE`, in its units."""
    # As in the windows of the literature, of which the reference was counted.
    config = WindowConfig(protocol="exact", anchor="target_day")
    windows = prepare(visits, config=config).test
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
