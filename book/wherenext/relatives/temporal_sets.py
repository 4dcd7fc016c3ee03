"""Sequences of sets: baskets of a shop, or the places of a day; which elements does the next hold?

The network follows Yu et al. (2020), https://arxiv.org/abs/2006.11483; chapter 18 takes it apart.

Shapes: U sequences, N elements of one, T sets, V elements that exist, F = width. Instead of all
elements at all times there are M states of elements in a set and R of elements out of one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pgt.visits import SPLITS

NOBODY = -1  # padding of elements and of targets


@dataclass(frozen=True)
class Sequences:
    """Sequences of sets and what came next, padded with -1."""

    elements: Tensor  # (U, N) which elements a sequence holds, each once
    present: Tensor  # (U, N, T) bool, whether an element is in a set; padding of time comes last
    length: Tensor  # (U,) sets in each sequence, at least 1
    target: Tensor  # (U, S) the elements of the next set
    user: Tensor  # (U,) whose sequence it is, a number
    n_elements: int  # V: they are numbered from 0

    def __len__(self) -> int:
        return len(self.length)

    def batch(self, rows: Tensor | np.ndarray) -> Sequences:
        """Some sequences, with no more padding than they need."""
        rows = torch.as_tensor(rows)
        elements, length, target = self.elements[rows], self.length[rows], self.target[rows]
        n, s = (int((one >= 0).sum(1).max()) for one in (elements, target))
        return Sequences(
            elements[:, :n], self.present[rows, :n, : int(length.max())], length,
            target[:, : max(s, 1)], self.user[rows], self.n_elements,
        )  # fmt: skip

    def truth(self) -> Tensor:
        """(U, V) bool: the next set."""
        return _placed(torch.zeros(self.n_elements), self.target, 1.0) > 0

    def seen(self) -> Tensor:
        """(U, V) bool: the elements of the sequence."""
        return _placed(torch.zeros(self.n_elements), self.elements, 1.0) > 0


def _placed(everyone: Tensor, elements: Tensor, own: Tensor | float) -> Tensor:
    """(U, V): everyone's scores (V,), with a sequence's own (U, N) in the place of its elements."""
    v = len(everyone)
    wide = F.pad(everyone, (0, 1)).expand(len(elements), -1)  # with a column for padding
    return wide.scatter(1, elements % (v + 1), own)[:, :v]


def padded(
    histories: Sequence[Sequence[Sequence[int]]],
    targets: Sequence[Sequence[int]],
    n_elements: int,
    users: Sequence[int] | None = None,
) -> Sequences:
    """Pad sequences of sets, each a list of element numbers, and the set that follows each."""
    u, t = len(histories), max(map(len, histories), default=0)
    elements = [list(dict.fromkeys(e for one in history for e in one)) for history in histories]
    ids = torch.full((u, max(map(len, elements), default=0)), NOBODY)
    goal = torch.full((u, max([1, *(len(set(target)) for target in targets)])), NOBODY)
    present = torch.zeros(*ids.shape, t, dtype=torch.bool)
    for row, (history, own, target) in enumerate(zip(histories, elements, targets, strict=True)):
        ids[row, : len(own)] = torch.tensor(own)
        for when, one in enumerate(history):
            present[row, [own.index(e) for e in one], when] = True
        goal[row, : len(set(target))] = torch.tensor(sorted(set(target)))
    length = torch.tensor([len(history) for history in histories])
    user = torch.arange(u) if users is None else torch.as_tensor(users)
    return Sequences(ids, present, length, goal, user, n_elements)


def daily_places(visits: pd.DataFrame, days: int = 7) -> dict[str, Sequences]:
    """By split: the places of each active day, and of at most ``days`` active days before it."""
    place, names = pd.factorize(visits.location_id, sort=True)
    person, _ = pd.factorize(visits.user_id, sort=True)
    table = pd.DataFrame({
        "split": visits.split.to_numpy(), "person": person, "place": place,
        "day": pd.DatetimeIndex(visits.started_at).tz_localize(None).normalize(),
    })  # fmt: skip
    found = {}
    for split in SPLITS:
        rows = []
        for who, own in table[table.split == split].groupby("person"):
            sets = own.groupby("day").place.agg(lambda one: list(dict.fromkeys(one))).tolist()
            rows += [(sets[max(0, at - days) : at], sets[at], who) for at in range(2, len(sets))]
        histories, targets, users = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
        found[split] = padded(histories, targets, len(names), users)
    return found


class States(NamedTuple):
    """The states of a batch: M of elements in a set, then R of elements out of a set."""

    person: Tensor  # (M + R,) the sequence
    element: Tensor  # (M + R,) the column of ``elements``
    time: Tensor  # (M,) the set
    times: Tensor  # (M + R,) how many sets it stands for: 1 in a set; out of a set from 0
    at: Tensor  # (R, T) the state of a sequence's element at every set; out of one at padding


def states_of(batch: Sequences) -> States:
    """The states of a batch."""
    person, time, element = batch.present.transpose(1, 2).nonzero(as_tuple=True)  # (M,)
    real = batch.elements >= 0  # (U, N)
    whose, which = real.nonzero(as_tuple=True)
    m, r = len(person), len(whose)
    row = torch.zeros_like(batch.elements)
    row[real] = torch.arange(r)
    at = (m + torch.arange(r))[:, None].repeat(1, batch.present.shape[2])
    at[row[person, element], time] = torch.arange(m)
    out = batch.length[whose] - batch.present.sum(2)[real]
    times = torch.cat([torch.ones_like(person), out])
    return States(torch.cat([person, whose]), torch.cat([element, which]), time, times, at)


class SetGraphs(NamedTuple):
    """The graphs of all sets: E edges within sets, plus the self-loop weight of absent elements."""

    start: Tensor  # (E,) an element of a set, one of M; in order
    end: Tensor  # (E,) another or the same
    weight: Tensor  # (E,) above 0 to 1
    itself: Tensor  # (U,) the weight of an element to itself, in a set or out


def co_occurrence(present: Tensor) -> SetGraphs:
    """The graph of every set, weighted by how often two elements met in the whole sequence."""
    u, n, t = present.shape
    person, time, element = present.transpose(1, 2).nonzero(as_tuple=True)  # (M,)
    _, group, size = torch.unique_consecutive(
        person * t + time, return_inverse=True, return_counts=True
    )
    first = size.cumsum(0) - size  # of every set, where it starts among the members
    many = size[group]  # of every member, how many share its set
    start = torch.arange(len(group)).repeat_interleave(many)
    before = (many.cumsum(0) - many)[start]  # edges of earlier members
    end = first[group[start]] + torch.arange(len(start)) - before
    # Two elements share as many sets as there are edges between them in all sets.
    pair = (person[start] * n + element[start]) * n + element[end]
    _, which, shared = torch.unique(pair, return_inverse=True, return_counts=True)
    weight = torch.where(start == end, 1.0, shared[which].float())
    largest = torch.ones(u).scatter_reduce(0, person[start], weight, "amax")
    return SetGraphs(start, end, weight / largest[person[start]], 1 / largest)


class CountedNorm(nn.BatchNorm1d):
    """Batch norm over rows of which each stands for so many equal ones."""

    def forward(self, x: Tensor, times: Tensor) -> Tensor:  # type: ignore[override]
        if not self.training:
            return super().forward(x)
        total = times.sum()
        share = times.to(x.dtype) / total
        mean = share @ x
        apart = x - mean
        variance = share @ apart.square()
        assert self.running_mean is not None and self.running_var is not None
        assert self.momentum is not None and self.num_batches_tracked is not None
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            unbiased = variance * total / (total - 1).clamp(min=1)
            self.running_var.lerp_(unbiased, self.momentum)
            self.num_batches_tracked.add_(1)
        return apart * (variance + self.eps).rsqrt() * self.weight + self.bias


class GraphConvolution(nn.Module):
    """Sum what the neighbours say, weighted; then a linear map, batch norm and a ReLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = CountedNorm(width)

    def forward(self, x: Tensor, states: States, graphs: SetGraphs | None) -> Tensor:
        """(M + R, F) -> (M + R, F); without graphs, every element hears itself only."""
        if graphs is not None:
            m, weight = len(states.time), graphs.weight.to(x.dtype)
            first = torch.searchsorted(graphs.start, torch.arange(m))
            inside = F.embedding_bag(graphs.end, x, first, mode="sum", per_sample_weights=weight)
            alone = graphs.itself.to(x.dtype)[states.person[m:], None]
            x = torch.cat([inside, alone * x[m:]])
        return self.norm(self.linear(x), states.times).relu()


Heads = Literal["concat", "mean"]
MAX_AGE = 8  # sets


class MaskedSelfAttention(nn.Module):
    """Each set looks at itself and at those before it."""

    def __init__(self, width_in: int, width_out: int, n_heads: int = 4, heads: Heads = "concat"):
        super().__init__()
        self.n_heads, self.heads = n_heads, heads
        self.per_head = width_out // n_heads if heads == "concat" else width_out
        self.project = nn.Linear(width_in, 3 * n_heads * self.per_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, T, width_in) -> (rows, T, width_out), and the weights (rows, H, T, T)."""
        rows, t, _ = x.shape
        heads = self.project(x).view(rows, t, 3, self.n_heads, self.per_head)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (rows, H, T, per head)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.per_head)  # (rows, H, T, T)
        later = nn.Transformer.generate_square_subsequent_mask(t, device=x.device)
        weights = (scores + later).softmax(-1)
        mixed = weights @ value  # (rows, H, T, per head)
        if self.heads == "mean":
            return mixed.mean(1), weights
        return mixed.transpose(1, 2).reshape(rows, t, -1), weights


class WeightedAggregation(nn.Module):
    """A row's representations over time become one: z = (Z w)ᵀ Z over the true length."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(width, 1, bias=False)

    def forward(self, z: Tensor, length: Tensor) -> Tensor:
        real = torch.arange(z.shape[1], device=z.device) < length[:, None]  # (rows, T)
        weight = self.weigh(z).squeeze(-1) * real  # (rows, T)
        return torch.einsum("rt,rtf->rf", weight, z)  # (rows, width)


@dataclass(frozen=True)
class SetConfig:
    """What a `SetPredictor` is made of."""

    n_elements: int
    width: int = 32  # F
    heads: Heads = "concat"  # how attention joins them, or "mean"
    without: tuple[str, ...] = ()  # of graph, attention, aggregation and gate
    # A learned vector for an element at the times when it was there. The published network has
    # none, and cannot know unless the element had company.
    knows_presence: bool = False
    knows_age: bool = False  # another vector by how many sets ago that was, up to `MAX_AGE`


# What chapter 18 compares: fields of `SetConfig`.
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "informed": {"knows_presence": True, "knows_age": True},
    "no_graph": {"without": ("graph",)},
    "no_time": {"without": ("attention", "aggregation")},
    "no_gate": {"without": ("gate",)},
    "no_attention": {"without": ("attention",)},
    "presence": {"knows_presence": True},
    "mean_heads": {"heads": "mean"},
}


class GatedFusion(nn.Module):
    """Scores of all elements: those that were seen are updated, the others keep what they were."""

    def __init__(self, n_elements: int, width: int, *, gated: bool = True) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(n_elements)) if gated else None
        self.out = nn.Linear(width, 1)
        # Most elements are not in the next set: start from about one in it.
        nn.init.constant_(self.out.bias, -math.log(n_elements))

    def forward(self, table: Tensor, elements: Tensor, z: Tensor) -> Tensor:
        """(V, F), (U, N) with -1 for padding and (U, N, F) -> scores (U, V)."""
        static = self.out(table).squeeze(-1)  # (V,) the same for everybody
        at = elements.clamp(min=0)
        alpha: Tensor | float = self.alpha[at] if self.alpha is not None else 1.0
        own = (1 - alpha) * static[at] + alpha * self.out(z).squeeze(-1)  # (U, N)
        return _placed(static, elements, own)


class SetPredictor(nn.Module):
    """Which elements will the next set hold? Scores before the sigmoid, (U, V)."""

    def __init__(self, config: SetConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.table = nn.Embedding(config.n_elements, width)
        self.convolutions = nn.ModuleList(GraphConvolution(width) for _ in range(2))
        self.attention = self.aggregation = None
        if "attention" not in config.without:
            self.attention = MaskedSelfAttention(width, width, heads=config.heads)
        if "aggregation" not in config.without:
            self.aggregation = WeightedAggregation(width)
        self.fusion = GatedFusion(config.n_elements, width, gated="gate" not in config.without)
        self.presence = nn.Parameter(torch.randn(width)) if config.knows_presence else None
        self.age = nn.Embedding(MAX_AGE + 1, width) if config.knows_age else None

    def forward(self, batch: Sequences) -> Tensor:
        states = states_of(batch)
        graphs = None if "graph" in self.config.without else co_occurrence(batch.present)
        m = len(states.time)
        x = self.table(batch.elements[states.person, states.element])  # (M + R, F)
        there = x[:m]
        if self.presence is not None:
            there = there + self.presence
        if self.age is not None:
            ago = batch.length[states.person[:m]] - 1 - states.time
            there = there + self.age(ago.clamp(max=MAX_AGE))
        x = torch.cat([there, x[m:]])
        for convolution in self.convolutions:
            x = convolution(x, states, graphs)
        real = batch.elements >= 0
        length = batch.length[:, None].expand_as(real)[real]  # (R,) of an element's sequence
        # What a sequence makes of its own elements, (U, N, F); 0 for padding.
        z = x.new_zeros(*real.shape, self.config.width)
        z[real] = self._over_time(x, states.at, length)
        return self.fusion(self.table.weight, batch.elements, z)

    def _over_time(self, x: Tensor, at: Tensor, length: Tensor) -> Tensor:
        """(M + R, F) states, a row's in order of time (R, T), how many count (R,): (R, F)."""
        found, order = [], []
        for t in length.unique().tolist():
            rows = (length == t).nonzero().squeeze(1)
            own = F.embedding(at[rows, :t], x)  # (rows, t, F)
            if self.attention is not None:
                own, _ = self.attention(own)
            one = own.mean(1) if self.aggregation is None else self.aggregation(own, length[rows])
            found.append(one)
            order.append(rows)
        return torch.cat(found)[torch.cat(order).argsort()]


KS = (10, 20, 30, 40)
MEASURES = ("recall", "ndcg", "phr")
METRICS = tuple(f"{name}@{k}" for name in MEASURES for k in KS)
Scorer = Callable[[Sequences], Tensor]  # a batch of U sequences -> scores (U, V)


def quality(scores: Tensor, truth: Tensor, ks: tuple[int, ...] = KS) -> dict[str, Tensor]:
    """Recall, NDCG and hit of every sequence, (U,) from 0 to 1; NaN where nothing is true."""
    # A stable sort, so that ties do not depend on the machine.
    best = scores.argsort(dim=1, descending=True, stable=True)[:, : max(ks)]  # (U, K)
    offered = scores.gather(1, best) > -torch.inf
    hit = (truth.gather(1, best) & offered).float()
    size, deepest = truth.sum(1).float(), best.shape[1]
    discount = 1 / torch.log2(torch.arange(deepest) + 2.0)
    found = {f"{name}@{k}": size for name in MEASURES for k in ks}  # in this order
    for k in ks:
        most = torch.arange(min(k, deepest)) < size[:, None]  # the best that could be
        ideal = (most * discount[:k]).sum(1)
        found[f"recall@{k}"] = hit[:, :k].sum(1) / size
        found[f"ndcg@{k}"] = (hit[:, :k] * discount[:k]).sum(1) / ideal  # 0 / 0 is NaN
        found[f"phr@{k}"] = torch.where(size > 0, hit[:, :k].amax(1), torch.nan)
    return found


def evaluate(score: Scorer, data: Sequences) -> pd.DataFrame:
    """One row a sequence: the metrics, and recall of repeated and of new elements (NaN if none)."""
    parts = []
    with torch.inference_mode():
        for batch in _batches(data):
            scores, truth, seen = score(batch), batch.truth(), batch.seen()
            table = {"user_id": batch.user} | quality(scores, truth)
            for kind, part in (("repeated", truth & seen), ("new", truth & ~seen)):
                found = quality(scores, part)
                table |= {f"{kind}@{k}": found[f"recall@{k}"] for k in KS}
            parts.append(pd.DataFrame(table))
    return pd.concat(parts, ignore_index=True)


def mean_of(score: Scorer, data: Sequences, metric: str) -> float:
    """The mean of one metric such as ``ndcg@10``, from 0 to 1: what early stopping looks at."""
    ks = (int(metric.rpartition("@")[2]),)
    with torch.inference_mode():
        found = [quality(score(batch), batch.truth(), ks)[metric] for batch in _batches(data)]
    return float(torch.cat(found).mean())


def _batches(data: Sequences) -> Iterator[Sequences]:
    return map(data.batch, torch.arange(len(data)).split(256))


HALF_LIVES = (0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))  # sets


class Popular:
    """The same ranking for everybody: how often an element is in a set."""

    def fit(self, train: Sequences) -> Popular:
        real = train.elements >= 0
        past = train.elements[real].repeat_interleave(train.present.sum(2)[real])
        every = torch.cat([past, train.target[train.target >= 0]])
        self.counts = every.bincount(minlength=train.n_elements).float()
        return self

    def __call__(self, batch: Sequences) -> Tensor:
        return self.counts.expand(len(batch), -1)


class Personal:
    """How many of somebody's own sets hold an element, then which is later, then `Popular`."""

    def __init__(self, half_life: float = float("inf"), *, backoff: bool = True) -> None:
        self.half_life, self.backoff = half_life, backoff

    def fit(self, train: Sequences) -> Personal:
        self.popular = Popular().fit(train)
        return self

    def __call__(self, batch: Sequences) -> Tensor:
        """(U, V): in double precision, since three criteria share one number."""
        t = torch.arange(batch.present.shape[2])
        age = (batch.length[:, None] - 1 - t).clamp(min=0).double()  # (U, T) 0 = the last set
        worth = torch.exp2(-age / self.half_life)  # 1 everywhere for an infinite half-life
        there = batch.present.double()
        taken = (there * worth[:, None]).sum(2)  # (U, N)
        latest = (there * (t + 1)).amax(2) / (batch.length[:, None] + 1)  # in (0, 1)
        order = self.popular.counts.argsort(stable=True)  # of equal ones the first is the least
        rank = order.argsort().double() / batch.n_elements  # in [0, 1)
        everyone = rank * 1e-6 if self.backoff else torch.full_like(rank, -torch.inf)
        own = taken + 1e-3 * latest + 1e-6 * rank[batch.elements.clamp(min=0)]
        return _placed(everyone, batch.elements, own)


def chosen(train: Sequences, valid: Sequences) -> Personal:
    """`Personal` with the half-life that does best on the validation sequences."""
    rivals = (Personal(half).fit(train) for half in HALF_LIVES)
    return max(rivals, key=lambda one: mean_of(one, valid, SetTraining.metric))


POOL = 16  # batches


@dataclass(frozen=True)
class SetTraining:
    """How a predictor of sets is trained."""

    epochs: int = 40  # at most
    patience: int = 5  # epochs without a better validation score before it stops
    batch_size: int = 64
    learning_rate: float = 1e-3
    metric: str = "ndcg@10"  # what early stopping looks at, of `METRICS`
    seed: int = 42  # of the shuffling; the model's weights are made before


def fit(
    model: nn.Module, train: Sequences, valid: Sequences, training: SetTraining
) -> list[dict[str, float]]:
    """Train, and leave the model with its best weights in evaluation mode."""
    shuffle = torch.Generator().manual_seed(training.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    history: list[dict[str, float]] = []
    best, best_epoch, weights = -1.0, 0, copy.deepcopy(model.state_dict())
    for epoch in range(1, training.epochs + 1):
        model.train()
        total = 0.0
        for rows in batches(train, training.batch_size, shuffle):
            batch = train.batch(rows)
            loss = F.binary_cross_entropy_with_logits(model(batch), batch.truth().float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(rows)
        model.eval()
        score = mean_of(model, valid, training.metric)
        history.append({"epoch": epoch, "loss": total / len(train), training.metric: score})
        if score > best:
            best, best_epoch, weights = score, epoch, copy.deepcopy(model.state_dict())
        elif epoch - best_epoch >= training.patience:
            break
    model.load_state_dict(weights)
    return history


def batches(data: Sequences, size: int, shuffle: torch.Generator) -> list[Tensor]:
    """Rows of every batch of an epoch: at random, but sequences of one batch are alike in size."""
    order = torch.randperm(len(data), generator=shuffle)
    width = (data.elements >= 0).sum(1)
    found: list[Tensor] = []
    for pool in order.split(POOL * size):
        by_size = pool[(width[pool] * 1000 + data.length[pool]).argsort(stable=True)]
        found += by_size.split(size)
    return [found[int(k)] for k in torch.randperm(len(found), generator=shuffle)]
