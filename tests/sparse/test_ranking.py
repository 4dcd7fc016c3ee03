"""Ranks without all scores are the ranks by all scores."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import Tensor

from pgt.sparse import LogitsRest, Rest, SharedRest, rank, rank_all, rank_places

B, S, V = 40, 6, 14
RANDOM = torch.Generator().manual_seed(0)


def places() -> Tensor:
    """(B, S) different places a row, in order, some slots unused."""
    rows = torch.stack([torch.randperm(V, generator=RANDOM)[:S] for _ in range(B)])
    unused = torch.rand(B, S, generator=RANDOM) < 0.3
    return rows.masked_fill(unused, -1).sort(1).values


def coarse(*shape: int) -> Tensor:
    """Scores with many ties."""
    return torch.randint(-4, 5, shape, generator=RANDOM).double()


def dense(place: Tensor, own: Tensor, others: Tensor) -> Tensor:
    """(B, V) the scores of the others with the places' own written over them."""
    out = others.clone()
    for row, column in (place >= 0).nonzero().tolist():
        out[row, place[row, column]] = own[row, column]
    return out


def shared() -> tuple[Tensor, Rest]:
    scores = coarse(V)
    scores[scores == 4] = -math.inf  # places that nobody has visited
    return scores.expand(B, V), SharedRest(scores)


def linear(stretch: int, first: int = 0) -> tuple[Tensor, Rest]:
    z, shift = coarse(B, V - first), coarse(B)
    chunks = [(low, z[:, low : low + stretch]) for low in range(0, V - first, stretch)]
    none = torch.full((B, first), -math.inf, dtype=torch.float64)  # ids before the first column
    return torch.cat([none, z + shift[:, None]], 1), LogitsRest(lambda: chunks, shift, first)


def nothing() -> tuple[Tensor, None]:
    return torch.full((B, V), -math.inf, dtype=torch.float64), None


@pytest.mark.parametrize(
    "make",
    [shared, nothing, *(partial(linear, *given) for given in ((V,), (5,), (1,), (V, 3), (4, 3)))],
)
@pytest.mark.parametrize("s", [S, 1, 0])
def test_ranks_and_best_places_are_those_of_all_scores(make, s: int) -> None:  # type: ignore[no-untyped-def]
    others, rest = make()
    if rest is None and s == 0:
        return  # nobody has an answer
    place, own = places()[:, S - s :], coarse(B, s)
    target, index = torch.randint(0, V, (B,), generator=RANDOM), torch.arange(B)
    scores = dense(place, own, others)
    elsewhere = others.gather(1, target[:, None])[:, 0] if rest is not None else None
    found = rank_places(place, own, target, index, rest, elsewhere, k=10)
    better, tied = rank(scores, target)
    assert torch.equal(found.better, better) and torch.equal(found.tied, tied)
    k = min(10, found.value.shape[1])
    best = scores.topk(k, dim=1).values
    shown = found.value[:, :k]
    assert torch.equal(shown, best) or rest is None
    real = found.value > -math.inf
    assert torch.equal(found.value[real], scores.gather(1, found.place.clamp(min=0))[real])
    assert torch.equal(scores.gather(1, found.predicted[:, None])[:, 0], scores.amax(1))


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_scores_are_the_best_of_their_own_row(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 4, (B, V), generator=rng).double()
    target, index = torch.zeros(B, dtype=torch.int64), torch.arange(B)
    for k in (1, 3, V, V + 5):
        found = rank_all(scores, target, index, k)
        assert torch.equal(found.value, scores.sort(1, descending=True).values[:, :k])
        assert torch.equal(scores.gather(1, found.place), found.value)
        assert torch.equal(scores.gather(1, found.predicted[:, None])[:, 0], scores.amax(1))
    assert rank_all(scores, target, index).value.shape == (B, 1)


def test_one_place_of_the_others_is_listed_unless_more_are_wanted() -> None:
    _, rest = shared()
    place, own = places(), coarse(B, S)
    target, index = torch.zeros(B, dtype=torch.int64), torch.arange(B)
    for more, k in (({}, 1), ({"k": 4}, 4)):
        found = rank_places(place, own, target, index, rest, own[:, 0], **more)
        assert found.value.shape == found.place.shape == (B, S + k)


def test_places_of_the_window_that_share_the_first_place_are_drawn_evenly() -> None:
    n = 30_000
    place = torch.tensor([[3, 5, 9]]).expand(n, 3)
    own = torch.tensor([[2.0, 1.0, 2.0]]).expand(n, 3)
    target, index = torch.full((n,), 3), torch.arange(n)
    found = rank_places(place, own, target, index)
    assert set(found.predicted.tolist()) == {3, 9}
    assert abs(float((found.predicted == 3).double().mean()) - 0.5) < 0.015
    scores = torch.full((n, 10), -math.inf).scatter(1, place, own)
    assert torch.equal(rank_all(scores, target, index).predicted, found.predicted)


def test_the_draw_knows_the_window_and_not_its_batch() -> None:
    scores, target, index = torch.ones(8, 5), torch.zeros(8, dtype=torch.int64), torch.arange(8)
    whole = rank_all(scores, target, index).predicted
    some = rank_all(scores[3:6], target[3:6], index[3:6]).predicted
    assert torch.equal(whole[3:6], some) and len(whole.unique()) > 1


def test_no_answer_is_a_miss_and_nothing_to_answer_with_is_no_error() -> None:
    place, own = torch.tensor([[4, -1]]), torch.tensor([[1.0, 7.0]])
    found = rank_places(place, own, torch.tensor([8]), torch.tensor([0]))
    assert (int(found.better), int(found.tied), int(found.predicted)) == (1, 0, 4)
