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
POOR_CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
BOOK_CSS = (ROOT / "book" / "_static" / "book.css").as_uri()
EVIL = '<img src=x onerror="window.harmed = 1">'
START = ContextKernel(decay=0.95, base=0.1, same=1.0, clock=1.0, width=100)
DAY = {
    "hours": [0.0, 8.0, 8.5, 12.0], "apart": {50: [0, 0, 40, 0], 200: [0, 0, 190, 150]},
    "found": {
        (50, 10): [(0.0, 8.0), (8.1, 8.4), (9.0, 12.0)], (50, 60): [(0.0, 8.0), (9.0, 12.0)],
        (200, 10): [(0.0, 8.0), (8.0, 12.0)], (200, 60): [],
    },
    "visits": [(0.0, 7.9, "home"), (8.1, 8.4, "café"), (9.0, 12.0, EVIL)],
}  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(city.load().visits)


def kernel_of(data: Dataset) -> touch.Touch:
    still = show(plt.figure(), alt="Votes", caption=f"Votes {EVIL}")
    names = {place: f"{EVIL} {place}" for place in data.vocabulary.locations}
    return touch.kernel(still, START, data.valid, opened=(data.test, 7), names=names, most=300)


def all_kinds(data: Dataset) -> dict[str, touch.Touch]:
    still = show(plt.figure(), alt="A figure", caption="A figure")
    day = touch.stays(
        still, DAY["hours"], DAY["apart"], DAY["found"], DAY["visits"], start=(200, 10)
    )
    return {"kernel": kernel_of(data), "stays": day}


@pytest.fixture(scope="module")
def pages(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("touch"), {}
    for kind, shown in all_kinds(data).items():
        found[kind] = folder / f"{kind}.html"
        found[kind].write_text(
            '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">'
            '<title>x</title><meta name="viewport" content="width=device-width">'
            f'<link rel="stylesheet" href="{BOOK_CSS}"><body class="bd-article">'
            f"{shown._repr_mimebundle_()['text/html']}",
            encoding="utf-8",
        )
    return found


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Any:
    """A function that opens a figure; nothing is fetched and nothing goes wrong."""

    @contextmanager
    def open_page(kind: str, width: int = 734, **options: Any) -> Iterator[Any]:
        with watched(browser, width=width, **options) as (page, asked, wrong):
            page.goto(pages[kind].as_uri())
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
    with opened("kernel") as page:
        find = "document.querySelector('.pgt-touch').touch"
        assert page.evaluate(f"n => {find}.accuracy(n)", given) == pytest.approx(expected, abs=1e-6)
        votes = page.evaluate(f"n => {find}.votes(n).map(v => v[0] + v[1] + v[2])", given)
        theirs = numbers.weights(data.test.batch([7]))[0].tolist()
        assert votes == pytest.approx(theirs, abs=1e-5)


def test_each_of_the_five_numbers_changes_the_votes_and_can_be_taken_back(opened: Any) -> None:
    with opened("kernel") as page:
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


def test_two_thresholds_choose_the_staypoints(opened: Any) -> None:
    with opened("stays") as page:
        stays = page.locator("rect.stay")
        page.wait_for_selector("rect.stay", state="attached")
        radius, duration = (page.get_by_role("slider").nth(i) for i in range(2))
        assert stays.count() == 2 and said(page).startswith("2 staypoints where 3 visits")
        duration.press("ArrowRight")
        assert stays.count() == 0 and said(page).startswith("0 staypoints")
        before = page.locator("path.line").get_attribute("d")
        radius.press("ArrowLeft")
        assert stays.count() == 2 and page.locator("path.line").get_attribute("d") != before
        assert radius.get_attribute("aria-valuetext") == "50 m"
        assert "2 of the visits" in said(page)
        duration.press("ArrowLeft")
        assert stays.count() == 3 and "3 of the visits" in said(page)
        page.get_by_role("button", name="Back to the published").click()
        assert stays.count() == 2 and radius.get_attribute("aria-valuetext") == "200 m"
        assert EVIL in page.locator("svg.touch-day text").all_text_contents()


KINDS = ("kernel", "stays")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [734, 390])
def test_it_fits_on_one_screen_and_can_be_read(
    opened: Any, kind: str, theme: str, width: int
) -> None:
    with opened(kind, width=width) as page:
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        page.add_style_tag(
            content="body{background:#fff}html[data-theme=dark] body{background:#14181d}"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        top = page.locator(".touch-controls").bounding_box()["y"]
        effect = page.locator("table, svg.touch-day").first.bounding_box()
        assert effect["y"] + effect["height"] - top < 740
        assert page.evaluate(POOR_CONTRAST.replace('".bd-article"', '".touch-body"')) == []


@pytest.mark.parametrize("kind", KINDS)
def test_paper_and_a_page_without_scripts_show_the_still_figure(opened: Any, kind: str) -> None:
    still, live = ".pgt-scroll svg", ".touch-body"
    with opened(kind, java_script_enabled=False) as page:
        assert page.locator(still).is_visible() and page.locator(live).is_hidden()
    with opened(kind) as page:
        assert page.locator(live).is_visible()
        assert page.locator(still).is_hidden()
        page.emulate_media(media="print")
        assert page.locator(still).is_visible() and page.locator(live).is_hidden()
