"""No score depends on how places are called, or on whether it was computed in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import pgt
from pgt.baselines import ContextKernel, Last, Markov, MostFrequent
from pgt.checkpoint import shipped
from pgt.metrics import KS, evaluate, gains, summarize
from pgt.predictor.contextual import new_network
from pgt.predictor.memory import with_history
from pgt.predictor.predictor import NextLocation
from pgt.windows import Dataset, prepare

from .helpers import ZONE, model_of, tiny_config

PEOPLE, VISITS, PLACES = 6, 160, 14
Make = Callable[[Dataset], Any]


def visits_on_the_hour(seed: int) -> pd.DataFrame:
    """Places that are visited alike: in many windows several have the same score, in other sums."""
    rng = np.random.default_rng(seed)
    hours = rng.choice([3, 5, 8, 26], size=(PEOPLE, VISITS)).cumsum(1)
    start = pd.Timestamp("2024-05-01 08:00", tz=ZONE) + pd.to_timedelta(hours.ravel(), unit="h")
    place = rng.integers(0, PLACES, PEOPLE * VISITS)
    person, end = np.repeat(np.arange(PEOPLE), VISITS), start + pd.Timedelta(hours=2)
    return pd.DataFrame(
        {"user_id": person, "location_id": place, "started_at": start, "finished_at": end}
    )


def renamed(visits: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """The same visits; places have other ids, which come in another order."""
    ids = 100 + 3 * np.random.default_rng(seed).permutation(PLACES)
    return visits.assign(location_id=ids[visits.location_id])


def windows(visits: pd.DataFrame) -> Dataset:
    return with_history(prepare(visits, days=3, protocol="exact"), memory=16, older=8)


@contextmanager
def numbers(kind: torch.dtype) -> Iterator[None]:
    """What is computed meanwhile is computed in this kind of numbers."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def pool(data: Dataset, part: str) -> Any:
    with numbers(torch.float32):
        experts = NextLocation.pretrained().experts[part]
    return experts.to(torch.get_default_dtype()).fit_weights(data.train)


def network(data: Dataset) -> Any:
    with numbers(torch.float32):
        made = new_network(0, "time")
    return made.to(torch.get_default_dtype()).eval()


def with_pgt(data: Dataset) -> Any:
    """PGT; the weights of a place go with it, wherever its id stands."""
    order = data.train.visits.location_id.drop_duplicates()  # in the order of first visits
    ids = torch.tensor(data.vocabulary.encode_locations(order))
    with numbers(torch.float32):
        model = model_of(tiny_config(data))
    model.to(torch.get_default_dtype())
    assert model.generator is not None
    for rows in (model.embeddings.tables["location"].weight, *model.generator.parameters()):
        rows.data[ids] = rows.data[ids.sort().values]
    return model


MODELS: dict[str, Make] = {
    "last": lambda data: Last().fit(data.train),
    "most frequent": lambda data: MostFrequent().fit(data.train),
    "markov": lambda data: Markov().fit(data.train),
    "kernel of counts": lambda data: ContextKernel(1.0, 0.1, 0.3, 0.0).fit(data.train),
    "kernel of hours": lambda data: ContextKernel(1.0, 0.1, 0.0, 3.0, 60.0).fit(data.train),
    "kernel, chosen": lambda data: ContextKernel().fit(data.train).choose(data.valid),
    "contextual pointer": network,
    "predictor": lambda data: pool(data, "next_place"),
    "predictor, told": lambda data: pool(data, "at_a_time"),
    "pgt": with_pgt,
}


def score(make: Make, visits: pd.DataFrame, kind: torch.dtype = torch.float32) -> pd.DataFrame:
    """Every window's part in every metric, and the mean metrics as one more row."""
    data = windows(visits)
    with numbers(kind):
        ranks = evaluate(make(data), data.test)
    return pd.concat([gains(ranks), summarize(ranks, ["all"])], ignore_index=True)


@pytest.mark.parametrize("name", MODELS)
def test_a_score_does_not_depend_on_how_places_are_called(name: str) -> None:
    visits = visits_on_the_hour(0)
    found = score(MODELS[name], visits)
    for seed in range(3):
        other = score(MODELS[name], renamed(visits, seed))
        # Where scores are of all places, those tied for the first are drawn by id: of F1 alone.
        seen = found.columns if name not in ("markov", "pgt") else found.columns.drop("f1")
        pd.testing.assert_frame_equal(found[seen], other[seen], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_score_is_the_same_in_float32_and_float64(name: str) -> None:
    visits = visits_on_the_hour(1)
    single, double = (score(MODELS[name], visits, kind) for kind in (torch.float32, torch.float64))
    pd.testing.assert_frame_equal(single, double, rtol=0, atol=1e-12)


def test_there_are_ties_to_be_decided() -> None:
    """Else the tests above would say nothing."""
    for name in ("most frequent", "kernel of counts", "kernel of hours"):
        found = score(MODELS[name], visits_on_the_hour(0))
        parts = found[[f"acc@{k}" for k in KS]].iloc[:-1].to_numpy()
        assert ((parts > 0) & (parts < 1)).any(1).mean() > 0.1


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_ties_within_rounding_are_ties(kind: torch.dtype) -> None:
    """Five places, each once at each of five hours in 25 visits: sums of the same, in any order."""
    n, days = 5, 60
    day, hour = np.divmod(np.arange(n * days), n)
    start = pd.Timestamp("2024-05-01", tz="UTC") + pd.to_timedelta(24 * day + 4 * hour, unit="h")
    visits = pd.DataFrame({"user_id": 1, "location_id": (day + hour) % n, "started_at": start,
                           "finished_at": start + pd.Timedelta(hours=1)})  # fmt: skip
    data = with_history(prepare(visits, days=3, protocol="exact"), memory=n * n)
    kernel = ContextKernel(1.0, 0.1, 0.0, 3.0, 100.0).fit(data.train)
    with numbers(kind):
        ranks = evaluate(kernel, data.test)
        assert (ranks.better == 0).all() and (ranks.tied == n).all() and len(ranks) > 20


def test_the_predictors_own_table_of_scores_does_not_depend_on_names() -> None:
    visits = visits_on_the_hour(2)
    model = NextLocation.pretrained()
    one, other = model.score(visits), model.score(renamed(visits))
    pd.testing.assert_frame_equal(one, other, rtol=0, atol=1e-9)


def test_the_shipped_network_ties_nothing_that_differs() -> None:
    """Ties are of rounding alone: among the first places PGT's keep their order."""
    model, vocabulary = pgt.load_model(shipped("city"))
    data = prepare(pgt.load_city(), vocabulary=vocabulary)
    ranks = evaluate(model, data.test.subset(np.arange(300)))
    assert (ranks.tied[ranks.better < 10] == 1).all()
