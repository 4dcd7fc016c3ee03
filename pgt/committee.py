"""Several contextual pointers that answer together.

Each member starts elsewhere and learns on its own; the answer is the mean of their distributions.
What single members have picked up by chance is averaged away, what they agree on stays.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn

from pgt.contextual import ContextualPointer
from pgt.contextual_config import ContextualConfig
from pgt.history import Past
from pgt.model import Output


class Committee(nn.Module):
    """The mean of several models' distributions.

    In training, the logarithms are averaged instead: the loss is then the mean of the members'
    own losses, so that each learns as if it were alone.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> from pgt.history import remember
    >>> data = remember(pgt.windows.prepare(pgt.city.load().visits, protocol="exact"))
    >>> size = data.vocabulary.n_locations, data.vocabulary.n_users
    >>> one, two = (ContextualPointer(ContextualConfig(*size)) for _ in range(2))
    >>> both = Committee([one, two]).scores(data.test.batch([0]))
    >>> mean = (one.scores(data.test.batch([0])).exp() + two.scores(data.test.batch([0])).exp()) / 2
    >>> bool(torch.allclose(both.exp(), mean, atol=1e-6))
    True
    """

    def __init__(self, members: list[ContextualPointer]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def config(self) -> ContextualConfig:
        """That of each member."""
        config: ContextualConfig = self.members[0].config  # type: ignore[assignment]
        return config

    def forward(self, batch: Past) -> Output:
        """Predict every window of a batch.

        Gate, attention and the two distributions are means over the members.
        """
        outputs: list[Output] = [member(batch) for member in self.members]
        n = len(outputs)
        logs = torch.stack([output.log_probs for output in outputs])  # (K, B, V)
        log_probs = logs.mean(0) if self.training else logs.logsumexp(0) - math.log(n)

        def mean(name: str) -> Tensor:
            return torch.stack([getattr(output, name) for output in outputs]).mean(0)

        def together(name: str) -> Tensor:
            each = torch.stack([getattr(output, name) for output in outputs])
            return each.logsumexp(0) - math.log(n)

        return replace(
            outputs[0], log_probs=log_probs, gate=mean("gate"),
            pointer_attention=mean("pointer_attention"),
            pointer_log_probs=together("pointer_log_probs"),
            generator_log_probs=together("generator_log_probs"), self_attention=(),
        )  # fmt: skip

    @torch.no_grad()
    def scores(self, batch: Past) -> Tensor:
        """(B, V) log-probabilities, in evaluation mode; the interface that baselines share."""
        was_training = self.training
        self.eval()
        try:
            return self(batch).log_probs
        finally:
            self.train(was_training)

    def n_parameters(self) -> int:
        """Count the trained numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)
