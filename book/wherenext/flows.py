"""All windows at once: where attention points, and where people went, between groups of places.

Shares of districts over many people tell of nobody.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows


@torch.no_grad()
def flows(
    model: PointerGeneratorTransformer, windows: Windows, group_of: pd.Series
) -> pd.DataFrame:
    """Shares of visits, attention and answers between groups of places, in percent of all windows.

    ``group_of`` has the group (a district) of each place. A row a pair of groups: ``here`` (of the
    last visit), ``there``, and ``visits`` (all of a window alike), ``attention`` and ``answers``
    (targets). Only windows with their target count, so that attention could be right everywhere.
    """
    model.eval()
    codes, names = pd.factorize(group_of, sort=True)
    size, group = len(names), torch.zeros(model.config.n_locations, dtype=torch.long)  # (V,)
    ids = windows.vocabulary.encode_locations(group_of.index.to_series())
    group[torch.as_tensor(np.asarray(ids))] = torch.as_tensor(codes)
    totals = torch.zeros(3, size * size, dtype=torch.double)
    for batch in windows.subset(windows.in_window).batches(512, max_len=model.config.max_len):
        attention = model(batch).pointer_attention  # (B, L)
        real = ~batch.padding
        here = group[batch.location.gather(1, batch.length[:, None] - 1)]  # (B, 1)
        cell = here * size + group[batch.location]  # (B, L)
        even = real / batch.length[:, None]
        for total, weight in zip(totals, (even, attention), strict=False):
            total.index_add_(0, cell[real], weight[real].double())
        goal = here.squeeze(1) * size + group[batch.target]  # (B,)
        totals[2].index_add_(0, goal, torch.ones(len(batch), dtype=torch.double))
    shares = (100 * totals / totals.sum(1, keepdim=True)).numpy()
    table = pd.DataFrame(shares.T, columns=["visits", "attention", "answers"])
    table.insert(0, "here", np.repeat(names, size))
    table.insert(1, "there", np.tile(names, size))
    return table[shares.sum(0) > 0].reset_index(drop=True)
