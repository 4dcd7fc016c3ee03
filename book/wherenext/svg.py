"""SVG as matplotlib writes it, made lighter without a change that can be seen.

A page of the book holds a dozen such pictures. Matplotlib gives every coordinate six decimals,
every marker a style of its own, every dot of a hatching eight curves, and rasters as PNG.
"""

from __future__ import annotations

import base64
import io
import math
import re

from PIL import Image

NUMBER = re.compile(r"-?\d+\.\d+")
# Lengths on the page; not the factors of a scale, which multiply others.
LENGTHS = re.compile(r'(?<= )(?:d|x|y|x1|x2|y1|y2|width|height)="[^"]*"|translate\([^)]*\)')
GROUP = re.compile(r'<g id="[\w.]+_\d+"')  # named by matplotlib; nothing refers to these names
# A circle as matplotlib draws it: eight curves.
CURVED = re.compile(r"M(?P<start>[^MCzA-Z]+)(?P<curves>(?:C[^MCzA-Z]+){8})z")
MARK = r'<use [^<>]*? style="{}"/>'
MARKS = re.compile(MARK.format('(?P<style>[^"]*)') + f"(?:{MARK.format('(?P=style)')})+")
RASTER = re.compile(r"data:image/png;base64,([^\"']+)")


def lighter(svg: str) -> str:
    """Return the picture with fewer bytes: to a hundredth of a point, it is the same."""
    svg = re.sub(r">\s+<", "><", re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL))
    svg = re.sub(r'(?<= d=")[^"]*', lambda found: circles(tight(found[0])), svg)
    svg = re.sub(r'(<use [^<>]*) transform="translate\((\S+) 0\)"/>', r'\1 x="\2"/>', svg)
    svg = LENGTHS.sub(lambda found: NUMBER.sub(_short, found[0]), svg)
    svg = MARKS.sub(_share_style, GROUP.sub("<g", svg))
    svg = svg.replace("xlink:href=", "href=")
    return RASTER.sub(lambda found: f"data:image/webp;base64,{smaller(found[1])}", svg)


def tight(path: str) -> str:
    """A path's data without the spaces around its letters."""
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(path.split()))


def circles(path: str) -> str:
    """A path's data with circles of eight curves as two arcs each."""
    return CURVED.sub(_arcs, path)


def _arcs(found: re.Match[str]) -> str:
    """A circle as two arcs; whatever else has eight curves stays."""
    ends = [found["start"].split(), *(part.split()[4:] for part in found["curves"].split("C")[1:])]
    points = [(float(x), float(y)) for x, y in ends]
    # Opposite ends lie on both sides of the middle.
    x, y = ((a + b) / 2 for a, b in zip(points[0], points[4], strict=True))
    radius = math.dist(points[0], (x, y))
    if any(abs(math.dist(point, (x, y)) - radius) > 1e-3 * radius + 1e-5 for point in points):
        return found[0]
    r, wide = (f"{value:.3f}".rstrip("0").rstrip(".") for value in (radius, 2 * radius))
    left = f"{x - radius:.3f} {y:.3f}"
    return f"M{left}a{r} {r} 0 1 0 {wide} 0a{r} {r} 0 1 0 -{wide} 0z"


def _short(found: re.Match[str]) -> str:
    """A number with two decimals, unless that is nothing."""
    text = f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _share_style(found: re.Match[str]) -> str:
    """Marks of one style in a group that has it; each hides what it covers, as before."""
    style = found["style"]
    if re.search(r"(?<!-)opacity", style):
        return found[0]  # of a group, it would be that of all marks together
    return f'<g style="{style}">' + found[0].replace(f' style="{style}"', "") + "</g>"


def smaller(png: str) -> str:
    """The same pixels as WebP without loss, both in base64."""
    data = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        image.save(data, "WEBP", lossless=True, exact=True, quality=100, method=6)
    return base64.b64encode(data.getvalue()).decode("ascii")
