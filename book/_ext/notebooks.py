"""Render each chapter's notebook from its script; jupytext alone gives other cell ids each time.

``book/NN_name.py`` is what people edit; ``book/NN_name.ipynb`` is what Colab, pytest and Jupyter
Book read. The rendering is a pure function of the script: the same script gives the same bytes on
every machine, so a test can compare them.

    python book/_ext/notebooks.py           # write the notebooks
    python book/_ext/notebooks.py --check   # only say which ones are out of date
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

import jupytext
import nbformat
from toc import ROOT

BOOK = ROOT / "book"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# What a cell may carry: tags and prompts for the book, the form view for Colab.
CELL_METADATA = {"cellView", "mystnb", "tags"}
# jupytext's own notes on blank lines.
SPACING = {"lines_to_next_cell", "lines_to_end_of_cell_marker"}


def render(script: str) -> str:
    """Return the notebook (JSON text) of a chapter's script.

    Parameters
    ----------
    script
        Text of a percent-format script: ``# %%`` starts a code cell, ``# %% [markdown]`` a
        Markdown cell, and ``# %% tags=["hide-cell"]`` gives a cell its metadata.

    Returns
    -------
    str
        Notebook of format 4.5, without outputs, ending in a line feed.

    Raises
    ------
    ValueError
        When a cell carries metadata that neither the book nor Colab reads.

    Examples
    --------
    >>> '"1 + 1"' in render("# %%\\n1 + 1\\n")
    True
    """
    notebook = jupytext.reads(script, fmt="py:percent")
    notebook.metadata = KERNEL
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {key: value for key, value in cell.metadata.items() if key not in SPACING}
        if unknown := set(cell.metadata) - CELL_METADATA:
            raise ValueError(
                f"Cell {number} has the metadata {', '.join(sorted(unknown))}; "
                f"use only {', '.join(sorted(CELL_METADATA))}."
            )
        cell.id = f"{number:03d}-{hashlib.sha256(cell.source.encode()).hexdigest()[:8]}"
    return str(nbformat.writes(notebook)) + "\n"


def chapters(book: Path = BOOK) -> list[Path]:
    """Return the chapters' scripts in reading order."""
    return sorted(book.glob("[0-9][0-9]_*.py"))


def outdated(book: Path = BOOK) -> list[str]:
    """Return one sentence for each notebook that is not what its script renders to."""
    found = []
    for script in chapters(book):
        notebook = script.with_suffix(".ipynb")
        expected = render(script.read_text(encoding="utf-8")).encode()
        if not notebook.exists():
            found.append(f"{notebook.name} is missing.")
        elif notebook.read_bytes() != expected:
            found.append(f"{notebook.name} differs from what {script.name} renders to.")
    for notebook in sorted(book.glob("*.ipynb")):
        if not notebook.with_suffix(".py").exists():
            found.append(f"{notebook.name} has no script beside it.")
    return found


def main() -> int:
    """Write the notebooks, or check them; return the exit status."""
    parser = argparse.ArgumentParser(description="Render the notebooks from their scripts.")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    if not parser.parse_args().check:
        for script in chapters():
            rendered = render(script.read_text(encoding="utf-8")).encode()
            notebook = script.with_suffix(".ipynb")
            if not notebook.exists() or notebook.read_bytes() != rendered:
                notebook.write_bytes(rendered)
                print(f"wrote {notebook.relative_to(ROOT)}")
    problems = outdated()
    for problem in problems:
        print(f"{problem} Run `make notebooks`, and edit the .py, not the .ipynb.", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
