"""Where a figure comes from: a fingerprint of its data, a commit, hashes of its files of code."""

from __future__ import annotations

import hashlib
import platform
import subprocess
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
from pgt.errors import DataError
from pgt.graphs import pick_device
from pgt.predictor.memory import with_history
from pgt.windows import Dataset, Windows

# Where our packages lie; a file is called by its module, as in pgt/model.py.
ROOTS = {
    "pgt": Path(pgt.__file__).resolve().parent,
    "wherenext": Path(wherenext.__file__).resolve().parent,
    "lab": Path(__file__).resolve().parent,
}
MEASURED_BY = ("pgt", "book/lab", "book/wherenext", "data")  # what a measurement depends on
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


def commit(clone: Path = ROOTS["pgt"].parent) -> str:
    """The commit that is checked out, for a header; refused if what measures is not of it."""
    remedy = "a result could not name the code that made it"
    try:
        changed = _git(clone, "status", "--porcelain", "--", *MEASURED_BY)
        found = _git(clone, "rev-parse", "HEAD").strip()
    except (OSError, subprocess.CalledProcessError):
        raise DataError(f"Without git and a clone {remedy}; measure in a clone.") from None
    if changed:
        name = changed.splitlines()[0][3:]
        raise DataError(f"{name} is not committed, so {remedy}; commit it, and measure then.")
    return found


def _git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(clone), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


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
    return short_hash(repr(sorted((name, hash_of(path)) for name, path in _named(paths))).encode())


def hash_of(path: Path) -> str:
    """A short hash of a file."""
    return short_hash(path.read_bytes())


def _named(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for path in paths:
        for package, root in ROOTS.items():
            if path.is_relative_to(root):
                yield f"{package}/{path.relative_to(root).as_posix()}", path


def short_hash(content: bytes) -> str:
    """The first twelve digits of SHA-256."""
    return hashlib.sha256(content).hexdigest()[:12]
