"""Checkpoints: weights and what they mean in one safetensors file, written whole or not at all.

A file's header holds the configuration and the vocabulary as JSON, its body the tensors, and a
checksum over both tells a copy that went wrong. There is no pickle anywhere, so opening somebody
else's checkpoint runs nobody's code.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pgt.config import ModelConfig, WindowConfig
from pgt.files import whole
from pgt.model import PointerGeneratorTransformer
from pgt.network import NetworkConfig
from pgt.shipped import folder
from pgt.visits import DataError
from pgt.vocabulary import Vocabulary

FORMAT = "pgt-1"
Config = TypeVar("Config", bound=ModelConfig)
Model = TypeVar("Model", bound=nn.Module)


class HasWeights(Protocol):
    """What a checkpoint holds: a model with a configuration and a state."""

    @property
    def config(self) -> NetworkConfig: ...
    def state_dict(self) -> dict[str, Any]: ...


def write(path: str | Path, tensors: dict[str, Tensor], info: dict[str, Any]) -> None:
    """Write tensors and a JSON header; the name appears only once the file is complete."""
    body = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    text = json.dumps(info)
    header = {"format": FORMAT, "info": text, "sha256": checksum(body, text)}
    with whole(path) as half:
        # In a folder of its own: safetensors has a name for half a file, too, and may be killed.
        room = half.with_name(f"{half.name}.part")
        room.mkdir()
        try:
            save_file(body, room / half.name, metadata=header)
            os.replace(room / half.name, half)
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error)) from error
        finally:
            shutil.rmtree(room, ignore_errors=True)
        half.chmod(0o644)  # safetensors makes it the owner's alone


def read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write` wrote.

    Raises
    ------
    DataError
        When there is no such file, it is cut short, changed, or something else altogether.
    """
    with _opened(Path(path)) as (handle, info):
        tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
        header = handle.metadata()
    expected = header.get("sha256")  # files of earlier versions have none
    if expected is not None and expected != checksum(tensors, header["info"]):
        raise DataError(
            f"{Path(path).name} is damaged: its checksum does not fit what is in it; copy it again "
            "or train anew."
        )
    return tensors, info


def checksum(tensors: Mapping[str, Tensor], info: str) -> str:
    """SHA-256 over the text of a header, and the name, type, shape and bytes of each tensor.

    Examples
    --------
    >>> checksum({"bias": torch.zeros(2)}, "{}")[:8]
    'c7d8d5ab'
    """
    found = hashlib.sha256(info.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        found.update(f"\n{name} {value.dtype} {tuple(value.shape)} ".encode())
        found.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def read_info(path: str | Path) -> dict[str, Any]:
    """Read the header alone, which is quick however large the model is; raises as `read`."""
    with _opened(Path(path)) as (_, info):
        return info


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The open file and its header; what goes wrong while it is read is one sentence."""
    if not path.is_file():
        raise DataError(f"There is no checkpoint {path}; train one with python -m pgt train.")
    try:
        with safe_open(path, framework="pt") as handle:
            header = handle.metadata() or {}
            if header.get("format") != FORMAT:
                raise DataError(f"{path.name} is a safetensors file, but no checkpoint of pgt.")
            info = json.loads(header["info"])
            if not (isinstance(info, dict) and isinstance(info.get("notes", {}), dict)):
                raise ValueError("its header is no table of names")
            yield handle, info
    except DataError:
        raise
    except (SafetensorError, LookupError, ValueError, RecursionError, OSError) as error:
        reason = " ".join(str(error).splitlines()[:1]) or type(error).__name__
        raise DataError(
            f"{path.name} is cut short or damaged ({reason}); copy it again or train anew."
        ) from error


def save_model(
    path: str | Path,
    model: HasWeights,
    vocabulary: Vocabulary,
    notes: dict[str, Any] | None = None,
    windows: WindowConfig | None = None,
) -> None:
    """Save a trained model for `load_model` or `load_contextual`, with notes of your own.

    Parameters
    ----------
    path : path
        Of a ``.safetensors`` file, which is replaced as a whole.
    model : HasWeights
        A PGT or a contextual pointer.
    vocabulary : Vocabulary
        That of the windows which the model was trained on.
    notes : dict, optional
        Goes into the file's header as JSON.
    windows : WindowConfig, optional
        ``data.config`` of the training data; `load_windows_config` reads it, so that predictions
        use the same windows.

    Examples
    --------
    >>> import pgt, tempfile
    >>> model, vocabulary = load_model(shipped("city"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/mine.safetensors", model, vocabulary, {"trained on": "Larkmere"})
    ...     read(f"{folder}/mine.safetensors")[1]["notes"]
    {'trained on': 'Larkmere'}
    """
    info = {
        "model": model.config.to_dict(),
        "vocabulary": json.loads(vocabulary.to_json()),
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
    >>> data = pgt.prepare(pgt.city.load().visits, vocabulary=vocabulary)
    >>> ranks = pgt.evaluate(model, data.test)
    >>> f"{pgt.summarize(ranks, ['all'])['acc@1'].item():.0f} %"
    '41 %'
    """
    config, vocabulary, tensors = read_parts(path, ModelConfig)
    name = Path(path).name
    _require_sizes(config, vocabulary, tensors, name)
    return built(lambda: PointerGeneratorTransformer(config), tensors, name), vocabulary


def _require_sizes(
    config: ModelConfig, vocabulary: Vocabulary, tensors: dict[str, Tensor], name: str
) -> None:
    """Compare what a header claims with what the file holds, before memory is asked for."""
    for field in ("n_locations", "n_users"):
        if (claimed := getattr(config, field)) != (there := getattr(vocabulary, field)):
            raise DataError(
                f"{name} is damaged: its configuration has {field} {claimed}, its vocabulary "
                f"{there}; copy it again or train anew."
            )
    most = sum(tensor.numel() for tensor in tensors.values())
    limits = {"d_model": most, "d_feedforward": most, "n_layers": len(tensors), "max_len": 10**6}
    for field, limit in limits.items():
        if getattr(config, field) > limit:
            raise DataError(
                f"{name} is damaged: {field} is {getattr(config, field)} in its header, more than "
                "its weights have room for; copy it again or train anew."
            )


def load_windows_config(path: str | Path) -> WindowConfig:
    """On which windows a checkpoint's model was trained.

    A file that does not hold it has the days, the fewest visits and the protocol of its notes;
    where they are silent too, the default values, and the protocol that its vocabulary shows. Its
    windows go back from the target's day, as all did then.

    Examples
    --------
    >>> load_windows_config(shipped("city")).days
    7
    """
    info = read_info(path)
    try:
        if "windows" in info:
            return WindowConfig.from_dict(info["windows"])
        vocabulary = Vocabulary.from_json(json.dumps(info["vocabulary"]))
        all_known = vocabulary.n_known == len(vocabulary.locations)
        notes = info.get("notes", {})
        noted = {name: notes[name] for name in ("days", "min_visits", "protocol") if name in notes}
        protocol = "published" if all_known else "exact"
        return WindowConfig(**{"protocol": protocol, "anchor": "target_day"} | noted)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"The header of {Path(path).name} does not fit this version of pgt ({error})."
        ) from error


def read_parts(
    path: str | Path, kind: type[Config]
) -> tuple[Config, Vocabulary, dict[str, Tensor]]:
    """A checkpoint's configuration, vocabulary, and final or best weights."""
    tensors, info = read(path)
    name = Path(path).name
    try:
        # Only a contextual pointer has features: the header needs no word for what it is.
        contextual = "features" in kind.__dataclass_fields__
        if ("features" in info["model"]) != contextual:
            other = "load_model" if contextual else "load_contextual"
            raise DataError(f"{name} holds a model of another kind; open it with {other}.")
        config = kind.from_dict(info["model"])
        vocabulary = Vocabulary.from_json(json.dumps(info["vocabulary"]))
    except DataError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"The header of {name} does not fit this version of pgt ({error})."
        ) from error
    best = {key[5:]: value for key, value in tensors.items() if key.startswith("best.")}
    return cast(Config, config), vocabulary, best or tensors


def shipped(name: str = "city") -> Path:
    """Where the trained model that comes with the package lies.

    In the repository that is ``data/checkpoints``, in an installed wheel the package itself. Only
    models trained on the simulated city are shipped.
    """
    path = folder("checkpoints") / f"{name}.safetensors"
    if path.is_file():
        return path
    raise DataError(f"No model '{name}' is shipped with pgt; there is 'city'.")


def built(make: Callable[[], Model], tensors: dict[str, Tensor], name: str) -> Model:
    """Make a model for these tensors, in evaluation mode, once it is known that they fit."""
    with torch.device("meta"):  # shapes without memory: a header can claim any size
        skeleton = make()
    require_shapes(skeleton.state_dict(), tensors, name)
    model = make()
    load_weights(model, tensors, name)
    return model.eval()


def load_weights(model: nn.Module, tensors: dict[str, Tensor], name: str) -> None:
    """Put tensors into a model of the very same shapes, or say which one does not fit."""
    require_shapes(model.state_dict(), tensors, name)
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise DataError(
                f"{name} holds weights that are no numbers ('{key}'); copy it again or train anew."
            )
    model.load_state_dict(tensors)


def require_shapes(own: dict[str, Any], tensors: dict[str, Tensor], name: str) -> None:
    """Refuse tensors of other names or shapes than a model's own."""
    for key in sorted(own.keys() | tensors.keys()):
        if key not in tensors:
            raise DataError(f"{name} lacks the weights '{key}'; it is of another configuration.")
        if key not in own:
            raise DataError(f"{name} has weights '{key}' that this model does not have.")
        if own[key].shape != tensors[key].shape:
            raise DataError(
                f"'{key}' is {tuple(tensors[key].shape)} in {name} but {tuple(own[key].shape)} in "
                "this model; it belongs to another vocabulary or configuration."
            )
