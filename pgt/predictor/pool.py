"""Several forecasters, one answer: a log-linear pool of networks and fixed kernels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from pgt.baselines import ContextKernel
from pgt.batch import add_up
from pgt.predictor.contextual import ContextualPointer, Mixture, MixtureModel
from pgt.predictor.memory import sample

PAST = 2000  # past visits that the experts are weighed by, at most
# What speaks beside the networks: decay, base, same, clock and width. `lab.pool` chose them.
KERNELS = tuple(ContextKernel(*numbers) for numbers in (
    (0.99, 0.03, 1.0, 0.0, 30.0), (0.98, 0.03, 1.0, 5.0, 60.0), (0.98, 0.03, 5.0, 0.5, 60.0),
    (0.9, 1.0, 0.0, 0.0, 30.0),
))  # fmt: skip
RIDGE = 10.0  # how strongly the weights are drawn to where they start, by the same choice
LEAST = 1e-4  # so likely is every place, for each that speaks


class Experts(MixtureModel):
    """What several contextual pointers say, or their pool with fixed kernels. ::

        log p(place) = Σ_f weight_f · log p_f(place) + constant

    f: the networks, the kernels, whether one is there now, and whether one was there before. A
    network alone is taken as it is: it was trained on the windows that would weigh it.
    """

    weights: Tensor  # (F,)

    def __init__(self, experts: list[ContextualPointer]) -> None:
        super().__init__()
        self.experts: Any = nn.ModuleList(experts)
        self.generator = None
        self.kernels = KERNELS if len(experts) > 1 else ()
        start = torch.zeros(len(experts) + (len(self.kernels) + 2 if self.kernels else 0))
        start[: len(experts)] = 1 / len(experts)
        self.register_buffer("weights", start)
        self.config = experts[0].config

    def mixture(self, batch: Any) -> Mixture:
        """Predict every window of a batch."""
        if not self.kernels:
            return self.experts[0].mixture(batch)
        place, log_probs = self.expert_log_probs(batch)
        return Mixture(place, pooled(log_probs, place >= 0, self.weights))

    def expert_log_probs(self, batch: Any) -> tuple[Tensor, Tensor]:
        """(B, S) the window's places, and (B, S, F) the logarithm of what each says of them."""
        place = batch.slots.place
        shares = [network.mixture(batch).pointer.exp() for network in self.experts]
        rows, last = torch.arange(len(batch)), batch.length - 1
        is_at = [place == now[rows, last][:, None] for now in (batch.location, batch.before)]
        if self.config.knows_time:
            batch = replace(batch, now_minute=batch.target_minute)
        for kernel in self.kernels:
            votes = add_up(batch.slots, kernel.weights(batch)).clamp(min=0)
            shares.append(votes / votes.sum(1, keepdim=True))
        log_shares = [(share.masked_fill(place < 0, 0) + LEAST).log() for share in shares]
        return place, torch.stack([*log_shares, *(answer.float() for answer in is_at)], -1)

    def without(self, feature: str) -> Experts:
        """A copy in which one feature is constant: it tells no visit from another."""
        blind = deepcopy(self)
        for network in blind.experts:
            torch.nn.init.zeros_(network.scorer.tables[feature])
        # What the kernels call it: the clock is that of the moment asked about, if it is known.
        clock = "then_clock" if self.config.knows_time else "clock"
        cue = {"age": "age", "before": "before", clock: "clock"}.get(feature, "")
        blind.kernels = tuple(kernel.without(cue) for kernel in self.kernels)
        if feature == "here":
            blind.weights[len(self.experts) + len(self.kernels) :] = 0
        return blind

    @torch.no_grad()
    def returns(self, windows: Any) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Of windows whose target is in sight: what is said, which slots are used, the truth."""
        parts = []
        for batch in windows.batches(256):
            place, log_probs = self.expert_log_probs(batch)
            hit = place == batch.target[:, None]
            back = hit.any(1)  # a new place is nobody's to name
            parts.append((log_probs[back].double(), place[back] >= 0, hit[back]))
        return parts

    def fit_weights(self, past: Any) -> Experts:
        """A copy with the weights that make these windows' targets likeliest."""
        if not self.kernels:
            return self
        parts = self.returns(past.subset(sample(len(past), PAST)))
        fitted = Experts(list(self.experts))  # with the weights that a fit starts from
        fitted.weights = pool_weights(parts, fitted.weights.double(), RIDGE).to(self.weights)
        return fitted.eval()


def pooled(log_probs: Tensor, used: Tensor, weights: Tensor) -> Tensor:
    """(B, S, F) logarithms of what F forecasters say -> (B, S) log-probabilities, -inf if unused.

    A log-linear pool (Genest and Zidek 1986): log p = Σ_f weight_f · log p_f + constant.
    """
    return (log_probs @ weights).masked_fill(~used, float("-inf")).log_softmax(1)


@torch.no_grad()
def pool_weights(
    parts: Sequence[tuple[Tensor, Tensor, Tensor]], start: Tensor, ridge: float
) -> Tensor:
    """(F,) weights that make the truth likeliest, drawn to where they start by a ridge.

    ``parts``: what `pooled` takes, and (B, S) which slot is the truth. The loss is convex, and
    Newton's method finds its minimum in a few steps.
    """
    weights = start.clone()
    loss, slope, curvature = _pool_loss(parts, weights, start, ridge)
    for _ in range(50):
        step = torch.linalg.solve(curvature, slope)  # (F,)
        gain, length = float(slope @ step), 1.0
        if gain < 1e-12:
            break
        while length > 1e-6:  # a full step, unless the loss falls too little
            there = _pool_loss(parts, weights - length * step, start, ridge)
            if there[0] <= loss - 0.25 * length * gain:
                break
            length /= 2
        else:  # rounding is all that is left
            break
        weights, (loss, slope, curvature) = weights - length * step, there
    return weights


def _pool_loss(
    parts: Sequence[tuple[Tensor, Tensor, Tensor]], weights: Tensor, start: Tensor, ridge: float
) -> tuple[float, Tensor, Tensor]:
    """The loss of `pool_weights`, its gradient (F,) and its Hessian (F, F)."""
    away = weights - start
    loss, slope = ridge * float(away.square().sum()), 2 * ridge * away
    curvature = 2 * ridge * torch.eye(len(weights), dtype=weights.dtype)
    for terms, used, hit in parts:
        log_probs = pooled(terms, used, weights)  # (B, S)
        probs, terms = log_probs.exp(), terms.masked_fill(~used[..., None], 0.0)
        mean = (probs[..., None] * terms).sum(1)  # (B, F)
        loss -= float(log_probs[hit].sum())
        slope = slope + (mean * hit.sum(1, keepdim=True)).sum(0) - terms[hit].sum(0)
        rows = (probs * hit.sum(1, keepdim=True)).sqrt()[..., None] * terms  # (B, S, F)
        flat, mean = rows.flatten(0, 1), mean * hit.sum(1, keepdim=True).sqrt()
        curvature = curvature + flat.T @ flat - mean.T @ mean
    return loss, slope, curvature
