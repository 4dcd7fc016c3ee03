"""Sphinx extension: pages share what is large in them;
MyST-NB writes a figure's data into every page.

A figure of a notebook brings all its data along: a model's weights, the ground of its map, rasters.
In the built book several pages show the same model and the same map. After the build this extension
takes such data out of the pages, so that a page is read sooner and a browser keeps the rest. Files
are scripts and pictures, which a page opened from disk may load as well.
"""

from __future__ import annotations

import base64
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
RASTER = re.compile(r'(?<=href=")data:image/(png|webp);base64,([^"]+)(?=")')
STORE = "window.pgtData"


def named(data: bytes, ending: str) -> str:
    """A name that says what is in the file: the same data have the same name."""
    return f"{hashlib.sha256(data).hexdigest()[:16]}.{ending}"


def take_out(page: str, above: str) -> tuple[str, dict[str, bytes]]:
    """A page without its large data, and the files that hold them, by name."""
    files: dict[str, bytes] = {}

    def data(found: re.Match[str]) -> str:
        about = json.loads(found[1])
        tags, places = "", {}
        for part in SHARED:
            text = safe_json(about.get(part))
            if len(text) <= LARGE:
                continue
            name = named(text.encode(), "js")
            if name not in files:
                tags += f'<script src="{above}{name}"></script>\n'
            files[name] = f'({STORE} ||= {{}})["{name}"] = {text};\n'.encode()
            places[part] = f'{STORE}["{name}"]'
        if not places:
            return found[0]
        rest = safe_json({key: value for key, value in about.items() if key not in places})
        taken = ", ".join(f'"{part}": {place}' for part, place in places.items())
        return f"{tags}<script>\n(() => {{\nconst page = {{...{rest}, {taken}}};\n"

    def raster(found: re.Match[str]) -> str:
        if len(found[2]) <= LARGE:
            return found[0]
        content = base64.b64decode(found[2])
        name = named(content, found[1])
        files[name] = content
        return above + name

    return RASTER.sub(raster, SCRIPT.sub(data, page)), files


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Take the data out of the written pages."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    for path in sorted(Path(app.outdir).glob("book/*.html")):
        page = path.read_text(encoding="utf-8")
        lighter, files = take_out(page, f"../{FOLDER}/")
        for name, content in files.items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        if lighter != page:
            path.write_text(lighter, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=820)
