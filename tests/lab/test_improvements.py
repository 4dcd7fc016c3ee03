"""What was measured of the improvements: their sizes and their windows."""

from __future__ import annotations

import pandas as pd
import pytest
from wherenext.relatives.improvements import IMPROVEMENTS, improved

from pgt.config import ModelConfig
from pgt.windows import Dataset, prepare

from ..helpers import MONDAY

BUDGET = 500_000


@pytest.fixture(scope="module")
def as_large_as_geolife() -> Dataset:
    """45 people and 2,048 places, of which 1,185 are known from training, as on GeoLife."""
    rows = []
    for split, first, last, day in (("train", 0, 1185, 0), ("valid", 1185, 1500, 100),
                                    ("test", 1500, 2048, 140)):  # fmt: skip
        for place in range(first, last):
            at = (place - first) // 45
            for n in (0, 30):
                since = pd.Timedelta(days=day, hours=12 * (at + n))
                rows.append((place % 45, place, MONDAY + since, split))
    table = pd.DataFrame(rows, columns=["user_id", "location_id", "started_at", "split"])
    table["finished_at"] = table.started_at + pd.Timedelta(hours=6)
    table = table.sort_values(["user_id", "started_at", "location_id"], ignore_index=True)
    return prepare(table.drop_duplicates(["user_id", "started_at"]), protocol="exact")


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_every_variant_stays_below_the_budget(as_large_as_geolife: Dataset, name: str) -> None:
    vocabulary = as_large_as_geolife.vocabulary
    assert vocabulary.n_locations > 2000 and vocabulary.n_users == 46
    config = ModelConfig(vocabulary.n_locations, vocabulary.n_users)
    assert improved(config, as_large_as_geolife.train, name).n_parameters() < BUDGET
