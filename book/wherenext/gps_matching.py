"""How well visits found in position fixes recover the true ones, which only a simulation knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, homogeneity_completeness_v_measure
from sklearn.metrics.pairwise import haversine_distances

from pgt.errors import DataError
from pgt.readers.gps import require_stays
from pgt.visits import EARTH_RADIUS, microseconds

MINUTE = 60e6  # microseconds
METRES, SHARE = 200.0, 0.5  # what a pair needs


def match(found: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Pair found visits (or staypoints) with true ones: the most time is common to all pairs.

    They lie within `METRES`, and the found one covers this `SHARE` of the true one. A row a true
    visit: ``found`` (row label or missing), ``minutes`` (in common), ``metres`` (apart), and in
    minutes ``start_error`` and ``end_error`` (above 0: too late).
    """
    for table in (found, truth):
        require_stays(table)
        if not table.index.is_unique:
            raise DataError("Row labels repeat; number the rows with .reset_index(drop=True).")
    pairs = pd.DataFrame(
        {"found": pd.Series(pd.NA, truth.index, dtype=object), "minutes": 0.0, "metres": np.nan,
         "start_error": np.nan, "end_error": np.nan}
    )  # fmt: skip
    theirs = dict(tuple(found.groupby("user_id")))
    for user, own in truth.groupby("user_id"):
        if user not in theirs or own.empty or theirs[user].empty:  # of a category that none has
            continue
        other = theirs[user]
        ours, begin, end = (_span(own), *(_span(other).T))
        common = np.minimum(ours[:, [1]], end) - np.maximum(ours[:, [0]], begin)  # (T, F)
        points = (np.radians(one[["lat", "lon"]].to_numpy(dtype=float)) for one in (own, other))
        apart = EARTH_RADIUS * haversine_distances(*points)
        lasts = np.diff(ours)  # (T, 1)
        common[(common <= 0) | (common < SHARE * lasts) | (apart > METRES)] = 0
        rows, columns = linear_sum_assignment(common, maximize=True)
        real = common[rows, columns] > 0
        rows, columns = rows[real], columns[real]
        at = own.index[rows]
        pairs.loc[at, "found"] = other.index[columns].to_numpy(dtype=object)
        pairs.loc[at, "minutes"] = common[rows, columns] / MINUTE
        pairs.loc[at, "metres"] = apart[rows, columns]
        pairs.loc[at, "start_error"] = (begin[columns] - ours[rows, 0]) / MINUTE
        pairs.loc[at, "end_error"] = (end[columns] - ours[rows, 1]) / MINUTE
    return pairs


def recovery(found: pd.DataFrame, truth: pd.DataFrame, *, people: bool = True) -> pd.DataFrame:
    """Score found visits (or staypoints) against the true ones, for "all" and each person.

    ``precision``, ``recall``, ``f1`` in percent; ``start_error``, ``end_error``: medians of
    absolute errors, minutes; ``end_late``: mean signed error of the end; ``apart``: median metres.
    With ``location_id`` in both: ``rand`` (adjusted Rand index), ``unmixed`` (homogeneity: no found
    location mixes true places), ``unsplit`` (completeness). What cannot be computed is NaN.
    """
    pairs = match(found, truth)
    places = "location_id" in found.columns and "location_id" in truth.columns
    rows = [{"group": "all"} | _scores(pairs, found, truth, places)]
    for user, own in truth.groupby("user_id", sort=True) if people else ():
        theirs = found[found.user_id == user]
        rows.append({"group": str(user)} | _scores(pairs.loc[own.index], theirs, own, places))
    return pd.DataFrame(rows)


def _scores(
    pairs: pd.DataFrame, found: pd.DataFrame, truth: pd.DataFrame, places: bool
) -> dict[str, Any]:
    hit, both = pairs[pairs.found.notna()], len(found) + len(pairs)
    scores: dict[str, Any] = {
        "n_true": len(pairs), "n_found": len(found), "n_matched": len(hit),
        "precision": 100 * len(hit) / len(found) if len(found) else np.nan,
        "recall": 100 * len(hit) / len(pairs) if len(pairs) else np.nan,
        "f1": 200 * len(hit) / both if both else np.nan,
        "start_error": hit.start_error.abs().median(), "end_error": hit.end_error.abs().median(),
        "end_late": hit.end_error.mean(), "apart": hit.metres.median(),
        "rand": np.nan, "unmixed": np.nan, "unsplit": np.nan,
    }  # fmt: skip
    theirs = found.location_id.loc[hit.found] if places else pd.Series(dtype=object)
    here = theirs.notna().to_numpy()  # a found row without a location belongs to none
    if here.any():
        true, _ = pd.factorize(truth.location_id.loc[hit.index[here]])
        mine, _ = pd.factorize(theirs[here])
        unmixed, unsplit, _ = homogeneity_completeness_v_measure(true, mine)
        rand = float(adjusted_rand_score(true, mine))
        scores |= {"rand": rand, "unmixed": float(unmixed), "unsplit": float(unsplit)}
    return scores


def _span(table: pd.DataFrame) -> np.ndarray:
    """(N, 2) start and end, microseconds."""
    names = ("started_at", "finished_at")
    return np.stack([microseconds(table[name]) for name in names], axis=1).astype(float)
