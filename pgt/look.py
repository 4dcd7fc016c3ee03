"""Look inside: what one forward pass used, as tidy tables.

Every number here comes from the same call of the model that made the prediction.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.refusals.kinds import require_has
from pgt.windows import Windows


@dataclass(frozen=True)
class Look:
    """One window, opened.

    Attributes
    ----------
    visits : DataFrame
        The visits that the model saw, oldest first (where windows remember, the latest visit to
        each older place before them), with ``position_from_end`` (1 = last) and ``attention``
        (the pointer's weight, 0 to 1; sums to one).
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
        (layers, H, L, L), rows attend to columns; no layers where nothing is encoded.
    """

    visits: pd.DataFrame
    candidates: pd.DataFrame
    gate: float
    target: pd.Series
    target_probability: float
    self_attention: np.ndarray


@torch.no_grad()
def look(model: Any, windows: Windows, i: int, top: int = 10) -> Look:
    """Open window ``i``.

    Parameters
    ----------
    model : PointerGeneratorTransformer, ContextualPointer or Experts
        Of experts, what is shown is the mixture of all, each with its weight.
    windows : Windows
        For the last two, windows of `pgt.history.with_history`.
    i : int
    top : int
        So many candidates.

    Raises
    ------
    DataError
        The model has no pointer.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(wherenext.city.load().visits)
    >>> v = data.vocabulary
    >>> model = pgt.PointerGeneratorTransformer(pgt.ModelConfig(v.n_locations, v.n_users))
    >>> seen = look(model, data.test, 0)
    >>> round(float(seen.visits.attention.sum()), 5)
    1.0
    """
    networks, vocabulary = getattr(model, "experts", [model]), windows.vocabulary
    require_has("model", networks[0], "pointer", "PGT, a contextual pointer or experts, or let "
                "a rule say its scores(batch) and NextLocation explain")  # fmt: skip
    model.eval()
    batch = windows.batch([i], model.config.max_len)
    length, visits = int(batch.length[0]), windows.visits_of(i)
    if length > len(visits):  # older places, too
        visits = windows.visits.iloc[windows.rows(np.array([i]))[0, -length:].numpy()]
    outs = [_wide(one, vocabulary.n_locations)(batch, attention=True) for one in networks]

    def mixed(*parts: torch.Tensor) -> np.ndarray:
        """The same part of every network, each with its weight."""
        weights: torch.Tensor = getattr(model, "weights", torch.ones(1))
        return (weights @ torch.cat(parts)).numpy()

    visits = visits.tail(length).assign(position_from_end=batch.position_from_end[0].numpy())
    visits["attention"] = mixed(*(out.pointer_attention for out in outs))
    probability = mixed(*(out.log_probs.exp() for out in outs))
    copied = mixed(*(out.gate[:, None] * out.pointer_log_probs.exp() for out in outs))
    generated = mixed(*((1 - out.gate)[:, None] * out.generator_log_probs.exp() for out in outs))
    ids = np.argsort(-probability, kind="stable")[:top]
    target, layers = int(batch.target[0]), [layer for out in outs for layer in out.self_attention]
    candidates = pd.DataFrame(
        {"location_id": vocabulary.decode(ids), "probability": probability[ids],
         "copied": copied[ids], "generated": generated[ids], "is_target": ids == target}
    )  # fmt: skip
    return Look(
        visits, candidates, float(mixed(*(out.gate for out in outs))), windows.target_of(i),
        target_probability=float(probability[target]),
        self_attention=torch.cat(layers).numpy() if layers else np.empty((0, 0, 0, 0)),
    )  # fmt: skip


def _wide(network: Any, n_locations: int) -> Any:
    """A network of an open vocabulary, with room for all places; its weights are the same."""
    if getattr(network.config, "n_trained_ids", 0):
        network = copy(network)
        network.config = replace(network.config, n_locations=n_locations)
    return network


def story(windows: Windows) -> int:
    """The window that Part II of the book follows, found by rule.

    The first one with 9 to 12 visits to 4 to 6 places, none of which makes up more than half of
    them, whose target occurs at least twice and is not where the person is now.
    """
    for i in np.flatnonzero((windows.lengths >= 9) & (windows.lengths <= 12) & windows.in_window):
        places = windows.visits_of(int(i)).location_id
        counts = places.value_counts()
        target = windows.target_of(int(i)).location_id
        few, again = 4 <= len(counts) <= 6, counts[target] >= 2 and places.iloc[-1] != target
        if few and again and counts.iloc[0] <= len(places) / 2:
            return int(i)
    raise ValueError("No window fits the story; any other will do as well.")
