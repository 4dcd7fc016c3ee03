"""How far back the last visit's encoding reaches, for chapter 17."""

from __future__ import annotations

import torch
from torch import Tensor

from pgt.model import PointerGeneratorTransformer, evaluating
from pgt.windows import Windows


def reach(model: PointerGeneratorTransformer, windows: Windows, visits: int = 18) -> Tensor:
    """(visits,) what share of the last visit's encoding depends on each visit, the newest first.

    Dependence is the size of a gradient: how far the encoding moves when a visit's vector does. The
    result is the mean over the windows with at least so many visits, the last ones taken alone.
    """
    shares = []
    draws = torch.Generator().manual_seed(0)
    with evaluating(model):
        for batch in windows.subset(windows.lengths >= visits).batches(256):
            x = model.embeddings(batch).detach().requires_grad_()  # (B, L, D)
            encoded, _ = model.encoder(x, batch.padding)
            last = encoded[torch.arange(len(batch)), batch.length - 1]  # (B, D)
            # A gradient needs one number: those of the encoding, added up with random weights.
            weights = torch.randn(last.shape, generator=draws)
            (slope,) = torch.autograd.grad((last * weights).sum(), x)
            newest = batch.length[:, None] - 1 - torch.arange(visits)  # (B, visits)
            size = slope.norm(dim=-1).gather(1, newest)
            shares.append(size / size.sum(1, keepdim=True))
    return torch.cat(shares).mean(0)
