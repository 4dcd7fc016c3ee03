"""The drawing of a batch has the windows' numbers, zeros for padding, and the mask."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from wherenext import city
from wherenext.batch_drawing import MOST, batch_drawing

from pgt.windows import prepare


def test_it_is_the_batch_that_a_model_gets() -> None:
    windows = prepare(city.load().visits, protocol="exact").test
    short = np.flatnonzero(windows.lengths <= MOST)[[0, 5, 9]]
    batch = windows.batch(short)
    values = windows.features.numpy()[0, 1:]  # row 0 is padding
    first, target = windows.first[short].tolist(), windows.target[short].tolist()
    shown = batch_drawing(values, first, target, caption="A <batch>.")
    assert "A &lt;batch&gt;." in shown._repr_mimebundle_()["text/html"]
    rows, mask, ends = re.findall(r": ([\d, ;]+)\.", shown.alt)
    drawn = torch.tensor([[int(n) for n in row.split(",")] for row in rows.split(";")])
    assert torch.equal(drawn, batch.location)
    assert [int(n) for n in ends.split(";")] == batch.target.tolist()
    padding = [[n == "0" for n in row.strip()] for row in mask.split(";")]
    assert torch.equal(torch.tensor(padding), batch.padding)


@pytest.mark.parametrize("target", [2, 2 + MOST + 1])
def test_windows_that_cannot_be_drawn_are_refused(target: int) -> None:
    with pytest.raises(ValueError, match="can be drawn"):
        batch_drawing(np.arange(30), [2], [target], caption="x")
