"""Checkpoints: weights and what they mean in one safetensors file; see `pgt.files`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from pgt.config import ModelConfig, WindowConfig
from pgt.errors import DataError
from pgt.files import built, fitting, folder
from pgt.files import read as read
from pgt.files import write as write
from pgt.model import PlaceModel, PointerGeneratorTransformer
from pgt.vocabulary import Vocabulary

Model = TypeVar("Model", bound=nn.Module)


def save_model(
    path: str | Path,
    model: PlaceModel,
    vocabulary: Vocabulary,
    notes: dict[str, Any] | None = None,
    windows: WindowConfig | None = None,
) -> None:
    """Save a trained model, for `load_model` or `load_contextual`.

    Parameters
    ----------
    path, model, vocabulary
        A ``.safetensors`` file is replaced as a whole.
    notes : dict, optional
        Goes into the file's header as JSON.
    windows : WindowConfig, optional
        ``data.config`` of the training data, for `load_windows_config`.

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
        "windows": asdict(windows) if windows else {},
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


def load_windows_config(path: str | Path) -> WindowConfig:
    """On which windows a checkpoint's model was trained; a file that does not say it is refused."""
    (_, info), name = read(path), Path(path).name
    with fitting(name):
        held = info.get("windows", {})
        if "days" not in held:  # an unfinished training holds counts under "windows"
            raise DataError(
                f"{name} does not say on which windows its model was trained; save the model with "
                "pgt.save_model(..., windows=data.config)."
            )
        return WindowConfig(**held)


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
        contextual = "features" in kind.__dataclass_fields__
        if ("features" in info["model"]) != contextual:
            other = "load_model" if contextual else "load_contextual"
            raise DataError(f"{name} holds a model of another kind; open it with {other}.")
        config = kind.from_dict(info["model"])
        vocabulary = Vocabulary.from_json(json.dumps(info["vocabulary"]))
        if differs := vocabulary.differs(config):
            raise DataError(f"{name} is damaged: {differs}; copy it again or train anew.")
    best = {key[5:]: value for key, value in tensors.items() if key.startswith("best.")}
    tensors = best or tensors
    # What a header claims is compared with what the file holds, before anything is built.
    most = sum(tensor.numel() for tensor in tensors.values())
    shape = config.d_model, config.d_feedforward, config.max_len, 1000 * config.n_layers
    if max(shape) > max(most, 1_000_000):
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
