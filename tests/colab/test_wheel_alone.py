"""Every chapter runs as on Colab: from the wheel, alone in an empty folder, the repository away.

The one execution of each chapter, whose outputs are in the book, happens in such a place (see
book/_ext/colab.py and execute.py) and leaves a report, which is read here. So these tests need
`make chapters` first, and cost nothing.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import colab as colab_place
import execute
import pytest

from ..helpers import ROOT, give_up

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
EVERY_CHAPTER = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def reports() -> dict[str, colab_place.Report]:
    """How each chapter ran, where nothing has changed since."""
    return execute.reports() if execute.is_fresh() else {}


@pytest.fixture
def report(chapter: Path, reports: dict[str, colab_place.Report]) -> colab_place.Report:
    """How one chapter ran."""
    if chapter.stem not in reports:
        give_up(f"{chapter.name} has not run since something changed: run `make chapters`.")
    return reports[chapter.stem]


def test_every_chapter_begins_with_the_same_cell_but_for_its_extra() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = offered["optional-dependencies"]
    common = set()
    for path in CHAPTERS:
        first = next(cell for cell in colab_place.read(path).cells if cell.cell_type == "code")
        source = re.sub(r'"\s*\n\s*"', "", first.source)
        wanted = re.findall(r"^    import (?!pgt\b)(\w+)", source, re.M)
        (named,) = re.findall(r"'pgt\[(\w+)\] @ ", source) or [""]
        # The extra brings what is imported, and it is here as on Colab.
        brought = {re.split(r"[<>=]", one)[0].replace("-", "_") for one in extras.get(named, [])}
        assert bool(named) == bool(wanted) and set(wanted) == brought, path.name
        assert all(importlib.util.find_spec(name) for name in wanted), path.name
        plain = re.sub(r"^    import (?!pgt\b).*\n", "", source, flags=re.M)
        common.add(ast.dump(ast.parse(re.sub(r"'pgt\[\w+\] @ (\S+)'", r"\1", plain))))
    assert len(common) == 1


@pytest.mark.built
@EVERY_CHAPTER
def test_a_chapter_runs_from_the_wheel_alone_and_its_exercises_wait(
    chapter: Path, report: colab_place.Report
) -> None:
    assert report.package == "wheel", f"pgt comes from {report.package}."
    assert report.torch == "libraries", f"torch comes from {report.torch}."
    assert not report.repository, "The repository is on the path."
    assert not report.left, f"Files are left behind: {report.left}"
    assert not report.loud, "Cells that write to stderr:\n" + "\n".join(report.loud)

    for cell in execute.executed(colab_place.read(chapter)).cells:
        waits = "Not yet: " in str(cell.get("outputs", ""))
        if "try" in cell.metadata.get("tags", []):
            assert waits, f"A cell to try an exercise in does not say so:\n{cell.source}"
        assert not waits or "try" in cell.metadata.tags, f"An answer is missing:\n{cell.source}"


# What Sphinx would make something of, and Colab shows as it is.
ONLY_FOR_THE_BOOK = {
    "a role": r"\{[\w:.-]+\}`",
    "a directive": r"^\s*(`{3,}|~{3,}|:{3,})\s*\{",
    "a target": r"^\([\w:-]+\)=\s*$",
    "a substitution": r"\{\{.*\}\}",
    "a comment": r"^%\s",
    "a link to an anchor": r"\]\(#",
    "a link to a page that is no notebook": r"\]\((?!https?://|(?:\d\d|evidence)_\w+\.ipynb[)#])[^)\s]+\)",
}


@EVERY_CHAPTER
def test_the_text_reads_well_in_colab(chapter: Path) -> None:
    for cell in colab_place.read(chapter).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$|(`+)[^`{].*?\1", "", cell.source, flags=re.S)
            found = [
                what for what, sign in ONLY_FOR_THE_BOOK.items() if re.search(sign, prose, re.M)
            ]
            assert found == [], cell.source
