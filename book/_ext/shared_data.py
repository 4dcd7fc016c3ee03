"""Sphinx extension: pages share what is large; MyST-NB writes a figure's data into every page.

Several pages show the same model, half a megabyte each time. After the build it goes into a script
that they all load, also from disk, so that a page is read sooner and a browser keeps the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from sphinx.application import Sphinx
from wherenext.page_text import safe_json

FOLDER = "_static/data"
LARGE = 4000  # characters; what is smaller stays where it is
# As `wherenext.web_figure.scripted` writes it.
SCRIPT = re.compile(r"<script>\n\(\(\) => \{\nconst page = (\{.*\});\n")
SHARED = ("model", "ground")  # of a figure's data: what several figures have, and no script changes


def take_out(page: str, above: str) -> tuple[str, dict[str, str]]:
    """A page without its large data, and the scripts with them by name; `above` leads to these."""
    files: dict[str, str] = {}

    def data(found: re.Match[str]) -> str:
        about = json.loads(found[1])
        tags, places = "", ""
        for part in SHARED:
            text = safe_json(about.get(part))
            if len(text) > LARGE:
                del about[part]
                name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.js"
                if name not in files:
                    tags += f'<script src="{above}{name}"></script>\n'
                files[name] = f'(window.pgtData ||= {{}})["{name}"] = {text};\n'
                places += f', "{part}": window.pgtData["{name}"]'
        return f"{tags}<script>\n(() => {{\nconst page = {{...{safe_json(about)}{places}}};\n"

    return SCRIPT.sub(data, page), files


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Take the data out of the written pages."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(app.outdir).glob("book/*.html")):
        page, files = take_out(path.read_text(encoding="utf-8"), f"../{FOLDER}/")
        if files:
            path.write_text(page, encoding="utf-8")
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=820)
