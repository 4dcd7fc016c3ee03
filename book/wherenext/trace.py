"""Every number on the way from one window to its answer, noted by hooks as the model predicts."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.look import Look, look
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows


@dataclass(frozen=True)
class Trace:
    """One prediction, step by step: L visits, D numbers a vector, V places."""

    look: Look
    ids: dict[str, np.ndarray]  # by the name of an embedding, (L,) the rows that were looked up
    widths: dict[str, int]  # by the same names, how many numbers a row has
    embedded: np.ndarray  # (L, sum of the widths) the vectors of each visit, side by side
    projected: np.ndarray  # (L, D) after projection and normalisation
    placed: np.ndarray  # (L, D) with the sinusoid
    encoded: np.ndarray  # (L, D) after the encoder; the last row is the context
    scores: np.ndarray  # (L,) query · key / √D
    bias: np.ndarray  # (L,) of the position
    copies: pd.Series  # by `location_id` of the window, what the pointer gives; the most first
    generated: pd.Series  # by `location_id`, what the generator gives; the most first
    logit: float  # the gate before its sigmoid


def trace(model: PointerGeneratorTransformer, windows: Windows, i: int) -> Trace:
    """Predict window ``i`` with a whole model (all four parts) and note everything down."""
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

    def note(_part: Any, given: tuple[Any, ...], out: Any, name: str) -> None:
        """What goes into a part and what comes out of it, without the batch."""
        if hasattr(given[0], "detach"):
            came[name] = given[0].detach()[0].numpy()
        went[name] = (out[0] if isinstance(out, tuple) else out).detach()[0].numpy()

    with ExitStack() as stack:
        for name, part in parts.items():
            stack.callback(part.register_forward_hook(partial(note, name=name)).remove)
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
