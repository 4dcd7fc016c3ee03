"""Sphinx extension: no page needs the network; the theme has no such option.

After the build, this extension puts the libraries that the pages load into ``_static/vendor/`` and
audits the whole output: an address that would be fetched from elsewhere fails the build.

The libraries come from npm through ``book/_web/package-lock.json``; none is committed.
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from toc import ROOT

# Folder below _static/vendor/ -> files and folders below node_modules/ that go there.
VENDOR: dict[str, tuple[str, ...]] = {
    "leaflet": ("leaflet/dist/leaflet.js", "leaflet/dist/leaflet.css", "leaflet/LICENSE"),
    "leaflet/images": ("leaflet/dist/images",),
    "leaflet.timeline": ("leaflet.timeline/dist/leaflet.timeline.js", "leaflet.timeline/LICENSE"),
    "mathjax": ("mathjax/es5/tex-chtml.js", "mathjax/LICENSE"),
    "mathjax/input/tex/extensions": ("mathjax/es5/input/tex/extensions",),
    "mathjax/output/chtml/fonts/woff-v2": ("mathjax/es5/output/chtml/fonts/woff-v2",),
}
# What a browser fetches by itself; a link that a reader may click (``<a href>``) is not among it.
FETCHING = re.compile(
    r"(?:<(?:script|img|iframe|source|audio|video|embed|object|track|input)\b"
    r"[^>]*?\b(?:src|srcset|data|poster)=[\"']|(?:url\(\s*|@import\s+)[\"']?|"
    r"<link\b(?![^>]*\brel=[\"'](?:canonical|author|license|search|next|prev|alternate))"
    r"[^>]*\bhref=[\"'])(?P<url>(?:https?:)?//[^\"'\s>]+)",
    re.I,
)
SRCDOC = re.compile(r"\bsrcdoc=(?P<quote>[\"'])(?P<page>.*?)(?P=quote)", re.S | re.I)


def external(page: str) -> list[str]:
    """Return the addresses elsewhere that opening the HTML or CSS text `page` would fetch."""
    inner = (external(html.unescape(frame["page"])) for frame in SRCDOC.finditer(page))
    own = [found["url"] for found in FETCHING.finditer(page)]
    return own + [url for urls in inner for url in urls]


def copy_vendor(output: Path) -> None:
    """Copy the libraries from node_modules into ``_static/vendor`` under `output`."""
    for folder, names in VENDOR.items():
        target = output / "_static" / "vendor" / folder
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            source = ROOT / "book" / "_web" / "node_modules" / name
            if not source.exists():
                raise ExtensionError(f"{source} is missing: run `make vendor` (npm ci) first.")
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Bring the libraries, and prove that the written pages need no network."""
    if exception is not None or app.builder.format != "html":
        return
    output = Path(app.outdir)
    copy_vendor(output)
    problems = [
        f"{path.relative_to(output).as_posix()} fetches {url}"
        for path in sorted(output.rglob("*"))
        if path.suffix in {".html", ".css", ".svg"}
        for url in external(path.read_text(encoding="utf-8"))
    ]
    if problems:
        raise ExtensionError("The book must work offline, but:\n  " + "\n  ".join(problems))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=900)
