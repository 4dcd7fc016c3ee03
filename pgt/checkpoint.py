"""Checkpoints: weights and what they mean in one safetensors file, and tensors on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pgt.config import ModelConfig, WindowConfig
from pgt.errors import DataError, note
from pgt.files import folder, whole
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
        "window_config": asdict(vocabulary.windows) if vocabulary.windows else None,
    }
    write_tensors(path, model.state_dict(), info)


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
    tensors, info = read_tensors(path)
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
        if made_of := info.get("window_config"):
            vocabulary = replace(vocabulary, windows=WindowConfig(**made_of))
        else:
            note(
                f"{name} does not say of which windows its model was made: give pgt.prepare the "
                "days, min_visits and protocol of the training, and save it again."
            )
        if differs := vocabulary.differs(config):
            raise DataError(f"{name} is damaged: {differs}; copy it again or train anew.")
    best = {key[5:]: value for key, value in tensors.items() if key.startswith("best.")}
    tensors = best or tensors
    check_claims(config, tensors, name)
    model = built(lambda: make(config), tensors, name)
    vars(model)["made_for"] = vocabulary.fingerprint()
    return model, vocabulary


def shipped(name: str = "city") -> Path:
    """Where a trained model that comes with the package lies, in the repository or in a wheel."""
    path = folder("checkpoints") / f"{name}.safetensors"
    if not path.is_file():
        known = " and ".join(sorted(file.stem for file in path.parent.glob("*.safetensors")))
        raise DataError(f"No model '{name}' is shipped with pgt; there are {known}.")
    return path


def store(path: Path, run: Any) -> None:
    """Write the state of a `pgt.train.TrainingRun`, whole or not at all."""
    write_tensors(path, state(run), identity(run) | {
        "epoch": run.epoch, "best_score": run.best_score,
        "best_epoch": run.history.best_epoch, "history": run.history.rows,
        "window_config": asdict(run.train.vocabulary.windows or WindowConfig()),
    })  # fmt: skip


def resume(path: Path, run: Any) -> None:
    """Go on from what `store` wrote, if it is of the same run."""
    tensors, info = read_tensors(path)
    if "history" not in info:
        raise DataError(
            f"{path.name} is a finished model, not a training run; choose another name. (To go on "
            "from its weights, train what pgt.load_model gives, without resume.)"
        )
    for key, now in identity(run).items():
        if info.get(key) != now:
            raise DataError(
                f"{path.name} was trained with another {key}{difference(info.get(key), now)}; "
                "remove it, choose another name, or train with resume=False."
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
    for name, parameter in run.parameters.items():
        memory = run.optimizer.state[parameter]
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


FORMAT = "pgt-1"
ROOM = 2**26  # numbers that a model may always have


def write_tensors(path: str | Path, tensors: dict[str, Tensor], info: dict[str, Any]) -> None:
    """Write tensors and a JSON header; the name appears only once the file is complete."""
    body = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    text = json.dumps(info)
    header = {"format": FORMAT, "info": text, "sha256": checksum(body, text)}
    with whole(path) as half:
        # One note: safetensors writes several in another order each time.
        save_file(body, half, metadata={"pgt": json.dumps(header)})
        half.chmod(0o644)  # safetensors makes it the owner's alone


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote; an error says what is missing, cut short or strange."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no checkpoint {path}; train one with python -m pgt train.")
    try:
        with safe_open(path, framework="pt") as handle:
            notes = handle.metadata() or {}
            header = json.loads(notes["pgt"]) if "pgt" in notes else notes  # of earlier versions
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise DataError(f"{path.name} is a safetensors file, but no checkpoint of pgt.")
            tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
        info = json.loads(header["info"])
        if not isinstance(info, dict):
            raise ValueError("its header is no table of names")
        known = header.get("sha256")  # files of earlier versions have none
        if known is not None and known != checksum(tensors, header["info"]):
            raise ValueError("its checksum does not fit what is in it")
    except DataError:
        raise
    except (SafetensorError, LookupError, TypeError, ValueError, RecursionError, OSError) as error:
        reason = " ".join(str(error).splitlines()[:1]) or type(error).__name__
        raise DataError(
            f"{path.name} is cut short or damaged ({reason}); copy it again or train anew."
        ) from error
    return tensors, info


def checksum(tensors: Mapping[str, Tensor], info: str) -> str:
    """SHA-256 over the text of a header, and the name, type, shape and bytes of each tensor."""
    digest = hashlib.sha256(info.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        digest.update(f"\n{name} {value.dtype} {tuple(value.shape)} ".encode())
        if value.numel():  # an empty one cannot be seen as bytes
            digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@contextmanager
def fitting(name: str) -> Iterator[None]:
    """One sentence for a header with other contents than this version writes."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError,
            ValueError) as error:  # fmt: skip
        if isinstance(error, DataError) and name in str(error):
            raise
        reason = " ".join(str(error).splitlines()[:1])
        raise DataError(
            f"The header of {name} does not fit this version of pgt ({reason})."
        ) from error


def check_claims(config: ModelConfig, tensors: Mapping[str, Tensor], name: str) -> None:
    """Refuse a header that claims far larger weights than the file has, before any is made."""
    most = max(ROOM, 8 * sum(tensor.numel() for tensor in tensors.values()))
    d, sizes = config.d_model, [size for size in asdict(config).values() if isinstance(size, int)]
    if d * max(*sizes, 3 * d) > most or 1000 * config.n_layers > most:
        raise DataError(
            f"{name} is damaged: its header claims more than its weights have room for; copy it "
            "again or train anew."
        )


def built(make: Callable[[], Model], tensors: dict[str, Tensor], name: str) -> Model:
    """Make a model for these tensors, in evaluation mode, after `check_claims`."""
    with fitting(name):
        model = make()
    load_weights(model, tensors, name)
    return model.eval()


def load_weights(model: nn.Module, tensors: dict[str, Tensor], name: str) -> None:
    """Put tensors into a model of the very same shapes, or say which one does not fit."""
    check_shapes(model.state_dict(), tensors, name)
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise DataError(
                f"{name} holds weights that are no numbers ('{key}'); copy it again or train anew."
            )
    model.load_state_dict(tensors)


def check_shapes(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor], name: str) -> None:
    """Refuse tensors of other names or shapes than a model's own."""
    for key in sorted(own.keys() | tensors.keys()):
        here, there = (tuple(x[key].shape) if key in x else "not there" for x in (own, tensors))
        if here != there:
            raise DataError(
                f"'{key}' is {there} in {name} but {here} in this model; it belongs to another "
                "vocabulary or configuration."
            )
