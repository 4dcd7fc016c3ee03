"""Reasons to go back: the log-weights that features give to past visits.

A reason is a sum of features, each scaled by what is known of now. Reasons add up as weights do, so
one good reason is enough; within a reason features multiply, so all of them must agree.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.baselines import ContextKernel
from pgt.contextual.config import ContextualConfig
from pgt.contextual.features import HISTORY_FEATURES, NOW, TARGET_FEATURES, THEN, hats, to_the_hour
from pgt.contextual.history import HistoryBatch
from pgt.reproducible.counter_random import Dropout

FACT_WIDTH = 8
NEVER = -30.0  # log of a weight that is none


class AdditiveScorer(nn.Module):
    """(B, L) log-weights of visits from one fact each, for several reasons.

    Every feature has one table; a row holds a value for each reason, and a vector that meets those
    of the other features in a hidden layer (the interaction).
    """

    def __init__(self, config: ContextualConfig) -> None:
        super().__init__()
        self.config = config
        self.known = {
            name: (HISTORY_FEATURES | TARGET_FEATURES)[name] for name in config.used_features
        }
        self.facts = NOW | (THEN if config.knows_time else {})
        width = config.n_components + config.interaction
        self.tables = nn.ParameterDict()
        for name, feature in self.known.items():
            self.register_buffer(f"knots_{name}", torch.tensor(feature.knots).float(), False)
            table = torch.zeros(len(feature.knots), width)
            nn.init.normal_(table[:, : config.n_components], std=0.1)
            nn.init.normal_(table[:, config.n_components :], std=0.5)
            self.tables[name] = nn.Parameter(table)
        facts = self.facts.items() if config.scaled or config.interaction else ()
        self.now = nn.ModuleDict(
            {name: nn.Embedding(fact.size, FACT_WIDTH) for name, fact in facts}
        )
        wide = FACT_WIDTH * len(self.facts)
        scales = len(self.known) * config.n_components
        self.scale = _zero_ended(wide, scales, config.dropout) if config.scaled else None
        self.interaction = nn.Linear(wide, config.interaction) if config.interaction else None
        self.out = (
            _zero_ended(config.interaction, 1, config.dropout) if config.interaction else None
        )

    def parts(self, batch: HistoryBatch) -> tuple[Tensor, Tensor]:
        """(B, L, R) log-weight of each reason, and (B, L) what the interaction adds to all."""
        n = self.config.n_components
        if self.config.target_time == "hour":
            batch = to_the_hour(batch)
        facts = [table(self.facts[name].of(batch)) for name, table in self.now.items()]
        now = torch.cat(facts, dim=-1) if facts else None  # (B, N)
        scales = None
        if self.scale is not None:
            scales = (1 + self.scale(now)).view(len(batch), len(self.known), n)  # (B, T, R)
        shape = (*batch.location.shape, n + self.config.interaction)
        total = torch.zeros(shape, device=batch.length.device)  # (B, L, R + I)
        for t, (name, feature) in enumerate(self.known.items()):
            low, high, share = hats(feature.of(batch), self.get_buffer(f"knots_{name}"))
            table = self.tables[name]
            value = torch.lerp(table[low], table[high], share[..., None])  # (B, L, R + I)
            if scales is not None:
                scale = F.pad(scales[:, t], (0, self.config.interaction), value=1.0)  # (B, R + I)
                value = value * scale[:, None]
            total = total + value
        each, hidden = total.split([n, self.config.interaction], dim=-1)
        if self.interaction is None or self.out is None:
            return each, torch.zeros_like(each[..., 0])
        return each, self.out(F.gelu(hidden + self.interaction(now)[:, None])).squeeze(-1)

    def forward(self, batch: HistoryBatch) -> Tensor:
        """(B, L) log-weights, of padding too."""
        each, together = self.parts(batch)
        return each.logsumexp(-1) + together


def _zero_ended(wide: int, out: int, dropout: float) -> nn.Sequential:
    """A small network that at first says nothing: its last layer is zero."""
    last = nn.Linear(32, out)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(wide, 32), nn.GELU(), Dropout(dropout), last)


@torch.no_grad()
def like_kernel(scorer: AdditiveScorer, kernel: ContextKernel) -> None:
    """Set tables so that the first three reasons are those of the context kernel.

    Parameters
    ----------
    scorer : AdditiveScorer
        With at least three reasons. The kernel's features are age, before and clock; of those that
        it lacks the reason is as weak as "any", and other tables keep their values.
    kernel : ContextKernel

    Raises
    ------
    ValueError
        With fewer reasons.
    """
    if scorer.config.n_components < 3:
        raise ValueError(
            "The context kernel has three components and "
            f"n_components={scorer.config.n_components} cannot hold them; give at least 3, or "
            "leave the tables as they are."
        )
    tables = scorer.tables
    strength = [
        kernel.base,
        kernel.same if "before" in tables else kernel.base,
        kernel.clock if "clock" in tables else kernel.base,
    ]
    for name in ("age", "before", "clock"):
        if name in tables:
            tables[name][:, :3] = 0.0
    if "age" in tables:
        tables["age"][:, :3] = scorer.get_buffer("knots_age")[:, None] * math.log(kernel.decay)
    if "before" in tables:
        tables["before"][:, 1] = torch.tensor([NEVER, 0.0, 0.0, NEVER])
    if "clock" in tables:
        tables["clock"][:, 2] = -scorer.get_buffer("knots_clock") / kernel.width
    # How strong each reason is may be written into any table, since every visit has a row there.
    first = next(iter(tables.values()))
    first[:, :3] += torch.tensor([math.log(value) if value > 0 else NEVER for value in strength])
