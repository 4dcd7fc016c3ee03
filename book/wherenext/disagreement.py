"""What a network and the context kernel give weight to, visit by visit of the same windows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from pgt.baselines import ContextKernel
from pgt.model import PointerGeneratorTransformer
from pgt.visits import around_the_clock
from pgt.windows import Windows

CLOSE = 60  # minutes: "the same hour"
VISIT_FEATURES = ("same_before", "same_hour", "log2_age", "log2_count")


@torch.no_grad()
def visit_weights(
    model: PointerGeneratorTransformer, kernel: ContextKernel, windows: Windows
) -> tuple[np.ndarray, pd.DataFrame]:
    """The gate of every window, and a row for each visit in it with each model's weight.

    ``row`` (of ``windows.visits``), ``age`` (1 = the last), ``same_before`` (it followed a visit
    to where the person is now), ``apart`` (minutes of the day from now), ``count`` (visits to its
    place in the window), ``pgt`` and ``kernel``, which sum to one over a window.
    """
    model.eval()
    gate, parts = np.zeros(len(windows)), []
    for batch in windows.batches(512, max_len=model.config.max_len):
        out = model(batch)
        gate[batch.index.numpy()] = out.gate.numpy()
        vote = kernel.weights(batch)
        here = batch.location.gather(1, batch.length[:, None] - 1)  # (B, 1)
        before = torch.roll(batch.location, 1, dims=1)
        before[:, 0] = 0
        same = batch.location[:, :, None] == batch.location[:, None, :]  # (B, L, L)
        columns = {
            "window": batch.index[:, None].expand_as(batch.location),
            "age": batch.position_from_end,
            "same_before": before == here,
            "apart": around_the_clock(batch.start_minute, batch.now_minute[:, None]),
            "count": (same & ~batch.padding[:, None, :]).sum(2),
            "pgt": out.pointer_attention,
            "kernel": vote / vote.sum(1, keepdim=True),
        }
        inside = ~batch.padding
        parts.append(pd.DataFrame({k: v[inside].numpy() for k, v in columns.items()}))
    visits = pd.concat(parts).sort_values(["window", "age"], ascending=[True, False])
    visits.insert(1, "row", windows.target[visits.window] - visits.age)
    return gate, visits.reset_index(drop=True)


def factors(visits: pd.DataFrame, weight: str) -> dict[str, float]:
    """By what factor a weight rises with each of `VISIT_FEATURES`, others held; ``explained``.

    Least squares of its logarithm; each window has its own constant.
    """
    table = pd.DataFrame(
        {
            "same_before": visits.same_before.astype(float),
            "same_hour": (visits["apart"] <= CLOSE).astype(float),
            "log2_age": np.log2(visits.age),
            "log2_count": np.log2(visits["count"]),
            "weight": np.log(visits[weight].clip(lower=1e-12)),
        }
    )
    table -= table.groupby(visits.window.to_numpy()).transform("mean")
    x, y = table[[*VISIT_FEATURES]].to_numpy(), table.weight.to_numpy()
    slope, *_ = np.linalg.lstsq(x, y, rcond=None)
    rest = float(((y - x @ slope) ** 2).sum() / (y**2).sum())
    return dict(zip(VISIT_FEATURES, np.exp(slope).tolist(), strict=True)) | {"explained": 1 - rest}
