"""The gate of every window, beside what may explain it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows


@torch.no_grad()
def gates(
    model: PointerGeneratorTransformer, windows: Windows, batch_size: int = 512
) -> pd.DataFrame:
    """The gate of every window, one row each, beside what may explain it.

    Probabilities of the target are before the gate for pointer and generator; ``unique_share`` is
    different places / visits, ``hour`` and ``weekday`` (1 = Monday) are the last visit's.
    """
    model.eval()
    n = len(windows)
    probabilities = ("target_probability", "pointer_probability", "generator_probability")
    others = ("correct", "length", "unique_share", "hour", "weekday")
    table = {name: np.zeros(n) for name in ("gate", *probabilities, *others)}
    for batch in windows.batches(batch_size, max_len=model.config.max_len):
        out = model(batch)
        at = batch.index.numpy()
        rows = torch.arange(len(batch))
        last = batch.length - 1
        ordered = batch.location.sort(dim=1).values  # (B, L), padding first
        fresh = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] > 0)
        unique = fresh.sum(1) + (ordered[:, 0] > 0).long()
        table["gate"][at] = out.gate.numpy()
        for name, log_probs in zip(
            probabilities,
            (out.log_probs, out.pointer_log_probs, out.generator_log_probs),
            strict=True,
        ):
            own = log_probs.gather(1, batch.target[:, None]).squeeze(1)  # (B,)
            table[name][at] = own.exp().numpy()
        table["correct"][at] = (out.log_probs.argmax(1) == batch.target).numpy()
        table["length"][at] = batch.length.numpy()
        table["unique_share"][at] = (unique / batch.length).numpy()
        table["hour"][at] = batch.start_minute[rows, last].numpy() // 60
        table["weekday"][at] = batch.weekday[rows, last].numpy()
    frame = pd.DataFrame({"user_id": windows.users, **table})
    frame["correct"] = frame.correct.astype(bool)
    frame["in_window"] = windows.in_window
    frame["known"] = windows.vocabulary.is_known(windows.targets)
    return frame.astype({"length": int, "hour": int, "weekday": int})
