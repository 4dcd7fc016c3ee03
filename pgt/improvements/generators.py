"""Other heads in place of the generator's one linear layer.

Each maps the context (B, D) to a score or a log-probability for each of the V locations; the model
takes the log-softmax of either.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.config import ModelConfig
from pgt.model import Generator


class ManyHeads(nn.Module):
    """Four heads of low rank whose scores are added with weights of the context's choosing.

    Four full heads would take 4 · V · D weights, beyond the budget of 500,000 on GeoLife; of rank
    D / 4 they take about as many as the one head they replace. Source: improvements document,
    proposal 10.
    """

    def __init__(self, config: ModelConfig, n_heads: int = 4) -> None:
        super().__init__()
        rank = config.d_model // n_heads
        self.down = nn.ModuleList(nn.Linear(config.d_model, rank) for _ in range(n_heads))
        self.up = nn.ModuleList(nn.Linear(rank, config.n_locations) for _ in range(n_heads))
        self.weigh = nn.Linear(config.d_model, n_heads)

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) scores."""
        weights = self.weigh(context).softmax(-1)  # (B, heads)
        scores = [up(down(context)) for down, up in zip(self.down, self.up, strict=True)]
        return (torch.stack(scores, dim=-1) @ weights[..., None]).squeeze(-1)


class MixtureOfSoftmaxes(Generator):
    """log Σ_k π_k · softmax(W h_k): several contexts, one table of locations.

    The logarithms of one softmax form a matrix of rank D + 2 at most; a mixture's do not (Yang et
    al. 2018). Source: improvements document, proposal 10.
    """

    def __init__(self, config: ModelConfig, n_softmaxes: int = 4) -> None:
        super().__init__(config)
        self.n_softmaxes = n_softmaxes
        self.contexts = nn.Linear(config.d_model, n_softmaxes * config.d_model)
        self.prior = nn.Linear(config.d_model, n_softmaxes)

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) log-probabilities."""
        hidden = torch.tanh(self.contexts(context)).view(len(context), self.n_softmaxes, -1)
        each = F.log_softmax(super().forward(hidden), dim=-1)  # (B, K, V)
        return torch.logsumexp(F.log_softmax(self.prior(context), -1)[..., None] + each, dim=1)


class AdaptiveSoftmax(nn.Module):
    """Frequent locations first; the rarer the group, the fewer dimensions it is scored in.

    ``nn.AdaptiveLogSoftmaxWithLoss`` (Grave et al. 2017) on the locations in the order of their
    occurrences in training. Source: improvements document, proposal 10.
    """

    rank_of: Tensor

    def __init__(self, occurrences: Tensor, config: ModelConfig) -> None:
        super().__init__()
        v = config.n_locations
        self.register_buffer(
            "rank_of", occurrences.argsort(descending=True, stable=True).argsort(), persistent=False
        )
        cutoffs = sorted({max(v // 20, 1), max(v // 4, 2)})
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(config.d_model, v, cutoffs, div_value=2.0)

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) log-probabilities, in the vocabulary's order."""
        return self.softmax.log_prob(context)[:, self.rank_of]


class Tempered(Generator):
    """The linear head with one learned temperature; it starts at 1.

    Source: improvements document, proposal 10, which takes the temperature from calibration (Guo
    et al. 2017), where it is fitted after training and leaves every ranking as it is.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) scores."""
        return super().forward(context) * torch.exp(-self.log_temperature)
