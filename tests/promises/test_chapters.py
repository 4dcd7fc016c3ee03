"""The tables that the chapters print are those of the tape, but for what was changed on purpose."""

from __future__ import annotations

import nbformat.v4 as nb
import pytest

from ..helpers import give_up
from . import acts, adaptor
from .chapters import missing, tables

# Tables that were changed on purpose: chapter, how the taped table begins, and why.
CHANGED: dict[tuple[str, str], str] = {}


@pytest.mark.built
@pytest.mark.parametrize("name", acts.tape("chapters"))
def test_a_chapter_prints_the_tables_of_the_tape(name: str) -> None:
    notebook = adaptor.executed(name)
    if notebook is None:
        give_up(f"{name} has not been executed as it is now: run `make chapters`.")
    meant = tuple(begin for chapter, begin in CHANGED if chapter == name)
    taped = [table for table in acts.tape("chapters")[name] if not table.startswith(meant or "\0")]
    gone = list(missing(taped, tables(notebook)))
    assert not gone, f"{len(gone)} of {len(taped)} tables:\n\n" + "\n\n".join(gone)


def test_what_is_changed_is_on_the_tape() -> None:
    for (name, begin), why in CHANGED.items():
        assert why and any(table.startswith(begin) for table in acts.tape("chapters")[name]), begin


def test_what_is_a_table() -> None:
    html = (
        "<table><tr><th>a</th><th>seconds</th></tr><tr><td>1 <b>x</b></td><td>9</td></tr></table>"
    )
    outputs = [
        nb.new_output("stream", name="stdout", text="  2  people\ntook 3 s\n"),
        nb.new_output("stream", name="stdout", text="no number\n"),
        nb.new_output("display_data", {"text/markdown": "In 5 words.\n\n|a|b|\n|-|-|\n|1|2|\n"}),
        nb.new_output("display_data", {"text/html": html, "text/plain": "7"}),
        nb.new_output("display_data", {"text/html": f"<figure>{html}</figure>"}),
    ]
    cells = [nb.new_markdown_cell("8"), nb.new_code_cell(outputs=outputs)]
    found = tables(nb.new_notebook(cells=cells))
    assert found == ["|a|b|\n|1|2|", "a\n1 x", "2 people\nno number"]
    assert list(missing(found, found[::-1])) == []
    (gone,) = missing(found, found[1:])
    assert "-|1|2|" in gone
    (other,) = missing(found, [*found[:2], "3 people\nno number"])
    assert "-2 people\n+3 people" in other
