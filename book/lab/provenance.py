"""Where a figure comes from: a fingerprint of its data, and marks of its code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import wherenext

import pgt
from lab.bindings import read_sources
from lab.marks import Tree
from pgt.history import with_history
from pgt.windows import Dataset, Windows

LAB = Path(__file__).resolve().parent
PACKAGE = Path(pgt.__file__).resolve().parent
STAGE = Path(wherenext.__file__).resolve().parent

# Where a mark stops. Windows, with and without a memory, carry a fingerprint of all that a model
# sees of them, so code that makes the same windows in another way is no change. A model that a
# report takes from `lab.models` has a mark of its own. The rest keeps and tells
# results.
STOPS = frozenset(
    {
        "wherenext.city:load",
        "wherenext.city.simulation:load",
        "pgt.windows:prepare",
        "pgt.windows:build",
        "pgt.history:with_history",
        "lab.data_sets:DATA",
        "lab.data_sets:dataset",
        "lab.data_sets:data_fingerprint",
        "lab.models:windows_of",
        "lab.models:trained",
        "lab.models:untrained",
        "lab.runs:kept",
        "lab.runs:code_of",
        "pgt.checkpoint",
        "pgt.files",
        "wherenext.results",
        "lab.reports",
        "lab.executing",
        "lab.experiments",
        "lab.provenance",
    }
)

REFUSALS = "pgt.refusals"  # what only refuses, see `lab.marks`
MEMORY = 100  # visits, and summaries of older places, of the windows with a memory
SAMPLE = 2000  # windows of a split that are looked at with their memory
CHUNK = 1024  # windows that are looked at together


def fingerprint(data: Dataset) -> str:
    """A short hash of what a model sees of every window, and of a sample with a memory.

    Examples
    --------
    >>> import wherenext.city, pgt.windows
    >>> len(fingerprint(pgt.windows.prepare(wherenext.city.load().visits)))
    12
    """
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


@cache
def code_mark(starts: tuple[str, ...]) -> str:
    """A short hash of what definitions do, and of all that they use (see `lab.marks`).

    Examples
    --------
    >>> len(code_mark(("pgt.metrics:evaluate",)))
    12
    """
    return tree().mark(starts, STOPS)


@cache
def tree() -> Tree:
    """The package and the laboratory as they are."""
    return Tree(read_sources(PACKAGE, STAGE, LAB), REFUSALS)
