"""Two models on the same windows: the parts add up, and the fits find what was put in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from wherenext import disagreement

from pgt.baselines import ContextKernel
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows, prepare

from ..helpers import model_of, random_visits, tiny_config

KERNEL = ContextKernel(decay=0.9, base=0.1, same=1.0, clock=3.0, width=100.0)


@pytest.fixture(scope="module")
def data() -> tuple[Windows, PointerGeneratorTransformer]:
    made = prepare(random_visits(3, users=6, visits=150), protocol="exact")
    return made.test, model_of(tiny_config(made))


@pytest.fixture(scope="module")
def seen(data: tuple[Windows, PointerGeneratorTransformer]) -> pd.DataFrame:
    windows, model = data
    return disagreement.visit_weights(model, KERNEL, windows)[1]


def test_every_visit_of_every_window_once_with_its_weight(
    data: tuple[Windows, PointerGeneratorTransformer], seen: pd.DataFrame
) -> None:
    windows, _ = data
    assert len(seen) == windows.lengths.sum()
    by = seen.groupby("window")
    assert np.allclose(by[["pgt", "kernel"]].sum(), 1, atol=1e-5)
    for i in (0, len(windows) - 1):
        own = seen[seen.window == i]
        visits = windows.visits_of(i)
        assert (windows.visits.location_id[own.row] == visits.location_id.to_numpy()).all()
        counts = visits.location_id.value_counts()
        assert own["count"].tolist() == counts[visits.location_id].tolist()
        assert own.age.tolist() == list(range(len(visits), 0, -1))
        # The cues, one visit at a time, as a reader would work them out.
        here, now = visits.location_id.iloc[-1], visits.finished_at.iloc[-1]
        before = visits.location_id.shift()
        assert own.same_before.tolist() == (before == here).tolist()
        minute = visits.started_at.dt.hour * 60 + visits.started_at.dt.minute
        apart = (minute - now.hour * 60 - now.minute).abs()
        assert own["apart"].tolist() == np.minimum(apart, 1440 - apart).tolist()
        vote = 0.9 ** (own.age.to_numpy() - 1) * (
            0.1 + own.same_before.to_numpy() + 3 * np.exp(-own["apart"].to_numpy() / 100)
        )
        assert np.allclose(own.kernel, vote / vote.sum(), atol=1e-6)
