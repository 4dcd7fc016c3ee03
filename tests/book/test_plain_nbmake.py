"""`pytest --nbmake book` gives its kernels one thread and its cells the time of the book."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from ..helpers import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

import colab


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book with the configuration of the real one and a chapter that shows its surroundings."""
    (tmp_path / "_ext").symlink_to(ROOT / "book" / "_ext")
    shutil.copy(ROOT / "book" / "conftest.py", tmp_path)
    cells = [nbformat.v4.new_code_cell(f"import os; os.environ[{colab.THREADS!r}]")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "01_one.ipynb")
    return tmp_path


def run(book: Path, *options: str, threads: str | None = None) -> str:
    """What the chapter shows after such a command."""
    others = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    others.pop(colab.THREADS, None)
    command = [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", *options, "."]
    done = subprocess.run(
        command, cwd=book, capture_output=True, text=True, check=False,
        env=others if threads is None else {**others, colab.THREADS: threads},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    shown = colab.read(book / "01_one.ipynb").cells[0].outputs[0].data["text/plain"]
    return str(shown).strip("'")


@pytest.mark.slow
def test_a_kernel_has_one_thread_unless_the_reader_wants_more(book: Path) -> None:
    assert run(book) == "1"
    assert run(book, "-n", "2") == "1"
    assert run(book, "-n", "2", threads="3") == "3"
