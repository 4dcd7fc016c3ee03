"""Perspectives: first visits are found over all splits, and people count alike where it says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import perspectives

from pgt import prepare

from ..helpers import routine_visits


def test_a_place_is_explored_once_and_by_each_person_alone() -> None:
    visits = routine_visits()
    data = prepare(visits, protocol="exact")
    new = perspectives.explored(data)
    table = visits.sort_values("started_at", kind="stable")
    been: set[tuple[object, object]] = set()
    first = {}
    for row in table.itertuples():
        key = (row.user_id, row.location_id)
        first[row.user_id, row.started_at] = key not in been
        been.add(key)
    asked = data.test.visits.iloc[data.test.target]
    expected = [first[row.user_id, row.started_at] for row in asked.itertuples()]
    assert new.tolist() == expected


def test_a_guess_is_as_far_away_as_its_place() -> None:
    visits = routine_visits()
    codes = pd.factorize(visits.location_id)[0]
    data = prepare(visits.assign(lon=16.0, lat=48.0 + codes / 100), protocol="exact")
    names = data.vocabulary.encode_locations(visits.location_id)
    ranks = pd.DataFrame({"predicted": names[:40], "target": names[1:41]})
    north = np.abs(codes[:40] - codes[1:41]) / 100  # degrees
    metres = north * np.pi / 180 * perspectives.EARTH_RADIUS
    assert perspectives.away(data, ranks) == pytest.approx(metres, abs=1e-3)
    assert metres.max() > 1000
