"""What the live model's page is told, and how it is put together."""

from __future__ import annotations

import numpy as np
import pytest
from wherenext import city
from wherenext.live import Playground, playground

from pgt.batch import Batch
from pgt.checkpoint import load_model, shipped
from pgt.windows import Windows, prepare


@pytest.fixture(scope="module")
def shown() -> Playground:
    return playground()


@pytest.fixture(scope="module")
def city_windows() -> Windows:
    _, vocabulary = load_model(shipped("city"))
    return prepare(city.load().visits, vocabulary=vocabulary).test


def window_of(data: dict[str, object], person: int, moment: int) -> tuple[list[list[int]], int]:
    """The visits of a moment as the page has them, and the place that follows."""
    people = data["people"]
    assert isinstance(people, list)
    visits, (first, target) = people[person]["visits"], people[person]["moments"][moment]
    return visits[first:target], visits[target][0]


def features(visits: list[list[int]]) -> dict[str, list[int]]:
    """What the page makes of visits, for the model."""
    last = visits[-1][1] // 1440
    return {
        "location": [place for place, _, _ in visits],
        "time": [1 + at % 1440 // 15 for _, at, _ in visits],
        "weekday": [1 + at // 1440 % 7 for _, at, _ in visits],
        "duration": [1 + min(99, stay // 30) for _, _, stay in visits],
        "days_ago": [last - at // 1440 for _, at, _ in visits],
    }


def test_every_moment_is_the_window_that_the_model_gets(
    shown: Playground, city_windows: Windows
) -> None:
    users = sorted(set(city_windows.users))
    assert len(shown.data["people"]) == len(users)
    rng = np.random.default_rng(0)
    for i in [*rng.choice(len(city_windows), 60, replace=False), 0, len(city_windows) - 1]:
        person = users.index(city_windows.users[i])
        moment = int(np.flatnonzero(city_windows.users == city_windows.users[i]).tolist().index(i))
        visits, target = window_of(shown.data, person, moment)
        batch: Batch = city_windows.batch([i])
        for name, values in features(visits).items():
            assert getattr(batch, name)[0].tolist() == values, name
        assert int(batch.target[0]) == target
        assert int(batch.user[0]) == shown.data["people"][person]["user"]
