"""Figures with controls in Chromium: what a control changes is what Python computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from wherenext import city, touch
from wherenext.figures import show

from pgt.baselines import ContextKernel
from pgt.metrics import evaluate, summarize
from pgt.windows import Dataset, prepare

from ..helpers import ROOT

pytestmark = pytest.mark.browser
BOOK_CSS = (ROOT / "book" / "_static" / "book.css").as_uri()
EVIL = '<img src=x onerror="window.harmed = 1">'
START = ContextKernel(decay=0.95, base=0.1, same=1.0, clock=1.0, width=100)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(city.load().visits)


def kernel_of(data: Dataset) -> touch.Touch:
    still = show(plt.figure(), alt="Votes", caption=f"Votes {EVIL}")
    names = {place: f"{EVIL} {place}" for place in data.vocabulary.locations}
    return touch.kernel(still, START, data.valid, opened=(data.test, 7), names=names, most=300)


@pytest.fixture(scope="module")
def page_file(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("touch") / "kernel.html"
    found.write_text(
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">'
        '<title>x</title><meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{BOOK_CSS}"><body class="bd-article">'
        f"{kernel_of(data)._repr_mimebundle_()['text/html']}",
        encoding="utf-8",
    )
    return found


OTHERS = (
    START,
    replace(START, decay=1.0, base=1.0, same=0.0, clock=0.0),  # the most frequent place, with ties
    replace(START, decay=0.7, base=0.03, same=3.0, clock=4.5, width=30),
)


@pytest.mark.parametrize("numbers", OTHERS)
def test_the_kernel_of_the_page_is_the_packages(
    alone: Any, page_file: Path, data: Dataset, numbers: ContextKernel
) -> None:
    steps = np.unique(np.linspace(0, len(data.valid) - 1, 300).astype(int))
    ranks = evaluate(numbers.fit(data.train), data.valid.subset(steps))
    expected = summarize(ranks, ["all"])["acc@1"].iloc[0]
    names = ("decay", "base", "same", "clock", "width")
    given = {name: getattr(numbers, name) for name in names}
    with alone(page_file) as page:
        assert page.locator("img").count() == 0  # names are text
        find = "document.querySelector('.pgt-touch').touch"
        assert page.evaluate(f"n => {find}.accuracy(n)", given) == pytest.approx(expected, abs=1e-6)
        votes = page.evaluate(f"n => {find}.votes(n).map(v => v[0] + v[1] + v[2])", given)
        theirs = numbers.weights(data.test.batch([7]))[0].tolist()
        assert votes == pytest.approx(theirs, abs=1e-5)
