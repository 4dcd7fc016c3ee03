"""Accessibility of every page, as axe-core judges it: no violation, in the light and in the dark.

axe-core is a development dependency of ``book/_web`` and is put into the page by the test; no page
of the book loads it. One browser page serves both themes: only the contrast of colours depends on
the theme, so the dark run asks for nothing else.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..helpers import ROOT, give_up
from .test_pages import PAGES

pytestmark = pytest.mark.browser
AXE = ROOT / "book" / "_web" / "node_modules" / "axe-core" / "axe.min.js"

# WCAG 2.2 A and AA, and axe's own best practices: landmarks, headings in order, table headers.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """
async ({tags, rules}) => {
  const only = rules ? {type: "rule", values: rules} : {type: "tag", values: tags};
  const found = await axe.run(document, {runOnly: only, resultTypes: ["violations"]});
  return found.violations.map((v) => `${v.id}: ${v.help}: `
    + v.nodes.slice(0, 4).map((n) => n.target.flat().join(" ") + " " + n.html.slice(0, 160)
      + " [" + [...n.any, ...n.all, ...n.none].map((c) => c.message).join("; ").slice(0, 200) + "]"
    ).join(" | ") + (v.nodes.length > 4 ? ` | and ${v.nodes.length - 4} more` : ""));
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


@pytest.mark.parametrize("name", [*PAGES, "search.html?q=gate"])
def test_axe_finds_no_violation(visit: Any, axe: str, name: str) -> None:
    with visit(name, color_scheme="light") as opened:
        # Colours on their way between themes, or while a cell unfolds, are nobody's choice.
        still = "*, ::before, ::after { transition: none !important; animation: none !important }"
        opened.page.add_style_tag(content=still)
        opened.unfold()
        assert violations(opened.page, axe) == []
        opened.page.emulate_media(color_scheme="dark")
        opened.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        assert violations(opened.page, axe, ["color-contrast", "link-in-text-block"]) == []


def test_axe_would_notice(visit: Any, axe: str) -> None:
    """The check itself works: a page made worse is told apart."""
    with visit("book/notation.html") as opened:
        opened.page.evaluate(
            "document.querySelector('.bd-article').insertAdjacentHTML('beforeend',"
            ' \'<h6>Too deep</h6><img src="data:,"><p style="color:#bbb">pale</p>\')'
        )
        told = " ".join(violations(opened.page, axe))
        assert all(name in told for name in ("heading-order", "image-alt", "color-contrast"))
