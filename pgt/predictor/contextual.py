"""The contextual pointer: copy a past visit's place because of what relates it to now.

PGT multiplies properties of visits; this model is told relations, such as how far a visit's time of
day is from the present one. A *feature* is one such fact. It has a learned table with a row for
every knot of the fact, interpolated between two knots. Sums of features are *reasons* to go back;
a visit's log-weight is the log-sum-exp of its reasons. Around it there can be all of PGT.

Shapes: B windows, L visits, D = d_model, R reasons, V locations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.baselines import ContextKernel
from pgt.batch import Batch, slot_of
from pgt.checkpoint import load
from pgt.config import LARGEST_INT, ModelConfig, TargetTime, TrainConfig, check_range
from pgt.errors import DataError
from pgt.fast_dropout import Dropout
from pgt.model import (
    Embeddings,
    Encoder,
    Gate,
    Generator,
    Output,
    PlaceModel,
    Pointer,
    cross_entropy,
    evaluating,
    log_mixture,
    scatter_log_probs,
)
from pgt.predictor.features import (
    CLOCK_KNOTS,
    FEATURES,
    HISTORY_FEATURES,
    NOW,
    TARGET_FEATURES,
    THEN,
    present,
    relations,
    to_the_hour,
)
from pgt.predictor.memory import HistoryBatch
from pgt.vocabulary import UNKNOWN, Vocabulary


@dataclass(frozen=True)
class ContextualConfig(ModelConfig):
    """A `ModelConfig` with what is new; ``target_time`` can also be "hour" or "time".

    Hour and time are for the features alone: with them, PGT's recency counts back from the last
    visit, as with "unknown".

    Examples
    --------
    >>> ContextualConfig(100, 10, target_time="hour").used_features[-1]
    'then_gap'
    """

    features: tuple[str, ...] = tuple(HISTORY_FEATURES)  # none = PGT
    n_components: int = 3  # sums of features that can speak for a visit
    interaction: int = 32  # width of the layer in which features interact; 0 = they only add up
    scaled: bool = True  # whether what is known of now scales the features
    encoder: bool = True  # whether visits are encoded together
    content: bool = True  # whether PGT's own pointer score is added to the features
    # Open vocabulary: how many ids have weights of their own, padding and unknown included. Higher
    # ids can be copied, and look alike to the embeddings. 0 = all have weights, as in PGT.
    n_trained_ids: int = 0
    recent: int = 50  # the latest visits are embedded and encoded; of others only features speak
    max_len: int = 1000

    TARGET_TIMES: ClassVar = get_args(TargetTime)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.knows_time and not self.features:
            raise DataError(
                f"target_time={self.target_time!r} needs features, which alone look at the next "
                "visit's hour; name some, or let target_time be 'unknown' or 'day'."
            )
        check_range(
            self,
            n_components=(1, LARGEST_INT),
            interaction=(0, LARGEST_INT),
            recent=(1, LARGEST_INT),
        )
        if strange := set(self.features) - set(HISTORY_FEATURES):
            raise DataError(
                f"features names {min(strange)!r}; it can name {', '.join(HISTORY_FEATURES)}."
            )
        if not self.has("pointer") or not (self.features or self.content):
            raise DataError("The contextual pointer needs its pointer, and features or content.")
        least = 3 if self.has("generator") else 2
        if self.n_trained_ids and not least <= self.n_trained_ids <= self.n_locations:
            raise DataError(
                f"n_trained_ids={self.n_trained_ids} must lie between {least} (padding and unknown "
                f"count, too) and n_locations={self.n_locations}; 0 is a closed vocabulary."
            )

    @property
    def knows_time(self) -> bool:
        """Whether the features know the hour or the time at which the next visit begins."""
        return self.target_time in ("hour", "time")

    @property
    def used_features(self) -> tuple[str, ...]:
        """The features, with those that a known target time allows."""
        return self.features + (tuple(TARGET_FEATURES) if self.knows_time else ())

    @property
    def inner(self) -> ModelConfig:
        """The configuration of PGT's parts, in which only known places have weights."""
        own = {field.name: getattr(self, field.name) for field in fields(ModelConfig)}
        own |= {"n_locations": self.n_trained_ids or self.n_locations, "max_len": self.recent}
        return ModelConfig(**own | ({"target_time": "unknown"} if self.knows_time else {}))


# Reasons alone: neither PGT's embeddings nor its encoder, generator and gate.
ALONE: dict[str, Any] = {
    "encoder": False, "content": False, "without": ("generator", "gate"), "dropout": 0.2,
    "interaction": 0,
}  # fmt: skip
TRAINING = TrainConfig(
    learning_rate=5e-3, weight_decay=1e-2, betas=(0.9, 0.99), batch_size=64, label_smoothing=0.03,
    warmup_epochs=1, max_epochs=5, patience=2, clip=1.0, monitor="acc@1",
)  # fmt: skip
MEMORY = 100  # visits
OLDER = 100  # summaries of places further back

FACT_WIDTH = 8
NEVER = -30.0  # log of a weight that is none
FIRST_PLACE = 2  # after padding and unknown


def _zero_ended(wide: int, out: int, dropout: float) -> nn.Sequential:
    """A small network that at first says nothing: its last layer is zero."""
    last = nn.Linear(32, out)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(wide, 32), nn.GELU(), Dropout(dropout), last)


class AdditiveScorer(nn.Module):
    """(B, L) log-weights of visits: every feature has one table, every reason adds up its own."""

    knots: Tensor  # (K,) of all features, one after the other
    of: Tensor  # (K,) the number of each knot's feature

    def __init__(self, config: ContextualConfig) -> None:
        super().__init__()
        self.config = config
        n, width, dropout = config.n_components, config.interaction, config.dropout
        self.known = {name: FEATURES[name] for name in config.used_features}
        self.facts = NOW | (THEN if config.knows_time else {})
        self.tables = nn.ParameterDict()
        for name, feature in self.known.items():
            table = torch.zeros(len(feature.knots), n + width)
            nn.init.normal_(table[:, :n], std=0.1)
            nn.init.normal_(table[:, n:], std=0.5)
            self.tables[name] = nn.Parameter(table)
        self.n_knots = [len(feature.knots) for feature in self.known.values()]
        knots = [torch.tensor(feature.knots).float() for feature in self.known.values()]
        of = torch.arange(len(knots)).repeat_interleave(torch.tensor(self.n_knots))
        self.register_buffer("knots", torch.cat(knots), persistent=False)
        self.register_buffer("of", of, persistent=False)
        wide, used = FACT_WIDTH * len(self.facts), self.facts if config.scaled or width else {}
        self.now = nn.ModuleDict({k: nn.Embedding(size, FACT_WIDTH) for k, size in used.items()})
        self.scale = _zero_ended(wide, len(self.known) * n, dropout) if config.scaled else None
        self.interaction = nn.Linear(wide, width) if width else None
        self.out = _zero_ended(width, 1, dropout) if width else None

    def read_facts(self, batch: HistoryBatch) -> tuple[dict[str, Tensor], Tensor]:
        """What `present` finds, and (B, K, L) the `hats` of what `relations` finds."""
        config = self.config
        asked = config.used_features, config.target_time == "hour", self.knots.dtype
        if asked not in batch.facts:
            told = to_the_hour(batch) if config.target_time == "hour" else batch
            facts = present(told)
            related = relations(told, facts["weekday"], config.knows_time)
            value = torch.stack([related[name].to(self.knots.dtype) for name in self.known])
            batch.facts[asked] = facts, self.hats(value)
        known: tuple[dict[str, Tensor], Tensor] = batch.facts[asked]
        return known

    def forward(self, batch: HistoryBatch) -> tuple[Tensor, Tensor]:
        """(B, L, R) log-weight of each reason, and (B, L) what the interaction adds to all."""
        n, width = self.config.n_components, self.config.interaction
        facts, hats = self.read_facts(batch)
        rows = torch.cat([*self.tables.values()])  # (K, R + I), those of all features
        if self.now:
            now = torch.cat([table(facts[name]) for name, table in self.now.items()], -1)  # (B, N)
        if self.scale is not None:
            scales = (1 + self.scale(now)).view(-1, len(self.known), n)  # (B, T, R)
            scales = scales.index_select(1, self.of)  # (B, K, R)
            rows = F.pad(scales, (0, width), value=1.0) * rows  # (B, K, R + I)
        # One product in place of two rows of a table for every visit and feature: the gradient of
        # an index is slow.
        total = (rows.mT @ hats).mT  # (B, L, R + I)
        each, hidden = total.split([n, width], dim=-1)
        if self.interaction is None or self.out is None:
            return each, torch.zeros_like(each[..., 0])
        return each, self.out(F.gelu(hidden + self.interaction(now)[:, None])).squeeze(-1)

    def hats(self, facts: Tensor) -> Tensor:
        """(T, B, L) facts -> (B, K, L) a visit's share of each knot: linear between two knots."""
        value = facts.flatten(1)  # (T, B * L)
        hats = value.new_empty(len(self.of), value.shape[1])  # (K, B * L)
        # A feature at a time, whose rows stay in the processor's cache.
        for row, knots, part in zip(value, self.knots.split(self.n_knots),
                                    hats.split(self.n_knots), strict=True):  # fmt: skip
            left, right = knots[:-1, None], knots[1:, None]
            passed = row.sub(left).div_(right - left).clamp_(0, 1)  # of the way to the next
            part[0], part[-1] = 1 - passed[0], passed[-1]
            torch.sub(passed[:-1], passed[1:], out=part[1:-1])
        return hats.view(-1, *facts.shape[1:]).transpose(0, 1)


class Mixture(NamedTuple):
    """The different places of windows, each once, and what a pointer gives them."""

    place: Tensor  # (B, S) -1 where there is none
    pointer: Tensor  # (B, S) log-probabilities, -inf where there is none


class LookedBack(NamedTuple):
    """What `ContextualPointer` makes of its windows' pasts."""

    context: Tensor  # (B, D) the last visit in its context; D = 0 where reasons are alone
    gate_logit: Tensor  # (B,)
    log_weights: Tensor  # (B, L) of the visits
    attention: tuple[Tensor, ...]  # of the encoder, per layer (B, H, L, L)


class MixtureModel(PlaceModel):
    """A `PlaceModel` that names the places of a window; without a generator, no others."""

    def mixture(self, batch: Any) -> Mixture:
        """Predict every window of a batch."""
        raise NotImplementedError

    def losses(self, batch: Any, label_smoothing: float = 0.0) -> Tensor:
        """(B,) in nats; without a generator, smoothing is over the places that are listed."""
        if self.generator is not None:
            return super().losses(batch, label_smoothing)
        place, pointer = self.mixture(batch)
        listed = F.pad(pointer, (0, 1), value=-math.inf)  # (B, S + 1), the last: elsewhere
        return cross_entropy(listed, slot_of(place, batch.target), label_smoothing)

    @torch.no_grad()
    def own_scores(self, batch: Any) -> Mixture | None:
        """What `pgt.metrics.evaluate` ranks."""
        if self.generator is not None:
            return None
        with evaluating(self):
            return self.mixture(batch)


class ContextualPointer(MixtureModel):
    """Next location = copy one of the past's, for a reason, or generate one of the vocabulary's.

    Parameters
    ----------
    config : ContextualConfig

    Examples
    --------
    >>> import pgt
    >>> data = pgt.with_history(pgt.prepare(pgt.load_city(), protocol="exact"), memory=50)
    >>> config = ContextualConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    >>> out = ContextualPointer(config).eval()(data.test.batch([0, 1]))
    >>> bool(torch.allclose(out.log_probs.exp().sum(1), torch.ones(2), atol=1e-5))
    True
    """

    def __init__(self, config: ContextualConfig) -> None:
        super().__init__()
        self.config = config
        inner, generates = config.inner, config.has("generator")
        looks = config.content or generates
        self.embeddings = Embeddings(inner) if looks else None
        self.encoder = Encoder(inner) if looks and config.encoder else None
        self.pointer = Pointer(inner) if config.content else None
        self.scorer = AdditiveScorer(config) if config.used_features else None
        self.generator = Generator(inner) if generates else None
        self.gate = Gate(inner) if generates and config.has("gate") else None

    def forward(self, batch: HistoryBatch) -> Output:
        """Predict every window of a batch, and write everything down."""
        context, logit, log_weights, attention = self.look_back(batch)
        pointer = scatter_log_probs(log_weights, batch.location, self.config.n_locations)  # (B, V)
        generator, log_probs = torch.full_like(pointer, -math.inf), pointer
        if self.generator is not None:
            scores = self.generator(context)  # (B, K)
            if self.config.n_trained_ids:
                scores[:, :FIRST_PLACE] = -math.inf
            generator[:, : scores.shape[1]] = scores.log_softmax(-1)
            # log (0 + 0) has no gradient, so places that neither can name stay out of it.
            neither = (pointer == -math.inf) & (generator == -math.inf)
            mixed = log_mixture(logit, pointer, generator.masked_fill(neither, 0.0))
            log_probs = mixed.masked_fill(neither, -math.inf)
        weights = log_weights.exp()
        return Output(log_probs, logit.sigmoid(), weights, pointer, generator, attention)

    def mixture(self, batch: HistoryBatch) -> Mixture:
        """What the pointer gives the places of every window, not written out for all V."""
        slots = batch.slots
        log_weights = self.look_back(batch).log_weights
        width = slots.place.shape[1]
        return Mixture(slots.place, scatter_log_probs(log_weights, slots.of_visit, width))

    def look_back(self, batch: HistoryBatch) -> LookedBack:
        """What every past visit of every window says for going back."""
        if not isinstance(batch, HistoryBatch):
            raise DataError(
                "The contextual pointer needs windows that know what came before each visit; make "
                "them with pgt.with_history(data)."
            )
        scores = torch.zeros(batch.location.shape, device=batch.length.device)
        context, attention = scores.new_empty(len(batch), 0), ()
        if self.embeddings is not None:
            recent: Batch = batch.most_recent(self.config.recent)
            if self.config.n_trained_ids:  # places without weights of their own are unknown
                strange = recent.location >= self.config.n_trained_ids
                recent = replace(recent, location=recent.location.masked_fill(strange, UNKNOWN))
            encoded = self.embeddings(recent)  # (B, L', D)
            if self.encoder is not None:
                encoded, attention = self.encoder(encoded, recent.padding)
            rows = torch.arange(len(batch), device=batch.length.device)
            context = encoded[rows, recent.length - 1]  # (B, D)
        if self.scorer is not None:
            reasons, together = self.scorer(batch)
            scores = scores + reasons.logsumexp(-1) + together  # (B, L)
        if self.pointer is not None:
            own = self.pointer(context, encoded, recent)  # (B, L') sums to one
            scores = scores + _spread_out(own, recent, batch)
        log_weights = scores.masked_fill(batch.padding, -math.inf).log_softmax(-1)
        logit = scores.new_full((len(batch),), math.inf if self.generator is None else 0.0)
        if self.gate is not None:
            logit = self.gate(context).squeeze(-1)  # (B, 1) -> (B,)
        return LookedBack(context, logit, log_weights, attention)


def _spread_out(score: Tensor, recent: Batch, batch: Batch) -> Tensor:
    """(B, L') log-weights of the recent visits -> (B, L), 0 for visits further back."""
    wide, narrow = batch.location.shape[1], recent.location.shape[1]
    if wide == narrow:
        return score.masked_fill(recent.padding, 0.0)
    # Log-weights sum to one over the recent visits: put them on the scale of one visit each.
    score = (score + recent.length.log()[:, None]).masked_fill(recent.padding, 0.0)
    steps = torch.arange(narrow, device=batch.length.device)
    at = ((batch.length - recent.length)[:, None] + steps).clamp(max=wide - 1)
    return torch.zeros_like(batch.location, dtype=score.dtype).scatter_add(1, at, score)


def load_contextual(path: str | Path) -> tuple[ContextualPointer, Vocabulary]:
    """Load a contextual pointer, in evaluation mode, and its vocabulary.

    Parameters
    ----------
    path : path of what `pgt.checkpoint.save_model` wrote

    Returns
    -------
    model, vocabulary

    Examples
    --------
    >>> import pgt
    >>> load_contextual(pgt.checkpoint.shipped("city"))
    Traceback (most recent call last):
    pgt.errors.DataError: city.safetensors holds a model of another kind; open it with load_model.
    """
    return load(path, ContextualConfig, ContextualPointer)


@torch.no_grad()
def like_kernel(scorer: AdditiveScorer, kernel: ContextKernel) -> None:
    """Set tables so that the first three reasons are those of the context kernel."""
    if scorer.config.n_components < 3:
        raise DataError("The context kernel has three components; give n_components=3 or more.")
    tables, strength = scorer.tables, [kernel.base] * 3
    for name in {"age", "before", "clock"} & set(tables):
        tables[name][:, :3] = 0.0
    if "age" in tables:
        age = torch.tensor(HISTORY_FEATURES["age"].knots)
        tables["age"][:, :3] = age[:, None] * math.log(kernel.decay)
    if "before" in tables:
        strength[1] = kernel.same
        tables["before"][:, 1] = torch.tensor([NEVER, 0.0, 0.0, NEVER])
    if "clock" in tables:
        strength[2] = kernel.clock
        tables["clock"][:, 2] = -torch.tensor(CLOCK_KNOTS) / kernel.width
    # How strong each reason is may be written into any table, since every visit has a row there.
    first = next(iter(tables.values()))
    first[:, :3] += torch.tensor([math.log(value) if value > 0 else NEVER for value in strength])


def new_network(seed: int, target_time: TargetTime) -> ContextualPointer:
    """A network that knows nobody and no place by name, with the kernel's three components."""
    torch.manual_seed(seed)
    config = ContextualConfig(  # there are only padding and unknown
        FIRST_PLACE, 1, n_trained_ids=FIRST_PLACE, target_time=target_time,
        **ALONE | {"n_components": 6},
    )  # fmt: skip
    network = ContextualPointer(config)
    assert network.scorer is not None
    like_kernel(network.scorer, ContextKernel())
    return network
