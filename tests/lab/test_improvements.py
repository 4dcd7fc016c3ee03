"""What was measured of the improvements: their sizes, their windows, and what is resumed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from lab import models
from lab.models import Run
from wherenext import city
from wherenext.comparison import CLAIMS
from wherenext.results import read_results, results_folder

from pgt.config import ModelConfig, TrainConfig, WindowConfig
from pgt.errors import DataError
from pgt.improvements import IMPROVEMENTS, improved
from pgt.train import fit
from pgt.windows import Dataset, prepare

from ..helpers import MONDAY, random_visits, tiny_config

BUDGET = 500_000


def test_every_improvement_has_a_claim() -> None:
    assert set(CLAIMS.index) == IMPROVEMENTS.keys()


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


def test_the_models_that_were_measured_stayed_below_it_in_the_town() -> None:
    """On GeoLife they have the documents' own size, which is above it without any improvement."""
    notes = read_results("improvements").header["runs"]
    sizes = {k: note["parameters"] for k, note in notes.items() if "parameters" in note}
    town = {k: n for k, n in sizes.items() if k.startswith("city/")}
    assert len(town) >= 5 * 20
    assert not {k: n for k, n in town.items() if n >= BUDGET}
    assert min(n for k, n in sizes.items() if "/improved-plain-" in k and k not in town) > BUDGET


def test_what_is_measured_trains_on_the_data_that_it_should() -> None:
    """Only augmentation changes windows, and only those of training."""
    plain = models.windows_of("city", Run("improved", "plain", seed=1))
    for name in IMPROVEMENTS:
        seen = models.windows_of("city", Run("improved", name, seed=1))
        assert seen.valid is plain.valid and seen.test is plain.test
        assert (seen.train is plain.train) == (name != "augmented"), name


def test_a_run_is_not_resumed_with_another_loss(tmp_path: Path) -> None:
    data = prepare(random_visits(1, users=4, visits=130, places=30), protocol="exact")
    model = improved(tiny_config(data), data.train)
    once = TrainConfig(max_epochs=1)
    focal = IMPROVEMENTS["focal"].loss(data.train)
    path = tmp_path / "run.safetensors"
    fit(model, data.train, data.valid, once, checkpoint=path, progress=False, loss=focal)
    with pytest.raises(DataError, match=r"loss was focal_2, now cross-entropy"):
        fit(model, data.train, data.valid, once, checkpoint=path, progress=False)


@pytest.mark.slow
def test_every_variant_has_its_size_on_the_city() -> None:
    """As measured: the same numbers of parameters as book/results tells."""
    if not (results_folder() / "improvements.json").exists():
        pytest.skip("book/results/improvements.json is not there")
    header = read_results("improvements").header
    notes = header["runs"]
    # Which places come often enough for a wide vector hangs on the windows.
    anchor = next(one for one in header["data"] if one["name"] == "city").get("anchor")
    config = WindowConfig(protocol="exact", anchor=anchor or "target_day")
    data = prepare(city.load().visits, config=config)
    config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    for name in IMPROVEMENTS:
        note = notes.get(f"city/improved-{name}-unknown-42")
        if note is not None:
            assert improved(config, data.train, name).n_parameters() == note["parameters"], name
