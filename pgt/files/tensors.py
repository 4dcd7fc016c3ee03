"""Tensors in a file: a safetensors file with a JSON header and a checksum over both.

There is no pickle anywhere, so opening somebody else's file runs nobody's code.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from pgt.errors import DataError
from pgt.files.atomic import whole

FORMAT = "pgt-1"
NAMED = ("notes", "model", "models", "vocabulary", "windows")  # of a header, tables of names


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
        if value.numel():  # an empty one cannot be seen as bytes
            found.update(value.reshape(-1).view(torch.uint8).numpy().data)
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
            if not (isinstance(info, dict)
                    and all(isinstance(info.get(name, {}), dict) for name in NAMED)):  # fmt: skip
                raise ValueError("its header is no table of names")
            yield handle, info
    except DataError:
        raise
    except (SafetensorError, LookupError, ValueError, RecursionError, OSError) as error:
        reason = " ".join(str(error).splitlines()[:1]) or type(error).__name__
        raise DataError(
            f"{path.name} is cut short or damaged ({reason}); copy it again or train anew."
        ) from error
