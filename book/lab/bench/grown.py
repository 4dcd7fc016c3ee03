"""Tables of visits of any size: the simulated city's people over and over, as other people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from wherenext import city

from pgt.visits import REQUIRED

WEEKS = 8  # copies of a person begin in one of so many weeks


def grown(n_visits: int, n_places: int) -> pd.DataFrame:
    """Make a table of visits that is as large as wanted and lives like the city.

    The city's people are repeated, each time with new ids and a whole number of weeks later. Their
    places move on by the city's number of places, around the ``n_places`` that there are: so
    people share places, and the table grows without the places, or with them.

    Parameters
    ----------
    n_visits : int
        Rows of the table; the last person's visits may be cut off.
    n_places : int
        Places that are visited, at most.

    Returns
    -------
    DataFrame
        As `pgt.visits.check` returns it, without a split: ``user_id`` (from 1), ``location_id``
        (from 0), ``started_at``, ``finished_at``.

    Examples
    --------
    >>> table = grown(50_000, 300)
    >>> len(table), table.location_id.nunique(), table.user_id.nunique()
    (50000, 300, 196)
    """
    visits = city.load().visits[[*REQUIRED]]
    place, places = pd.factorize(visits.location_id)
    person, people = pd.factorize(visits.user_id)
    row = np.arange(n_visits)
    copy, row = row // len(visits), row % len(visits)
    later = pd.to_timedelta(7 * (copy % WEEKS), unit="D")
    table = visits.iloc[row].reset_index(drop=True)
    return table.assign(
        user_id=1 + person[row] + copy * len(people),
        location_id=(place[row] + copy * len(places)) % n_places,
        started_at=table.started_at + later,
        finished_at=table.finished_at + later,
    )
