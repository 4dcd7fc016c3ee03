"""A browser, the built book, and a guard that lets nothing out."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from headless import chromium, find_chromium

from ..helpers import PATIENCE, give_up


class Quiet(SimpleHTTPRequestHandler):
    """Serve files and print nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def addresses(html: Path) -> Iterator[dict[str, str]]:
    """Where the book is: from disk, and over http."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(html)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"file": html.as_uri(), "http": f"http://127.0.0.1:{server.server_port}"}
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium of the machine."""
    pytest.importorskip("playwright.sync_api")
    if find_chromium() is None:
        give_up("There is no Chromium or Chrome on this machine.")
    with chromium() as opened:
        yield opened


@contextmanager
def watched(
    browser: Any, *, width: int | None = None, height: int = 800, **options: Any
) -> Iterator[tuple[Any, list[str], list[str]]]:
    """A blank page, the addresses that it asks for from now on, and what goes wrong in it."""
    if width is not None:
        options["viewport"] = {"width": width, "height": height}
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    asked: list[str] = []
    wrong: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    try:
        yield page, asked, wrong
    finally:
        context.close()


@pytest.fixture
def alone(browser: Any) -> Any:
    """A function that opens a page from disk; nothing else is asked for and nothing goes wrong."""

    @contextmanager
    def open_page(file: Path, **options: Any) -> Iterator[Any]:
        with watched(browser, **options) as (page, asked, wrong):
            page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
            page.goto(file.as_uri(), wait_until="load")
            yield page
            assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
            assert wrong == []

    return open_page


def kept_inside(page: Any, allowed: tuple[str, ...]) -> list[str]:
    """Give a page only addresses that begin as allowed; what else it asks for, from now on."""
    outside: list[str] = []

    def guard(route: Any) -> None:
        if route.request.url.startswith(allowed):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    page.context.route("**/*", guard)
    return outside


@dataclass
class Visit:
    """An open page, and what went wrong while it was open."""

    name: str
    page: Any
    outside: list[str]
    errors: list[str]

    def settle(self) -> None:
        """Wait until the formulas are set; maps are drawn while the page loads."""
        self.page.wait_for_function(
            "[...document.querySelectorAll('.bd-article .math')]"
            ".every(m => m.querySelector('mjx-container'))"
        )

    def unfold(self) -> None:
        """Open whatever is folded: solutions, hidden cells, the tables of maps."""
        self.page.evaluate(
            "document.querySelectorAll('details').forEach(d => (d.open = true));"
            "new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))"
        )


@pytest.fixture(scope="session")
def visit(browser: Any, addresses: dict[str, str]) -> Any:
    """A function that opens a page of the book with the rest of the world blocked."""

    @contextmanager
    def open_page(name: str, scheme: str = "http", width: int = 1280, **options: Any) -> Any:
        base = addresses[scheme]
        with watched(browser, width=width, **options) as (page, _, wrong):
            outside = kept_inside(page, (base, "data:", "blob:", "about:"))
            visit = Visit(name, page, outside, wrong)
            page.goto(f"{base}/{name}", wait_until="load")
            visit.settle()
            yield visit

    return open_page
