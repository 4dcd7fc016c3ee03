"""What a chapter invites its reader to change can be changed: everything below still runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import colab
import nbformat
import pytest
from nbclient import NotebookClient

from ..helpers import ROOT

PARAM = re.compile(r"^(?P<name>\w+) = (?P<value>.+?)  # @param (?P<form>.+)$", re.M)
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
# Chapters that train for minutes with another value; here for an epoch, then all goes on from it.
TRAIN = ("10_", "11_", "19_", "21_", "22_")
ONE_EPOCH = """
from dataclasses import replace
from pgt import train
_fit = train.fit
def fit(model, learn, valid, config, **how):
    if config.max_epochs > 5:  # a few epochs are there to be interrupted
        config = replace(config, max_epochs=1, warmup_epochs=1)
    return _fit(model, learn, valid, config, **how)
train.fit = fit
"""


def another(value: Any, form: str) -> Any:
    """Another value than the one that stands there, as far from it as the form allows."""
    if form.startswith("["):
        return next(one for one in ast.literal_eval(form[: form.index("]") + 1]) if one != value)
    if ends := re.search(r"min:(-?[\d.]+), max:(-?[\d.]+)", form):
        low, high = (type(value)(float(end)) for end in ends.groups())
        return high if abs(high - value) > abs(value - low) else low
    if isinstance(value, bool):
        return not value
    return value // 4 if isinstance(value, int) else value or ""  # a smaller one costs less


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_with_another_value(chapter: Path, tmp_path: Path) -> None:
    notebook = colab.read(chapter)
    end = next((i for i, cell in enumerate(notebook.cells) if "## Exercises" in cell.source), None)
    cells, changed = notebook.cells[:end], 0
    for cell in cells:
        if cell.cell_type == "code":
            cell.source, n = PARAM.subn(
                lambda m: f"{m['name']} = {another(ast.literal_eval(m['value']), m['form'])!r}",
                cell.source,
            )
            changed += n
    assert changed, "There is nothing to change."
    if chapter.stem.startswith(TRAIN):
        cells.insert(0, nbformat.v4.new_code_cell(ONE_EPOCH))
    short = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
    NotebookClient(short, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
