"""Look inside: what the forward pass that made a prediction used, as tidy tables."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.errors import DataError
from pgt.windows import Windows


@dataclass(frozen=True)
class Look:
    """One window, opened: what one forward pass saw, and what it was made of."""

    visits: pd.DataFrame  # oldest first, with position_from_end (1 = last) and attention
    candidates: pd.DataFrame  # probability = copied (gate · pointer) + generated
    gate: float
    target: pd.Series
    target_probability: float
    self_attention: np.ndarray  # (layers, H, L, L), rows attend to columns


@torch.no_grad()
def look(model: Any, windows: Windows, i: int, top: int = 10) -> Look:
    """Open window ``i``, and list the ``top`` likeliest candidates.

    The model is PGT or a contextual pointer, such as one of the predictor's ``experts``.
    """
    vocabulary = windows.vocabulary
    if not hasattr(model, "pointer"):
        raise DataError(
            f"A {type(model).__name__} cannot be looked into; give PGT or a contextual pointer, or "
            "let a rule say its scores(batch)."
        )
    model.eval()
    batch = windows.batch([i], model.config.max_len)
    length, visits = int(batch.length[0]), windows.visits_of(i)
    if length > len(visits):  # older places, too
        visits = windows.visits.iloc[windows.rows(np.array([i]))[0, -length:].numpy()]
    out = _wide(model, vocabulary.n_locations)(batch)
    visits = visits.tail(length).assign(position_from_end=batch.position_from_end[0].numpy())
    visits["attention"] = out.pointer_attention[0].numpy()
    gate, probability = float(out.gate[0]), out.log_probs[0].exp().numpy()
    copied = gate * out.pointer_log_probs[0].exp().numpy()
    generated = (1 - gate) * out.generator_log_probs[0].exp().numpy()
    ids = np.argsort(-probability, kind="stable")[:top]
    target, layers = int(batch.target[0]), out.self_attention
    candidates = pd.DataFrame(
        {"location_id": vocabulary.decode(ids), "probability": probability[ids],
         "copied": copied[ids], "generated": generated[ids], "is_target": ids == target}
    )  # fmt: skip
    return Look(
        visits, candidates, gate, windows.target_of(i),
        target_probability=float(probability[target]),
        self_attention=torch.cat(layers).numpy() if layers else np.empty((0, 0, 0, 0)),
    )  # fmt: skip


def _wide(network: Any, n_locations: int) -> Any:
    """A network of an open vocabulary, with room for all places; its weights are the same."""
    if getattr(network.config, "n_trained_ids", 0):
        network = copy(network)
        network.config = replace(network.config, n_locations=n_locations)
    return network
