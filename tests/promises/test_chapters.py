"""The tables that the chapters print are those of the tape, but for what was changed on purpose."""

from __future__ import annotations

import nbformat.v4 as nb
import pytest

from ..helpers import give_up
from . import acts, adaptor
from .chapters import missing, tables

# Tables that were changed on purpose: chapter, how the taped table begins, and why.
CHANGED: dict[tuple[str, str], str] = {
    ("11_gate", "| person | gate | true"): "fewer columns, in plainer words",
    ("11_gate", "| % of the gate's variance"): "fewer columns, in plainer words",
    ("11_gate", "| happened, % of windows"): "fewer columns, in plainer words",
    ("11_gate", "| | Brier |"): "on the evidence page now",
    ("11_gate", "| | shift"): "on the evidence page now",
    ("11_gate", "| target in the window | return"): "on the evidence page now",
    ("11_gate", "| share of the variance"): "on the evidence page now",
    ("11_gate", "| town | GeoLife"): "on the evidence page now",
    ("11_gate", "| AUC for being right"): "left the chapter",
    ("11_gate", "| Acc@1, % | loss, nats | skill"): "one measure of skill",
    ("11_gate", "| town: returned"): "on the evidence page now",
    ("11_gate", "Right: pairs in 3 cases."): "the solution prints more",
    ("11_gate", "| reliability | resolution"): "left the chapter",
    ("11_gate", "weights: regression"): "one measure of skill",
    ("12_position_bias", "|\nsteps until"): "fewer columns, in plainer words",
    ("12_position_bias", "| position 1 | position 2"): "left the chapter",
    ("12_position_bias", "| | bias | content | sum | ±"): "fewer columns, in plainer words",
    ("12_position_bias", "| slope | Acc@1"): "fewer columns, in plainer words",
    ("12_position_bias", "| | models | bias"): "fewer columns, in plainer words",
    ("12_position_bias", "| Acc@1, % | Acc@1, %, difference"): "left the chapter",
    ("12_position_bias", "3 seeds; differences"): "left the chapter",
    ("12_position_bias", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\none half"): "without the curves",
    ("12_position_bias", "excludes zero"): "left the chapter",
    ("12_position_bias", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\nbias"): "left the chapter",
    ("13_attention_on_maps", "373,108 parameters"): "left the chapter",
    ("13_attention_on_maps", "| all visits | without"): "fewer columns, in plainer words",
    ("13_attention_on_maps", "| naive | naive, if"): "left the chapter",
    ("13_attention_on_maps", "| arithmetic | question"): "left the chapter",
    ("13_attention_on_maps", "mean 0.72"): "as a table",
    ("13_attention_on_maps", "too sure about"): "prints more",
}


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
