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
COMMANDS = "the commands are others, and PGT is trained in Python"
ENGINES = "the chapter uses the engines themselves"
CHANGED: dict[tuple[str, str], str] = {
    (
        "23_real_cities",
        "read as: user_id = 'User ID', location_id = ",
    ): "the commands are others, and PGT is trained in Python",
    (
        "23_real_cities",
        "user u18, after the visit of 2023-08-27 10:3",
    ): "the commands are others, and PGT is trained in Python",
    (
        "23_real_cities",
        "272,243 parameters; windows: train 3194, val",
    ): "the commands are others, and PGT is trained in Python",
    (
        "23_real_cities",
        "test: 1256 windows of 28 people, protocol ex",
    ): "the commands are others, and PGT is trained in Python",
    (
        "23_real_cities",
        "pgt: Column 'finished_at' is missing (the ta",
    ): "the commands are others, and PGT is trained in Python",
    (
        "24_trained_on_nobody",
        "0 of 66 people\nA doubt: 16,977 visits are ra",
    ): "the doubt about clocks is asked person by person",
    (
        "25_scale",
        "| GB as usual | here\narray | |\nMarkov chain:",
    ): "the chapter uses the engines themselves",
    (
        "25_scale",
        "visits | 10⁴ | 10⁵ | 10⁶ | 10⁷\nan interval b",
    ): "the chapter uses the engines themselves",
    (
        "25_scale",
        "16977 rows in 4 buckets, 66 people and 1472 ",
    ): "the chapter uses the engines themselves",
    (
        "25_scale",
        "| hours of one core\nsplit by days | 0.01\ncol",
    ): "the chapter uses the engines themselves",
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
    ("03_windows", "Person 26, target:"): "the figure shows this window without a line of text",
    (
        "03_windows",
        "| Acc@1, % (GeoLife, published)",
    ): "stands in evidence_windows, with the same numbers",
    (
        "03_windows",
        "| from the target's day |",
    ): "stands in evidence_windows, with the same numbers",
    (
        "03_windows",
        "| padding, % | attention's work",
    ): "stands in evidence_windows, with the same numbers",
    (
        "03_windows",
        "| random, % | in pools of 32, %",
    ): "stands in evidence_windows, with the same numbers",
    ("03_windows", "| windows | mean length\n168 hours"): "the exercise on hours went",
    ("03_windows", "723 more windows"): "stands in evidence_windows, with the same numbers",
    (
        "05_embeddings",
        "| row 0 like all others",
    ): "says which rows learn; the lengths did not matter",
    ("05_embeddings", "| turned into padding"): "the same shares, without counts",
    ("05_embeddings", "| rows | width | numbers | output"): "without the column of shapes",
    ("05_embeddings", "with x.std()"): "the same two numbers on two lines",
    ("05_embeddings", "padding: 61 %"): "was beside the point",
    ("05_embeddings", "| | shared, %"): "one block, which a slider moves; without the percentile",
    ("05_embeddings", "| places with another vector"): "without the number of places moved",
    ("05_embeddings", "Right: parameters."): "another sentence, the same numbers",
    ("05_embeddings", "Right: table_gradient in 2 cases."): "one case",
    ("05_embeddings", "Right: cosines in 3 cases."): "the section on the clock's geometry went",
    ("05_embeddings", "| shared, % | by chance, % | chance"): "without the percentile",
    ("06_position_and_encoder", "| visits in the window |"): "said in a sentence",
    (
        "06_position_and_encoder",
        "| Acc@1 (%) | difference, 95 % interval\ntaken",
    ): "part of one table of operations",
    (
        "06_position_and_encoder",
        "| visit | attention of the last visit",
    ): "the heads are drawn instead",
    (
        "06_position_and_encoder",
        "| gradient norm, bottom / top",
    ): "stands in evidence_windows, with the same numbers",
    ("06_position_and_encoder", "24 tensors copied"): "our module loads the state of the package's",
    ("06_position_and_encoder", "| effective visits |"): "an anecdote of one window",
    (
        "06_position_and_encoder",
        "| | Acc@1 (%) | difference",
    ): "one table of operations on both splits",
    ("06_position_and_encoder", "| same place | other place"): "the exercise went",
    ("06_position_and_encoder", "the same place gets"): "the exercise went",
    ("06_position_and_encoder", "Right: shift by 1."): "one shift is checked",
    ("06_position_and_encoder", "| pre-norm | post-norm"): "the toy training went",
    ("06_position_and_encoder", "pre-norm: the warm-up"): "the toy training went",
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
    ("01_where_next", "| user_id | location_id"): "another person, whose week is nearly complete",
    ("01_where_next", "Person 26: 369"): "another person, whose week is nearly complete",
    (
        "01_where_next",
        "| Larkmere | GeoLife, real places",
    ): "stands in evidence_windows, with the same numbers",
    ("02_gps_to_visits", "0.001 degrees north"): GONE,
    ("02_gps_to_visits", "7 staypoints that day"): "a figure shows both",
    ("02_gps_to_visits", "| user_id | started_at"): "a map shows the staypoints",
    ("02_gps_to_visits", "| true visits | found as"): SAME,
    ("02_gps_to_visits", "| found | recall, % | F1"): GONE,
    ("02_gps_to_visits", "Larkmere: 18 %"): "one town, in a shorter line",
    (
        "02_gps_to_visits",
        "time zone | UTC",
    ): "stands in evidence_windows, with the same numbers",
    ("02_gps_to_visits", "| silent hours in staypoints"): "GeoLife's share stands in the text",
    ("02_gps_to_visits", "| recall, % | precision, %"): "printed in a sentence",
    ("02_gps_to_visits", "| ends late by, minutes"): "printed in a sentence",
    ("04_baselines", "Acc@1 50.0 %, weighted F1"): GONE,
    ("04_baselines", "Acc@1 of a shrug"): "said in the text",
    ("04_baselines", "14.2 % of the windows"): GONE,
    ("04_baselines", "ties lost 30.9 %"): "printed in two lines",
    ("04_baselines", "| gain on test, points"): GONE,
    ("04_baselines", "| decay | base | same"): "stands in evidence_windows, with the same numbers",
    ("04_baselines", "Person 4, Monday"): "printed in other words",
    ("04_baselines", "| | network - kernel"): "stands in evidence_windows, with the same numbers",
    (
        "04_baselines",
        "| with pointer | without",
    ): "stands in evidence_windows, with the same numbers",
    (
        "04_baselines",
        "| Larkmere | GeoLife, exact",
    ): "stands in evidence_windows, with the same numbers",
    ("04_baselines", "Right: the honest choice"): "without the finer grid",
    ("04_baselines", "| valid, % | test, %"): "the exercise is gone",
    ("04_baselines", "Right: factor one"): "the exercise is gone",
    ("04_baselines", "| | decay | test windows"): "the exercise is gone",
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
