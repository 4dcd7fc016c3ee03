"""The contextual pointer: PGT, whose pointer is given what a person would look at.

PGT's pointer weighs a past visit by a match of two learned vectors and by its position. Here,
features are added that look at one fact each (`pgt.contextual.features`). A visit can be worth
going back to for several reasons, each a sum of features, scaled by what is known of now:

    weight of visit i
        = exp(content_i + bias_i + interaction_i) · Σ_r exp(Σ_t scale_rt(now) · f_rt(i))

Without features, this is PGT. With three reasons and no encoder it can be the context kernel, whose
reasons to go back are "any", "it came after the place where I am" and "it began at this hour".
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from pgt.checkpoint import read_parts
from pgt.contextual.config import ContextualConfig
from pgt.contextual.history import HistoryBatch
from pgt.contextual.scorer import AdditiveScorer
from pgt.encoder import Encoder
from pgt.errors import DataError
from pgt.files.weights import built
from pgt.mixture import Mixture, MixtureModel
from pgt.model import Embeddings, Gate, Generator, Output, Pointer, logits_of
from pgt.sparse.logits import Logits, at_least_float32
from pgt.sparse.slots import Slots, log_mixture, scatter_log_probs
from pgt.vocabulary import UNKNOWN, Vocabulary

FIRST_PLACE = 2  # after padding and unknown


class ContextualPointer(MixtureModel):
    """Next location = copy one of the past's, for a reason, or generate one of the vocabulary's.

    Parameters
    ----------
    config : ContextualConfig

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> from pgt.contextual.history import with_history
    >>> data = pgt.windows.prepare(pgt.city.load().visits, protocol="exact")
    >>> data = with_history(data, memory=50)
    >>> size = data.vocabulary.n_locations, data.vocabulary.n_users
    >>> config = ContextualConfig(*size, n_trained_ids=2 + data.vocabulary.n_known)
    >>> model = ContextualPointer(config)
    >>> out = model.eval()(data.test.batch([0, 1]))
    >>> bool(torch.allclose(out.log_probs.exp().sum(1), torch.ones(2), atol=1e-5))
    True
    """

    def __init__(self, config: ContextualConfig) -> None:
        super().__init__()
        self.config = config
        inner = config.inner
        looks = config.content or config.has("generator")
        self.embeddings = Embeddings(inner) if looks else None
        self.encoder = Encoder(inner) if looks and config.encoder else None
        self.pointer = Pointer(inner) if config.content else None
        self.scorer = AdditiveScorer(config) if config.used_features else None
        self.generator = Generator(inner) if config.has("generator") else None
        both = config.has("generator") and config.has("gate")
        self.gate = Gate(inner) if both else None

    def forward(self, batch: HistoryBatch, attention: bool = False) -> Output:
        """Predict every window of a batch.

        Parameters
        ----------
        batch : HistoryBatch
            Of `pgt.contextual.history.HistoryWindows`; every window has at least one visit.
        attention : bool
            Also return the encoder's attention weights.
        """
        context, log_weights, seen = self._looked(batch, attention)
        size = self.config.n_locations
        pointer = scatter_log_probs(log_weights, batch.location, size)  # (B, V)
        generator = self._generated(context, pointer)  # (B, V)
        logit = self._gate_logit(context, log_weights)  # (B,)
        if self.generator is None:
            log_probs = pointer
        else:
            neither = (pointer == -math.inf) & (generator == -math.inf)
            mixed = log_mixture(logit, pointer, generator.masked_fill(neither, 0.0))
            log_probs = mixed.masked_fill(neither, -math.inf)
        return Output(log_probs, logit.sigmoid(), log_weights.exp(), pointer, generator, seen)

    def mixture(self, batch: HistoryBatch) -> Mixture:
        """Predict every window of a batch, and write down what a loss or a rank needs."""
        context, log_weights, _ = self._looked(batch)
        slots = Slots.of(batch.location, batch.padding)
        pointer = scatter_log_probs(log_weights, slots.of_visit, slots.place.shape[1])  # (B, L)
        logits: Logits | None = None
        if self.generator is not None and context is not None:
            first = FIRST_PLACE if self.config.n_trained_ids else 0
            logits = logits_of(self.generator, context, first)
        logit = self._gate_logit(context, log_weights)
        return Mixture(self.config.n_locations, logit, slots.place, pointer, logits)

    def _looked(
        self, batch: HistoryBatch, attention: bool = False
    ) -> tuple[Tensor | None, Tensor, tuple[Tensor, ...]]:
        """(B, D) the last visit in its context, (B, L) log-weights of the visits, attention."""
        if not isinstance(batch, HistoryBatch):
            raise DataError(
                "The contextual pointer needs windows that know what came before each visit; make "
                "them with pgt.contextual.history.with_history(data)."
            )
        recent = self._recent(batch)
        context: Tensor | None = None
        encoded: Tensor | None = None
        seen: tuple[Tensor, ...] = ()
        if self.embeddings is not None:
            encoded = self.embeddings(recent)  # (B, L', D)
            if self.encoder is not None:
                encoded, seen = self.encoder(encoded, recent.padding, attention)
            rows = torch.arange(len(batch), device=batch.length.device)
            context = encoded[rows, recent.length - 1]  # (B, D)

        scores = torch.zeros(batch.location.shape, device=batch.length.device)
        if self.scorer is not None:
            scores = scores + at_least_float32(self.scorer(batch))  # (B, L)
        if self.pointer is not None:
            assert context is not None and encoded is not None
            scores = scores + self._content(context, encoded, recent, batch)
        log_weights = F.log_softmax(scores.masked_fill(batch.padding, -math.inf), dim=-1)
        return context, log_weights, seen

    def _recent(self, batch: HistoryBatch) -> HistoryBatch:
        """The visits that PGT's parts see; places without weights of their own are unknown."""
        recent = batch.most_recent(self.config.recent)
        assert isinstance(recent, HistoryBatch)
        if not self.config.n_trained_ids:
            return recent
        strange = recent.location >= self.config.n_trained_ids
        return replace(recent, location=recent.location.masked_fill(strange, UNKNOWN))

    def _content(
        self, context: Tensor, encoded: Tensor, recent: HistoryBatch, full: HistoryBatch
    ) -> Tensor:
        """(B, L) PGT's score of the recent visits, 0 for those further back."""
        assert self.pointer is not None
        score = self.pointer(context, encoded, recent)  # (B, L') log-weights, -inf at padding
        width = full.location.shape[1]
        if width == recent.location.shape[1]:
            return score.masked_fill(recent.padding, 0.0)
        # Log-weights sum to one over the recent visits: put them on the scale of one visit each.
        score = score + recent.length.log()[:, None]
        steps = torch.arange(recent.location.shape[1], device=full.length.device)
        at = (full.length - recent.length)[:, None] + steps
        at = at.clamp(max=width - 1)
        kept = score.masked_fill(recent.padding, 0.0)
        return torch.zeros_like(full.location, dtype=score.dtype).scatter_add(1, at, kept)

    def _generated(self, context: Tensor | None, like: Tensor) -> Tensor:
        """(B, V) log-probabilities; -inf for places without weights of their own."""
        out = torch.full_like(like, -math.inf)
        if self.generator is None or context is None:
            return out
        scores = at_least_float32(self.generator(context))  # (B, K)
        if self.config.n_trained_ids:
            scores = scores.index_fill(
                1, torch.arange(FIRST_PLACE, device=scores.device), -math.inf
            )
        return F.pad(
            F.log_softmax(scores, dim=-1), (0, out.shape[1] - scores.shape[1]), value=-math.inf
        )

    def _gate_logit(self, context: Tensor | None, like: Tensor) -> Tensor:
        """(B,) logit of the gate: +inf without a generator, 0 if it is fixed."""
        if self.generator is None:
            return like.new_full((len(like),), math.inf)
        if self.gate is None or context is None:
            return like.new_zeros(len(like))
        return at_least_float32(self.gate(context)).squeeze(-1)  # (B, 1) -> (B,)


def load_contextual(path: str | Path) -> tuple[ContextualPointer, Vocabulary]:
    """Load a contextual pointer, in evaluation mode, and its vocabulary.

    As `pgt.checkpoint.load_model` does for PGT.

    Parameters
    ----------
    path : path
        Of a ``.safetensors`` file that `pgt.checkpoint.save_model` wrote.

    Returns
    -------
    model : ContextualPointer
    vocabulary : Vocabulary

    Raises
    ------
    DataError
        When the file is missing, damaged, or of another kind of model.

    Examples
    --------
    >>> import pgt, tempfile
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> size = data.vocabulary.n_locations, data.vocabulary.n_users
    >>> model = ContextualPointer(ContextualConfig(*size))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pgt.save_model(f"{folder}/mine.safetensors", model, data.vocabulary)
    ...     loaded, vocabulary = load_contextual(f"{folder}/mine.safetensors")
    >>> loaded.config == model.config, vocabulary == data.vocabulary
    (True, True)
    """
    config, vocabulary, tensors = read_parts(path, ContextualConfig)
    model = built(lambda: ContextualPointer(config), tensors, Path(path).name)
    vars(model)["made_for"] = vocabulary.fingerprint()
    return model, vocabulary
