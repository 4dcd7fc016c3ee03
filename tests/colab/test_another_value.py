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
CHAPTERS = [
    path
    for path in sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
    if "# @param" in path.read_text(encoding="utf-8")
]


def another(value: Any, form: str) -> Any:
    """Another value than the one that stands there, as far from it as the form allows."""
    if form.startswith("["):
        return next(one for one in ast.literal_eval(form[: form.index("]") + 1]) if one != value)
    if ends := re.search(r"min:(-?[\d.]+), max:(-?[\d.]+)", form):
        low, high = (type(value)(float(end)) for end in ends.groups())
        return high if abs(high - value) > abs(value - low) else low
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value or ""


@pytest.mark.parametrize(
    ("value", "form", "other"),
    [(2, "[1, 2, 4] {type:\"raw\"}", 1), (0.5, '{type:"slider", min:0, max:0.6, step:0.1}', 0.0),
     (7, '{type:"slider", min:1, max:28, step:1}', 28), (True, '{type:"boolean"}', False),
     (42, '{type:"integer"}', 43)],
)  # fmt: skip
def test_another_value_is_another(value: Any, form: str, other: Any) -> None:
    assert another(value, form) == other


def test_every_chapter_has_something_to_change() -> None:
    assert len(CHAPTERS) == len([*(ROOT / "book").glob("[0-9][0-9]_*.ipynb")])


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_with_another_value(chapter: Path, tmp_path: Path) -> None:
    notebook = colab.read(chapter)
    end = next((i for i, cell in enumerate(notebook.cells) if "## Exercises" in cell.source), None)
    changed = 0
    for cell in notebook.cells[:end]:
        if cell.cell_type == "code" and PARAM.search(cell.source):
            cell.source = PARAM.sub(
                lambda m: f"{m['name']} = {another(ast.literal_eval(m['value']), m['form'])!r}",
                cell.source,
            )
            changed += 1
    assert changed
    short = nbformat.v4.new_notebook(cells=notebook.cells[:end], metadata=notebook.metadata)
    NotebookClient(short, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
