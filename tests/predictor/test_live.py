"""What the live page of the predictor holds; tests/browser/test_nobody.py lets it compute."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from importlib import resources

import numpy as np
import pandas as pd
import pytest
import torch
from pgt.predictor.bundle import NO_PLACES, Bundle
from pgt.predictor.estimator import NextLocation
from pgt.predictor.experts import Experts
from pgt.predictor.frames import as_visits
from wherenext.live_predictor import MOST_PEOPLE, SCRIPTS, as_text, live, most
from wherenext.weights_json import unpack

from pgt.contextual import ContextualConfig, ContextualPointer
from pgt.errors import DataError
from pgt.visits import check

from ..helpers import random_visits, routine_visits

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return NextLocation.pretrained().bundle_


def test_the_weights_are_those_of_the_package(bundle: Bundle) -> None:
    model = live(bundle).data["model"]
    for part in ("next_place", "at_a_time"):
        networks = getattr(bundle, part).networks
        assert len(model[part]) == len(networks) == 2
        for packed, network in zip(model[part], networks, strict=True):
            restored = unpack(packed)
            for name, weight in network.state_dict().items():
                assert torch.allclose(restored[name], weight.double(), atol=1e-5, rtol=1e-6), name
            assert packed["config"]["used_features"] == list(network.config.used_features)
    assert set(model["knots"]) >= set(model["at_a_time"][0]["config"]["used_features"])


def test_the_page_stays_small_and_asks_for_nothing(bundle: Bundle) -> None:
    text = live(bundle).html()
    weights = sum(
        len(one["data"]) for part in ("next_place", "at_a_time")
        for one in live(bundle).data["model"][part]
    )  # fmt: skip
    assert weights <= 160_000 and len(text) < 260_000
    assert not re.search(r"\b(?:src|href)=|\bfetch\(|XMLHttpRequest|import\(", text)


def test_it_begins_with_somebody_who_is_not_real(bundle: Bundle) -> None:
    data = live(bundle).data
    assert data["sample"]
    rows = pd.read_csv(io.StringIO(data["table"]))
    assert rows.user_id.unique().tolist() == ["a simulated person of Larkmere"]
    assert len(rows) > 100 and {"lon", "lat"} <= set(rows.columns)


def test_visits_survive_the_way_into_the_page() -> None:
    visits = check(random_visits(users=2))  # through the last Sunday of March, when clocks change
    again = as_visits(pd.read_csv(io.StringIO(as_text(visits))), timezone="Europe/Vienna")
    columns = ["user_id", "location_id", "started_at", "finished_at"]
    pd.testing.assert_frame_equal(again[columns], visits[columns], check_dtype=False)


def test_text_from_data_stays_text(bundle: Bundle) -> None:
    visits = check(routine_visits(users=1, days=3).assign(user_id=EVIL, location_id=EVIL))
    text = live(bundle, visits, title=EVIL, caption=EVIL).html()
    assert "<img src=x" not in text
    assert text.count("</script>") == 2  # the page's own two
    for name in SCRIPTS:
        source = resources.files("wherenext.viz").joinpath("web", name).read_text("utf-8")
        assert "innerHTML" not in source and "insertAdjacentHTML" not in source, name


def test_of_many_people_the_most_visited_stay() -> None:
    parts = [
        routine_visits(users=1, days=1 + user % 3).assign(user_id=user)
        for user in range(MOST_PEOPLE + 20)
    ]
    kept = most(check(pd.concat(parts, ignore_index=True)))
    assert kept.user_id.nunique() == MOST_PEOPLE
    assert kept.user_id.value_counts().value_counts()[12] == (MOST_PEOPLE + 20) // 3


def test_a_network_that_the_page_cannot_compute_is_refused(bundle: Bundle) -> None:
    config = ContextualConfig(**NO_PLACES, without=("generator", "gate"))
    other = replace(bundle, next_place=Experts([ContextualPointer(config)]))
    with pytest.raises(DataError, match="has more parts"):
        live(other)


def test_a_single_expert_has_a_page(bundle: Bundle) -> None:
    alone = {
        part: Experts(getattr(bundle, part).networks[:1]) for part in ("next_place", "at_a_time")
    }
    data = live(replace(bundle, **alone)).data
    assert data["experts"] == ["1"] and len(data["model"]["next_place"]) == 1
    assert np.isfinite(data["model"]["novelty"]["mean"])
