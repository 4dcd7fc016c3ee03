"""The town's visits as a stranger's table of check-ins would show them."""

from __future__ import annotations

import numpy as np
import pandas as pd

SHARE = 0.7  # of the visits are checked in


def sampled(visits: pd.DataFrame, people: int, share: float = SHARE, seed: int = 0) -> pd.DataFrame:
    """Some people's visits, and not all of them: nobody checks in everywhere.

    Parameters
    ----------
    visits : DataFrame
    people : int
        How many of its people, drawn at random.
    share : float
        Of their visits, 0 to 1.
    seed : int
    """
    rng = np.random.default_rng(seed)
    own = visits[visits.user_id.isin(rng.choice(visits.user_id.unique(), people, replace=False))]
    return own[rng.random(len(own)) < share]


def as_checkins(visits: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """A table of visits as check-ins are found: other names, UTC, no ends, no order.

    Parameters
    ----------
    visits : DataFrame
        With ``lon`` and ``lat``.
    seed : int
        Of the order.

    Returns
    -------
    DataFrame
        Text ids; times are ISO 8601 text in UTC.

    Examples
    --------
    >>> import wherenext.city
    >>> as_checkins(wherenext.city.load().visits.head(3)).columns.tolist()
    ['User ID', 'Venue ID', 'Latitude', 'Longitude', 'Check-in time']
    """
    utc = visits.started_at.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    table = {
        "User ID": "u" + visits.user_id.astype(str),
        "Venue ID": "v" + visits.location_id.astype(str),
        "Latitude": visits.lat,
        "Longitude": visits.lon,
        "Check-in time": utc,
    }
    return pd.DataFrame(table).sample(frac=1, random_state=seed)
