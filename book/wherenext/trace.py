"""Every number on the way from one window to its answer, noted down during one prediction.

Hooks listen to the model's own parts while it predicts. So what is shown is what was used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.look import Look, look
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows


@dataclass(frozen=True)
class Trace:
    """One prediction, step by step. L visits, D numbers a vector, V places.

    Attributes
    ----------
    look : Look
        Visits, pointer weights, self-attention, gate and answer.
    ids : dict of str to ndarray
        By the name of an embedding, (L,) the rows that were looked up.
    widths : dict of str to int
        By the same names, how many numbers a row has.
    embedded : ndarray
        (L, sum of the widths) the vectors of each visit, side by side.
    projected, placed, encoded : ndarray
        (L, D) after projection and normalisation; with the sinusoid; after the encoder. The last
        row of ``encoded`` is the context.
    scores, bias : ndarray
        (L,) query · key / √D, and the position bias; the softmax of their sum is what it weighs.
    copies : Series
        What the pointer gives to each place of the window, by ``location_id``, the most first.
    generated : Series
        What the generator gives to every place, by ``location_id``, the most first.
    logit : float
        The gate before its sigmoid.
    """

    look: Look
    ids: dict[str, np.ndarray]
    widths: dict[str, int]
    embedded: np.ndarray
    projected: np.ndarray
    placed: np.ndarray
    encoded: np.ndarray
    scores: np.ndarray
    bias: np.ndarray
    copies: pd.Series
    generated: pd.Series
    logit: float


def trace(model: PointerGeneratorTransformer, windows: Windows, i: int) -> Trace:
    """Predict window ``i`` and note everything down.

    Parameters
    ----------
    model : PointerGeneratorTransformer
        With pointer, position bias, generator and gate.
    windows : Windows
    i : int

    Returns
    -------
    Trace

    Raises
    ------
    DataError
        The model lacks one of the parts.

    Examples
    --------
    >>> import wherenext.city, pgt.windows
    >>> from pgt.config import ModelConfig
    >>> data = pgt.windows.prepare(wherenext.city.load().visits)
    >>> v = data.vocabulary
    >>> steps = trace(
    ...     PointerGeneratorTransformer(ModelConfig(v.n_locations, v.n_users)), data.test, 0
    ... )
    >>> round(float(steps.copies.sum()), 5)
    1.0
    """
    pointer, generator, gate = model.pointer, model.generator, model.gate
    if pointer is None or generator is None or gate is None or pointer.position_bias is None:
        raise DataError("This needs a model with pointer, position bias, generator and gate.")
    tables = dict(model.embeddings.tables.items())
    parts = {
        "project": model.embeddings.project, "embeddings": model.embeddings,
        "layer": model.encoder.layers[0], "encoder": model.encoder, "query": pointer.query,
        "key": pointer.key, "generator": generator, "gate": gate, **tables,
    }  # fmt: skip
    came: dict[str, np.ndarray] = {}
    went: dict[str, np.ndarray] = {}

    def note(name: str) -> Callable[..., None]:
        """A hook that notes what goes into a part and what comes out of it, without the batch."""

        def hook(_part: Any, given: tuple[Any, ...], out: Any) -> None:
            first = given[0]
            if hasattr(first, "detach"):
                came[name] = first.detach()[0].numpy()
            out = out[0] if isinstance(out, tuple) else out
            went[name] = out.detach()[0].numpy()

        return hook

    with ExitStack() as stack:
        for name, part in parts.items():
            stack.callback(part.register_forward_hook(note(name)).remove)
        seen = look(model, windows, i)
    places = windows.vocabulary.decode(np.arange(model.config.n_locations))
    logits = went["generator"].astype(float)
    generated = np.exp(logits - logits.max())
    return Trace(
        look=seen,
        ids={name: came[name] for name in tables},
        widths={name: went[name].shape[1] for name in tables},
        embedded=came["project"],
        projected=went["embeddings"],
        placed=came["layer"],
        encoded=went["encoder"],
        scores=went["key"] @ went["query"] / math.sqrt(model.config.d_model),
        bias=pointer.position_bias.detach().numpy()[seen.visits.position_from_end.to_numpy()],
        copies=seen.visits.groupby("location_id").attention.sum().sort_values(ascending=False),
        generated=pd.Series(generated / generated.sum(), places).sort_values(ascending=False),
        logit=float(went["gate"][0]),
    )
