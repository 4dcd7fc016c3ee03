"""Where a figure comes from: a fingerprint of its data, and hashes of its files of code."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import wherenext

import pgt
from pgt.graphs import pick_device
from pgt.predictor.memory import with_history
from pgt.windows import Dataset, Windows

# Where our packages lie; a file is called by its module, as in pgt/model.py.
ROOTS = {
    "pgt": Path(pgt.__file__).resolve().parent,
    "wherenext": Path(wherenext.__file__).resolve().parent,
    "lab": Path(__file__).resolve().parent,
}
MEMORY = 100  # visits, and summaries of older places, of the windows with a memory
SAMPLE = 2000  # windows of a split that are looked at with their memory
CHUNK = 1024  # windows that are looked at together


def fingerprint(data: Dataset) -> str:
    """A short hash of what a model sees of every window, and of a sample with a memory."""
    digest = hashlib.sha256()
    for part in (data.train, data.valid, data.test):
        for array in _seen(part, np.arange(len(part))):
            digest.update(array)
    past = with_history(data, MEMORY, MEMORY)
    for part in (past.train, past.valid, past.test):
        for array in _seen(part, np.unique(np.linspace(0, len(part) - 1, SAMPLE).astype(int))):
            digest.update(array)
    return digest.hexdigest()[:12]


def _seen(windows: Windows, index: np.ndarray) -> Iterator[bytes]:
    for at in range(0, len(index), CHUNK):
        batch = windows.batch(index[at : at + CHUNK])
        for name in sorted(field.name for field in fields(batch)):
            yield np.ascontiguousarray(getattr(batch, name).numpy()).tobytes()
    yield windows.in_window[index].tobytes()


def environment() -> dict[str, Any]:
    """Versions and device, for a header; no host and no date, so equal runs give equal files."""
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__.split("+")[0],
        "pgt": pgt.__version__,
    }
    on_gpu = pick_device().type == "cuda"
    return {"versions": versions, "device": torch.cuda.get_device_name() if on_gpu else "cpu"}


def imported() -> dict[str, str]:
    """The files of our packages that are imported now, each with a short hash."""
    files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    paths = {Path(file).resolve() for file in files if file}
    return {name: hash_of(path) for name, path in sorted(_named(paths))}


@cache
def code_hash() -> str:
    """A short hash of all the code of the package and the laboratory; names what is kept."""
    paths = (path for root in ROOTS.values() for path in root.rglob("*.py"))
    return _short(repr(sorted((name, hash_of(path)) for name, path in _named(paths))).encode())


def hash_of(path: Path) -> str:
    """A short hash of a file."""
    return _short(path.read_bytes())


def _named(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for path in paths:
        for package, root in ROOTS.items():
            if path.is_relative_to(root):
                yield f"{package}/{path.relative_to(root).as_posix()}", path


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
