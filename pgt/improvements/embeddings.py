"""Other ways to turn a visit into a vector.

Shapes: B windows, L visits, D = d_model.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from pgt.batch import QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.model import Embeddings, recency
from pgt.windows import Windows

FREQUENT, MEDIUM = 1000, 100  # occurrences in the training windows, the document's limits


class CyclicTime(nn.Module):
    """Time of day at several scales: an hour's own vector, and waves of 24, 12, 8 and 6 hours.

    Concatenated and projected back to the width of the table it replaces. Source: improvements
    document, proposal 4.
    """

    def __init__(self, width: int, waves: int = 4) -> None:
        super().__init__()
        self.hour = nn.Embedding(25, width, padding_idx=0)
        self.mix = nn.Linear(width + 2 * waves, width, bias=False)
        angle = 2 * math.pi * (torch.arange(QUARTERS + 1)[:, None] - 0.5) / QUARTERS
        angle = angle * torch.arange(1, waves + 1)  # (97, waves)
        table = torch.cat([angle.sin(), angle.cos()], dim=1)
        table[0] = 0  # padding
        self.register_buffer("waves", table, persistent=False)

    waves: Tensor

    def forward(self, quarter: Tensor) -> Tensor:
        """(B, L) quarters of an hour, 1 to 96, 0 at padding -> (B, L, width), 0 at padding."""
        hour = (quarter + 3).div(4, rounding_mode="floor")  # 1..24, and 0 for padding
        return self.mix(torch.cat([self.hour(hour), self.waves[quarter]], dim=-1))


class CyclicWeekday(nn.Module):
    """The day of the week as a day of its own and as a place on a circle of seven days."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.day = nn.Embedding(WEEKDAYS + 1, width, padding_idx=0)
        self.mix = nn.Linear(width + 2, width, bias=False)
        angle = 2 * math.pi * torch.arange(WEEKDAYS + 1) / WEEKDAYS
        table = torch.stack([angle.sin(), angle.cos()], dim=1)
        table[0] = 0
        self.register_buffer("waves", table, persistent=False)

    waves: Tensor

    def forward(self, weekday: Tensor) -> Tensor:
        """(B, L) 1 = Monday, 0 at padding -> (B, L, width), 0 at padding."""
        return self.mix(torch.cat([self.day(weekday), self.waves[weekday]], dim=-1))


class AdaptiveEmbedding(nn.Module):
    """Location vectors of a width that depends on how often the location occurs.

    Three groups by their occurrences in the training windows, each with its own table and its own
    projection to D. Baevski & Auli (2019) give the frequent entries the wide vectors; the
    improvements document, proposal 5, cites them and asks for the opposite. ``widest`` says which.
    """

    group: Tensor
    within: Tensor

    def __init__(self, occurrences: Tensor, d_model: int, widest: str = "frequent") -> None:
        super().__init__()
        widths = [d_model, d_model // 2, d_model // 4]
        if widest == "rare":
            widths.reverse()
        elif widest != "frequent":
            raise ValueError(f"widest is {widest!r}; it must be 'frequent' or 'rare'.")
        group = 2 - (occurrences >= MEDIUM).long() - (occurrences > FREQUENT).long()  # 0 = frequent
        within = torch.zeros_like(group)
        self.tables, self.projections = nn.ModuleList(), nn.ModuleList()
        for number, width in enumerate(widths):
            members = group == number
            within[members] = torch.arange(int(members.sum()))
            self.tables.append(nn.Embedding(max(int(members.sum()), 1), width))
            self.projections.append(nn.Linear(width, d_model, bias=False))
        self.register_buffer("group", group, persistent=False)
        self.register_buffer("within", within, persistent=False)

    def forward(self, location: Tensor) -> Tensor:
        """(B, L) -> (B, L, D), 0 at padding."""
        group, within = self.group[location], self.within[location]
        out = torch.zeros((), device=location.device)
        for number, (table, project) in enumerate(zip(self.tables, self.projections, strict=True)):
            here = (group == number) & (location > 0)
            vectors = project(table(within * here))  # (B, L, D)
            out = out + vectors * here[..., None]
        return out


def occurrences(train: Windows) -> Tensor:
    """(V,) how often each location stands in a training window, as the document counts.

    A visit counts once for every window that holds it.
    """
    change = np.zeros(train.features.shape[1], dtype=np.int64)
    np.add.at(change, train.first + 1, 1)
    np.add.at(change, train.target + 1, -1)
    times = np.cumsum(change)  # in how many windows each visit is
    total = np.bincount(
        train.features[0].cpu().numpy(), weights=times, minlength=train.vocabulary.n_locations
    )
    return torch.from_numpy(total)


class CrossModalEmbeddings(Embeddings):
    """Locations ask the person and the times, instead of standing beside them.

    vector = location + attention(location → person) + attention(location → times), normalised,
    with the times' five tables projected to D. Source: improvements document, proposal 6. The
    person is a single key, and a softmax over one key is 1: the first attention is a linear map of
    the person's vector, whatever the location is.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        d = config.d_model
        narrow = [name for name in self.tables if name not in ("location", "user")]
        times = len(narrow) * (d // 4)
        self.project = nn.Linear(times, d)  # of the times alone
        self.to_person = nn.MultiheadAttention(d, config.n_heads, batch_first=True)
        self.to_times = nn.MultiheadAttention(d, config.n_heads, batch_first=True)

    def forward(self, batch: Batch) -> Tensor:
        """(B, L, D) one vector per visit."""
        indices = {
            "time": batch.time,
            "weekday": batch.weekday,
            "recency": recency(batch, self.config.target_time),
            "duration": batch.duration,
            "position_from_end": batch.position_from_end,
        }
        location = self.tables["location"](batch.location)  # (B, L, D)
        person = self.tables["user"](batch.user)[:, None]  # (B, 1, D)
        parts = [self.tables[name](index) for name, index in indices.items() if name in self.tables]
        times = self.project(torch.cat(parts, dim=-1))  # (B, L, D)
        about_person, _ = self.to_person(location, person, person, need_weights=False)
        about_times, _ = self.to_times(
            location, times, times, key_padding_mask=batch.padding, need_weights=False
        )
        return self.norm(location + about_person + about_times)
