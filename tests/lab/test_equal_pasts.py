"""The networks with a hundred visits: what they see, and how their settings are chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import equal_pasts, models, runs
from lab.data_sets import dataset
from lab.models import HUNDRED, Run
from lab.search_space import MODELS, candidates


@pytest.mark.parametrize("model", MODELS)
def test_a_network_sees_the_last_hundred_visits_whatever_their_age(model: str) -> None:
    run = Run(model, HUNDRED + "corner_1", seed=1)
    test, week = models.windows_of("city", run).test, dataset("city").test
    before = test.visits.groupby("user_id").cumcount().to_numpy()[test.target]
    assert np.array_equal(test.lengths, np.minimum(before, 100))
    assert np.array_equal(test.targets, week.targets) and (test.lengths > week.lengths).any()
    network, training = models.untrained("city", run)
    assert network.config.d_model == candidates(model)["corner_1"].shape["d_model"]
    assert (training.seed, training.monitor) == (1, "acc@1")


def test_the_best_of_three_on_validation_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    valid = dict(zip((run.variant for run in equal_pasts.tried("pgt")), (40, 42, 41), strict=True))

    def kept(_key: str, run: Run) -> tuple[dict[str, object], None]:
        groups = {("valid", "all"): valid[run.variant], ("valid", "known"): 90, ("test", "all"): 0}
        rows = [{"split": s, "group": g, "acc@1": score} for (s, g), score in groups.items()]
        return {"rows": rows}, None

    monkeypatch.setattr(runs, "read_kept", kept)
    assert equal_pasts.best("pgt") == equal_pasts.tried("pgt")[1]


def test_returns_and_first_visits_make_up_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    town = models.windows_of("city", Run("pgt", HUNDRED + "corner_1", seed=1)).test
    monkeypatch.setattr(equal_pasts, "windows", lambda _key: town)
    rng = np.random.default_rng(0)
    ranks = [
        pd.DataFrame({"user_id": town.users, "better": rng.integers(0, 3, len(town)), "tied": 1})
        for _ in range(2)
    ]
    row = equal_pasts.score("city", "pgt", ranks, ranks[:1])
    new = row["first visits"]
    assert 0 < new < row["n"] == len(town)
    parts = row["first"] * new + row["returns"] * (row["n"] - new)
    assert parts / row["n"] == pytest.approx(row["acc@1"])


def test_a_network_with_a_week_is_beside_the_same_seeds() -> None:
    week = runs.recorded(("geolife_exact",), equal_pasts.HOME, Run("pgt", "tuned"))
    assert [ranks.seed.iloc[0] for ranks in week] == [*runs.SEEDS]
    (kernel,) = runs.recorded(("geolife_exact",), equal_pasts.HOME, Run("kernel"))
    assert kernel.seed.isna().all()
