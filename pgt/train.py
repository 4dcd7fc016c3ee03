"""Training: one run and its epochs, and the state from which it goes on after an interruption."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from pgt import files
from pgt.batch import Batch
from pgt.config import TrainConfig
from pgt.counter_random import forget_keys, use_keys
from pgt.errors import DataError
from pgt.mixture import MixtureModel, PlaceModel
from pgt.sparse import Loss, cross_entropy, rank_all
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

    @property
    def seconds(self) -> float:
        """Training time in all."""
        return sum(row["seconds"] for row in self.rows)


class TrainingRun:
    """The state of one training run: all that a checkpoint must hold."""

    def __init__(
        self, model: PlaceModel, train: Windows, valid: Windows, config: TrainConfig,
        device: torch.device, loss: Loss | None = None,
    ) -> None:  # fmt: skip
        self.model, self.loss = model.to(device), loss
        self.train, self.valid = train.to(device), valid.to(device)
        self.config, self.device = config, device
        self.parameters = dict(model.named_parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(), lr=config.learning_rate, betas=config.betas, eps=config.eps,
            weight_decay=config.weight_decay, fused=True,
        )  # fmt: skip
        self.amp = config.amp == "on" or (
            config.amp == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported()
        )
        self.epoch = 0
        self.best_score = math.inf
        self.best: dict[str, Tensor] = {}
        self.history = TrainingLog(device=device.type)

    @property
    def finished(self) -> bool:
        """Whether all epochs are over, or none has been better for a while."""
        stale = self.epoch - self.history.best_epoch >= self.config.patience
        return self.epoch >= self.config.max_epochs or (self.epoch > 0 and stale)

    def losses(self, batch: Batch) -> Tensor:
        """(B,) what training makes small."""
        smoothing = self.config.label_smoothing
        if self.loss is None and isinstance(self.model, MixtureModel):
            return self.model.mixture(batch).cross_entropy(batch.target, smoothing)
        loss = self.loss or cross_entropy
        return loss(self.model(batch).log_probs, batch.target, smoothing)

    def one_epoch(self) -> dict[str, float]:
        """Go once through the training windows, score the others; gives the row of the log."""
        began = time.perf_counter()
        config, max_len = self.config, self.model.config.max_len
        seed = config.seed, self.epoch
        # For parts that draw numbers without keys, such as PyTorch's own dropout.
        torch.manual_seed(config.seed * 100_003 + self.epoch)
        steps = math.ceil(len(self.train) / config.batch_size)
        step, rate = self.epoch * steps, 0.0
        self.model.train()
        loss_sum = torch.zeros((), dtype=torch.float64, device=self.device)
        norm_sum = torch.zeros((), device=self.device)
        shuffle = np.random.default_rng(seed)
        for batch in self.train.batches(config.batch_size, shuffle=shuffle, max_len=max_len):
            use_keys(self.model, *seed, batch.index)
            rate = config.learning_rate_at(step, steps)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.amp):
                losses = self.losses(batch)  # (B,)
            self.optimizer.zero_grad(set_to_none=True)
            loss = losses.sum() * (1 / len(batch))
            loss.backward()
            norm_sum += nn.utils.clip_grad_norm_(self.parameters.values(), config.clip)
            self.optimizer.step()
            loss_sum += loss.detach() * len(batch)
            step += 1
        forget_keys(self.model)
        valid_loss, accuracy = self.score()
        self.epoch += 1
        row = {
            "epoch": self.epoch,
            "train_loss": float(loss_sum) / len(self.train),
            "valid_loss": valid_loss,
            "valid_acc@1": accuracy,
            "learning_rate": rate,
            "gradient_norm": float(norm_sum) / steps,
            "seconds": time.perf_counter() - began,
        }
        self.history.rows.append(row)
        for name in ("train_loss", "valid_loss"):
            if not math.isfinite(row[name]):
                raise FloatingPointError(
                    f"The {name} is {row[name]} in epoch {self.epoch}; lower the learning rate "
                    f"({config.learning_rate:g}) or the gradient clip ({config.clip:g})."
                )
        score = valid_loss if config.monitor == "loss" else -accuracy
        if score < self.best_score:
            self.best_score = score
            self.history.best_epoch = self.epoch
            self.best = {k: v.detach().cpu().clone() for k, v in self.model.state_dict().items()}
        return row

    @torch.no_grad()
    def score(self) -> tuple[float, float]:
        """Validation loss without smoothing, and Acc@1 in percent."""
        self.model.eval()
        loss = hits = 0.0
        for batch in self.valid.batches(512):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.amp):
                if isinstance(self.model, MixtureModel):
                    mixture = self.model.mixture(batch)
                    losses = mixture.cross_entropy(batch.target)
                    found = mixture.rank(batch.target, batch.index)
                else:
                    log_probs = self.model(batch).log_probs
                    losses = cross_entropy(log_probs, batch.target)
                    found = rank_all(log_probs, batch.target, batch.index)
            loss += float(losses.sum())
            # Of places that are tied for the first, each is a part of a hit.
            first = (found.better == 0) & (found.tied > 0)
            hits += float((first.double() / found.tied.clamp(min=1)).sum())
        return loss / len(self.valid), 100 * hits / len(self.valid)

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with to be resumed."""
        mark = fingerprint(self.train, self.valid)
        loss = getattr(self.loss, "__name__", repr(self.loss)) if self.loss else "cross-entropy"
        return json.loads(json.dumps({
            "model": asdict(self.model.config),
            "training": asdict(self.config) | {"loss": loss},
            "vocabulary": json.loads(self.train.vocabulary.to_json()),
            "windows": {"train": len(self.train), "valid": len(self.valid), "fingerprint": mark},
        }))  # fmt: skip

    def state(self) -> dict[str, Tensor]:
        """The weights, the best so far, and what AdamW remembers, by name."""
        weights = self.model.state_dict()
        tensors = {f"model.{name}": value for name, value in weights.items()}
        tensors |= {f"best.{name}": value for name, value in (self.best or weights).items()}
        for name, parameter in self.parameters.items():
            zeros, memory = torch.zeros_like(parameter), self.optimizer.state[parameter]
            memory = memory or {"step": torch.zeros(()), "exp_avg": zeros, "exp_avg_sq": zeros}
            tensors |= {f"optimizer.{key}.{name}": value for key, value in memory.items()}
        return tensors

    def store(self, path: Path) -> None:
        """Write the state, whole or not at all."""
        files.write(path, self.state(), self.identity() | {
            "epoch": self.epoch, "best_score": self.best_score,
            "best_epoch": self.history.best_epoch, "history": self.history.rows,
        })  # fmt: skip

    def restore(self, path: Path) -> None:
        """Go on from what `store` wrote, if it is of the same run."""
        tensors, info = files.read(path)
        if "history" not in info:
            raise DataError(
                f"{path.name} is a finished model, not a training run; choose another name."
            )
        for key, now in self.identity().items():
            if info.get(key) != now:
                raise DataError(
                    f"{path.name} was trained with another {key}{difference(info.get(key), now)}; "
                    "remove it, choose another name, or train with resume=False (--fresh)."
                )
        files.check_shapes(self.state(), tensors, path.name)
        own = {key: tensors[f"model.{key}"] for key in self.model.state_dict()}
        files.load_weights(self.model, own, path.name)
        self.best = {key: tensors[f"best.{key}"] for key in own}
        for name, parameter in self.parameters.items():
            self.optimizer.state[parameter] = {
                key: tensors[f"optimizer.{key}.{name}"].to(self.device)
                for key in ("step", "exp_avg", "exp_avg_sq")
            }
        with files.fitting(path.name):
            self.epoch, self.best_score = int(info["epoch"]), float(info["best_score"])
            self.history.rows, self.history.best_epoch = info["history"], info["best_epoch"]


def fingerprint(*parts: Windows) -> str:
    """A short hash that differs when the windows' contents do."""
    digest = hashlib.sha256()
    for part in parts:
        # Windows with a memory have summaries of older places as well.
        older = [part.older] if hasattr(part, "older") else []
        for array in (part.features.cpu().numpy(), part.first, part.target, *older):
            digest.update(array.tobytes())
    return digest.hexdigest()[:12]


def difference(then: Any, now: dict[str, Any]) -> str:
    """Name the first setting that differs, when it is short enough to read."""
    for key in now if isinstance(then, dict) else ():
        if then.get(key) != now[key] and not isinstance(now[key], list):
            was = shorten(str(then.get(key)), 60)  # it comes from a file, and can be anything
            return f" ({key} was {was}, now {now[key]})"
    return ""


def pick_device(device: torch.device | str | None = None) -> torch.device:
    """This device, if it is here; without one, CUDA when it is there, else the CPU."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise DataError(f"Nothing can be computed on {str(device)!r} here; use cpu.") from error


def fit(
    model: PlaceModel,
    train: Windows,
    valid: Windows,
    config: TrainConfig | None = None,
    *,
    checkpoint: str | Path | None = None,
    resume: bool = True,
    device: torch.device | str | None = None,
    progress: bool = True,
    after_epoch: Callable[[dict[str, float]], None] | None = None,
    loss: Loss | None = None,
) -> TrainingLog:
    """Train the model and leave it with its best weights, on the CPU, in evaluation mode.

    Parameters
    ----------
    model, train, valid, config
    checkpoint, resume
        A path, written after every epoch; if it exists and ``resume``, training goes on from it.
    device, progress, after_epoch, loss
        ``after_epoch`` gets every row of the log; ``loss`` replaces `pgt.sparse.cross_entropy`.

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
            )
        part.vocabulary.check_model(model)
    device = pick_device(device)
    path = Path(checkpoint) if checkpoint is not None else None
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        run = TrainingRun(model, train, valid, config, device, loss)
        if path is not None and resume and path.exists():
            run.restore(path)
        bar = tqdm(
            total=config.max_epochs, initial=run.epoch, unit="epoch", file=sys.stdout,
            disable=not progress, desc="training",
        )  # fmt: skip
        with bar:
            while not run.finished:
                row = run.one_epoch()
                if path is not None:
                    run.store(path)
                loss_now, accuracy = row["valid_loss"], row["valid_acc@1"]
                bar.set_postfix_str(f"loss {loss_now:.3f}, Acc@1 {accuracy:.1f} %")
                bar.update()
                if after_epoch is not None:
                    after_epoch(row)
    model.to("cpu")
    model.load_state_dict(run.best)
    model.eval()
    return run.history
