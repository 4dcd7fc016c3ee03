"""Two pictures of the built front page, for links and the README;
sphinxext-opengraph's cards show titles, not pages.

    python book/_ext/card.py          # book/_static/social.png and screenshot.png, from _build/html

They are committed, since a page that shows a link wants a picture at a fixed address.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headless import WAIT, chromium
from toc import ROOT

FRONT = ROOT / "_build" / "html" / "book" / "index.html"
# Sizes in CSS pixels: networks that show links want 1200 × 630; the README is as wide as a page.
PICTURES = {"social": (1200, 630), "screenshot": (1200, 590)}
ALONE = """
.bd-sidebar-primary, .bd-sidebar-secondary, .bd-header, .bd-header-article, .bd-footer, .bd-footer-article,
.skip-link, .front-game ~ *, .front-game figcaption { display: none !important }
.bd-main .bd-content .bd-article-container { max-width: none !important; width: 100% !important }
.bd-article { padding: 0.6rem 1.5rem !important }
.bd-article h1 { margin: 0 0 0.4rem !important }
"""
# Letters of a link's picture are read at a third of its size.
LARGE = ".bd-article { zoom: 1.25 }"


def picture(browser: Any, front: Path, path: Path, size: tuple[int, int], guess: bool) -> None:
    """Draw the game alone, before or after a guess."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="light", reduced_motion="reduce"
    )
    page.set_default_timeout(WAIT)
    page.goto(front.as_uri(), wait_until="load")
    page.add_style_tag(content=ALONE + ("" if guess else LARGE))
    if guess:
        page.locator(".game-week:not([hidden]) button:not([disabled])").nth(1).click()
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path)
    page.close()


def main() -> None:
    """Write both."""
    if not FRONT.exists():
        raise SystemExit("There is no built book; first run: make book")
    with chromium() as browser:
        for name, size in PICTURES.items():
            path = ROOT / "book" / "_static" / f"{name}.png"
            picture(browser, FRONT, path, size, guess=name == "screenshot")
            print("wrote", path.relative_to(ROOT))


if __name__ == "__main__":
    main()
