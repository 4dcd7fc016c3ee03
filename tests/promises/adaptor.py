"""A chapter as it ran."""

from __future__ import annotations

from typing import Any

import execute
from colab import read

from ..helpers import ROOT


def executed(name: str) -> Any:
    """A chapter with its outputs, or None if it has not run since it or the package changed."""
    notebook = read(ROOT / "book" / f"{name}.ipynb")
    there = execute.is_fresh() and execute.record(notebook) is not None
    return execute.executed(notebook) if there else None
