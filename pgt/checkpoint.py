"""Checkpoints: weights and what they mean in one safetensors file, written whole or not at all.

A file's header holds the configuration and the vocabulary as JSON, its body the tensors
(`pgt.files`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar, cast

from torch import Tensor

from pgt.config import ModelConfig, WindowConfig
from pgt.errors import DataError
from pgt.files import built, fitting, folder
from pgt.files import read as read
from pgt.files import read_info as read_info
from pgt.files import write as write
from pgt.mixture import PlaceModel
from pgt.model import PointerGeneratorTransformer
from pgt.refusals.sizes import other_sizes, require_room
from pgt.vocabulary import Vocabulary

Config = TypeVar("Config", bound=ModelConfig)


def save_model(
    path: str | Path,
    model: PlaceModel,
    vocabulary: Vocabulary,
    notes: dict[str, Any] | None = None,
    windows: WindowConfig | None = None,
) -> None:
    """Save a trained model for `load_model` or `load_contextual`, with notes of your own.

    Parameters
    ----------
    path : path
        Of a ``.safetensors`` file, which is replaced as a whole.
    model : PlaceModel
        A PGT or a contextual pointer.
    vocabulary : Vocabulary
        That of the windows which the model was trained on.
    notes : dict, optional
        Goes into the file's header as JSON.
    windows : WindowConfig, optional
        ``data.config`` of the training data, for `load_windows_config`. A file without it is for
        `load_model` alone: the commands and `pgt.NextLocation.load` refuse it.

    Examples
    --------
    >>> import pgt, tempfile
    >>> model, vocabulary = load_model(shipped("city"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/mine.safetensors", model, vocabulary, {"trained on": "Larkmere"})
    ...     read(f"{folder}/mine.safetensors")[1]["notes"]
    {'trained on': 'Larkmere'}
    """
    for field, ours, theirs in other_sizes(model.config, vocabulary):
        raise DataError(
            f"The model has {field} {ours}, the vocabulary {theirs}; save it with the vocabulary "
            "of the data that it was trained on."
        )
    info = {
        "model": model.config.to_dict(),
        "vocabulary": json.loads(vocabulary.to_json(people=True)),
        "notes": notes or {},
    } | ({"windows": windows.to_dict()} if windows else {})
    write(path, model.state_dict(), info)


def load_model(path: str | Path) -> tuple[PointerGeneratorTransformer, Vocabulary]:
    """Load a PGT, in evaluation mode, and its vocabulary.

    Works for what `save_model` wrote and for the resumable checkpoints of `pgt.train.fit`, of
    which it takes the best weights so far.

    Parameters
    ----------
    path : path
        Of a ``.safetensors`` file; no code is stored in it, and none is run.

    Returns
    -------
    model : PointerGeneratorTransformer
    vocabulary : Vocabulary

    Raises
    ------
    DataError
        When the file is missing, damaged, or of another kind of model.

    Examples
    --------
    >>> import pgt
    >>> model, vocabulary = load_model(shipped("city"))
    >>> data = pgt.prepare(wherenext.city.load().visits, vocabulary=vocabulary)
    >>> ranks = pgt.evaluate(model, data.test)
    >>> f"{pgt.summarize(ranks, ['all'])['acc@1'].item():.0f} %"
    '41 %'
    """
    config, vocabulary, tensors = read_parts(path, ModelConfig)
    name = Path(path).name
    with fitting(name):
        require_room(config, vocabulary, tensors, name)
    model = built(lambda: PointerGeneratorTransformer(config), tensors, name)
    vars(model)["made_for"] = vocabulary.fingerprint()
    return model, vocabulary


def load_windows_config(path: str | Path) -> WindowConfig:
    """On which windows a checkpoint's model was trained.

    Older files have it in their notes; their windows go back from the target's day.

    Raises
    ------
    DataError
        The file does not say it: none are assumed, since other windows give other answers.

    Examples
    --------
    >>> load_windows_config(shipped("city")).days
    7
    """
    info, name = read_info(path), Path(path).name
    with fitting(name):
        held, notes = info.get("windows", {}), info.get("notes", {})
        if "days" not in held and "days" not in notes:  # an unfinished training holds counts there
            raise DataError(
                f"{name} does not say on which windows its model was trained; save the model with "
                "pgt.save_model(..., windows=data.config)."
            )
        try:
            return WindowConfig.from_dict(held) if held else _of_notes(info)
        except DataError as error:  # of a setting, and does not name the file
            raise ValueError(str(error)) from error


def _of_notes(info: dict[str, Any]) -> WindowConfig:
    notes, vocabulary = info["notes"], Vocabulary.from_json(json.dumps(info["vocabulary"]))
    noted = {name: notes[name] for name in ("days", "min_visits", "protocol") if name in notes}
    protocol = "published" if vocabulary.n_known == len(vocabulary.locations) else "exact"
    return WindowConfig(**{"protocol": protocol, "anchor": "target_day"} | noted)


def read_parts(
    path: str | Path, kind: type[Config]
) -> tuple[Config, Vocabulary, dict[str, Tensor]]:
    """A checkpoint's configuration, vocabulary, and final or best weights."""
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
    best = {key[5:]: value for key, value in tensors.items() if key.startswith("best.")}
    return cast(Config, config), vocabulary, best or tensors


def shipped(name: str = "city") -> Path:
    """Where a trained model that comes with the package lies, in the repository or in a wheel."""
    path = folder("checkpoints") / f"{name}.safetensors"
    if path.is_file():
        return path
    raise DataError(f"No model '{name}' is shipped with pgt; there is 'city'.")
