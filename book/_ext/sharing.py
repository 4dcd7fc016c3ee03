"""Sphinx extension: how a page looks when it is shared, and how the book is cited.

Every page gets Open Graph tags: its title, a description in its own words, and one picture, drawn at
build time from the same prediction as the map of the front page. A page that has
``<div id="citation"></div>`` gets the BibTeX entry made from ``CITATION.cff`` there.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from docutils import nodes
from sphinx.application import Sphinx

PLACE = '<div id="citation"></div>'
PICTURE = "social.png"
SIZE = (1200, 630)  # pixels, as the networks that show such pictures ask for
LONGEST = 200  # characters of a description
ALT = (
    "Map of a simulated town. Blue discs show where the pointer looks, an orange ring its first "
    "guess, a green diamond where the person went."
)


def bibtex(citation: dict[str, Any], year: str) -> str:
    """A BibTeX entry from the fields of a CITATION.cff file.

    Examples
    --------
    >>> about = {"title": "T", "authors": [{"name": "A"}], "version": 1, "url": "https://x.y"}
    >>> print(bibtex(about, "2026"))
    @software{wherenext2026,
      author  = {{A}},
      title   = {{T}},
      year    = {2026},
      version = {1},
      url     = {https://x.y}
    }
    """
    authors = " and ".join(
        "{" + (a.get("name") or f"{a['given-names']} {a['family-names']}") + "}"
        for a in citation["authors"]
    )
    fields = {
        "author": authors,
        "title": "{" + citation["title"] + "}",
        "year": year,
        "version": str(citation["version"]),
        "url": citation["url"],
    }
    lines = ",\n".join(f"  {name:<7} = {{{value}}}" for name, value in fields.items())
    return f"@software{{wherenext{year},\n{lines}\n}}"


def cite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the BibTeX entry where a page asks for it."""
    if PLACE not in source[0]:
        return
    path = Path(app.srcdir) / "CITATION.cff"
    about = yaml.safe_load(path.read_text(encoding="utf-8"))
    year = re.search(r"\d{4}", app.config.copyright)
    block = f"```bibtex\n{bibtex(about, year[0] if year else '')}\n```"
    source[0] = source[0].replace(PLACE, block)
    app.env.dependencies[docname].add(str(path))


def describe(doctree: nodes.document | None) -> str:
    """The first words of a page: what its reader will be able to do, or its first paragraph.

    Examples
    --------
    >>> from docutils.core import publish_doctree
    >>> describe(publish_doctree("*You will be able to* count. *You need* ten fingers."))
    'You will be able to count.'
    """
    if doctree is None:
        return ""
    for node in doctree.findall():
        if isinstance(node, nodes.raw):  # of the front page
            lead = re.search(r'<p class="lead">(.*?)</p>', node.astext(), re.S)
            if lead:
                return re.sub(r"\s+", " ", lead[1]).strip().split(". This")[0] + "."
        if not isinstance(node, nodes.paragraph):
            continue
        text = re.sub(r"\s+", " ", node.astext()).strip()
        text = re.split(r"\s*You need ", text)[0] if text.startswith("You will") else text
        if len(text) > LONGEST:
            text = text[:LONGEST].rsplit(" ", 1)[0] + " …"
        if text:
            return text
    return ""


def tag(app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the tags to a page's head."""
    base = app.config.social_base.rstrip("/")
    title = re.sub(r"<[^>]+>", "", context.get("title") or app.config.project)
    name = str(app.config.project or app.config.html_title)
    words = describe(doctree)
    properties = {
        "og:title": title if title == name else f"{title} – {name}",
        "og:type": "article" if re.search(r"/\d\d_", page) else "website",
        "og:site_name": name,
        "og:url": f"{base}/{page}.html",
        "og:description": words,
        "og:image": f"{base}/_static/{PICTURE}",
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": ALT,
    }
    tags = [f'<meta property="{k}" content="{escape(v)}">' for k, v in properties.items() if v]
    tags.append('<meta name="twitter:card" content="summary_large_image">')
    if words:
        tags.append(f'<meta name="description" content="{escape(words)}">')
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def draw(path: Path, name: str, line: str) -> None:
    """Write the picture: one prediction on the town's map, and the name of the book."""
    from hero import WIDTH, Frame, week
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from pgt import city as towns
    from pgt.checkpoint import load_model, shipped
    from pgt.look import look
    from pgt.viz.basemap import GROUND, WIDE_STREETS
    from pgt.viz.figures import COPIED, GENERATED, TRUTH
    from pgt.viz.prediction_map import film
    from pgt.windows import prepare

    model, _ = load_model(shipped("city"))
    town = towns.load()
    test = prepare(town.visits, protocol="exact").test
    own = week(test)
    data = film(town, [look(model, test, int(own[len(own) // 2]))], top=3)
    frame, step = Frame([place[:2] for place in data["places"]]), data["steps"][0]
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor="#e6e3dc")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    # The lower edge stays free for the words.
    axes.set(xlim=(0, WIDTH), ylim=(WIDTH * SIZE[1] / SIZE[0] + 60, 60))
    for level, kind in enumerate(GROUND):
        for feature in town.base["features"]:
            about, shape = feature["properties"], feature["geometry"]
            if about["kind"] != kind:
                continue
            closed = shape["type"] == "Polygon"
            corners = shape["coordinates"][0] if closed else shape["coordinates"]
            xs, ys = zip(*(frame((n, e)) for e, n in corners), strict=True)
            style = GROUND[kind]
            if closed:
                axes.fill(xs, ys, style["fillColor"], ec=style["color"], lw=1, zorder=level)
            else:
                width = WIDE_STREETS.get(str(about.get("level")), style["weight"])
                axes.plot(xs, ys, color=style["color"], lw=width, zorder=level)
    spots = [frame(data["places"][place]) for place in step["visits"]]
    axes.plot(*zip(*spots, strict=True), color="#1b1f24", lw=1.6, alpha=0.4, zorder=10)
    for place, weight, _ in step["attention"]:
        x, y = frame(data["places"][place])
        axes.scatter(x, y, s=9000 * weight, color=COPIED, alpha=0.75, lw=0, zorder=11)
    x, y = frame(data["places"][step["candidates"][0][0]])
    axes.scatter(x, y, s=1900, facecolors="none", edgecolors=GENERATED, lw=5, zorder=12)
    x, y = frame(data["places"][step["truth"][0]])
    axes.scatter(x, y, s=420, marker="D", color=TRUTH, edgecolors="white", lw=2, zorder=13)
    panel = Rectangle((0, 0), 1, 0.24, transform=axes.transAxes, color="#14181d", zorder=20)
    axes.add_patch(panel)
    words: dict[str, Any] = {"transform": axes.transAxes, "color": "white", "zorder": 21}
    axes.text(0.04, 0.125, name, fontsize=40, fontweight="bold", **words)
    axes.text(0.04, 0.055, line, fontsize=19, **words)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the picture into the built book."""
    if exception is None and app.builder.format == "html":
        name = str(app.config.project or app.config.html_title)
        draw(Path(app.outdir) / "_static" / PICTURE, name, app.config.social_line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    base = "https://where-next-book.github.io/where-next"
    line = "Build, train and look inside a model that predicts where people go"
    app.add_config_value("social_base", base, "html", types=[str])
    app.add_config_value("social_line", line, "html", types=[str])
    app.connect("source-read", cite)
    app.connect("html-page-context", tag)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
