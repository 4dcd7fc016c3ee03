"""The steps of chapter 9 in a browser: by buttons, without a script, beside its chapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from wherenext import city
from wherenext.walkthrough import walkthrough

from pgt.checkpoint import load_model, shipped
from pgt.look import story
from pgt.windows import prepare

from .conftest import watched

pytestmark = pytest.mark.browser
SEEN = (
    "[...document.querySelectorAll('.step')]"
    ".filter(s => s.checkVisibility({visibilityProperty: true})).map(s => s.id)"
)
LIT = "[...document.querySelectorAll('.steps-map a.lit')].map(a => a.dataset.part).sort()"
PARTS = "document.querySelector('.step.now').dataset.parts.split(' ').sort()"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, vocabulary = load_model(shipped("city"))
    town = city.load()
    windows = prepare(town.visits, protocol="exact", vocabulary=vocabulary).test
    names = dict(zip(town.places.location_id, town.places.name, strict=True))
    shown = walkthrough(model, windows, story(windows), names)
    return shown.save(tmp_path_factory.mktemp("steps") / "steps.html")


@pytest.fixture
def steps(browser: Any, page_file: Path) -> Any:
    """A function that opens the page from disk; afterwards nothing was asked for or went wrong."""

    @contextmanager
    def open_page(hash: str = "", width: int = 1280, **options: Any) -> Iterator[Any]:
        with watched(browser, width=width, **options) as (page, asked, wrong):
            page.goto(page_file.as_uri() + hash, wait_until="load")
            yield page
            assert ([url.split("#")[0] for url in asked], wrong) == ([page_file.as_uri()], [])

    return open_page


def now(page: Any) -> int:
    """The one step that is seen; slider and boxes say the same."""
    seen = page.evaluate(SEEN)
    assert len(seen) == 1
    number = int(seen[0].removeprefix("pgt-step-"))
    slider = page.get_by_role("slider", name="Step")
    assert slider.input_value() == str(number)
    title = page.locator(f"#{seen[0]} .step-title").inner_text().split(" ", 1)[1]
    assert slider.get_attribute("aria-valuetext").endswith(title)
    assert page.evaluate(LIT) == page.evaluate(PARTS)
    return number


def test_buttons_go_from_the_first_step_to_the_last_and_back(steps: Any) -> None:
    with steps() as page:
        last = page.locator(".step").count()
        back = page.get_by_role("button", name="Back")
        onward = page.get_by_role("button", name="Next")
        assert now(page) == 1 and back.is_disabled()
        for number in range(2, last + 1):
            onward.click()
            assert now(page) == number
            assert f"Step {number} of {last}" in page.get_by_role("status").inner_text()
        assert onward.is_disabled()
        assert page.evaluate("document.activeElement.innerText").endswith("Back")
        back.click()
        assert now(page) == last - 1


def test_without_a_script_all_steps_are_seen(steps: Any) -> None:
    for width in (726, 360):
        with steps(width=width, java_script_enabled=False) as page:
            count = page.locator(".step").count()
            assert page.locator(".step:visible").count() == count > 10
            assert page.locator(".steps-bar:visible, .choice:visible").count() == 0
            right = [box.bounding_box() for box in page.locator(".step").all()]
            assert max(box["x"] + box["width"] for box in right) <= width
