"""Accessibility as axe-core judges it; ``test_every_page`` asks it about the pages of the book.

axe-core is a development dependency of ``book/_web`` and is put into the page by the test; no page
of the book loads it. Only the contrast of colours depends on the theme, so in the dark nothing
else is asked.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..helpers import ROOT, give_up

pytestmark = pytest.mark.browser
AXE = ROOT / "book" / "_web" / "node_modules" / "axe-core" / "axe.min.js"

COLOURS = ["color-contrast", "link-in-text-block"]
# Colours on their way between themes, or while a cell unfolds, are nobody's choice.
STILL = "*, ::before, ::after { transition: none !important; animation: none !important }"
# WCAG 2.2 A and AA, and axe's own best practices: landmarks, headings in order, table headers.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """
async ({tags, rules}) => {
  const only = rules ? {type: "rule", values: rules} : {type: "tag", values: tags};
  const found = await axe.run(document, {runOnly: only, resultTypes: ["violations"]});
  return found.violations.map((v) => `${v.id}: ${v.help}: `
    + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160)).join(" | "));
}
"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    if not AXE.exists():
        give_up("axe-core is not installed: run `npm ci` in book/_web.")
    return AXE.read_text(encoding="utf-8")


def violations(page: Any, axe: str, rules: list[str] | None = None) -> list[str]:
    """What axe-core objects to in a page and its frames."""
    for frame in page.frames:
        if not frame.evaluate("typeof axe === 'object'"):
            frame.evaluate(axe)
    found: list[str] = page.evaluate(RUN, {"tags": TAGS, "rules": rules})
    return found


def test_axe_finds_no_violation_in_the_results_of_a_search(visit: Any, axe: str) -> None:
    with visit("search.html?q=gate", color_scheme="light") as opened:
        opened.page.add_style_tag(content=STILL)
        opened.page.wait_for_selector("#search-results li")
        assert violations(opened.page, axe) == []
        opened.page.emulate_media(color_scheme="dark")
        opened.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        assert violations(opened.page, axe, COLOURS) == []
