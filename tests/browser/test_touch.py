"""Figures with controls in Chromium: what a control changes is what Python computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
from .conftest import watched

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


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Any:
    """A function that opens a figure; nothing is fetched and nothing goes wrong."""

    @contextmanager
    def open_page(width: int = 734, **options: Any) -> Iterator[Any]:
        with watched(browser, width=width, **options) as (page, asked, wrong):
            page.goto(page_file.as_uri())
            yield page
            assert [url for url in asked if not url.startswith("file:")] == []
            assert wrong == [] and page.locator("img").count() == 0

    return open_page


def said(page: Any) -> str:
    text: str = page.locator("output.touch-said").inner_text()
    return text


def rows(page: Any, table: int) -> list[tuple[str, ...]]:
    """Head and last cell of each row of a table."""
    found = page.locator("table").nth(table).locator("tbody tr").evaluate_all(
        "all => all.map(r => [r.querySelector('th').textContent, r.lastChild.textContent])"
    )  # fmt: skip
    return [tuple(row) for row in found]


OTHERS = (
    START,
    replace(START, decay=1.0, base=1.0, same=0.0, clock=0.0),  # the most frequent place, with ties
    replace(START, decay=0.7, base=0.03, same=3.0, clock=4.5, width=30),
)


@pytest.mark.parametrize("numbers", OTHERS)
def test_the_kernel_of_the_page_is_the_packages(
    opened: Any, data: Dataset, numbers: ContextKernel
) -> None:
    steps = np.unique(np.linspace(0, len(data.valid) - 1, 300).astype(int))
    ranks = evaluate(numbers.fit(data.train), data.valid.subset(steps))
    expected = summarize(ranks, ["all"])["acc@1"].iloc[0]
    names = ("decay", "base", "same", "clock", "width")
    given = {name: getattr(numbers, name) for name in names}
    with opened() as page:
        find = "document.querySelector('.pgt-touch').touch"
        assert page.evaluate(f"n => {find}.accuracy(n)", given) == pytest.approx(expected, abs=1e-6)
        votes = page.evaluate(f"n => {find}.votes(n).map(v => v[0] + v[1] + v[2])", given)
        theirs = numbers.weights(data.test.batch([7]))[0].tolist()
        assert votes == pytest.approx(theirs, abs=1e-5)


def test_each_of_the_five_numbers_changes_the_votes_and_can_be_taken_back(opened: Any) -> None:
    with opened() as page:
        first, shares = said(page), rows(page, 0)
        assert "300 validation windows" in first and "as many as" in first
        assert sum(float(text.removesuffix(" %")) for _, text in shares) == pytest.approx(
            100, abs=0.4
        )
        sliders = page.get_by_role("slider")
        assert sliders.count() == 5
        seen = {first}
        for i, name in enumerate(("decay", "base", "same", "clock", "width")):
            before = rows(page, 1)
            assert name in sliders.nth(i).get_attribute("aria-label")
            sliders.nth(i).press("Home")
            assert rows(page, 1) != before, name
            assert sliders.nth(i).get_attribute("aria-valuetext") in sliders.nth(i).evaluate(
                "e => e.closest('label').textContent"
            )
            seen.add(said(page))
            page.get_by_role("button", name="Back to the chosen numbers").press("Enter")
            assert (said(page), rows(page, 0), rows(page, 1)) == (first, shares, before)
        assert len(seen) > 3, "the accuracy follows the sliders"
