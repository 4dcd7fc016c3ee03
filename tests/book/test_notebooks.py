"""The notebooks are what their scripts render to, and follow the conventions of the book."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import answers
import folium
import jupytext
import nbformat
import notebooks
import portable
import pytest
from jupytext.magics import is_magic
from placeholders import PLACEHOLDER
from wherenext.exercises import ANSWERS, answer_to

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))


def test_every_notebook_is_what_its_script_renders_to() -> None:
    assert notebooks.outdated() == [], "Edit the .py and run `make notebooks`."


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("*.py")), ids=lambda path: path.stem)
def test_no_number_of_a_sentence_stays_in_braces(path: Path) -> None:
    """Only names are filled in: a call, a minus sign or a sum would stand on the page as code."""
    prose = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "markdown"]
    assert not re.findall(r"\{\{[^{}]*\}\}", PLACEHOLDER.sub("", "\n".join(prose)))


def test_a_map_that_is_drawn_again_is_stored_alike() -> None:
    kept = []
    for town in [folium.Map([48.2, 16.4]) for _ in range(2)]:
        data = {"text/plain": repr(town), "text/html": town._repr_html_()}
        kept.append(notebooks.stored([nbformat.v4.new_output("display_data", data)]))
    assert kept[0] == kept[1]


def test_a_live_page_too_large_for_a_notebook_is_stored_as_its_picture() -> None:
    for name, there in {"pgt-live-full": True, "pgt-live-none": False}.items():
        page = f'<figure id="{name}">{" " * notebooks.LARGEST_NOTEBOOK}</figure>'
        output = nbformat.v4.new_output("display_data", {"text/plain": "-", "text/html": page})
        if there:
            picture, said = notebooks.stored([output])
            assert set(picture.data) == {"image/png", "text/plain"} and "run the cell" in str(said)
        else:
            with pytest.raises(ValueError, match="make pictures"):
                notebooks.stored([output])


def test_a_notebook_keeps_only_the_numbers_that_its_text_asks_for() -> None:
    script = "# %% [markdown]\n# One {{ a:.1f }}.\n"
    kept = json.loads(notebooks.render(script, {"a:.1f": "2.0", "gone:": "3"}))
    assert kept["metadata"]["numbers"] == {"a:.1f": "2.0"}
    assert "".join(kept["cells"][0]["source"]) == "One 2.0."


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
            shown = (re.findall(r"Show solution (\d+)", part) for part in folded)
            solutions += [n for numbers in shown for n in numbers[:1]]
        elif "solution" in cell["metadata"].get("tags", []):
            tags = cell["metadata"]["tags"]
            prompts = cell["metadata"].get("mystnb", {})
            folded_well = "hide-cell" in tags and "code_prompt_show" in prompts
            assert folded_well, f"A solution in {script.name} is not folded: {text[:60]}"
            solutions += re.findall(r"\A# @title Solution (\d+)", text)
    assert sorted(set(solutions)) == sorted(set(exercises)), (
        f"{script.name} has the exercises {exercises} but solutions to {solutions}."
    )


@pytest.mark.parametrize("script", notebooks.chapters(), ids=lambda path: path.stem)
def test_no_line_of_prose_is_taken_for_a_comment(script: Path) -> None:
    """MyST leaves out a line that begins with a per cent sign."""
    cells = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert not re.search(r"^\s*%", "\n".join(prose), re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_book_runs_the_code_that_the_chapter_has(script: Path) -> None:
    """Else it would not find the executed chapter either, and show another one's outputs."""
    app = SimpleNamespace(
        srcdir=ROOT,
        config=SimpleNamespace(bibtex_bibfiles=["book/references.bib"]),
        env=SimpleNamespace(doc2path=lambda docname: ROOT / f"{docname}.ipynb"),
    )
    text = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    source = [text]
    portable.enrich_source(app, f"book/{script.stem}", source)
    before, read = (json.loads(one)["cells"] for one in (text, source[0]))
    assert len(before) == len(read)
    for old, new in zip(before, read, strict=True):
        assert old["cell_type"] != "code" or "".join(old["source"]) == "".join(new["source"])


@pytest.mark.parametrize("number", ANSWERS)
def test_no_slip_is_right_by_the_tolerance_of_its_fields(number: str) -> None:
    form = answers.form(answer_to(number))
    for slip in form["slips"] if form else []:
        fields = zip(form["fields"], slip["answer"], form["right"], strict=True)
        assert any(
            one != true if "choices" in field else abs(one - true) > field["within"] * 1.001
            for field, one, true in fields
        ), slip["why"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_no_comment_becomes_a_command(path: Path) -> None:
    """jupytext takes a comment such as ``# ls the places`` for a command of the notebook's."""
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "code":
            commands = [line for line in cell.source.splitlines() if line.startswith(("%", "!"))]
            assert commands == []
    lines = path.read_text(encoding="utf-8").splitlines()
    code, inside = [], False
    for line in lines:
        inside = ("[markdown]" not in line) if line.startswith("# %%") else inside
        code += [line] if inside and not line.startswith("# %%") else []
    assert [line for line in code if line.startswith("#") and is_magic(line, "python", True)] == []
