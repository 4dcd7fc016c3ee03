"""Sphinx extension: folium's maps lie in the page itself, with one Leaflet for all of them.

A notebook keeps folium's own output, a frame whose page loads its libraries from networks. In the
book each frame is unpacked: its map, its words and its script go into the page, and the script
waits as text until ``book/_static/maps.js`` sees that the map comes into sight. What several maps
of a page share, such as the ground, is written once.
"""

from __future__ import annotations

import hashlib
import html
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

FRAME = re.compile(r'<iframe\b[^>]*?\bsrcdoc="(?P<page>[^"]*)"[^>]*>\s*</iframe>', re.S)
# What branca writes around the frame where a map has no height of its own.
AROUND = re.compile(
    r'^\s*(?:<div style="[^"]*">\s*)+<span[^>]*>Make this Notebook Trusted.*?</span>'
)
BODY = re.compile(r"<body>(?P<body>.*)</body>\s*<script>(?P<script>.*)</script>\s*</html>", re.S)
MAP = re.compile(r'<div class="folium-map" id="(?P<id>\w+)"\s*>\s*</div>')
SOURCES = re.compile(r'<script src="([^"]+)"')
ALT = re.compile(r'\bdata-alt="([^"]*)"')
DATA = re.compile(r"(?P<call>\w+_add\()(?P<data>\{.{4000,}\})(?=\);)")
# folium names these libraries on every page; maps of `pgt.maps` use none of them.
UNUSED = re.compile(r"jquery|bootstrap|awesome|moment")
TEXT = "This map is drawn by a script, when it comes into sight."


def unpacked(frame: re.Match[str], seen: set[str]) -> str:
    """A map's frame as a figure; ``seen`` are the names of the data that the page has already."""
    page = html.unescape(frame["page"])
    parts, place = BODY.search(page), MAP.search(page)
    if parts is None or place is None:
        return frame[0]
    needs = [one for one in SOURCES.findall(page) if not UNUSED.search(one)]
    unknown = [one for one in needs if "/leaflet@" not in one and "timeline" not in one]
    if unknown or re.search(r"\$\(|\bmoment\(", parts["script"]):
        problem = f"A map needs {unknown or 'jQuery or moment'}, which the book does not have"
        raise ExtensionError(f"{problem}: book/_ext/leaflet.py")
    alt = ALT.search(parts["body"])
    label = alt[1] if alt else "Map"
    shared = ""

    def once(call: re.Match[str]) -> str:
        """Large data has a place of its own in the page."""
        nonlocal shared
        name = "map-data-" + hashlib.sha256(call["data"].encode()).hexdigest()[:10]
        if name not in seen:
            seen.add(name)
            shared += f'<script type="application/json" id="{name}">{call["data"]}</script>'
        return f'{call["call"]}JSON.parse(document.getElementById("{name}").textContent)'

    script = DATA.sub(once, parts["script"].strip())
    timeline = " data-timeline" if any("timeline" in one for one in needs) else ""
    drawn = (
        f'<div class="folium-map" id="{place["id"]}" role="group" aria-label="{label}">'
        f"<p>{label}</p><p>{TEXT}</p></div>"
    )
    return (
        f'<figure class="folium-figure">{MAP.sub(drawn, parts["body"].strip())}{shared}'
        f'<script type="text/x-map"{timeline}>{script}</script></figure>'
    )


def unpack(output: str, seen: set[str]) -> str:
    """The HTML of a cell's output with the frames of maps unpacked."""
    if "folium-map" not in output:
        return output
    result = FRAME.sub(lambda frame: unpacked(frame, seen), output)
    opened = AROUND.match(result)
    if opened and "<iframe" not in result:
        depth = opened[0].count("<div")
        result = re.sub(rf"(?:</div>\s*){{{depth}}}$", "", result[opened.end() :])
    return result


def unpack_all(app: Sphinx, doctree: nodes.document, _name: str) -> None:
    """Unpack the maps of a page, before it is written."""
    if app.builder.format != "html":
        return
    seen: set[str] = set()
    for node in list(doctree.findall(nodes.raw)):
        text = node.astext()
        if (result := unpack(text, seen)) != text:
            node.replace_self(nodes.raw("", result, format="html"))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-resolved", unpack_all, priority=900)
