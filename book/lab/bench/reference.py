"""The references: windows built row by row, and the model and the loop as the documents print them.

The documents' model is a ``nn.TransformerEncoder``, every step of the mixture spelled out in
probabilities, ``log(p + 1e-10)`` at the end, and a loss that takes the log-softmax of these
log-probabilities once more. Both must give what `pgt` gives, only later.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from pgt.batch import DURATIONS
from pgt.config import TrainConfig
from pgt.model import RECENCIES, PointerGeneratorTransformer
from pgt.vocabulary import Vocabulary
from pgt.windows import Dataset

Sample = dict[str, np.ndarray]
Features = dict[str, Tensor]
Item = tuple[Tensor, Tensor, Features]  # locations, target, the rest


def windows_by_loop(visits: pd.DataFrame, vocabulary: Vocabulary) -> list[Sample]:
    """The windows of one split, row by row: seven days, at least three visits.

    ``diff`` are the days before the target's day, ``gap`` is the last visit's.
    """
    start = visits.started_at
    minutes = (visits.finished_at - start).dt.total_seconds() // 60
    midnight = start.dt.tz_localize(None).dt.normalize()
    table = pd.DataFrame({
        "user": vocabulary.encode_users(visits.user_id),
        "location": vocabulary.encode_locations(visits.location_id),
        "day": (midnight - midnight.groupby(visits.user_id).transform("min")).dt.days,
        "start_minute": start.dt.hour * 60 + start.dt.minute,
        "time": start.dt.hour * 4 + start.dt.minute // 15 + 1,
        "weekday": start.dt.day_of_week + 1,
        "duration": np.minimum(minutes // 30, DURATIONS - 1).astype(int) + 1,
    }).astype("int64")  # fmt: skip
    samples: list[Sample] = []
    for _, person in table.groupby(visits.user_id):
        person = person.reset_index(drop=True)
        for i, row in person.iterrows():
            earlier = person.iloc[:i]
            window = earlier[row["day"] - earlier["day"] <= 7]
            if row["day"] < 7 or len(window) < 3:
                continue
            names = ("location", "time", "weekday", "duration", "start_minute")
            sample = {name: window[name].to_numpy() for name in names}
            sample["diff"] = (row["day"] - window["day"]).to_numpy(dtype=np.int64)
            sample |= {"user": np.asarray(row["user"]), "target": np.asarray(row["location"])}
            samples.append(sample | {"gap": sample["diff"][-1]})
    return samples


def prepare_by_loop(data: Dataset) -> dict[str, list[Sample]]:
    """The windows of the three splits, from the same visits and with the same ids as ``data``."""
    return {
        name: windows_by_loop(getattr(data, name).visits, data.vocabulary)
        for name in ("train", "valid", "test")
    }


def collate(samples: list[Sample]) -> Item:
    """New tensors, padded at the end: (L, B) locations, (B,) targets, and the rest."""
    rest = {
        name: pad_sequence([torch.tensor(one[name]) for one in samples])
        for name in ("location", "time", "weekday", "diff", "duration")
    }
    lengths = torch.tensor([len(one["location"]) for one in samples])
    inside = torch.arange(int(lengths.max()))[:, None] < lengths
    rest["diff"] = (rest["diff"].clamp(max=RECENCIES - 1) + 1) * inside
    rest["user"] = torch.stack([torch.tensor(one["user"]) for one in samples])
    target = torch.stack([torch.tensor(one["target"]) for one in samples])
    return rest.pop("location"), target, rest | {"len": lengths}


class DocumentedModel(nn.Module):
    """The documents' model with the weights of ours, every part; it knows the target's day."""

    positions: Tensor

    def __init__(self, ours: PointerGeneratorTransformer) -> None:
        super().__init__()
        own, config = copy.deepcopy(ours), ours.config
        assert own.pointer is not None and own.gate is not None and config.target_time == "day"
        self.embeddings, self.head, self.config = own.embeddings, own.generator, config
        self.query, self.key = own.pointer.query, own.pointer.key
        self.position_bias = own.pointer.position_bias
        self.gate = nn.Sequential(own.gate, nn.Sigmoid())
        self.register_buffer("positions", own.encoder.positions)
        layer = nn.TransformerEncoderLayer(
            config.d_model, config.n_heads, config.d_feedforward, config.dropout,
            activation="gelu", batch_first=True, norm_first=True,
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, config.n_layers, enable_nested_tensor=False)
        names = {
            "norm_attention.": "norm1.", "norm_feedforward.": "norm2.", "feedforward.0.":
            "linear1.", "feedforward.3.": "linear2.", "attention.project.": "self_attn.in_proj_",
            "attention.out.": "self_attn.out_proj.",
        }  # fmt: skip
        weights = own.encoder.state_dict()
        for name, theirs in names.items():
            weights = {key.replace(name, theirs): value for key, value in weights.items()}
        self.encoder.load_state_dict(weights)

    def forward(self, locations: Tensor, rest: Features) -> Tensor:
        """(L, B) locations and features -> (B, V) log-probabilities."""
        x, length = locations.T, rest["len"]  # (B, L)
        n, steps = x.shape
        place = torch.arange(steps, device=x.device).expand(n, steps)  # (B, L)
        padded = place >= length[:, None]
        from_end = (length[:, None] - place).clamp(min=0)
        ids = {
            "location": x, "user": rest["user"][:, None].repeat(1, steps),
            "recency": rest["diff"].T, "position_from_end": from_end,
        } | {name: rest[name].T for name in ("time", "weekday", "duration")}  # fmt: skip
        parts = [table(ids[name]) for name, table in self.embeddings.tables.items()]
        hidden = self.embeddings.norm(self.embeddings.project(torch.cat(parts, dim=-1)))
        hidden = hidden + self.positions[:steps]
        hidden = self.encoder(hidden, src_key_padding_mask=padded)  # (B, L, D)
        context = hidden[torch.arange(n, device=x.device), length - 1]  # (B, D)

        scores = torch.bmm(self.key(hidden), self.query(context)[:, :, None]).squeeze(2)  # (B, L)
        scores = scores / math.sqrt(hidden.shape[-1]) + self.position_bias[from_end]
        weights = F.softmax(scores.masked_fill(padded, -math.inf), dim=-1)
        copied = torch.zeros(n, self.config.n_locations, device=x.device)
        copied = copied.scatter_add(1, x, weights)  # (B, V)
        generated = F.softmax(self.head(context), dim=-1)  # (B, V)
        gate = self.gate(context)  # (B, 1)
        return torch.log(gate * copied + (1 - gate) * generated + 1e-10)


class DocumentedTraining:
    """The usual loop around the documented model, one epoch at a time."""

    def __init__(
        self, ours: PointerGeneratorTransformer, train: Sequence[Sample], valid: Sequence[Sample],
        config: TrainConfig, device: torch.device,
    ) -> None:  # fmt: skip
        self.model, self.config, self.device = DocumentedModel(ours).to(device), config, device
        self.epoch = 0
        self.train, self.valid = (
            DataLoader(part, config.batch_size, shuffle=part is train, collate_fn=collate)
            for part in (train, valid)
        )
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.learning_rate, betas=config.betas, eps=config.eps,
            weight_decay=config.weight_decay,
        )  # fmt: skip
        self.loss = nn.CrossEntropyLoss(label_smoothing=config.label_smoothing)

    def batches(self, loader: Any) -> Iterator[Item]:
        """The batches on the device."""
        for locations, target, rest in loader:
            there = {name: one.to(self.device) for name, one in rest.items()}
            yield locations.to(self.device), target.to(self.device), there

    def one_epoch(self) -> tuple[float, float]:
        """Train once over all windows and validate; returns the validation loss and Acc@1 (%)."""
        self.model.train()
        for i, (locations, target, rest) in enumerate(self.batches(self.train)):
            rate = self.config.learning_rate_at(self.epoch * len(self.train) + i, len(self.train))
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            loss = self.loss(self.model(locations, rest), target)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
            self.optimizer.step()
        self.epoch += 1
        self.model.eval()
        total, hits, n = 0.0, 0, 0
        with torch.no_grad():
            for locations, target, rest in self.batches(self.valid):
                log_probs = self.model(locations, rest)
                total += float(F.nll_loss(log_probs, target, reduction="sum"))
                hits += int((log_probs.argmax(1) == target).sum())
                n += len(target)
        return total / n, 100 * hits / n
