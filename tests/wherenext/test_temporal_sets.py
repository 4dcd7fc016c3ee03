"""Attention over sets, its graph and its gate: equal to loops, blind where they should be."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from wherenext.relatives import temporal_sets as sets
from wherenext.relatives.temporal_sets import VARIANTS, Sequences, SetPredictor, padded

N_ELEMENTS = 12


def made(n: int = 40, seed: int = 0) -> Sequences:
    """Random sequences; the next set repeats the last one."""
    rng = np.random.default_rng(seed)
    histories, targets = [], []
    for _ in range(n):
        sets = [
            rng.choice(N_ELEMENTS, rng.integers(1, 4), replace=False).tolist()
            for _ in range(rng.integers(1, 6))
        ]
        histories.append(sets)
        targets.append(sets[-1])
    return padded(histories, targets, N_ELEMENTS)


@pytest.fixture(scope="module")
def data() -> Sequences:
    return made()


def test_erratum_7_the_mask_of_the_code_is_right_and_that_of_the_formula_is_not() -> None:
    _, weights = sets.MaskedSelfAttention(6, 8)(torch.zeros(1, 5, 6))  # all sets alike
    right = weights[0, 0]
    assert torch.equal(right, right.tril()) and torch.allclose(right.sum(1), torch.ones(5))
    mirrored = torch.full((5, 5), -math.inf).masked_fill(torch.ones(5, 5).triu(1) == 1, 0.0)
    wrong = mirrored.softmax(-1)
    assert wrong[-1].isnan().all() and not wrong[:-1].isnan().any()
    assert (wrong[:-1].tril() == 0).all(), "no set would see itself or its past"


def dense(present: Tensor) -> Tensor:
    """(U, N, T) -> one (N, N) graph for every set, (U, T, N, N)."""
    graphs, (_, n, t) = sets.co_occurrence(present), present.shape
    person, time, element = present.transpose(1, 2).nonzero(as_tuple=True)  # (M,)
    graph = (graphs.itself[:, None, None, None] * torch.eye(n)).repeat(1, t, 1, 1)
    one, other = element[graphs.start], element[graphs.end]
    graph[person[graphs.start], time[graphs.start], one, other] = graphs.weight
    return graph


def test_the_graph_is_that_of_loops(data: Sequences) -> None:
    graph = dense(data.present)
    for u in range(8):
        sets = [set(np.flatnonzero(data.present[u, :, t])) for t in range(int(data.length[u]))]
        n = int((data.elements[u] >= 0).sum())
        shared = {(a, b): float(sum({a, b} <= s for s in sets)) if a != b else 1.0
                  for a, b in product(range(n), repeat=2)}  # fmt: skip
        most = max(shared.values())
        for t, now in enumerate(sets):
            for (a, b), weight in shared.items():
                expected = weight / most if a == b or {a, b} <= now else 0.0
                assert float(graph[u, t, a, b]) == pytest.approx(expected)


def model(variant: str = "full") -> SetPredictor:
    """Untrained, in double precision."""
    torch.manual_seed(3)
    config = sets.SetConfig(N_ELEMENTS, width=8, **VARIANTS[variant])
    return SetPredictor(config).double().eval()


def attended(part: sets.MaskedSelfAttention | None, x: Tensor) -> Tensor:
    """(..., T, F) each time as a mixture of itself and those before it, head by head; no mask."""
    if part is None:
        return x
    weight = part.project.weight.view(3, part.n_heads, part.per_head, -1)
    heads = []
    for k in range(part.n_heads):
        q, key, v = (x @ weight[what, k].T for what in range(3))  # (..., T, per head)
        states = []
        for t in range(x.shape[-2]):
            scores = (key[..., : t + 1, :] * q[..., t : t + 1, :]).sum(-1) / part.per_head**0.5
            states.append((scores.softmax(-1)[..., None] * v[..., : t + 1, :]).sum(-2))
        heads.append(torch.stack(states, -2))
    return torch.cat(heads, -1) if part.heads == "concat" else torch.stack(heads).mean(0)


def plain(network: SetPredictor, batch: Sequences) -> Tensor:
    """The scores (U, V) by an array of all elements at all times, as the formulas read."""
    u, n, t = batch.present.shape
    config, dtype = network.config, network.table.weight.dtype
    inside = torch.arange(t) < batch.length[:, None]  # (U, T)
    real = (batch.elements >= 0)[:, None] & inside[..., None]  # (U, T, N)
    there = batch.present.transpose(1, 2)[..., None]  # (U, T, N, 1)
    x = network.table(batch.elements.clamp(min=0))[:, None].expand(u, t, n, -1)
    if network.presence is not None:
        x = x + there * network.presence
    if network.age is not None:
        ago = (batch.length[:, None] - 1 - torch.arange(t)).clamp(0, sets.MAX_AGE)
        x = x + there * network.age(ago)[:, :, None]
    graph = dense(batch.present).to(dtype)  # (U, T, N, N)
    if "graph" in config.without:
        graph = torch.eye(n, dtype=dtype).expand_as(graph)
    for layer in network.convolutions:
        norm, mixed = layer.norm, layer.linear((graph @ x)[real])
        out = F.batch_norm(mixed, norm.running_mean, norm.running_var, norm.weight, norm.bias,
                           network.training, norm.momentum, norm.eps)  # fmt: skip
        x = torch.zeros_like(x).index_put(real.nonzero(as_tuple=True), out.relu())
    z = attended(network.attention, x.transpose(1, 2))  # (U, N, T, F)
    ended = inside[:, None, :, None]
    weight = ended.to(dtype) / batch.length[:, None, None, None]
    if network.aggregation is not None:
        weight = network.aggregation.weigh(z) * ended
    z = (weight * z).sum(2)  # (U, N, F)
    fusion, static = network.fusion, network.table.weight
    scores = []
    for own, vectors in zip(batch.elements, z, strict=True):
        updated, seen = static.clone(), own[own >= 0]
        share = 1.0 if fusion.alpha is None else fusion.alpha[seen, None]
        updated[seen] = (1 - share) * static[seen] + share * vectors[own >= 0]
        scores.append(fusion.out(updated).squeeze(-1))
    return torch.stack(scores)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("variant", list(VARIANTS))
def test_states_give_the_scores_and_gradients_of_all_elements_at_all_times(
    variant: str, training: bool, data: Sequences
) -> None:
    truth, found = data.truth().double(), []
    for way in (SetPredictor.forward, plain):
        network = model(variant).train(training)
        scores = way(network, data)
        F.binary_cross_entropy_with_logits(scores, truth).backward()
        moved = {name: value for name, value in network.named_buffers() if "running" in name}
        gradients = {name: value.grad for name, value in network.named_parameters()}
        found.append((scores.detach(), moved, gradients))
    torch.testing.assert_close(*found, rtol=0, atol=1e-12)
    single = model(variant).float().train(training)
    torch.testing.assert_close(single(data), found[0][0].float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_padding_and_company_in_a_batch_change_nothing(variant: str, data: Sequences) -> None:
    network = model(variant)
    together = network(data)
    alone = torch.cat([network(data.batch([u])) for u in range(len(data))])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


def test_it_learns_that_the_last_set_comes_again() -> None:
    train, valid, test = made(250), made(60, seed=1), made(60, seed=2)
    torch.manual_seed(0)
    network = SetPredictor(sets.SetConfig(N_ELEMENTS, width=16, **VARIANTS["informed"]))
    training = sets.SetTraining(epochs=8, patience=2, learning_rate=0.01)
    rows = sets.fit(network, train, valid, training)
    best = sets.evaluate(network, valid)["ndcg@10"].mean()  # early stopping returns these weights
    assert max(row["ndcg@10"] for row in rows) == pytest.approx(best)
    assert rows[-1]["loss"] < rows[0]["loss"] / 2 and not network.training
    truth, scores = test.truth(), network(test).detach()
    before = sets.Popular().fit(train)(test)
    ndcg = [float(sets.quality(s, truth, (3,))["ndcg@3"].mean()) for s in (before, scores)]
    assert ndcg[1] > ndcg[0] + 0.3, ndcg


def test_scores_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (50, 15)).astype(float)  # with ties
    scores[rng.uniform(size=scores.shape) < 0.2] = -math.inf
    truth = rng.uniform(size=scores.shape) < 0.2
    truth[:, 0] |= ~truth.any(1)
    found = sets.quality(torch.tensor(scores), torch.tensor(truth), (1, 3, 10, 40))
    for u, k in product(range(50), (1, 3, 10, 40)):
        order = [e for e in np.argsort(-scores[u], kind="stable") if scores[u, e] > -math.inf]
        hits, n = truth[u, order[:k]], truth[u].sum()
        gain = (hits / np.log2(np.arange(len(hits)) + 2)).sum()
        ideal = (1 / np.log2(np.arange(min(k, n)) + 2)).sum()
        mine = [float(found[f"{name}@{k}"][u]) for name in ("recall", "ndcg", "phr")]
        assert mine == pytest.approx([hits.sum() / n, gain / ideal, float(hits.any())], abs=1e-6)


def test_daily_places_are_the_sets_of_the_days_before() -> None:
    at = pd.to_datetime(
        ["2024-01-01 08:00", "2024-01-01 12:00", "2024-01-01 18:00", "2024-01-03 09:00",
         "2024-01-04 09:00", "2024-01-05 09:00", "2024-01-06 09:00"]
    ).tz_localize("UTC")  # fmt: skip
    visits = pd.DataFrame({
        "user_id": 1, "location_id": [10, 20, 10, 20, 30, 10, 30], "started_at": at,
        "split": ["train"] * 6 + ["valid"],
    })  # fmt: skip
    later = visits.assign(user_id=2, split=["valid"] * 3 + ["test"] * 4)
    found = sets.daily_places(pd.concat([visits, later], ignore_index=True), days=2)
    train = found["train"]
    assert train.target.tolist() == [[2], [0]] and train.length.tolist() == [2, 2]
    assert train.elements[0].tolist() == [0, 1]
    assert train.present[0].int().tolist() == [[1, 0], [1, 1]]
    assert len(found["test"]) == 2 and found["test"].target[0].tolist() == [0]
