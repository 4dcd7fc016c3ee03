"""What a chapter invites its reader to change can be changed: everything below still runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import colab
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot as plt
from traitlets.config import Config

from pgt.train import fit

from ..helpers import ROOT

PARAM = re.compile(r"^(?P<name>\w+) = (?P<value>.+?)  # @param (?P<form>.+)$", re.M)
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
# Chapters that train for minutes with another value; here for an epoch, then all goes on from it.
TRAIN = ("10_", "11_", "19_", "21_", "22_")


def one_epoch(model: Any, learn: Any, valid: Any, config: Any, **how: Any) -> Any:
    """`pgt.fit`, cut short; a few epochs are there to be interrupted."""
    few = replace(config, max_epochs=1, warmup_epochs=1) if config.max_epochs > 5 else config
    return fit(model, learn, valid, few, **how)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """IPython in this process and an empty folder: a kernel would import torch once a chapter."""
    monkeypatch.chdir(tmp_path)
    yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    InteractiveShell.clear_instance()
    plt.close("all")


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
def test_a_chapter_runs_with_another_value(
    chapter: Path, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = colab.read(chapter).cells
    end = next((i for i, cell in enumerate(cells) if "## Exercises" in cell.source), None)
    if chapter.stem.startswith(TRAIN):
        monkeypatch.setattr("pgt.train.fit", one_epoch)
    changed = 0
    for source in (cell.source for cell in cells[:end] if cell.cell_type == "code"):
        source, n = PARAM.subn(
            lambda m: f"{m['name']} = {another(ast.literal_eval(m['value']), m['form'])!r}", source
        )
        changed += n
        shell.run_cell(source).raise_error()
    assert changed, "There is nothing to change."
