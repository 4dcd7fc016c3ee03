"""Training: AdamW, warm-up and cosine, early stopping, and checkpoints that resume exactly.

An epoch depends on the seed and its own number only: its shuffling and its dropout are drawn from
generators seeded with both. A run that was killed therefore goes on from the last whole epoch
with the same numbers as a run that was not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from tqdm import tqdm

from pgt.config import TrainConfig
from pgt.errors import DataError
from pgt.mixture import PlaceModel
from pgt.refusals.kinds import require_device, require_has
from pgt.refusals.sizes import require_same_places
from pgt.sparse.losses import Loss
from pgt.training.run import TrainingLog, TrainingRun
from pgt.windows import Windows


def pick_device() -> torch.device:
    """CUDA when it is there, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


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
    compile_backend: str | None = None,
) -> TrainingLog:
    """Train the model and leave it with its best weights, on the CPU, in evaluation mode.

    Parameters
    ----------
    model : PlaceModel
        `pgt.PointerGeneratorTransformer`, or a relative of it.
    train, valid : Windows
    config : TrainConfig, optional
        The package's default settings otherwise.
    checkpoint : path, optional
        Written after every epoch. When it exists and ``resume``, training goes on from it.
    resume : bool
        Otherwise training begins anew and writes over the checkpoint.
    device : optional
        Chosen by itself otherwise.
    progress : bool
        Show a bar, on standard output.
    after_epoch : callable, optional
        Gets every new row of the history.
    loss : callable, optional
        What training makes small: `pgt.sparse.losses.cross_entropy`, unless another is given, such
        as one of `pgt.improvements.losses`. Validation is scored by the cross-entropy whatever it
        is.
    compile_backend : str, optional
        Compile the steps, with a backend of ``torch.compile`` such as "inductor" or "cudagraphs":
        one graph for windows of any length, in which nothing waits for the device.

    Returns
    -------
    TrainingLog
        What happened, epoch by epoch.

    Raises
    ------
    DataError
        When there are no windows, their vocabulary is of another size than the model's, the device
        is not here, or the checkpoint is of other data or another configuration.

    Examples
    --------
    >>> import numpy as np
    >>> import pgt
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> size = data.vocabulary.n_locations, data.vocabulary.n_users
    >>> model = pgt.PointerGeneratorTransformer(pgt.ModelConfig(*size, d_model=16, n_layers=1))
    >>> few, fewer = data.train.subset(np.arange(128)), data.valid.subset(np.arange(64))
    >>> log = fit(model, few, fewer, TrainConfig(max_epochs=2), progress=False)
    >>> len(log.table()), log.best_epoch in (1, 2)
    (2, True)
    """
    config = config or TrainConfig()
    require_has("config", config, "warmup_epochs", "a pgt.TrainConfig")
    require_has("train", train, "batches", "windows, such as data.train")
    require_has("valid", valid, "batches", "windows, such as data.valid")
    for name, part in (("train", train), ("valid", valid)):
        if len(part) == 0:
            raise DataError(
                f"There are no {name} windows; people need more visits (min_visits) and more days."
            )
    require_same_places(model, train.vocabulary)
    require_same_places(model, valid.vocabulary)
    require_device(device)
    device = torch.device(device) if device is not None else pick_device()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        run = TrainingRun(model, train, valid, config, device, loss, compile_backend)
        path = Path(checkpoint) if checkpoint is not None else None
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
                bar.update()
                bar.set_postfix_str(
                    f"loss {row['valid_loss']:.3f}, Acc@1 {row['valid_acc@1']:.1f} %"
                )
                if after_epoch is not None:
                    after_epoch(row)
    model.to("cpu")
    model.load_state_dict(run.best)
    model.eval()
    return run.history
