"""The tables that the chapters print are those of the tape, but for what was changed on purpose."""

from __future__ import annotations

import nbformat.v4 as nb
import pytest

from ..helpers import give_up
from . import acts, adaptor
from .chapters import missing, tables

# Tables that were changed on purpose: chapter, how the taped table begins, and why.
SAME, GONE = "the same numbers under other heads, or beside others", "told no longer"
MOVED = "stands on the page evidence_model"
CHANGED: dict[tuple[str, str], str] = {
    ("07_pointer", "% of test windows | in the window"): SAME,
    ("07_pointer", "| visits\nstory window | 11"): SAME,
    ("07_pointer", "encoded (3, 14, 64)"): GONE,
    ("07_pointer", "scores of the story window: [-0.05,"): SAME,
    ("07_pointer", "story window: [11, 10, 9"): SAME,
    ("07_pointer", "gradient at entry 0"): GONE,
    ("07_pointer", "| visits | leaks to padding"): SAME,
    ("07_pointer", "story window: 6 of 2,108"): SAME,
    ("07_pointer", "| % of test windows\nthey name"): SAME,
    ("07_pointer", "naive: -inf"): MOVED,
    ("07_pointer", "safe: -109.873"): MOVED,
    ("07_pointer", "predicted at most"): GONE,
    ("07_pointer", "| windows | share of the visits"): SAME,
    ("07_pointer", "ceiling: 70.7 %"): SAME,
    ("07_pointer", "temperature | 0.1 | 0.3"): SAME,
    ("07_pointer", "Right: the pointer at infinite"): SAME,
    ("07_pointer", "| sum | largest | mean"): GONE,
    ("08_generator_and_gate", "context (3, 64) ->"): GONE,
    ("08_generator_and_gate", "story window: z = 1.385, g = 0.800\nall"): SAME,
    ("08_generator_and_gate", "| % of windows | mean resp"): SAME,
    ("08_generator_and_gate", "untrained, target in the window"): SAME,
    ("08_generator_and_gate", "| known, in the window | known, not"): SAME,
    ("08_generator_and_gate", "| Acc@1, % | Acc@10, %"): SAME,
    ("08_generator_and_gate", "Right: the generator's gradient"): GONE,
    ("08_generator_and_gate", "| test loss, nats"): GONE,
    ("08_generator_and_gate", "the network gains"): GONE,
    ("09_model", "8 windows of [11, 17"): GONE,
    ("09_model", "| shape | letters"): SAME,
    ("09_model", "| DIY | GEOLIFE | our city"): SAME,
    ("09_model", "log-odds of the gate, test"): GONE,
    ("09_model", "400 windows, 59 % padding"): GONE,
    ("09_model", "| float32, largest difference"): MOVED,
    ("09_model", "| largest gradient, torch"): MOVED,
    ("09_model", "193 = 3 × 64 + 1 parameters"): SAME,
    ("09_model", "Right: the number of places.\n17,994"): SAME,
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
