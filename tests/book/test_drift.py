"""A chapter that builds a part and the package's part cannot drift apart.

Each chapter of Part II asserts that what it built equals the package. Here its code runs beside a
package that was changed a little, and must then fail on such an assertion.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import jupytext
import pytest

from ..helpers import ROOT, run_python

MIX = """
from pgt import model
_mix = model.log_mixture
model.log_mixture = lambda logit, *parts: _mix(logit + 1e-3, *parts)
"""
# What is changed in the package, by chapter: a little, and only in the part the chapter is about.
PACKAGE = {
    "05_embeddings": """
from pgt import model
_forward = model.Embeddings.forward
model.Embeddings.forward = lambda self, batch: _forward(self, batch) * 1.0001
""",
    "06_position_and_encoder": """
from pgt import model
_forward = model.EncoderLayer.forward
def forward(self, x, padding):
    y, weights = _forward(self, x, padding)
    return y * 1.0001, weights
model.EncoderLayer.forward = forward
""",
    "07_pointer": """
from pgt import model
_forward = model.Pointer.forward
def forward(self, context, encoded, batch):
    return (_forward(self, context, encoded, batch) * 1.0001).log_softmax(-1)
model.Pointer.forward = forward
""",
    "08_generator_and_gate": MIX,
    "09_model": MIX,
}


def code_of(chapter: str) -> str:
    """The chapter's cells before its exercises, as one script that displays nothing."""
    notebook = jupytext.read(ROOT / "book" / f"{chapter}.py")
    end = next(i for i, cell in enumerate(notebook.cells) if "## Exercises" in cell.source)
    cells = [cell.source for cell in notebook.cells[:end] if cell.cell_type == "code"]
    return "\n\n".join(cell for cell in cells if "run_line_magic" not in cell)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "chapter.py"
    script.write_text("import matplotlib\nmatplotlib.use('Agg')\n" + code, encoding="utf-8")
    return run_python(str(script), cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize("chapter", PACKAGE)
def test_a_change_of_the_package_is_noticed(chapter: str, tmp_path: Path) -> None:
    result = run(PACKAGE[chapter] + code_of(chapter), tmp_path)
    assert result.returncode != 0, f"{chapter} runs although the package was changed."
    assert "AssertionError" in result.stderr or "Tensor-likes" in result.stderr, result.stderr
