"""What a document proposed to improve in PGT, and parts of the summarizer, each to be measured.

`improved` builds the model with some of them; chapters 17 to 19 say what each is worth.

Shapes: B windows, L visits, D = d_model, H heads, V locations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pgt.batch import QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.fast_dropout import Dropout
from pgt.model import (
    Embeddings,
    EncoderLayer,
    Generator,
    Loss,
    Pointer,
    PointerGeneratorTransformer,
    SelfAttention,
    cross_entropy,
)
from pgt.windows import Windows

DISTANCES = 32  # visits; further away counts as this far
RECENT = 5  # visits that have a bias of their own, counted from the last
FREQUENT, MEDIUM = 1000, 100  # occurrences in the training windows, the document's limits
SHORTEST = 3  # visits
FOUR = 4  # experts, heads, softmaxes: as many as the document has


class RelativeSelfAttention(SelfAttention):
    """Proposal 1: a learned bias per head and signed distance (T5, Raffel et al. 2020, §2.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.table = nn.Parameter(torch.zeros(2 * DISTANCES + 1, config.n_heads))

    def scores(self, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
        """(B, H, L, L), entry (i, j) for visit i looking at visit j."""
        steps = torch.arange(padding.shape[1], device=padding.device)
        apart = (steps - steps[:, None]).clamp(-DISTANCES, DISTANCES) + DISTANCES  # (L, L)
        bias = self.table[apart].permute(2, 0, 1)  # (H, L, L)
        return super().scores(query, key, padding) + bias


class RecentFirstSelfAttention(SelfAttention):
    """Proposal 8: a learned bias per head for the last five visits and the first, at first +1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.table = nn.Parameter(torch.ones(RECENT + 1, config.n_heads))  # 0 = the first visit

    def scores(self, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
        """(B, H, L, L): the bias depends on the visit that is looked at."""
        steps = torch.arange(padding.shape[1], device=padding.device)
        from_end = (~padding).sum(1, keepdim=True) - steps  # (B, L) 1 = the last visit
        recent = (from_end >= 1) & (from_end <= RECENT)
        bias = self.table[from_end.clamp(1, RECENT)] * recent[..., None]  # (B, L, H)
        bias = bias + self.table[0] * (steps == 0)[:, None]
        return super().scores(query, key, padding) + bias.mT[:, :, None]  # (B, H, 1, L)


class CausalSelfAttention(SelfAttention):
    """Every visit sees only itself and those before it, as in the temporal-sets notebook."""

    def scores(self, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
        """(B, H, L, L): -inf where visit j is after visit i."""
        n, device = padding.shape[1], padding.device
        later = nn.Transformer.generate_square_subsequent_mask(n, device=device)
        return super().scores(query, key, padding) + later


class RotarySelfAttention(SelfAttention):
    """Queries and keys are turned by an angle that grows with the position (Su et al. 2021)."""

    def scores(self, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
        return super().scores(self.turn(query), self.turn(key), padding)

    def turn(self, heads: Tensor) -> Tensor:
        """(B, H, L, D / H), each pair of dimensions turned by its own speed."""
        n, width = heads.shape[-2:]
        half = torch.arange(0, width, 2, device=heads.device, dtype=heads.dtype)
        speed = torch.exp(half * (-math.log(10000.0) / width))  # (D / 2H,)
        steps = torch.arange(n, device=heads.device, dtype=heads.dtype)
        angle = steps[:, None] * speed  # (L, D / 2H)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        turned = [even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()]
        return torch.stack(turned, dim=-1).flatten(-2)  # (B, H, L, D / H)


class GeGLU(nn.Module):
    """Proposal 2: GELU(x W) · (x V), with two thirds of the hidden units (Shazeer 2020, §2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden = round(config.d_feedforward * 2 / 3)
        self.wide = nn.Linear(config.d_model, 2 * hidden)
        self.narrow = nn.Linear(hidden, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.dropout_out = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.wide(x).chunk(2, dim=-1)  # each (B, L, hidden)
        return self.dropout_out(self.narrow(self.dropout(value * F.gelu(gate))))


class PostNormLayer(EncoderLayer):
    """Proposal 3, which takes PGT for one of these: norm(x + f(x)), Vaswani et al. (2017)."""

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        attended, weights = self.attention(x, padding)
        x = self.norm_attention(x + self.dropout(attended))
        return self.norm_feedforward(x + self.feedforward(x)), weights


class Experts(nn.Module):
    """Proposal 7: four feed-forward networks, all computed, mixed by a softmax at every visit."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, hidden = config.d_model, config.d_feedforward
        self.router = nn.Linear(d, FOUR)
        self.experts = nn.ModuleList(
            nn.Sequential(
                nn.Linear(d, hidden), nn.GELU(), Dropout(config.dropout), nn.Linear(hidden, d),
                Dropout(config.dropout),
            )
            for _ in range(FOUR)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        answers = torch.stack([expert(x) for expert in self.experts], dim=-1)  # (B, L, D, experts)
        shares = self.router(x).softmax(-1)  # (B, L, experts)
        return (answers @ shares[..., None]).squeeze(-1)


class RecurrentEncoder(nn.Module):
    """The summarizer's encoder in PGT: a bidirectional LSTM, without positional encoding."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.d_model
        self.lstm = nn.LSTM(d, d // 2, batch_first=True, bidirectional=True)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        lengths = (~padding).sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        read, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(read, batch_first=True, total_length=x.shape[1])
        return self.dropout(out), ()  # no attention


class Cyclic(nn.Module):
    """Proposal 4: entries on a circle, as waves of it beside a learned vector, projected."""

    waves: Tensor

    def __init__(
        self, entries: int, width: int, waves: int = 1, per: int = 1, shift: float = 0.0
    ) -> None:
        super().__init__()
        self.per = per
        self.own = nn.Embedding(entries // per + 1, width, padding_idx=0)
        self.mix = nn.Linear(width + 2 * waves, width, bias=False)
        angle = 2 * math.pi * (torch.arange(entries + 1)[:, None] - shift) / entries
        angle = angle * torch.arange(1, waves + 1)  # (entries + 1, waves)
        table = torch.cat([angle.sin(), angle.cos()], dim=1)
        table[0] = 0
        self.register_buffer("waves", table, persistent=False)

    def forward(self, entry: Tensor) -> Tensor:
        """(B, L) entries from 1 on -> (B, L, width); 0 at padding."""
        own = self.own((entry + self.per - 1) // self.per)
        return self.mix(torch.cat([own, self.waves[entry]], dim=-1))


class AdaptiveEmbedding(nn.Module):
    """Proposal 5: frequent locations get wide vectors (Baevski & Auli 2019), or rare ones do."""

    group: Tensor
    within: Tensor

    def __init__(self, occurrences: Tensor, d_model: int, rare_wide: bool = False) -> None:
        super().__init__()
        widths = [d_model, d_model // 2, d_model // 4]
        if rare_wide:
            widths.reverse()
        group = 2 - (occurrences >= MEDIUM).long() - (occurrences > FREQUENT).long()  # 0 = frequent
        member = F.one_hot(group, 3)  # (V, 3)
        within = (member.cumsum(0) - 1).gather(1, group[:, None])[:, 0]
        self.tables, self.projections = nn.ModuleList(), nn.ModuleList()
        for size, width in zip(member.sum(0).tolist(), widths, strict=True):
            self.tables.append(nn.Embedding(max(size, 1), width))
            self.projections.append(nn.Linear(width, d_model, bias=False))
        self.register_buffer("group", group, persistent=False)
        self.register_buffer("within", within, persistent=False)

    def forward(self, location: Tensor) -> Tensor:
        group, within = self.group[location], self.within[location]
        out = torch.zeros((), device=location.device)  # 0 at padding
        for number, (table, project) in enumerate(zip(self.tables, self.projections, strict=True)):
            here = (group == number) & (location > 0)
            vectors = project(table(within * here))  # (B, L, D)
            out = out + vectors * here[..., None]
        return out


def occurrences(train: Windows) -> Tensor:
    """(V,) how often each location stands in a training window, once for every such window."""
    location = train.features[0].cpu().numpy()
    begin = np.bincount(train.first + 1, minlength=len(location))
    end = np.bincount(train.target + 1, minlength=len(location))
    times = np.cumsum(begin - end)  # in how many windows each visit is
    return torch.from_numpy(np.bincount(location, times, minlength=train.vocabulary.n_locations))


class CrossModalEmbeddings(Embeddings):
    """Proposal 6: locations ask the person and the times, instead of standing beside them."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        d = config.d_model
        times = len(set(self.tables) - {"location", "user"})
        self.project = nn.Linear(times * (d // 4), d)
        self.to_person = nn.MultiheadAttention(d, config.n_heads, batch_first=True)
        self.to_times = nn.MultiheadAttention(d, config.n_heads, batch_first=True)

    def forward(self, batch: Batch) -> Tensor:
        found = {name: self.tables[name](index) for name, index in self.indices(batch).items()}
        location, person = found.pop("location"), found.pop("user")[:, :1]  # (B, L, D), (B, 1, D)
        times = self.project(torch.cat([*found.values()], dim=-1))  # (B, L, D)
        about_person, _ = self.to_person(location, person, person, need_weights=False)
        about_times, _ = self.to_times(
            location, times, times, key_padding_mask=batch.padding, need_weights=False
        )
        return self.norm(location + about_person + about_times)


class ManyHeads(nn.Module):
    """Proposal 10: heads of a low rank, added with weights of the context's choosing."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        rank = config.d_model // FOUR
        self.down = nn.ModuleList(nn.Linear(config.d_model, rank) for _ in range(FOUR))
        self.up = nn.ModuleList(nn.Linear(rank, config.n_locations) for _ in range(FOUR))
        self.weigh = nn.Linear(config.d_model, FOUR)

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) scores."""
        weights = self.weigh(context).softmax(-1)  # (B, heads)
        scores = [up(down(context)) for down, up in zip(self.down, self.up, strict=True)]
        return (torch.stack(scores, dim=-1) @ weights[..., None]).squeeze(-1)


class MixtureOfSoftmaxes(Generator):
    """Proposal 10: log Σ_k π_k · softmax(W h_k), one table of locations (Yang et al. 2018)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.contexts = nn.Linear(config.d_model, FOUR * config.d_model)
        self.prior = nn.Linear(config.d_model, FOUR)

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) log-probabilities."""
        hidden = torch.tanh(self.contexts(context)).view(len(context), FOUR, -1)
        each = F.log_softmax(super().forward(hidden), dim=-1)  # (B, K, V)
        return torch.logsumexp(F.log_softmax(self.prior(context), -1)[..., None] + each, dim=1)


class AdaptiveSoftmax(nn.Module):
    """Proposal 10: rarer locations are scored in fewer dimensions (Grave et al. 2017)."""

    rank_of: Tensor

    def __init__(self, occurrences: Tensor, config: ModelConfig) -> None:
        super().__init__()
        v = config.n_locations
        self.register_buffer(
            "rank_of", occurrences.argsort(descending=True, stable=True).argsort(), persistent=False
        )
        cutoffs = sorted({max(v // 20, 1), max(v // 4, 2)})
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(config.d_model, v, cutoffs, div_value=2.0)

    def forward(self, context: Tensor) -> Tensor:
        """(B, D) -> (B, V) log-probabilities, in the vocabulary's order."""
        return self.softmax.log_prob(context)[:, self.rank_of]


class Tempered(Generator):
    """Proposal 10: one learned temperature, which starts at 1 (Guo et al. 2017 fit it later)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def forward(self, context: Tensor) -> Tensor:
        return super().forward(context) * torch.exp(-self.log_temperature)


class AdditivePointer(Pointer):
    """Scores visits by v · tanh(W_h h + W_s s + b) and the bias (See et al. 2017, equation 1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.score = nn.Linear(config.d_model, 1, bias=False)

    def scores(self, context: Tensor, encoded: Tensor) -> Tensor:
        both = torch.tanh(self.key(encoded) + self.query(context)[:, None])  # (B, L, D)
        return self.score(both).squeeze(-1)


class CoveragePointer(Pointer):
    """Remembers what earlier visits would have pointed at (See et al. 2017, eq. 10 and 11)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.weight = nn.Parameter(torch.zeros(()))

    def coverage(self, encoded: Tensor, batch: Batch) -> Tensor:
        """(B, L) attention that the visits before the last have given to each visit."""
        n = encoded.shape[1]
        scores = self.query(encoded) @ self.key(encoded).transpose(1, 2)  # (B, L, L)
        scores = scores / math.sqrt(encoded.shape[-1])
        steps = torch.arange(n, device=encoded.device)
        back = steps[:, None] - steps + 1  # (L, L) position from the end, seen from each visit
        if self.position_bias is not None:
            scores = scores + self.position_bias[back.clamp(min=0)]
        attention = scores.masked_fill(back < 1, -math.inf).softmax(-1)  # (B, L, L)
        asked = steps < batch.length[:, None] - 1  # (B, L) the visits before the last
        return (attention * asked[..., None]).sum(1)

    def forward(self, context: Tensor, encoded: Tensor, batch: Batch) -> Tensor:
        plain = super().forward(context, encoded, batch)
        scores = plain + self.weight * self.coverage(encoded, batch)
        return scores.masked_fill(batch.padding, -math.inf).log_softmax(-1)  # (B, L)


def focal(log_probs: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
    """Proposal 9: (1 - p)² · cross-entropy; what is sure counts little (Lin et al. 2017)."""
    chance = (-cross_entropy(log_probs, target)).exp()  # (B,)
    return (1 - chance) ** 2.0 * cross_entropy(log_probs, target, label_smoothing)


def balanced(train: Windows) -> Loss:
    """Proposal 9: cross-entropy over how often the target is one in training; mean weight 1."""
    counts = torch.bincount(torch.from_numpy(train.targets), minlength=train.vocabulary.n_locations)
    present = int((counts > 0).sum())
    weights = len(train) / (max(present, 1) * counts.clamp(min=1).float())  # (V,)

    def balanced_loss(log_probs: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
        weight = weights.to(log_probs.device)[target]
        return weight * cross_entropy(log_probs, target, label_smoothing)

    return balanced_loss


def cropped(train: Windows) -> Windows:
    """Every window twice: as it is, and without a random share of its oldest visits."""
    room = np.maximum(train.lengths - SHORTEST, 0)
    cut = np.random.default_rng(0).integers(0, room + 1)
    return replace(
        train,
        first=np.concatenate([train.first, train.first + cut]),
        target=np.concatenate([train.target, train.target]),
    )


Kind = Callable[[ModelConfig], nn.Module]


@dataclass(frozen=True)
class Improvement:
    """What one proposal changes."""

    change: dict[str, Any] = field(default_factory=dict)  # fields of `ModelConfig`
    layer: dict[str, Kind] = field(default_factory=dict)  # parts of every layer of the encoder
    part: dict[str, Kind] = field(default_factory=dict)  # parts of the model
    plug: Callable[[PointerGeneratorTransformer, Windows], None] | None = None  # what else
    loss: Callable[[Windows], Loss] = lambda train: cross_entropy
    training: dict[str, Any] = field(default_factory=dict)  # fields of `TrainConfig`
    windows: Callable[[Windows], Windows] = lambda train: train  # that it is trained on


def _exchange(owner: nn.Module, name: str, new: nn.Module) -> None:
    """Put a new part in the place of an old one, whose weights it takes wherever both have them."""
    mine, old = new.state_dict(), getattr(owner, name).state_dict()
    shared = {k: v for k, v in old.items() if k in mine and mine[k].shape == v.shape}
    new.load_state_dict(shared, strict=False)
    setattr(owner, name, new)


def _post_norm(model: PointerGeneratorTransformer, train: Windows) -> None:
    for number in range(model.config.n_layers):
        _exchange(model.encoder.layers, str(number), PostNormLayer(model.config))


def _cyclic(model: PointerGeneratorTransformer, train: Windows) -> None:
    tables, narrow = model.embeddings.tables, model.config.d_model // 4
    tables["time"] = Cyclic(QUARTERS, narrow, waves=4, per=4, shift=0.5)
    tables["weekday"] = Cyclic(WEEKDAYS, narrow)


def _adaptive(model: PointerGeneratorTransformer, train: Windows, rare_wide: bool = False) -> None:
    table = AdaptiveEmbedding(occurrences(train), model.config.d_model, rare_wide)
    model.embeddings.tables["location"] = table


def _cross_modal(model: PointerGeneratorTransformer, train: Windows) -> None:
    new = CrossModalEmbeddings(model.config)
    new.tables, new.norm = model.embeddings.tables, model.embeddings.norm
    model.embeddings = new


def _adaptive_softmax(model: PointerGeneratorTransformer, train: Windows) -> None:
    counts = torch.bincount(torch.from_numpy(train.targets), minlength=model.config.n_locations)
    model.generator = AdaptiveSoftmax(counts, model.config)  # type: ignore[assignment]


_NO_SINUSOID: dict[str, Any] = {"without": ("sinusoid",)}

IMPROVEMENTS: dict[str, Improvement] = {
    "plain": Improvement(),
    "relative_bias": Improvement(_NO_SINUSOID, {"attention": RelativeSelfAttention}),
    "geglu": Improvement(layer={"feedforward": GeGLU}),
    "post_norm": Improvement(plug=_post_norm),
    "multi_scale_time": Improvement(plug=_cyclic),
    "adaptive_embeddings": Improvement(plug=_adaptive),
    "adaptive_reversed": Improvement(plug=partial(_adaptive, rare_wide=True)),
    "cross_attention": Improvement(plug=_cross_modal),
    "experts": Improvement(layer={"feedforward": Experts}),
    "recent_and_first": Improvement(layer={"attention": RecentFirstSelfAttention}),
    "focal": Improvement(loss=lambda train: focal),
    "balanced": Improvement(loss=balanced),
    "no_smoothing": Improvement(training={"label_smoothing": 0.0}),
    "more_smoothing": Improvement(training={"label_smoothing": 0.1}),
    "many_heads": Improvement(part={"generator": ManyHeads}),
    "mixture_of_softmaxes": Improvement(part={"generator": MixtureOfSoftmaxes}),
    "adaptive_softmax": Improvement(plug=_adaptive_softmax),
    "temperature": Improvement(part={"generator": Tempered}),
    "rope": Improvement(_NO_SINUSOID, {"attention": RotarySelfAttention}),
    "four_layers": Improvement({"n_layers": 4}),
    "augmented": Improvement(windows=cropped),
    "all_five": Improvement(
        _NO_SINUSOID, {"attention": RelativeSelfAttention, "feedforward": GeGLU}, plug=_cyclic,
        loss=lambda train: focal,
    ),
    "bilstm": Improvement(part={"encoder": RecurrentEncoder}),
    "additive": Improvement(part={"pointer": AdditivePointer}),
    "coverage": Improvement(part={"pointer": CoveragePointer}),
    "causal": Improvement(layer={"attention": CausalSelfAttention}),
}  # fmt: skip


def improved(
    config: ModelConfig, train: Windows, name: str = "plain"
) -> PointerGeneratorTransformer:
    """The model with one of `IMPROVEMENTS` plugged in."""
    one = IMPROVEMENTS[name]
    without = (*config.without, *one.change.get("without", ()))
    config = replace(config, **one.change | {"without": tuple(dict.fromkeys(without))})
    model = PointerGeneratorTransformer(config)
    for part, kind in one.layer.items():
        for layer in model.encoder.layers:
            _exchange(layer, part, kind(config))
    for part, kind in one.part.items():
        _exchange(model, part, kind(config))
    if one.plug is not None:
        one.plug(model, train)
    return model
