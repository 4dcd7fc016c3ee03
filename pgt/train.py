"""Training: one loop over epochs, and the state from which it goes on after an interruption."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from pgt import checkpoint as checkpoints
from pgt import graphs, large_vocabulary
from pgt.batch import length_buckets
from pgt.config import TrainConfig
from pgt.errors import DataError
from pgt.metrics import ranked
from pgt.model import IMPOSSIBLE, Loss, PlaceModel
from pgt.optimizer import AdamW
from pgt.windows import Windows


@dataclass
class TrainingLog:
    """What happened, epoch by epoch; the model has the weights of ``best_epoch``."""

    # epoch (from 1), train_loss, valid_loss (nats), valid_acc@1 (percent), learning_rate,
    # gradient_norm (mean before clipping), seconds
    rows: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    device: str = "cpu"

    def table(self) -> pd.DataFrame:
        """The rows as a table indexed by epoch."""
        return pd.DataFrame(self.rows).set_index("epoch")


class TrainingRun:
    """One training run. An epoch draws its order and its dropout from the seed and its number
    alone, so that a run that was interrupted goes on to the same bits.
    """

    def __init__(
        self, model: PlaceModel, train: Windows, valid: Windows, config: TrainConfig,
        device: torch.device, loss: Loss | None = None,
    ) -> None:  # fmt: skip
        self.model, self.config, self.loss, self.device = model.to(device), config, loss, device
        self.train, self.valid = train, valid.to(device)
        self.parameters = dict(model.named_parameters())
        # Learning rate, step and sums live on the device: a GPU is never waited for in an epoch.
        self.steps = math.ceil(len(train) / config.batch_size)
        kind = torch.float32 if device.type == "cuda" else torch.float64  # as AdamW wants them
        self.rates = torch.zeros(self.steps, dtype=kind, device=device)  # of one epoch
        self.rate = torch.zeros((), dtype=kind, device=device)
        self.at = torch.zeros(1, dtype=torch.long, device=device)
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)  # of losses, of norms
        self.optimizer = AdamW(
            self.parameters.values(), lr=self.rate, betas=config.betas, eps=config.eps,
            weight_decay=config.weight_decay, fused=True, capturable=device.type == "cuda",
        )  # fmt: skip
        for parameter in self.parameters.values():
            zeros = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            self.optimizer.state[parameter] = {"step": torch.zeros((), device=device)} | zeros
        self.graphs: graphs.Graphs | None = None
        self.epoch, self.best_score, self.best = 0, math.inf, dict[str, Tensor]()
        self.history = TrainingLog(device=device.type)

    @property
    def finished(self) -> bool:
        """Whether all epochs are over, or none has been better for a while."""
        stale = self.epoch - self.history.best_epoch >= self.config.patience
        return self.epoch >= self.config.max_epochs or (self.epoch > 0 and stale)

    def losses(self, batch: Any) -> Tensor:
        """(B,) what training makes small."""
        smoothing = self.config.label_smoothing
        if self.loss is not None:
            return self.loss(self.model(batch).log_probs, batch.target, smoothing)
        if large_vocabulary.wanted(self.model):
            return large_vocabulary.losses(self.model, batch, smoothing)  # type: ignore[arg-type]
        return self.model.losses(batch, smoothing)

    def step(self, batch: Any, share: Tensor) -> None:
        """One step; the (B,) windows have shares of its loss, which add up to one."""
        self.rate.copy_(self.rates.index_select(0, self.at)[0])
        loss = (self.losses(batch) * share).sum()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.parameters.values(), self.config.clip)
        self.optimizer.step()
        self.at.add_(1)
        self.sums.add_(torch.stack([loss.detach() * (share > 0).sum(), norm]))

    def one_epoch(self) -> dict[str, float]:
        """Go once through the training windows, score the others; gives the row of the log."""
        began = time.perf_counter()
        self.take_steps()
        valid_loss, accuracy = self.score()
        loss_sum, norm_sum = self.sums.tolist()
        self.epoch += 1
        row = {
            "epoch": self.epoch, "train_loss": loss_sum / len(self.train),
            "valid_loss": valid_loss, "valid_acc@1": accuracy, "learning_rate": float(self.rate),
            "gradient_norm": norm_sum / self.steps, "seconds": time.perf_counter() - began,
        }  # fmt: skip
        self.history.rows.append(row)
        self.require_finite(row)
        score = valid_loss if self.config.monitor == "loss" else -accuracy
        if score < self.best_score:
            self.best_score, self.history.best_epoch = score, self.epoch
            self.best = {k: v.detach().cpu().clone() for k, v in self.model.state_dict().items()}
        return row

    def take_steps(self) -> None:
        """A step for each batch, in an order and with a dropout that the seed and epoch decide."""
        config, max_len = self.config, self.model.config.max_len
        if self.graphs is None and graphs.possible(self.model, self.train, self.device):
            self.graphs = graphs.Graphs(self, config.batch_size)
        torch.manual_seed(config.seed * 100_003 + self.epoch)  # dropout
        self.model.train()
        self.sums.zero_(), self.at.zero_()
        first = self.epoch * self.steps
        rates = [config.learning_rate_at(first + k, self.steps) for k in range(self.steps)]
        self.rates.copy_(torch.tensor(rates, dtype=torch.float64))
        lengths = np.minimum(self.train.lengths, max_len)
        shuffle = np.random.default_rng((config.seed, self.epoch))
        batches = length_buckets(lengths, config.batch_size, shuffle)
        if self.graphs is not None:
            self.graphs.run(batches)
            return
        for index in batches:
            batch = self.train.batch(index, max_len).to(self.device)
            self.step(batch, torch.full((len(index),), 1 / len(index), device=self.device))

    def require_finite(self, row: dict[str, float]) -> None:
        """Stop a training whose loss is no number any more."""
        for name in ("train_loss", "valid_loss"):
            if not math.isfinite(row[name]):
                raise FloatingPointError(
                    f"The {name} is {row[name]} in epoch {self.epoch}; lower the learning rate "
                    f"({self.config.learning_rate:g}) or the gradient clip ({self.config.clip:g})."
                )

    @torch.no_grad()
    def score(self) -> tuple[float, float]:
        """Validation loss without smoothing, and Acc@1 in percent."""
        self.model.eval()
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for batch in self.valid.batches(512):
            ranks = ranked(self.model, batch)
            loss = -ranks.score.masked_fill(ranks.score == -math.inf, IMPOSSIBLE)
            # Of places that are tied for the first, each is a part of a hit.
            hits = ((ranks.better == 0) & (ranks.tied > 0)) / ranks.tied.clamp(min=1)
            sums += torch.stack([loss.double().sum(), hits.double().sum()])
        loss_sum, hit_sum = sums.tolist()
        return loss_sum / len(self.valid), 100 * hit_sum / len(self.valid)


def fit(
    model: PlaceModel, train: Windows, valid: Windows, config: TrainConfig | None = None, *,
    checkpoint: str | Path | None = None, resume: bool = True,
    device: torch.device | str | None = None, progress: bool = True,
    after_epoch: Callable[[dict[str, float]], None] | None = None, loss: Loss | None = None,
) -> TrainingLog:  # fmt: skip
    """Train the model and leave it with its best weights, on the CPU, in evaluation mode.

    Of more than `pgt.large_vocabulary.PLACES` places, not all scores are written down at once.

    Parameters
    ----------
    model, train, valid, config
    checkpoint, resume
        A path, written after every epoch; if it exists and ``resume``, training goes on from it.
    device, progress, after_epoch, loss
        ``after_epoch`` gets every row of the log; ``loss`` replaces `pgt.model.cross_entropy`.

    Returns
    -------
    TrainingLog

    Examples
    --------
    >>> import pgt
    >>> few = pgt.prepare(pgt.load_city()).train.subset([0, 1, 2, 3])
    >>> size = few.vocabulary.n_locations, few.vocabulary.n_users
    >>> model = pgt.PointerGeneratorTransformer(pgt.ModelConfig(*size))
    >>> len(fit(model, few, few, TrainConfig(max_epochs=2), progress=False).table())
    2
    """
    config = config or TrainConfig()
    for name, part in (("train", train), ("valid", valid)):
        if len(part) == 0:
            raise DataError(
                f"There are no {name} windows; people need more visits (min_visits) and more days."
                if len(part.visits)
                else f"There are no {name} windows: the split column has no row that says "
                f"{name!r}; add some, or leave the column out, and visits are split by days."
            )
        part.vocabulary.check_model(model)
    device = graphs.pick_device(device)
    path = Path(checkpoint) if checkpoint is not None else None
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        run = TrainingRun(model, train, valid, config, device, loss)
        if path is not None and resume and path.exists():
            checkpoints.resume(path, run)
        bar = tqdm(total=config.max_epochs, initial=run.epoch, unit="epoch", file=sys.stdout,
                   disable=not progress, desc="training")  # fmt: skip
        with bar:
            while not run.finished:
                row = run.one_epoch()
                if path is not None:
                    checkpoints.store(path, run)
                how = "loss {valid_loss:.3f}, Acc@1 {valid_acc@1:.1f} %"
                bar.set_postfix_str(how.format(**row))
                bar.update()
                if after_epoch is not None:
                    after_epoch(row)
    model.to("cpu")
    model.load_state_dict(run.best)
    model.eval()
    return run.history
