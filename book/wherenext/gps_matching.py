"""How well visits found in position fixes recover the true ones, which only a simulation knows.

A found visit and a true one can be the same if they are the same person's, share enough time and
lie near each other; each is used at most once. All scores follow from that pairing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pgt.gps.locations import require_stays
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, homogeneity_completeness_v_measure
from sklearn.metrics.pairwise import haversine_distances

from pgt.errors import DataError
from pgt.visits import EARTH_RADIUS, first_row, microseconds

MINUTE = 60e6  # microseconds


def match(
    found: pd.DataFrame, truth: pd.DataFrame, *, metres: float = 200.0, share: float = 0.5
) -> pd.DataFrame:
    """Pair found visits (or staypoints) with true ones.

    Of all pairings that use each row at most once, the one with the most common time is taken.

    Parameters
    ----------
    found, truth : DataFrame
        ``user_id``, ``started_at``, ``finished_at``, ``lon``, ``lat``.
    metres : float
        A pair lies at most this far apart, above 0.
    share : float
        A found visit covers at least this share of the true visit's time, above 0 to 1.

    Returns
    -------
    DataFrame
        One row a true visit, with its row label: ``found`` (row label in ``found``, missing if
        there is none), ``minutes`` (in common), ``metres`` (apart), and ``start_error`` and
        ``end_error`` (minutes; above 0: found too late).

    Raises
    ------
    DataError
        A column is missing, row labels repeat, or a parameter is out of its range.

    Examples
    --------
    >>> at = pd.Timestamp("2024-05-01 09:00", tz="UTC")
    >>> hour = pd.Timedelta(hours=1)
    >>> true = pd.DataFrame({"user_id": 1, "started_at": [at, at + 3 * hour],
    ...     "finished_at": [at + hour, at + 4 * hour], "lon": 16.37, "lat": [48.2, 48.3]})
    >>> late = true[:1].assign(finished_at=at + 2 * hour)
    >>> match(late, true)[["found", "minutes", "end_error"]].values.tolist()
    [[0, 60.0, 60.0], [<NA>, 0.0, nan]]
    """
    if not (metres > 0 and 0 < share <= 1):
        raise DataError(f"metres={metres:g} must be above 0, share={share:g} above 0 and up to 1.")
    for table in (found, truth):
        require_stays(table)
        if not table.index.is_unique:
            raise DataError("Row labels repeat; number the rows with .reset_index(drop=True).")
        lost = ~np.isfinite(table[["lon", "lat"]].astype(float)).all(axis=1)
        if lost.any():
            raise DataError(f"There is no position in {first_row(lost)}; drop it, or fill it in.")
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
        apart = _metres(own, other)
        lasts = np.diff(ours)  # (T, 1)
        common[(common <= 0) | (common < share * lasts) | (apart > metres)] = 0
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


def recovery(
    found: pd.DataFrame,
    truth: pd.DataFrame,
    *,
    metres: float = 200.0,
    share: float = 0.5,
    people: bool = True,
) -> pd.DataFrame:
    """Score found visits (or staypoints) against the true ones.

    Parameters
    ----------
    found, truth, metres, share
        See `match`. If both have ``location_id``, locations are scored too; a found row without
        one belongs to no location.
    people : bool
        Also score each person alone.

    Returns
    -------
    DataFrame
        A row for "all", then one each person: ``group``, ``n_true``, ``n_found``, ``n_matched`` and

        - ``precision``, ``recall``, ``f1``: percent of the found visits that are true, of the
          true ones that were found, and their harmonic mean;
        - ``start_error``, ``end_error``: median of the absolute error, minutes; ``end_late``:
          mean of the signed error of the end, which a few large ones decide;
        - ``apart``: median distance of matched pairs, metres;
        - ``rand``: adjusted Rand index of the matched visits' locations, 1: the same groups, 0:
          no better than groups by chance;
        - ``unmixed``, ``unsplit``: homogeneity (1: no found location mixes true places) and
          completeness (1: no true place is split over found locations).

        What cannot be computed (no match, no location) is NaN.

    Notes
    -----
    Hubert and Arabie (1985) for the index, Rosenberg and Hirschberg (2007) for the other two; all
    three by scikit-learn.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00", "2024-05-01 12:00"], utc=True)
    >>> true = pd.DataFrame({"user_id": 1, "location_id": [5, 6], "lon": 16.37,
    ...     "started_at": at, "finished_at": at + pd.Timedelta(hours=1), "lat": [48.2, 48.3]})
    >>> recovery(true[:1], true).loc[0, ["precision", "recall", "f1"]].round(1).tolist()
    [100.0, 50.0, 66.7]
    """
    pairs = match(found, truth, metres=metres, share=share)
    places = "location_id" in found.columns and "location_id" in truth.columns
    rows = [{"group": "all"} | _scores(pairs, found, truth, places)]
    for user, own in truth.groupby("user_id", sort=True) if people else ():
        theirs = found[found.user_id == user]
        rows.append({"group": str(user)} | _scores(pairs.loc[own.index], theirs, own, places))
    return pd.DataFrame(rows)


def _scores(
    pairs: pd.DataFrame, found: pd.DataFrame, truth: pd.DataFrame, places: bool
) -> dict[str, Any]:
    hit = pairs[pairs.found.notna()]
    n = {"n_true": len(pairs), "n_found": len(found), "n_matched": len(hit)}
    precision, recall = (100 * len(hit) / k if k else np.nan for k in (len(found), len(pairs)))
    both = len(found) + len(pairs)
    return {
        **n,
        "precision": precision,
        "recall": recall,
        "f1": 200 * len(hit) / both if both else np.nan,
        "start_error": hit.start_error.abs().median(),
        "end_error": hit.end_error.abs().median(),
        "end_late": hit.end_error.mean(),
        "apart": hit.metres.median(),
        **dict(_purity(hit, found, truth, places)),
    }


def _purity(
    hit: pd.DataFrame, found: pd.DataFrame, truth: pd.DataFrame, places: bool
) -> Iterator[tuple[str, float]]:
    theirs = found.location_id.loc[hit.found] if places else pd.Series(dtype=object)
    here = theirs.notna().to_numpy()
    values = [np.nan] * 3
    if here.any():
        true, _ = pd.factorize(truth.location_id.loc[hit.index[here]])
        mine, _ = pd.factorize(theirs[here])
        unmixed, unsplit, _ = homogeneity_completeness_v_measure(true, mine)
        values = [float(adjusted_rand_score(true, mine)), float(unmixed), float(unsplit)]
    yield from zip(("rand", "unmixed", "unsplit"), values, strict=True)


def _span(table: pd.DataFrame) -> np.ndarray:
    """(N, 2) start and end, microseconds."""
    names = ("started_at", "finished_at")
    return np.stack([microseconds(table[name]) for name in names], axis=1).astype(float)


def _metres(one: pd.DataFrame, other: pd.DataFrame) -> np.ndarray:
    """(N, M) great-circle distances."""
    points = (np.radians(table[["lat", "lon"]].to_numpy(dtype=float)) for table in (one, other))
    return np.asarray(EARTH_RADIUS * haversine_distances(*points))
