"""The notebooks are what their scripts render to, and follow the conventions of the book."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import notebooks
import offline
import portable
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))


def test_every_notebook_is_what_its_script_renders_to() -> None:
    assert notebooks.outdated() == [], "Edit the .py and run `make notebooks`."


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_exercise_has_a_folded_solution(script: Path) -> None:
    cells = json.loads(notebooks.render(script.read_text(encoding="utf-8")))["cells"]
    exercises: list[str] = []
    solutions: list[str] = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            exercises += re.findall(r"^\*\*Exercise (\d+)", text, re.M)
            folded = re.findall(r"<details class=\"solution\">(.*?)</details>", text, re.S)
            solutions += [n for part in folded for n in re.findall(r"Solution (\d+)", part)[:1]]
        elif "solution" in cell["metadata"].get("tags", []):
            tags = cell["metadata"]["tags"]
            assert "hide-cell" in tags, f"A solution in {script.name} is not folded: {text[:60]}"
            solutions += re.findall(r"\A# @title Solution (\d+)", text)
    assert sorted(set(solutions)) == sorted(set(exercises)), (
        f"{script.name} has the exercises {exercises} but solutions to {solutions}."
    )


def test_numbers_are_filled_in_and_kept_while_the_code_is_the_same(tmp_path: Path) -> None:
    script = tmp_path / "01_one.py"
    script.write_text("# %%\nx = 3 / 4\n\n# %% [markdown]\n# It is {{ x:.0% }}, not {{x}}.\n")
    assert notebooks.placeholders(script.read_text()) == [("x", ".0%"), ("x", "")]
    notebook = script.with_suffix(".ipynb")
    notebook.write_bytes(notebooks.whole(script, {"x:.0%": "75%", "x:": "0.75"}, [[]]))
    assert "It is 75%, not 0.75." in notebook.read_text()
    assert notebooks.outdated(tmp_path) == []
    script.write_text(script.read_text().replace("It is", "This is"))  # prose: nothing is executed
    kept = notebooks.committed(script)
    assert kept is not None and b"This is 75%" in notebooks.whole(script, *kept)
    script.write_text(script.read_text().replace("3 / 4", "3 / 5"))  # code: the number is unknown
    assert notebooks.committed(script) is None and notebooks.outdated(tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        '<img alt="" src="https://example.org/a.png">',
        '<script src="//example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://example.org/a.css">',
        "<style>body { background: url(https://example.org/a.png) }</style>",
        '<iframe srcdoc="&lt;img src=&quot;https://example.org/a.png&quot;&gt;"></iframe>',
    ],
)
def test_the_audit_finds_whatever_would_be_fetched(page: str) -> None:
    assert len(offline.external(page)) == 1


def read_by_sphinx(path: Path) -> dict[str, object]:
    """A notebook as the book's parser gets it."""
    app = SimpleNamespace(
        srcdir=ROOT,
        config=SimpleNamespace(bibtex_bibfiles=["book/references.bib"]),
        env=SimpleNamespace(doc2path=lambda docname: ROOT / f"{docname}.ipynb"),
    )
    source = [path.read_text(encoding="utf-8")]
    portable.enrich_source(app, f"book/{path.stem}", source)
    found: dict[str, object] = json.loads(source[0])
    return found


def cells(notebook: Any, kind: str) -> list[str]:
    """The text of all cells of a kind."""
    found = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == kind]
    return ["".join(source) for source in found]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_book_runs_the_code_that_the_chapter_has(script: Path) -> None:
    """Else it would not find the executed chapter either, and show another one's outputs."""
    path = script.with_suffix(".ipynb")
    before, read = json.loads(path.read_text(encoding="utf-8")), read_by_sphinx(path)
    assert cells(read, "code") == cells(before, "code")
    keys = portable.addresses(ROOT / "book" / "references.bib")
    assert cells(read, "markdown") == [portable.enrich(t, keys) for t in cells(before, "markdown")]
