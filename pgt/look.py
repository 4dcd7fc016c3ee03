"""Look inside: what one forward pass used, as tidy tables.

Every number here comes from the same call of the model that made the prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from pgt.model import Output, PointerGeneratorTransformer
from pgt.windows import Windows


@dataclass(frozen=True)
class Look:
    """One window, opened.

    Attributes
    ----------
    visits : DataFrame
        The visits that the model saw, oldest first, with ``position_from_end`` (1 = last) and
        ``attention`` (the pointer's weight, 0 to 1; sums to one).
    candidates : DataFrame
        The likeliest locations: ``location_id``, ``probability``, and its two parts ``copied``
        (gate · pointer) and ``generated`` ((1 - gate) · generator), which add up to it;
        ``is_target``.
    gate : float
        Weight of the pointer, 0 to 1.
    target : Series
        The visit asked for.
    target_probability : float
        What the model gave to the target.
    self_attention : ndarray
        (layers, H, L, L), rows attend to columns.
    """

    visits: pd.DataFrame
    candidates: pd.DataFrame
    gate: float
    target: pd.Series
    target_probability: float
    self_attention: np.ndarray


@torch.no_grad()
def look(model: PointerGeneratorTransformer, windows: Windows, i: int, top: int = 10) -> Look:
    """Open window ``i``.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> from pgt.config import ModelConfig
    >>> data = pgt.windows.prepare(pgt.city.load().visits)
    >>> v = data.vocabulary
    >>> model = PointerGeneratorTransformer(ModelConfig(v.n_locations, v.n_users))
    >>> seen = look(model, data.test, 0)
    >>> round(float(seen.visits.attention.sum()), 5)
    1.0
    """
    model.eval()
    vocabulary = windows.vocabulary
    batch = windows.batch([i], model.config.max_len)
    out: Output = model(batch, attention=True)
    length = int(batch.length[0])
    visits = windows.visits_of(i).tail(length).copy()
    visits["position_from_end"] = batch.position_from_end[0].numpy()
    visits["attention"] = out.pointer_attention[0].numpy()
    gate = float(out.gate[0])
    copied = gate * out.pointer_log_probs[0].exp().numpy()
    generated = (1 - gate) * out.generator_log_probs[0].exp().numpy()
    probability = out.log_probs[0].exp().numpy()
    ids = np.argsort(-probability, kind="stable")[:top]
    target = int(batch.target[0])
    candidates = pd.DataFrame(
        {
            "location_id": vocabulary.decode(ids),
            "probability": probability[ids],
            "copied": copied[ids],
            "generated": generated[ids],
            "is_target": ids == target,
        }
    )
    return Look(
        visits=visits,
        candidates=candidates,
        gate=gate,
        target=windows.target_of(i),
        target_probability=float(probability[target]),
        self_attention=torch.cat(out.self_attention).numpy(),
    )


def story(windows: Windows) -> int:
    """The window that Part II of the book follows, found by rule.

    The first one with 9 to 12 visits to 4 to 6 places, none of which makes up more than half of
    them, whose target occurs at least twice and is not where the person is now.
    """
    for i in np.flatnonzero((windows.lengths >= 9) & (windows.lengths <= 12) & windows.in_window):
        places = windows.visits_of(int(i)).location_id
        counts = places.value_counts()
        target = windows.target_of(int(i)).location_id
        if (
            4 <= len(counts) <= 6
            and counts[target] >= 2
            and places.iloc[-1] != target
            and counts.iloc[0] <= len(places) / 2
        ):
            return int(i)
    raise ValueError("No window fits the story; any other will do as well.")
