"""Attention over time and weighted aggregation, as in the temporal-sets notebook, for all at once.

One *row* is one element of one sequence: its representations in the T sets of the sequence. Time
is padded at its end, so a mask that hides the future hides the padding as well.
Source: Yu et al. 2020, section 3.3 (https://arxiv.org/abs/2006.11483).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

Heads = Literal["concat", "mean"]


def future_mask(n: int, device: torch.device | None = None) -> Tensor:
    """(n, n): 0 where set t may look at set t' (t' not after t), minus infinity where it may not.

    The notebook's formula has it the other way round: 0 for t < t' only, minus infinity
    otherwise. Its last row then holds nothing but minus infinity, whose softmax is not a number.
    Its code is as here.

    Examples
    --------
    >>> future_mask(3).tolist()
    [[0.0, -inf, -inf], [0.0, 0.0, -inf], [0.0, 0.0, 0.0]]
    """
    return torch.full((n, n), -math.inf, device=device).triu(1)


class MaskedSelfAttention(nn.Module):
    """Each set looks at itself and at those before it, with several heads.

    Parameters
    ----------
    width_in, width_out : int
    n_heads : int
        With "concat", a divisor of ``width_out``.
    heads : {"concat", "mean"}
        Join heads of ``width_out / n_heads`` dimensions, or average heads of ``width_out``.

    Raises
    ------
    ValueError
        For another way to join, or a width that the heads cannot share.

    Examples
    --------
    >>> attention = MaskedSelfAttention(8, 8, n_heads=2)
    >>> out, weights = attention(torch.randn(5, 3, 8))
    >>> out.shape, weights.shape
    (torch.Size([5, 3, 8]), torch.Size([5, 2, 3, 3]))
    """

    def __init__(self, width_in: int, width_out: int, n_heads: int = 4, heads: Heads = "concat"):
        super().__init__()
        if heads not in ("concat", "mean"):
            raise ValueError(f"Heads are joined by 'concat' or 'mean', not {heads!r}.")
        if heads == "concat" and width_out % n_heads:
            raise ValueError(f"{n_heads} heads cannot share {width_out} dimensions evenly.")
        self.n_heads, self.heads = n_heads, heads
        self.per_head = width_out // n_heads if heads == "concat" else width_out
        # No biases, as in the notebook.
        self.project = nn.Linear(width_in, 3 * n_heads * self.per_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, T, width_in) -> (rows, T, width_out), and the weights (rows, H, T, T)."""
        rows, t, _ = x.shape
        heads = self.project(x).view(rows, t, 3, self.n_heads, self.per_head)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (rows, H, T, per head)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.per_head)  # (rows, H, T, T)
        weights = (scores + future_mask(t, x.device)).softmax(-1)
        mixed = weights @ value  # (rows, H, T, per head)
        if self.heads == "mean":
            return mixed.mean(1), weights
        return mixed.transpose(1, 2).reshape(rows, t, -1), weights


class WeightedAggregation(nn.Module):
    """A row's representations over time become one: z = (Z w)ᵀ Z over the true length.

    The weights Z w are not normalised: a longer sequence gives a longer vector, and a weight may
    be negative.

    Parameters
    ----------
    width : int

    Examples
    --------
    >>> aggregation = WeightedAggregation(8)
    >>> aggregation(torch.randn(5, 3, 8), torch.tensor([3, 3, 1, 2, 2])).shape
    torch.Size([5, 8])
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(width, 1, bias=False)

    def forward(self, z: Tensor, length: Tensor) -> Tensor:
        """(rows, T, width) and (rows,) -> (rows, width)."""
        real = torch.arange(z.shape[1], device=z.device) < length[:, None]  # (rows, T)
        # A weight of 0 is all that it takes to leave padding out: no loop over users.
        weight = self.weigh(z).squeeze(-1) * real  # (rows, T)
        return torch.einsum("rt,rtf->rf", weight, z)
