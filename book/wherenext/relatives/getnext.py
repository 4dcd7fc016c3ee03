"""GETNext in our own words: a Transformer over the visits of a session, and a map of all flows.

The network follows Yang et al. (2022), https://arxiv.org/abs/2303.04741, with the settings of the
code that its authors published; only the idea is theirs, the code is ours. `GETNext` answers three
questions after each visit of a session: where next, when, and at what kind of place.

``attends`` is the switch for a fault of the published code. There a batch of (B, L, D) goes into
layers that were made without ``batch_first`` and so take the first axis for time: each visit is
told of the visits at the same position of the sessions above it in the batch, and of nothing that
its own session held before. Nothing raises, since the mask is made of the batch's size.

Not as published: coordinates are no feature of a place, and the learning rate stays what it is.

Shapes: B sessions, L visits, T visits that are no padding, N places, C categories, K kinds of
places, D = width of a visit's vector.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pgt.metrics import rank
from pgt.model import sinusoids

PADDING = -1
Axis = Literal["over time", "over the batch"]


@dataclass(frozen=True)
class Sessions:
    """Sessions of at least two visits; the last visit of each is what is asked for."""

    place: Tensor  # (B, L) numbers from 0; padding, on the right, is -1
    time: Tensor  # (B, L) how much of the day has gone, 0 to 1
    user: Tensor  # (B,) whose session it is, a number

    def __len__(self) -> int:
        return len(self.user)

    @cached_property
    def length(self) -> Tensor:
        """(B,) visits of each session."""
        return (self.place != PADDING).sum(1)

    def pick(self, rows: Tensor | np.ndarray) -> Sessions:
        """Some sessions, with no more padding than they need."""
        rows = torch.as_tensor(rows)
        n = int(self.length[rows].max())
        return Sessions(self.place[rows, :n], self.time[rows, :n], self.user[rows])

    def batches(self, size: int) -> Iterator[Sessions]:
        """All sessions as they lie."""
        return (self.pick(rows) for rows in torch.arange(len(self)).split(size))

    def steps(self) -> Steps:
        """Every visit that has a next one, and that next one."""
        follows = self.place[:, 1:] != PADDING
        return Steps(self.place[:, :-1].masked_fill(~follows, PADDING), self.time[:, :-1],
                     self.user, self.place[:, 1:], self.time[:, 1:])  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """What the network reads, and what comes after each visit."""

    place: Tensor  # (B, L)
    time: Tensor  # (B, L)
    user: Tensor  # (B,)
    next_place: Tensor  # (B, L)
    next_time: Tensor  # (B, L)

    @property
    def real(self) -> Tensor:
        """(B, L) where there is a visit with a next one; T of them."""
        return self.place != PADDING

    @property
    def last(self) -> Tensor:
        """(B, L) the last visit before the target."""
        at = self.real.sum(1) - 1
        return torch.arange(self.place.shape[1]) == at[:, None]


@dataclass(frozen=True)
class Graph:
    """What training shows of the places."""

    visits: Tensor  # (N,) how often each was visited, standardized
    kind: Tensor  # (N,) which of K features it has beside that
    category: Tensor  # (N,)
    flow: Tensor  # (N, N) how often one place follows another, itself added, rows adding up to 1

    @classmethod
    def of(cls, train: Sessions, n_places: int, category: Tensor | None = None) -> Graph:
        """Count what the training sessions show.

        Where no category is known, all places have the same one, and a place's feature is which
        place it is: a network that is not told what places have in common.
        """
        steps = train.steps()
        pair = steps.place[steps.real] * n_places + steps.next_place[steps.real]  # (T,)
        count = torch.bincount(pair, minlength=n_places**2).view(n_places, n_places).float()
        flow = count + torch.eye(n_places)
        visits = torch.bincount(train.place[train.place != PADDING], minlength=n_places).float()
        visits = (visits - visits.mean()) / visits.std()
        flow = flow / flow.sum(1, keepdim=True)
        if category is None:
            kind, category = torch.arange(n_places), torch.zeros(n_places, dtype=torch.long)
            return cls(visits, kind, category, flow)
        return cls(visits, category, category, flow)


@dataclass(frozen=True)
class Settings:
    """The published settings, and how long we train."""

    d_place: int = 128
    d_user: int = 128
    d_time: int = 32
    d_category: int = 32
    d_graph: tuple[int, ...] = (32, 64)
    d_map: int = 128
    d_feedforward: int = 1024
    n_layers: int = 2
    n_heads: int = 2
    dropout: float = 0.3
    time_weight: float = 10.0
    batch_size: int = 20
    lr: float = 1e-3
    weight_decay: float = 5e-4
    epochs: int = 200


class Features(nn.Module):
    """A linear layer over what is known of a place: its visits, and one column for each kind."""

    def __init__(self, n_kinds: int, width: int, bound: float) -> None:
        super().__init__()
        self.visits = nn.Parameter(torch.empty(width).uniform_(-bound, bound))
        self.kind = nn.Parameter(torch.empty(n_kinds, width).uniform_(-bound, bound))

    def forward(self, visits: Tensor, kind: Tensor) -> Tensor:
        """(N,), (N,) -> (N, width)."""
        return visits[:, None] * self.visits + F.embedding(kind, self.kind)


class GraphConvolutions(nn.Module):
    """Places told of the places that follow them, a few steps far."""

    def __init__(self, n_kinds: int, widths: tuple[int, ...], dropout: float) -> None:
        super().__init__()
        self.first = Features(n_kinds, widths[0], widths[0] ** -0.5)
        self.weights = nn.ParameterList(
            torch.empty(a, b).uniform_(-(b**-0.5), b**-0.5) for a, b in itertools.pairwise(widths)
        )
        self.biases = nn.ParameterList(torch.empty(b).uniform_(-(b**-0.5), b**-0.5) for b in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, visits: Tensor, kind: Tensor, flow: Tensor) -> Tensor:
        """(N,), (N,), and (N, N) sparse -> (N, widths[-1])."""
        x = flow @ self.first(visits, kind) + self.biases[0]
        for weight, bias in zip(self.weights, self.biases[1:], strict=True):
            x = F.leaky_relu(x, 0.2)
            x = self.dropout(x) if weight is self.weights[-1] else x
            x = flow @ (x @ weight) + bias
        return x


class FlowMap(nn.Module):
    """What is added to the scores after a visit: how its place sends people to each other one."""

    def __init__(self, n_kinds: int, width: int) -> None:
        super().__init__()
        self.features = Features(n_kinds, width, math.sqrt(12 / (n_kinds + width)))
        self.leaves = nn.Parameter(torch.empty(width))
        self.enters = nn.Parameter(torch.empty(width))
        for one in (self.leaves, self.enters):
            nn.init.uniform_(one, -math.sqrt(6 / width), math.sqrt(6 / width))

    def forward(self, visits: Tensor, kind: Tensor, flow: Tensor, place: Tensor) -> Tensor:
        """(N,), (N,), (N, N), (T,) places -> (T, N)."""
        x = self.features(visits, kind)  # (N, width)
        leaves = F.embedding(place, (x @ self.leaves)[:, None])  # (T, 1)
        pair = leaves + x @ self.enters  # (T, 1) + (N,) -> (T, N)
        return F.leaky_relu(pair, 0.2) * (1 + flow[place])


class TimeVector(nn.Module):
    """A time of the day as one straight line and many waves of learned length."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.randn(width))
        self.shift = nn.Parameter(torch.randn(width))

    def forward(self, time: Tensor) -> Tensor:
        """(T,) -> (T, width)."""
        x = time[..., None] * self.slope + self.shift
        return torch.cat([x[..., :1], x[..., 1:].sin()], -1)


class GETNext(nn.Module):
    """Place, person, time and category of each visit, fused; an encoder; three heads; the map."""

    visited: Tensor
    kind: Tensor
    category: Tensor
    flow: Tensor
    sparse_flow: Tensor

    def __init__(
        self,
        graph: Graph,
        n_users: int,
        attends: Axis = "over time",
        settings: Settings | None = None,
    ) -> None:
        super().__init__()
        s = self.settings = settings or Settings()
        self.attends = attends
        n_places, n_kinds = len(graph.kind), int(graph.kind.max()) + 1
        n_categories = int(graph.category.max()) + 1
        known = {"visited": graph.visits, "kind": graph.kind, "category": graph.category,
                 "flow": graph.flow, "sparse_flow": graph.flow.to_sparse_csr()}  # fmt: skip
        for name, value in known.items():
            self.register_buffer(name, value, persistent=False)
        self.places = GraphConvolutions(n_kinds, (*s.d_graph, s.d_place), s.dropout)
        self.map = FlowMap(n_kinds, s.d_map)
        self.users = nn.Embedding(n_users, s.d_user)
        self.times = TimeVector(s.d_time)
        self.categories = nn.Embedding(n_categories, s.d_category)
        who, when = s.d_place + s.d_user, s.d_time + s.d_category
        self.who_where = nn.Sequential(nn.Linear(who, who), nn.LeakyReLU(0.2))
        self.when_what = nn.Sequential(nn.Linear(when, when), nn.LeakyReLU(0.2))
        self.width = who + when
        layer = nn.TransformerEncoderLayer(
            self.width, s.n_heads, s.d_feedforward, s.dropout, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, s.n_layers, enable_nested_tensor=False)
        self.dropout = nn.Dropout(s.dropout)
        self.next_place = nn.Linear(self.width, n_places)
        self.next_time = nn.Linear(self.width, 1)
        self.next_category = nn.Linear(self.width, n_categories)
        nn.init.uniform_(self.next_place.weight, -0.1, 0.1)
        nn.init.zeros_(self.next_place.bias)

    def visits(self, place: Tensor, time: Tensor, user: Tensor) -> Tensor:
        """(T,) places, times and people -> (T, D) of each visit alone; padding is -1 throughout."""
        at = place.clamp(min=0)  # any place will do for padding
        where = F.embedding(at, self.places(self.visited, self.kind, self.sparse_flow))
        who_where = self.who_where(torch.cat([self.users(user), where], -1))
        what = self.categories(self.category[at])
        when_what = self.when_what(torch.cat([self.times(time), what], -1))
        padding = (place == PADDING)[:, None]
        return torch.cat([who_where, when_what], -1).masked_fill(padding, -1.0)

    def encode(self, place: Tensor, time: Tensor, user: Tensor) -> Tensor:
        """(B, L, D) each visit told of others: of those before it, or of those above it.

        All visits lie in one row of T, and a mask says who sees whom, so that nothing is computed
        for the padding that nobody sees.
        """
        real = place != PADDING
        session, step = (torch.arange(n) for n in place.shape)
        line, order = session[:, None].expand(place.shape), step.expand(place.shape)
        if self.attends == "over the batch":
            line, order = order, line
            real = real.flip(0).cumsum(0).flip(0) > 0  # padding above a visit is seen, too
        line, order = line[real], order[real]  # (T,)
        whose = user[:, None].expand(place.shape)[real]
        x = self.visits(place[real], time[real], whose) * math.sqrt(self.width)
        x = self.dropout(x + sinusoids(max(place.shape), self.width)[order])
        hidden = (line[:, None] != line) | (order[:, None] < order)  # (T, T)
        out = x.new_zeros(*place.shape, self.width)
        out[real] = self.encoder(x[None], mask=hidden)[0]
        return out

    def forward(
        self, place: Tensor, time: Tensor, user: Tensor, asked: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(B, L), (B, L), (B,), and (B, L) which T visits to answer after.

        Returns (T, N) scores of places, (T,) the time of the day, (T, C) scores of categories.
        """
        x = self.encode(place, time, user)[asked]  # (T, D)
        scores = self.next_place(x) + self.map(self.visited, self.kind, self.flow, place[asked])
        return scores, self.next_time(x).squeeze(-1), self.next_category(x)

    def losses(self, steps: Steps) -> Tensor:
        """(T,) what each visit of a batch adds to the loss."""
        real = steps.real
        scores, time, kind = self(steps.place, steps.time, steps.user, real)
        where, when = steps.next_place[real], steps.next_time[real]
        return (
            F.cross_entropy(scores, where, reduction="none")
            + self.settings.time_weight * (time - when).square()
            + F.cross_entropy(kind, self.category[where], reduction="none")
        )


@torch.no_grad()
def ranks(model: GETNext, sessions: Sessions, batch_size: int) -> tuple[Tensor, Tensor]:
    """Where the last place of each session stands: (W,) better and (W,) tied places.

    The batches are the sessions as they lie; a network that attends over the batch gives other
    answers in another order.
    """
    model.eval()
    found = []
    for batch in sessions.batches(batch_size):
        steps = batch.steps()
        scores, _, _ = model(steps.place, steps.time, steps.user, steps.last)
        found.append(rank(scores, steps.next_place[steps.last]))
    better, tied = map(torch.cat, zip(*found, strict=True))
    return better, tied


def worth(model: GETNext, sessions: Sessions) -> float:
    """What the published code chooses an epoch by: four times Acc@1, and Acc@20."""
    better, tied = ranks(model, sessions, model.settings.batch_size)
    first, top = (((k - better) / tied).clamp(0, 1).mean() for k in (1, 20))
    return float(4 * first + top)


def epochs(
    model: GETNext, train: Sessions, valid: Sessions, seed: int
) -> Iterator[dict[str, float]]:
    """Train; after each epoch, its mean loss and what it is `worth` on validation sessions."""
    s = model.settings
    optimizer = torch.optim.Adam(
        model.parameters(), lr=s.lr, weight_decay=s.weight_decay, fused=True
    )
    for epoch in range(s.epochs):
        # Several runs can take turns: what one throws does not depend on the others.
        torch.manual_seed(1000 * seed + epoch)
        model.train()
        total, rows = 0.0, torch.randperm(len(train)).split(s.batch_size)
        for own in rows:
            optimizer.zero_grad(set_to_none=True)
            loss = model.losses(train.pick(own).steps()).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        yield {"loss": total / len(rows), "valid": worth(model, valid)}
