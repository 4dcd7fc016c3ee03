"""Together: experts as one network, which looks at every visit once for all of them.

Each expert of `pgt.predictor.experts` asks the same of a visit. For a single window the time goes
into asking, not into the sums. So experts with the same features answer sooner as one network: the
reasons of all of them are reasons of one scorer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from pgt.contextual import FACT_WIDTH, AdditiveScorer, ContextualConfig, ContextualPointer
from pgt.history import HistoryBatch
from pgt.mixture import MixtureModel
from pgt.predictor.experts import Experts


def together(experts: Experts) -> MixtureModel:
    """The same answers from one network, where the experts are alike and only features speak.

    Parameters
    ----------
    experts : Experts
        Their weights are copied.

    Returns
    -------
    MixtureModel
        A `ContextualPointer` in evaluation mode; the experts themselves where they differ in more
        than their weights.

    Examples
    --------
    >>> import pgt
    >>> experts = pgt.NextLocation.pretrained().bundle_.next_place
    >>> type(together(experts)).__name__
    'ContextualPointer'
    """
    config = experts.config
    scorers = [one.scorer for one in experts.networks if one.scorer is not None]
    alike = all(one.config == config for one in experts.networks) and bool(scorers)
    if not alike or experts.best.embeddings is not None or config.interaction or not config.scaled:
        return experts
    # Nothing is embedded, so no visit has to be left out of that.
    wide = replace(
        config, n_components=config.n_components * len(scorers), recent=max(1, config.max_len)
    )
    one = ContextualPointer(wide)
    one.scorer = Together(scorers, wide, experts.weights)
    return one.eval().requires_grad_(False)


class Together(AdditiveScorer):
    """(B, L) log-weights of visits, the mixture of several scorers'.

    Parameters
    ----------
    scorers : sequence of AdditiveScorer
        K of them, of one configuration, without interaction.
    config : ContextualConfig
        Theirs, with K times the components.
    weights : Tensor
        (K,) adding up to 1.
    """

    def __init__(
        self, scorers: Sequence[AdditiveScorer], config: ContextualConfig, weights: Tensor
    ) -> None:
        super().__init__(config)
        self.log_weights = weights.log()
        for name in self.known:
            tables = [scorer.tables[name] for scorer in scorers]
            self.tables[name] = nn.Parameter(torch.cat(tables, 1).detach())
        for name in self.facts:
            facts: list[Tensor] = [one.now.get_parameter(f"{name}.weight") for one in scorers]
            self.now[name] = nn.Embedding.from_pretrained(torch.cat(facts, 1).detach())
        own = [scorer.scale for scorer in scorers if scorer.scale is not None]
        self.scale = nn.Sequential(Scales(own, len(self.known)))

    def forward(self, batch: HistoryBatch) -> Tensor:
        """(B, L) log-weights, adding up to 1; -inf at padding."""
        reasons, _ = self.parts(batch)  # (B, L, K * R)
        each = reasons.unflatten(-1, (len(self.log_weights), -1)).logsumexp(-1)  # (B, L, K)
        each = each.masked_fill(batch.padding[..., None], -math.inf).log_softmax(1)
        return (each + self.log_weights).logsumexp(-1)


class Scales(nn.Module):
    """What is known of now, as each scorer reads it, to the scales of its features."""

    def __init__(self, scales: Sequence[nn.Module], n_features: int) -> None:
        super().__init__()
        self.each = nn.ModuleList(scales)
        self.n_features = n_features

    def forward(self, now: Tensor) -> Tensor:
        """(B, F * K * 8) facts -> (B, T * K * R) scales."""
        own = now.unflatten(-1, (-1, len(self.each), FACT_WIDTH)).unbind(2)
        found = [
            scale(facts.flatten(1)).unflatten(-1, (self.n_features, -1))
            for scale, facts in zip(self.each, own, strict=True)
        ]
        return torch.stack(found, 2).flatten(1)
