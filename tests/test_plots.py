"""Plots: what is drawn are the values given, in the palette, with units on the axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import colors
from matplotlib import pyplot as plt

from pgt import plots
from pgt.colours import GENERATED, MUTED, PALETTE, TRUTH
from pgt.errors import DataError

BINS = pd.DataFrame({"forecast": [0.2, 0.8], "observed": [0.3, 0.7]})


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_position_bias_draws_every_seed_and_their_mean() -> None:
    bias = torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    axes = plots.position_bias(bias, label="learned", colour=TRUTH)
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [[0, 1, 2], [2, 1, 0], [1, 1, 1]]
    assert axes.lines[-1].get_xdata().tolist() == [1, 2, 3]
    assert colors.same_color(axes.lines[-1].get_color(), TRUTH)
    assert "logits" in axes.get_ylabel()
    again = plots.position_bias(bias[0], axes=axes)
    assert again is axes and len(axes.lines) == 4


@pytest.mark.parametrize("shape", [(4, 4), (4,)])
def test_attention_is_a_heat_map_of_the_weights(shape: tuple[int, ...]) -> None:
    weights = torch.rand(shape)
    axes = plots.attention(weights, labels=list("abcd"), highest=1)
    mesh = axes.collections[0]
    assert np.asarray(mesh.get_array()).ravel().tolist() == pytest.approx(weights.ravel().tolist())
    assert mesh.get_clim() == (0, 1)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == list("abcd")
    numbered = plots.attention(torch.rand(30, 30), bar=False)
    assert [tick.get_text() for tick in numbered.get_yticklabels()][:2] == ["1", "4"]


def test_reliability_has_the_diagonal_and_the_bins() -> None:
    intervals = BINS.assign(low=BINS.observed - 0.1, high=BINS.observed + 0.1)
    axes = plots.reliability_diagram({"gate": BINS, "town": intervals})
    diagonal, gate, town = axes.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    for line in (gate, town):
        assert line.get_xydata().tolist() == BINS.to_numpy().tolist()
    assert gate.get_marker() != town.get_marker() and gate.get_color() == PALETTE[0]
    ends = [[(x, float(y)) for x, y in part] for part in axes.collections[0].get_segments()]
    assert ends[0] == [(0.2, pytest.approx(0.2)), (0.2, pytest.approx(0.4))]


def test_a_mixture_stacks_copied_and_generated() -> None:
    table = pd.DataFrame(
        {"location_id": [1, 2], "copied": [0.4, 0.0], "generated": [0.1, 0.2],
         "is_target": [False, True]}
    )  # fmt: skip
    axes = plots.mixture(table, gate=0.7, names={1: "home", 2: "bar"})
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.4, 0.0, 0.1, 0.2])
    assert [bar.get_x() for bar in axes.patches[2:]] == [0.4, 0.0]
    assert colors.same_color(axes.patches[2].get_facecolor(), GENERATED)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["home", "✓ bar"]
    assert axes.get_title(loc="left") == "gate 0.70"


@pytest.mark.parametrize(
    ("draw", "given", "says"),
    [(plots.reliability_diagram, BINS[:0], "empty"),
     (plots.position_bias, [], "bias"),
     (plots.reliability_diagram, BINS[["forecast"]], "'observed'")],
)  # fmt: skip
def test_what_cannot_be_drawn_gets_a_sentence(draw: Any, given: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        draw(given)


def test_nothing_of_matplotlibs_settings_changes_until_asked() -> None:
    before = dict(plt.rcParams)
    plots.reliability_diagram(BINS)
    assert dict(plt.rcParams) == before
    with plt.rc_context():
        plots.set_theme()
        assert plt.rcParams["axes.edgecolor"] == MUTED
