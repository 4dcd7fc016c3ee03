"""A predictor of the next set: graph convolution, attention over time, gated fusion.

The network of Yu et al. 2020 (DNNTSP, https://arxiv.org/abs/2006.11483), without a loop over users
and without a graph library. U sequences, N elements, T sets, F = width, V elements that exist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pgt.relatives.temporal_sets.attention import Heads, MaskedSelfAttention, WeightedAggregation
from pgt.relatives.temporal_sets.graph import GraphConvolution, co_occurrence
from pgt.relatives.temporal_sets.sequences import Sequences
from pgt.relatives.temporal_sets.states import States

PARTS = ("graph", "attention", "aggregation", "gate")


@dataclass(frozen=True)
class SetConfig:
    """What a `SetPredictor` is made of.

    Attributes
    ----------
    n_elements : int
    width : int
        Dimensions of an element.
    n_heads : int
    heads : {"concat", "mean"}
        How attention joins its heads.
    n_convolutions : int
    without : tuple of str
        Parts left out: "graph" (elements do not see each other), "attention" (sets do not),
        "aggregation" (the mean over time instead), "gate" (what was seen replaces what is known).
    knows_presence : bool
        Add a learned vector to an element at the times when it was there. The published network
        does not, and cannot know unless the element had company.
    knows_age : bool
        With it, another vector by how many sets ago that was, up to `max_age`.
    """

    n_elements: int
    width: int = 32
    n_heads: int = 4
    heads: Heads = "concat"
    n_convolutions: int = 2
    without: tuple[str, ...] = ()
    knows_presence: bool = False
    knows_age: bool = False
    max_age: int = 8

    def __post_init__(self) -> None:
        for part in self.without:
            if part not in PARTS:
                raise ValueError(f"There is no part {part!r}; choose of {', '.join(PARTS)}.")


# What chapter 18 compares: fields of `SetConfig`.
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "informed": {"knows_presence": True, "knows_age": True},
    "no_graph": {"without": ("graph",)},
    "no_time": {"without": ("attention", "aggregation")},
    "no_gate": {"without": ("gate",)},
    "no_attention": {"without": ("attention",)},
    "presence": {"knows_presence": True},
    "mean_heads": {"heads": "mean"},
}


class GatedFusion(nn.Module):
    """Scores of all elements: those that were seen are updated, the others keep what they were.

    The updated table is (1 - α) e + α z for an element that was seen and e for one that was not,
    and the score is linear in it. So the score is the same mixture of two scores, and a table of
    (U, V, F) need not be made.
    """

    def __init__(self, n_elements: int, width: int, *, gated: bool = True) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(n_elements)) if gated else None
        self.out = nn.Linear(width, 1)
        # Most elements are not in the next set: start from about one in it.
        nn.init.constant_(self.out.bias, -math.log(n_elements))

    def forward(self, table: Tensor, elements: Tensor, z: Tensor) -> Tensor:
        """(V, F), (U, N) with -1 for padding and (U, N, F) -> scores (U, V)."""
        static = self.out(table).squeeze(-1)  # (V,) the same for everybody
        at = elements.clamp(min=0)
        alpha: Tensor | float = self.alpha[at] if self.alpha is not None else 1.0
        own = (1 - alpha) * static[at] + alpha * self.out(z).squeeze(-1)  # (U, N)
        v = len(static)
        wide = static.expand(len(elements), v)
        wide = torch.cat([wide, wide.new_zeros(len(elements), 1)], 1)  # a column for padding
        return wide.scatter(1, torch.where(elements >= 0, elements, v), own)[:, :v]


class SetPredictor(nn.Module):
    """Which elements will the next set hold? Scores before the sigmoid, (U, V).

    Parameters
    ----------
    config : SetConfig

    Examples
    --------
    >>> from pgt.relatives.temporal_sets.sequences import padded
    >>> people = padded([[[4, 2], [4]], [[0]]], [[2], [0, 1]], n_elements=5)
    >>> SetPredictor(SetConfig(n_elements=5, width=8))(people).shape
    torch.Size([2, 5])
    """

    def __init__(self, config: SetConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.table = nn.Embedding(config.n_elements, width)
        self.convolutions = nn.ModuleList(
            GraphConvolution(width) for _ in range(config.n_convolutions)
        )
        self.attention: MaskedSelfAttention | None = None
        if "attention" not in config.without:
            self.attention = MaskedSelfAttention(width, width, config.n_heads, config.heads)
        self.aggregation: WeightedAggregation | None = None
        if "aggregation" not in config.without:
            self.aggregation = WeightedAggregation(width)
        self.fusion = GatedFusion(config.n_elements, width, gated="gate" not in config.without)
        self.presence = nn.Parameter(torch.randn(width)) if config.knows_presence else None
        self.age = nn.Embedding(config.max_age + 1, width) if config.knows_age else None

    def forward(self, batch: Sequences) -> Tensor:
        """Scores (U, V)."""
        z = self.represent(batch)
        return self.fusion(self.table.weight, batch.elements, z)

    def represent(self, batch: Sequences) -> Tensor:
        """What a sequence makes of its own elements, (U, N, F); 0 for padding."""
        states = States.of(batch)
        graphs = None if "graph" in self.config.without else co_occurrence(batch.present)
        x = self._features(batch, states)  # (M + R, F)
        for convolution in self.convolutions:
            x = convolution(x, states, graphs)
        real = batch.elements >= 0
        length = batch.length[:, None].expand_as(real)[real]  # (R,) of an element's sequence
        z = x.new_zeros(*real.shape, self.config.width)
        z[real] = self._over_time(x, states.at, length)
        return z

    def _features(self, batch: Sequences, states: States) -> Tensor:
        """(M + R, F): what an element is, the same in a set and out unless it knows of presence."""
        x = self.table(batch.elements[states.person, states.element])
        m = len(states.time)
        there = x[:m]
        if self.presence is not None:
            there = there + self.presence
        if self.age is not None:
            ago = batch.length[states.person[:m]] - 1 - states.time
            there = there + self.age(ago.clamp(max=self.config.max_age))
        return torch.cat([there, x[m:]])

    def _over_time(self, x: Tensor, at: Tensor, length: Tensor) -> Tensor:
        """States (M + R, F), those of a row in order of time (R, T), how many count (R,): (R, F).

        Rows of one length at a time, so that none is padded to the longest.
        """
        found, order = [], []
        for t in length.unique().tolist():
            rows = (length == t).nonzero().squeeze(1)
            own = F.embedding(at[rows, :t], x)  # (rows, t, F)
            if self.attention is not None:
                own, _ = self.attention(own)
            found.append(
                own.mean(1) if self.aggregation is None else self.aggregation(own, length[rows])
            )
            order.append(rows)
        return torch.cat(found)[torch.cat(order).argsort()]
