"""Sphinx extension: no page needs the network; the theme has no such option.

After the build, this extension rewrites every page: the few libraries that the book needs are
loaded from ``_static/vendor/`` and the rest is dropped. At the end the whole output is audited, and
an address that would still be fetched from elsewhere fails the build.

The libraries come from npm through ``book/_web/package-lock.json``; none is committed.
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

WEB = Path(__file__).resolve().parents[1] / "_web"

# Folder below _static/vendor/ -> files and folders below node_modules/ that go there.
VENDOR: dict[str, tuple[str, ...]] = {
    "mathjax": ("mathjax/es5/tex-chtml.js", "mathjax/LICENSE"),
    "mathjax/input/tex/extensions": ("mathjax/es5/input/tex/extensions",),
    "mathjax/output/chtml/fonts/woff-v2": ("mathjax/es5/output/chtml/fonts/woff-v2",),
}

# Address -> file below _static/vendor/, or None when the page does without it.
REWRITES: tuple[tuple[str, str | None], ...] = (
    (r"/mathjax@3[^/]*/es5/tex-(mml-)?chtml\.js$", "mathjax/tex-chtml.js"),
    # Widgets and live kernels, which the book does not use.
    (r"/require(\.min)?\.js$|jupyter-widgets|thebe", None),
    (r"^(https?:)?//fonts\.(googleapis|gstatic)\.com", None),
)

# What the theme adds for live kernels, which no page starts (and one script it adds twice).
UNUSED = re.compile(
    r"[ \t]*(?:<script\b[^>]*(?:sphinx-thebe\.js|text/x-thebe-config)[^>]*>[^<]*</script>"
    r"|<script>const THEBE_JS_URL[^<]*</script>"
    r"|<link\b[^>]*/sphinx-thebe\.css[^>]*>)\n?"
)
EXTERNAL = r"(?P<url>(?:https?:)?//[^\"'\s>]+)"
SCRIPT = re.compile(rf"<script\b[^>]*\bsrc=[\"']{EXTERNAL}[\"'][^>]*>\s*</script>\n?", re.I)
STYLE = re.compile(rf"<link\b[^>]*\bhref=[\"']{EXTERNAL}[\"'][^>]*>\n?", re.I)
SRCDOC = re.compile(r"\bsrcdoc=(?P<quote>[\"'])(?P<page>.*?)(?P=quote)", re.S | re.I)
FETCHING = re.compile(
    r"<(?:script|img|iframe|source|audio|video|embed|object|track|input)\b"
    rf"[^>]*?\b(?:src|srcset|data|poster)=[\"']{EXTERNAL}",
    re.I,
)
CSS_URL = re.compile(rf"(?:url\(\s*|@import\s+)[\"']?{EXTERNAL}", re.I)
# These links name an address without fetching it.
NAMING = re.compile(
    r"\brel=[\"'](?:canonical|author|license|search|next|prev|alternate)[\"']", re.I
)


def localize(page: str, vendor: str) -> str:
    """Return an HTML page that loads its libraries from the folder `vendor`.

    Parameters
    ----------
    page
        HTML text.
    vendor
        Relative address of the vendor folder as seen from the page, with a final slash.

    Examples
    --------
    >>> localize('<script src="https://a.org/mathjax@3/es5/tex-chtml.js"></script>', "v/")
    '<script src="v/mathjax/tex-chtml.js"></script>'
    """

    def tag(match: re.Match[str]) -> str:
        for pattern, local in REWRITES:
            if re.search(pattern, match["url"]):
                return "" if local is None else match[0].replace(match["url"], vendor + local)
        return match[0]

    return STYLE.sub(tag, SCRIPT.sub(tag, UNUSED.sub("", page)))


def external(page: str) -> list[str]:
    """Return the addresses elsewhere that opening the HTML or CSS text `page` would fetch.

    Links that a reader may click (``<a href>``) are not among them.
    """
    found = [m["url"] for m in FETCHING.finditer(page)]
    found += [m["url"] for m in STYLE.finditer(page) if not NAMING.search(m[0])]
    found += [m["url"] for m in CSS_URL.finditer(page)]
    for match in SRCDOC.finditer(page):
        found += external(html.unescape(match["page"]))
    return found


def audit(output: Path) -> list[str]:
    """Return one line for each address elsewhere that a page or style sheet under `output` needs."""
    return [
        f"{path.relative_to(output).as_posix()} fetches {url}"
        for path in sorted(output.rglob("*"))
        if path.suffix in {".html", ".css", ".svg"}
        for url in external(path.read_text(encoding="utf-8"))
    ]


def copy_vendor(output: Path) -> None:
    """Copy the libraries from node_modules into ``_static/vendor`` under `output`."""
    for folder, names in VENDOR.items():
        target = output / "_static" / "vendor" / folder
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            source = WEB / "node_modules" / name
            if not source.exists():
                raise ExtensionError(f"{source} is missing: run `make vendor` (npm ci) first.")
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Make the written pages independent of the network, and prove it."""
    if exception is not None or app.builder.format != "html":
        return
    output = Path(app.outdir)
    copy_vendor(output)
    for path in sorted(output.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        depth = len(path.relative_to(output).parts) - 1
        local = localize(page, "../" * depth + "_static/vendor/")
        if local != page:
            path.write_text(local, encoding="utf-8")
    problems = audit(output)
    if problems:
        raise ExtensionError("The book must work offline, but:\n  " + "\n  ".join(problems))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
