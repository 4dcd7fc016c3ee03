"""Chromium of this machine, for tests of the built pages, and pictures of them.

    python book/_ext/headless.py      # from _build/html into book/_static

The front page's are social.png and screenshot.png; a live page's bears its id, for the notebooks.
playwright brings a browser of its own, which it would download. The pictures are committed, since a
page that shows a link wants one at a fixed address; sphinxext-opengraph's cards show titles alone.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import notebooks
from toc import ROOT

STATIC = ROOT / "book" / "_static"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
         "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")  # fmt: skip
# Sizes in CSS pixels, enlarged: networks that show links want 1200 x 630; the README is as wide.
PICTURES, ENLARGED = {"social": (1000, 525), "screenshot": (1000, 565)}, 1.2
ALONE = """
.bd-sidebar-primary, .bd-sidebar-secondary, .bd-header, .bd-header-article, .bd-footer, .bd-footer-article,
.skip-link, .prev-next-area, .front-game ~ *, .front-game figcaption { display: none !important }
.bd-main .bd-content .bd-article-container { max-width: none !important; width: 100% !important }
body { padding-top: 8px }
"""


def find_chromium() -> str | None:
    """Return the path of Chromium or Chrome on this machine, or nothing."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium or Chrome of the machine, without a window."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise SystemExit("This needs Chromium or Chrome; please install one of them.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


def live_pages(browser: Any, built: Path) -> Iterator[tuple[str, bytes]]:
    """The id of each live page of the built book and its picture (PNG), as it opens.

    Without the predictor's: it is small enough for a notebook.
    """
    for chapter in sorted(built.glob("[0-9]*.html")):
        if "pgt-live-" in chapter.read_text("utf-8"):
            page = browser.new_page(viewport={"width": 800, "height": 900}, color_scheme="light")
            page.goto(chapter.as_uri(), wait_until="load")
            page.add_style_tag(content=ALONE)
            for figure in page.locator(".pgt-live:not(#pgt-live-nobody)").all():
                figure.scroll_into_view_if_needed()
                yield figure.get_attribute("id"), figure.screenshot()
            page.close()


def main() -> None:
    """Draw the live pages, and the game of the front page: a link's picture, and after a guess."""
    built = ROOT / "_build" / "html" / "book"
    front = built / "index.html"
    if not front.exists():
        raise SystemExit("There is no built book; first run: make book")
    with chromium() as browser:
        for name, picture in live_pages(browser, built):
            small = notebooks.smaller(base64.b64encode(picture).decode(), colours=32)
            (STATIC / f"{name}.png").write_bytes(base64.b64decode(small))
        for name, (width, height) in PICTURES.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, device_scale_factor=ENLARGED,
                                    color_scheme="light", reduced_motion="reduce")  # fmt: skip
            page.goto(front.as_uri(), wait_until="load")
            page.add_style_tag(content=ALONE)
            if name == "screenshot":
                page.locator(".game-week:not([hidden]) button:not([disabled])").nth(1).click()
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=STATIC / f"{name}.png")


if __name__ == "__main__":
    main()
