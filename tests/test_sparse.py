"""Sums, losses and ranks without a number for every place are those of all places."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from pgt import sparse
from pgt.sparse import (
    DenseLogits,
    LinearLogits,
    LogitsRest,
    at_least_float32,
    cross_entropy,
    rank,
    rank_all,
    rank_places,
)

# --- logits a stretch at a time are the logits, and so are their gradients


B, D, V, K = 5, 4, 23, 3


def leaves() -> list[Tensor]:
    torch.manual_seed(0)
    shapes = (B, D), (V, D), (V,)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize(
    ("kept", "stretch"), [(10**6, 10**6), (0, 10**6), (0, 7 * B), (0, B), (0, 1)]
)
@pytest.mark.parametrize("total", [True, False])
def test_summary_and_gradients(
    monkeypatch: pytest.MonkeyPatch, kept: int, stretch: int, total: bool
) -> None:
    monkeypatch.setattr(sparse, "KEPT", kept)
    monkeypatch.setattr(sparse, "STRETCH", stretch)
    h, weight, bias = leaves()
    at = torch.tensor([[0, 22, 5], [1, 1, 1], [3, 2, 1], [7, 0, 0], [22, 21, 20]])
    ways = LinearLogits(h, weight, bias), DenseLogits(h @ weight.T + bias)
    gradients = []
    results = [way.summary(at, total) for way in ways]
    for lse, sums, own in results:
        weights = torch.arange(1.0, B + 1, dtype=torch.float64)
        loss = (weights * lse).sum() + (own**2).sum()
        if total:
            loss = loss + (weights * sums**2).sum()
        gradients.append(torch.autograd.grad(loss, (h, weight, bias)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-13, rtol=1e-13)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


def test_large_logits_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "KEPT", 0)
    monkeypatch.setattr(sparse, "STRETCH", 2 * B)
    h, weight, bias = leaves()
    lse, _, _ = LinearLogits(h * 1e4, weight, bias).summary(torch.zeros(B, 1).long(), total=False)
    torch.testing.assert_close(lse, (h * 1e4 @ weight.T + bias).logsumexp(1))


def test_chunks_cover_every_column_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "STRETCH", 4 * B)
    h, weight, bias = leaves()
    parts = list(LinearLogits(h, weight, bias).chunks())
    assert [low for low, _ in parts] == [0, 4, 8, 12, 16, 20]
    torch.testing.assert_close(torch.cat([z for _, z in parts], 1), h @ weight.T + bias)


@pytest.mark.parametrize("kept", [0, 10**6])
def test_half_precision_around_them_leaves_the_sums_as_they_are(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(sparse, "KEPT", kept)
    at = torch.tensor([[0, 5]] * B)
    results = []
    for half in (False, True):
        h, weight, bias = (leaf.detach().float().requires_grad_() for leaf in leaves())
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            lse, sums, own = LinearLogits(h, weight, bias).summary(at, total=True)
            gradients = torch.autograd.grad((lse + sums + own.sum(1)).sum(), (h, weight, bias))
        results.append((lse, sums, own, *gradients))
    for one, other in zip(*results, strict=True):
        assert one.dtype == torch.float32 and torch.equal(one, other)


def test_both_ways_say_which_columns_they_have() -> None:
    h, weight, bias = leaves()
    for made in (LinearLogits(h, weight, bias), DenseLogits(h @ weight.T + bias)):
        assert (made.first, made.size) == (0, V)
        columns = [low + column for low, z in made.chunks() for column in range(z.shape[1])]
        assert columns == list(range(V))
    assert LinearLogits(h, weight, bias, 4).first == DenseLogits(weight, 4).first == 4


def test_half_precision_is_widened_and_the_rest_left() -> None:
    for kind in (torch.bfloat16, torch.float16):
        assert at_least_float32(torch.ones(1, dtype=kind)).dtype == torch.float32
    for kind in (torch.float32, torch.float64):
        x = torch.ones(1, dtype=kind)
        assert at_least_float32(x) is x


# --- the loss is PyTorch's cross-entropy, where that is finite


@pytest.mark.parametrize("smoothing", [0.0, 0.03, 0.3])
def test_erratum_6_the_loss_is_pytorchs_cross_entropy_on_logits_and_on_log_probs(
    smoothing: float,
) -> None:
    logits = 3 * torch.randn(9, 12, dtype=torch.float64)
    target = torch.randint(12, (9,))
    ours = cross_entropy(logits.log_softmax(1), target, smoothing)
    theirs = nn.CrossEntropyLoss(label_smoothing=smoothing, reduction="none")
    torch.testing.assert_close(ours, theirs(logits, target))
    torch.testing.assert_close(ours, theirs(logits.log_softmax(1), target))


def test_a_place_that_the_pure_pointer_cannot_name_costs_a_constant_without_gradient() -> None:
    scores = torch.randn(2, 3, requires_grad=True)
    log_probs = torch.full((2, 5), -math.inf).scatter(1, torch.tensor([[2, 3, 4]] * 2), 0.0)
    log_probs = log_probs + nn.functional.pad(scores.log_softmax(1), (2, 0))
    loss = cross_entropy(log_probs, torch.tensor([1, 3]), 0.1)
    assert loss.isfinite().all()
    plain = cross_entropy(log_probs, torch.tensor([1, 3]))
    assert plain[0].item() == pytest.approx(-math.log(1e-10))
    plain[0].backward()
    assert scores.grad is not None
    assert (scores.grad == 0).all()


def test_nothing_is_smoothed_unless_it_is_asked_for() -> None:
    log_probs, target = torch.randn(5, 4).log_softmax(1), torch.tensor([0, 1, 2, 3, 0])
    assert torch.equal(cross_entropy(log_probs, target), cross_entropy(log_probs, target, 0.0))
    assert not torch.equal(cross_entropy(log_probs, target), cross_entropy(log_probs, target, 0.1))


@pytest.mark.parametrize("smoothing", [0.0, 0.2, 1.0])
def test_impossible_places_cost_a_constant_in_both_terms(smoothing: float) -> None:
    log_probs = torch.tensor([[0.5, 0.5, 0.0, 0.0]], dtype=torch.float64).log()
    impossible = -math.log(1e-10)
    for target, own in ((0, math.log(2)), (3, impossible)):
        every = (2 * math.log(2) + 2 * impossible) / 4
        expected = (1 - smoothing) * own + smoothing * every
        found = cross_entropy(log_probs, torch.tensor([target]), smoothing)
        assert found.item() == pytest.approx(expected, rel=1e-12)


# --- ranks without all scores are the ranks by all scores


ROWS, S, PLACES = 40, 6, 14
RANDOM = torch.Generator().manual_seed(0)


def places() -> Tensor:
    """(ROWS, S) different places a row, in order, some slots unused."""
    rows = torch.stack([torch.randperm(PLACES, generator=RANDOM)[:S] for _ in range(ROWS)])
    unused = torch.rand(ROWS, S, generator=RANDOM) < 0.3
    return rows.masked_fill(unused, -1).sort(1).values


def coarse(*shape: int) -> Tensor:
    """Scores with many ties."""
    return torch.randint(-4, 5, shape, generator=RANDOM).double()


def dense(place: Tensor, own: Tensor, others: Tensor) -> Tensor:
    """(ROWS, PLACES) the scores of the others with the places' own written over them."""
    out = others.clone()
    for row, column in (place >= 0).nonzero().tolist():
        out[row, place[row, column]] = own[row, column]
    return out


def linear(stretch: int, first: int = 0) -> tuple[Tensor, LogitsRest]:
    z, shift = coarse(ROWS, PLACES - first), coarse(ROWS)
    chunks = [(low, z[:, low : low + stretch]) for low in range(0, PLACES - first, stretch)]
    none = torch.full((ROWS, first), -math.inf, dtype=torch.float64)  # ids before the first column
    return torch.cat([none, z + shift[:, None]], 1), LogitsRest(lambda: chunks, shift, first)


def nothing() -> tuple[Tensor, None]:
    return torch.full((ROWS, PLACES), -math.inf, dtype=torch.float64), None


@pytest.mark.parametrize(
    "make",
    [
        nothing,
        *(partial(linear, *given) for given in ((PLACES,), (5,), (1,), (PLACES, 3), (4, 3))),
    ],
)
@pytest.mark.parametrize("s", [S, 1, 0])
def test_ranks_and_best_places_are_those_of_all_scores(make, s: int) -> None:  # type: ignore[no-untyped-def]
    others, rest = make()
    if rest is None and s == 0:
        return  # nobody has an answer
    place, own = places()[:, S - s :], coarse(ROWS, s)
    target, index = torch.randint(0, PLACES, (ROWS,), generator=RANDOM), torch.arange(ROWS)
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
    scores = torch.randint(0, 4, (ROWS, PLACES), generator=rng).double()
    target, index = torch.zeros(ROWS, dtype=torch.int64), torch.arange(ROWS)
    for k in (1, 3, PLACES, PLACES + 5):
        found = rank_all(scores, target, index, k)
        assert torch.equal(found.value, scores.sort(1, descending=True).values[:, :k])
        assert torch.equal(scores.gather(1, found.place), found.value)
        assert torch.equal(scores.gather(1, found.predicted[:, None])[:, 0], scores.amax(1))
    assert rank_all(scores, target, index).value.shape == (ROWS, 1)


def test_one_place_of_the_others_is_listed_unless_more_are_wanted() -> None:
    _, rest = linear(PLACES)
    place, own = places(), coarse(ROWS, S)
    target, index = torch.zeros(ROWS, dtype=torch.int64), torch.arange(ROWS)
    for more, k in (({}, 1), ({"k": 4}, 4)):
        found = rank_places(place, own, target, index, rest, own[:, 0], **more)
        assert found.value.shape == found.place.shape == (ROWS, S + k)


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
