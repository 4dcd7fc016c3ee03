"""Chromium of this machine, for tests of the built pages and two pictures of the front page.

    python book/_ext/headless.py      # book/_static/social.png and screenshot.png, from _build/html

playwright brings a browser of its own, which it would download. The pictures are committed, since a
page that shows a link wants one at a fixed address; sphinxext-opengraph's cards show titles alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toc import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
         "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")  # fmt: skip
# Sizes in CSS pixels: networks that show links want 1200 x 630; the README is as wide as a page.
PICTURES = {"social": (1200, 630), "screenshot": (1200, 590)}
ALONE = """
.bd-sidebar-primary, .bd-sidebar-secondary, .bd-header, .bd-header-article, .bd-footer, .bd-footer-article,
.skip-link, .front-game ~ *, .front-game figcaption { display: none !important }
.bd-main .bd-content .bd-article-container { max-width: none !important; width: 100% !important }
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


def main() -> None:
    """Draw the game of the front page alone: as a link's picture, and after a guess."""
    front = ROOT / "_build" / "html" / "book" / "index.html"
    if not front.exists():
        raise SystemExit("There is no built book; first run: make book")
    with chromium() as browser:
        for name, (width, height) in PICTURES.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme="light", reduced_motion="reduce")
            page.goto(front.as_uri(), wait_until="load")
            page.add_style_tag(content=ALONE)
            if name == "screenshot":
                page.locator(".game-week:not([hidden]) button:not([disabled])").nth(1).click()
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=ROOT / "book" / "_static" / f"{name}.png")


if __name__ == "__main__":
    main()
