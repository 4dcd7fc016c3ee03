"""The drawing of a batch has the windows' numbers, zeros for padding, and the mask."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from wherenext import city
from wherenext.batch_drawing import MOST, batch_drawing

from pgt.windows import prepare


def numbers(page: str) -> list[int]:
    texts = [tag.get_text() for tag in BeautifulSoup(page, "html.parser").select("text")]
    return [int(text) for text in texts if re.fullmatch(r"\d+", text)]


def test_it_is_the_batch_that_a_model_gets() -> None:
    windows = prepare(city.load().visits, protocol="exact").test
    short = np.flatnonzero(windows.lengths <= MOST)[[0, 5, 9]]
    batch = windows.batch(short)
    first, target = windows.first[short], windows.target[short]
    values = windows.features.numpy()[0, 1:]  # row 0 is padding
    shown = batch_drawing(values, first.tolist(), target.tolist(), caption="A <batch>.")
    page = shown._repr_mimebundle_()["text/html"]
    assert "<figcaption>A &lt;batch&gt;.</figcaption>" in page
    found = numbers(page)
    inside = sum(int(end - start) + 1 for start, end in zip(first, target, strict=True))
    rows, wide = batch.location.shape
    drawn = torch.tensor(found[inside : inside + rows * (wide + 1)]).view(rows, wide + 1)
    assert torch.equal(drawn[:, :-1], batch.location) and torch.equal(drawn[:, -1], batch.target)
    mask = torch.tensor(found[-rows * wide :]).view(rows, wide)
    assert torch.equal(mask == 0, batch.padding)


@pytest.mark.parametrize("target", [2, 2 + MOST + 1])
def test_windows_that_cannot_be_drawn_are_refused(target: int) -> None:
    with pytest.raises(ValueError, match="can be drawn"):
        batch_drawing(np.arange(30), [2], [target], caption="x")
