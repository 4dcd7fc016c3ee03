"""The tables that the chapters print are those of the tape, but for what was changed on purpose."""

from __future__ import annotations

import nbformat.v4 as nb
import pytest

from ..helpers import give_up
from . import acts, adaptor
from .chapters import missing, tables

# Tables that were changed on purpose: chapter, how the taped table begins, and why.
CHANGED: dict[tuple[str, str], str] = {
    ("10_training", "encoded (128"): "the walk through one batch is chapter 9's",
    ("10_training", "by hand 4.46661"): "printed with other words",
    ("10_training", "smoothed loss"): "printed with other words",
    ("10_training", "| padding, % of cells"): "evidence_windows counts padding",
    ("10_training", "training loss 4.1614"): "the share of clipped steps stands in the text",
    ("10_training", "| max epochs"): "settings of the results file are not repeated",
    ("10_training", "| Acc@1, validation"): "the seeds are dots of a chart",
    ("10_training", "| test Acc@1 | ± seeds"): "moved to evidence_traps, unchanged",
    ("10_training", "the child ended"): "the run is stopped in the process; tests kill one",
    ("10_training", "46 tensors, 5 epochs"): "printed with other words",
    ("10_training", "| tensors | numbers"): "what a checkpoint holds is said, not counted",
    ("10_training", "230 tensors"): "what a checkpoint holds is said, not counted",
    ("10_training", "run.safetensors was"): "tests show the refusal",
    ("10_training", "device here"): "the run prints its device",
    ("10_training", "| ε = 0.0"): "the exercise is gone",
    ("10_training", "log(V / ε)"): "the exercise is gone",
    ("10_training", "| clip = 0.8"): "the exercise's pilot is gone",
    ("14_ablations", "| documents | measured"): "the verdicts on the documents' table are gone",
    ("14_ablations", "| spread of the difference"): "the same numbers, parts named in words",
    ("15_traps", "| all | known | unknown"): "moved to evidence_traps, unchanged",
    ("15_traps", "shares in % | all days"): "moved to evidence_traps, unchanged",
    ("15_traps", "| | Acc@1 (%) | minus"): "moved to evidence_traps, unchanged",
    ("15_traps", "shares in % | as published"): "moved to evidence_traps, unchanged",
    ("15_traps", "| | next visit today"): "moved to evidence_traps, unchanged",
    ("15_traps", "| | Acc@1 (%), back from"): "moved to evidence_traps, unchanged",
    ("15_traps", "| published, PGT knows"): "moved to evidence_traps, unchanged",
    ("15_traps", "1.5 points"): "the exercise asks for other rules",
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
