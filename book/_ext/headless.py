"""Chromium of this machine, for pictures and tests of the built pages; playwright brings its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
WAIT = 1_800_000  # milliseconds; for all formulas of a page, a busy machine needs a tenth


def find_chromium() -> str | None:
    """Return the path of Chromium or Chrome on this machine, or nothing."""
    return next(filter(None, map(shutil.which, NAMES)), str(MAC) if MAC.exists() else None)


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
