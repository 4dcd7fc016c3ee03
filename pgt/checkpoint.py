"""Checkpoints: weights and what they mean in one safetensors file; see `pgt.files`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

from torch import Tensor, nn

from pgt.config import ModelConfig
from pgt.errors import DataError
from pgt.files import built, check_shapes, fitting, folder, load_weights
from pgt.files import read as read
from pgt.files import write as write
from pgt.model import PlaceModel, PointerGeneratorTransformer
from pgt.vocabulary import Vocabulary
from pgt.windows import Windows

Model = TypeVar("Model", bound=nn.Module)


def save_model(
    path: str | Path,
    model: PlaceModel,
    vocabulary: Vocabulary,
    notes: dict[str, Any] | None = None,
) -> None:
    """Save a trained model, for `load_model` or `load_contextual`.

    Parameters
    ----------
    path, model, vocabulary
        A ``.safetensors`` file is replaced as a whole.
    notes : dict, optional
        Goes into the file's header as JSON.

    Examples
    --------
    >>> import tempfile
    >>> model, vocabulary = load_model(shipped("city"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/mine.safetensors", model, vocabulary)
    """
    if differs := vocabulary.differs(model.config):
        raise DataError(f"{differs.capitalize()}; save the model with its own vocabulary.")
    info = {
        "model": asdict(model.config),
        "vocabulary": json.loads(vocabulary.to_json(people=True)),
        "notes": notes or {},
    }
    write(path, model.state_dict(), info)


def load_model(path: str | Path) -> tuple[PointerGeneratorTransformer, Vocabulary]:
    """Load a PGT, in evaluation mode, and its vocabulary.

    Parameters
    ----------
    path : path
        What `save_model` wrote, or a checkpoint of `pgt.fit`, of which the best weights are taken.

    Returns
    -------
    model : PointerGeneratorTransformer
    vocabulary : Vocabulary

    Examples
    --------
    >>> import pgt
    >>> model, vocabulary = load_model(shipped("city"))
    >>> pgt.prepare(pgt.load_city(), vocabulary=vocabulary).vocabulary == vocabulary
    True
    """
    return load(path, ModelConfig, PointerGeneratorTransformer)


def load(
    path: str | Path, kind: type[ModelConfig], make: Callable[[Any], Model]
) -> tuple[Model, Vocabulary]:
    """A model of this kind with its final or best weights, and its vocabulary."""
    tensors, info = read(path)
    name = Path(path).name
    with fitting(name):
        if "predictor" in info:
            raise DataError(f"{name} holds a predictor; open it with pgt.NextLocation.load.")
        # Only a contextual pointer has features: the header needs no word for what it is.
        contextual = "features" in info["model"]
        if contextual != hasattr(kind, "features"):
            other = "load_contextual" if contextual else "load_model"
            raise DataError(f"{name} holds a model of another kind; open it with {other}.")
        config = kind.from_dict(info["model"])
        vocabulary = Vocabulary.from_json(json.dumps(info["vocabulary"]))
        if differs := vocabulary.differs(config):
            raise DataError(f"{name} is damaged: {differs}; copy it again or train anew.")
    best = {key[5:]: value for key, value in tensors.items() if key.startswith("best.")}
    tensors = best or tensors
    # What a header claims is compared with what the file holds, before anything is built.
    most = max(1_000_000, sum(tensor.numel() for tensor in tensors.values()))
    if max(config.d_model, config.d_feedforward, config.max_len, 1000 * config.n_layers) > most:
        raise DataError(
            f"{name} is damaged: its header claims more than its weights have room for; copy it "
            "again or train anew."
        )
    model = built(lambda: make(config), tensors, name)
    vars(model)["made_for"] = vocabulary.fingerprint()
    return model, vocabulary


def shipped(name: str = "city") -> Path:
    """Where a trained model that comes with the package lies, in the repository or in a wheel."""
    path = folder("checkpoints") / f"{name}.safetensors"
    if not path.is_file():
        raise DataError(f"No model '{name}' is shipped with pgt; there is 'city'.")
    return path


def store(path: Path, run: Any) -> None:
    """Write the state of a `pgt.train.TrainingRun`, whole or not at all."""
    write(path, state(run), identity(run) | {
        "epoch": run.epoch, "best_score": run.best_score,
        "best_epoch": run.history.best_epoch, "history": run.history.rows,
    })  # fmt: skip


def resume(path: Path, run: Any) -> None:
    """Go on from what `store` wrote, if it is of the same run."""
    tensors, info = read(path)
    if "history" not in info:
        raise DataError(
            f"{path.name} is a finished model, not a training run; choose another name."
        )
    for key, now in identity(run).items():
        if info.get(key) != now:
            raise DataError(
                f"{path.name} was trained with another {key}{difference(info.get(key), now)}; "
                "remove it, choose another name, or train with resume=False (--fresh)."
            )
    check_shapes(state(run), tensors, path.name)
    own = {key: tensors[f"model.{key}"] for key in run.model.state_dict()}
    load_weights(run.model, own, path.name)
    run.best = {key: tensors[f"best.{key}"] for key in own}
    for key, value in state(run).items():
        if key.startswith("optimizer."):
            value.copy_(tensors[key])
    with fitting(path.name):
        run.epoch, run.best_score = int(info["epoch"]), float(info["best_score"])
        run.history.rows, run.history.best_epoch = info["history"], info["best_epoch"]


def state(run: Any) -> dict[str, Tensor]:
    """The weights, the best so far, and what AdamW remembers, by name."""
    weights = run.model.state_dict()
    tensors = {f"model.{name}": value for name, value in weights.items()}
    tensors |= {f"best.{name}": value for name, value in (run.best or weights).items()}
    for name, one in run.parameters.items():
        memory = run.optimizer.state[one]
        tensors |= {f"optimizer.{key}.{name}": value for key, value in memory.items()}
    return tensors


def identity(run: Any) -> dict[str, Any]:
    """What a checkpoint must agree with to be resumed."""
    loss = getattr(run.loss, "__name__", repr(run.loss)) if run.loss else "cross-entropy"
    windows = {"train": len(run.train), "valid": len(run.valid)}
    return json.loads(json.dumps({
        "model": asdict(run.model.config),
        "training": asdict(run.config) | {"loss": loss},
        "vocabulary": json.loads(run.train.vocabulary.to_json()),
        "windows": windows | {"fingerprint": fingerprint(run.train, run.valid)},
    }))  # fmt: skip


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
