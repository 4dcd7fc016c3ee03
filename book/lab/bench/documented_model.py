"""The reference for training: the forward pass as the design documents print its formulas.

A dense ``nn.TransformerEncoder`` over windows that are padded as they come, every step of the
mixture spelled out in probabilities, ``log(p + 1e-10)`` at the end, and a loss that takes the
log-softmax of these log-probabilities once more.

Where the documents leave the numbering open or contradict themselves, it follows the package (0 is
padding in every table, the last visit is position 1 from the end), so that weights can be copied
and metrics compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset
from windows_loop import Sample

from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig, TrainConfig
from pgt.model import RECENCIES, PointerGeneratorTransformer

Features = dict[str, Tensor]
Item = tuple[Tensor, Tensor, Features]  # locations, target, the rest

SEQUENCES = ("time", "weekday", "diff", "duration")


class SampleDataset(TorchDataset[Item]):
    """Windows as dictionaries; every access makes new tensors of one of them."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: int) -> Item:
        sample = self.samples[i]
        rest = {name: torch.tensor(sample[name]) for name in SEQUENCES}
        rest["diff"] = rest["diff"].clamp(max=RECENCIES - 1) + 1
        rest["user"] = torch.tensor(sample["user"])
        rest["len"] = torch.tensor(len(sample["location"]))
        return torch.tensor(sample["location"]), torch.tensor(sample["target"]), rest


def collate(items: list[Item]) -> Item:
    """Pad a list of windows at the end: (L, B) locations, (B,) targets, and the rest."""
    locations, targets, rests = zip(*items, strict=True)
    features = {
        name: pad_sequence([rest[name] for rest in rests])
        if name in SEQUENCES
        else torch.stack([rest[name] for rest in rests])
        for name in rests[0]
    }
    return pad_sequence(list(locations)), torch.stack(targets), features


def from_batch(batch: Batch) -> Item:
    """The package's batch in the documents' form, time first."""
    diff = (batch.days_ago + batch.gap_days[:, None]).clamp(max=RECENCIES - 1) + 1
    features = {
        "time": batch.time.T,
        "weekday": batch.weekday.T,
        "diff": diff.masked_fill(batch.padding, 0).T,
        "duration": batch.duration.T,
        "user": batch.user,
        "len": batch.length,
    }
    return batch.location.T, batch.target, features


class DocumentedModel(nn.Module):
    """The documents' model, with every part; it counts recency back from the target's day."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.without or config.target_time != "day":
            raise ValueError("The documented model has every part and knows the target's day.")
        d, narrow = config.d_model, config.d_model // 4
        self.config = config
        self.location = nn.Embedding(config.n_locations, d, padding_idx=0)
        self.user = nn.Embedding(config.n_users, d, padding_idx=0)
        self.time = nn.Embedding(QUARTERS + 1, narrow, padding_idx=0)
        self.weekday = nn.Embedding(WEEKDAYS + 1, narrow, padding_idx=0)
        self.recency = nn.Embedding(RECENCIES + 1, narrow, padding_idx=0)
        self.duration = nn.Embedding(DURATIONS + 1, narrow, padding_idx=0)
        self.from_end = nn.Embedding(config.max_len + 1, narrow, padding_idx=0)
        self.project = nn.Linear(2 * d + 5 * narrow, d)
        self.norm = nn.LayerNorm(d)
        layer = nn.TransformerEncoderLayer(
            d, config.n_heads, config.d_feedforward, config.dropout,
            activation="gelu", batch_first=True, norm_first=True,
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, config.n_layers, enable_nested_tensor=False)
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)
        self.position_bias = nn.Parameter(torch.zeros(config.max_len + 1))
        self.head = nn.Linear(d, config.n_locations)
        self.gate = nn.Sequential(
            nn.Linear(d, d // 2), nn.GELU(), nn.Linear(d // 2, 1), nn.Sigmoid()
        )
        place = torch.arange(config.max_len, dtype=torch.float)[:, None]
        wave = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float) / d)
        table = torch.zeros(config.max_len, d)
        table[:, 0::2], table[:, 1::2] = torch.sin(place * wave), torch.cos(place * wave)
        self.register_buffer("positions", table)

    def forward(self, locations: Tensor, rest: Features) -> Tensor:
        """(L, B) locations and features -> (B, V) log-probabilities."""
        x = locations.T  # (B, L)
        n, steps = x.shape
        length = rest["len"]
        place = torch.arange(steps, device=x.device).expand(n, steps)  # (B, L)
        padded = place >= length[:, None]
        from_end = (length[:, None] - place).clamp(min=0)

        parts = [
            self.location(x),
            self.user(rest["user"][:, None].repeat(1, steps)),
            self.time(rest["time"].T),
            self.weekday(rest["weekday"].T),
            self.recency(rest["diff"].T),
            self.duration(rest["duration"].T),
            self.from_end(from_end),
        ]
        hidden = self.norm(self.project(torch.cat(parts, dim=-1)))  # (B, L, D)
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

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) log-probabilities in evaluation mode, for `pgt.metrics.evaluate`."""
        self.eval()
        locations, _, rest = from_batch(batch.most_recent(self.config.max_len))
        with torch.no_grad():
            return self.forward(locations, rest)

    def copy_weights(self, model: PointerGeneratorTransformer) -> DocumentedModel:
        """Take over the weights of the package's model, name by name."""
        names = {"position_from_end": "from_end"}
        theirs = {
            f"{names.get(name, name)}.weight": table.weight
            for name, table in model.embeddings.tables.items()
        }
        renamed = {
            "embeddings.project": "project", "embeddings.norm": "norm", "pointer.query": "query",
            "pointer.key": "key", "pointer.position_bias": "position_bias", "generator": "head",
            "gate": "gate",
        }  # fmt: skip
        for i in range(self.config.n_layers):
            layer = f"encoder.layers.{i}"
            renamed |= {
                f"{layer}.norm_attention": f"{layer}.norm1",
                f"{layer}.attention.project.weight": f"{layer}.self_attn.in_proj_weight",
                f"{layer}.attention.project.bias": f"{layer}.self_attn.in_proj_bias",
                f"{layer}.attention.out": f"{layer}.self_attn.out_proj",
                f"{layer}.norm_feedforward": f"{layer}.norm2",
                f"{layer}.feedforward.0": f"{layer}.linear1",
                f"{layer}.feedforward.3": f"{layer}.linear2",
            }
        state = model.state_dict()
        for ours, name in renamed.items():
            theirs |= {name + key[len(ours) :]: state[key] for key in state if _under(key, ours)}
        theirs["positions"] = self.positions
        self.load_state_dict(theirs)
        return self


def _under(key: str, prefix: str) -> bool:
    return key == prefix or key.startswith(prefix + ".")


class DocumentedTraining:
    """The usual loop around the documented model, one epoch at a time."""

    def __init__(
        self,
        model: DocumentedModel,
        train: Sequence[Sample],
        valid: Sequence[Sample],
        config: TrainConfig,
    ) -> None:
        self.model, self.config, self.epoch = model, config, 0
        shuffle = torch.Generator().manual_seed(config.seed)
        self.train: DataLoader[Item] = DataLoader(
            SampleDataset(train), config.batch_size, shuffle=True, collate_fn=collate,
            generator=shuffle,
        )  # fmt: skip
        self.valid: DataLoader[Item] = DataLoader(
            SampleDataset(valid), config.batch_size, collate_fn=collate
        )
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, betas=config.betas, eps=config.eps,
            weight_decay=config.weight_decay,
        )  # fmt: skip
        self.loss: Callable[[Tensor, Tensor], Tensor] = nn.CrossEntropyLoss(
            label_smoothing=config.label_smoothing
        )

    def one_epoch(self) -> tuple[float, float]:
        """Train once over all windows and validate; returns the validation loss and Acc@1 (%)."""
        torch.manual_seed(self.config.seed * 100_003 + self.epoch)
        self.model.train()
        for i, (locations, target, rest) in enumerate(self.train):
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
            for locations, target, rest in self.valid:
                log_probs = self.model(locations, rest)
                total += float(F.nll_loss(log_probs, target, reduction="sum"))
                hits += int((log_probs.argmax(1) == target).sum())
                n += len(target)
        return total / n, 100 * hits / n
