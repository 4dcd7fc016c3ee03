"""What the live page of the predictor holds; the browser tests let it compute."""

from __future__ import annotations

import io
import re
from importlib import resources

import pandas as pd
import pytest
import torch
from wherenext.live_predictor import SCRIPTS, as_text, live
from wherenext.weights_json import unpack

from pgt import datasets
from pgt.predictor import NETWORKS, NextLocation
from pgt.visits import check

from ..helpers import random_visits, routine_visits

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def model() -> NextLocation:
    return NextLocation.pretrained()


def test_the_weights_are_those_of_the_package(model: NextLocation) -> None:
    page = live(model).data["model"]
    for part in NETWORKS:
        networks = model.experts[part].experts
        assert len(page[part]) == len(networks) == 2
        for packed, network in zip(page[part], networks, strict=True):
            restored = unpack(packed)
            for name, weight in network.state_dict().items():
                assert torch.allclose(restored[name], weight.double(), atol=1e-5, rtol=1e-6), name
            assert packed["config"]["used_features"] == list(network.config.used_features)
    assert set(page["knots"]) >= set(page["at_a_time"][0]["config"]["used_features"])


def test_the_page_stays_small_and_asks_for_nothing(model: NextLocation) -> None:
    text = live(model).html()
    weights = sum(
        len(one["data"]) for part in ("next_place", "at_a_time")
        for one in live(model).data["model"][part]
    )  # fmt: skip
    assert weights <= 160_000 and len(text) < 260_000
    assert not re.search(r"\b(?:src|href)=|\bfetch\(|XMLHttpRequest|import\(", text)


def test_visits_survive_the_way_into_the_page() -> None:
    visits = check(random_visits(users=2))  # through the last Sunday of March, when clocks change
    again = datasets.read(pd.read_csv(io.StringIO(as_text(visits))), timezone="Europe/Vienna")
    columns = ["user_id", "location_id", "started_at", "finished_at"]
    pd.testing.assert_frame_equal(again[columns], visits[columns], check_dtype=False)


def test_text_from_data_stays_text(model: NextLocation) -> None:
    visits = check(routine_visits(users=1, days=3).assign(user_id=EVIL, location_id=EVIL))
    text = live(model, visits, title=EVIL, caption=EVIL).html()
    assert "<img src=x" not in text
    assert text.count("</script>") == 2  # the page's own two
    for name in SCRIPTS:
        source = resources.files("wherenext").joinpath("web", name).read_text("utf-8")
        assert "innerHTML" not in source and "insertAdjacentHTML" not in source, name
