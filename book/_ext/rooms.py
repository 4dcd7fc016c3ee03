"""Draw the package's rooms and who uses whom;
import-linter's drawgraph knows no floors and needs Graphviz.

The floors are those of the contract in pyproject.toml that import-linter checks; the arrows are the
imports that the code has; both come through import-linter's own graph, so no tool is needed beside.

    python book/_ext/rooms.py           # book/_static/rooms.svg
"""

from __future__ import annotations

import sys
import tomllib
from xml.sax.saxutils import escape

import grimp
from toc import ROOT

PICTURE = ROOT / "book" / "_static" / "rooms.svg"
CORE = "core"
LOWEST = {"pgt.errors", "pgt.batch", "pgt.units"}
WIDTH, HEIGHT, GAP, FLOOR = 178, 62, 30, 112
LANE = 7  # between arrows that pass through one gap
SAYS = {
    "lab": "experiments, no part of the package; they use the rooms below", "cli": "the command line",
    "predictor": "the model that wins",
    "viz": "figures, maps, pages", "exercises": "answers, checked", "scale": "data beyond memory", "analysis": "results, studied",
    "io": "files in and out", "relatives": "other networks", "city": "the simulated town",
    "gps": "fixes become visits", "contextual": "the contextual pointer",
    "improvements": "proposals, built", CORE: "visits → windows → model → ranks; every room above uses it",
    "sparse": "sums, ranks without V", "files": "whole or not at all", "reproducible": "same on any machine",
    "table": "its columns, rows, people", "training": "a run, its presets",
    "refusals": "said before anything is done", "doubts": "what looks like a mistake",
}  # fmt: skip
STYLE = """
  svg { --ink: #1b1f24; --muted: #57606a; --paper: #ffffff; --box: #f5f7f8; --line: #8c959f; --core: #0b7285 }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6e9ed; --muted: #a5afba; --paper: #14181d; --box: #1d232a; --line: #6b7682; --core: #5cc8d7 }
  }
  .paper { fill: var(--paper) } .box { fill: var(--box); stroke: var(--line) }
  .core { stroke: var(--core); stroke-width: 2 } .lab { stroke-dasharray: 5 4 }
  .arrow { fill: none; stroke: var(--line); stroke-width: 1.3 } .head { fill: var(--line) }
  text { fill: var(--muted); font: 12px system-ui, sans-serif; text-anchor: middle }
  .name { fill: var(--ink); font-weight: 600; font-size: 15px }
"""


def floors() -> list[list[str]]:
    """The rooms floor by floor, from the top; the core's modules are one room."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = setup["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [[name for name in layer.split(" | ") if is_room(name)] for layer in layers]
    below = layers.index("training") + 1  # the core's upper edge
    return [["lab"], *filter(None, rows[:below]), [CORE], *filter(None, rows[below:])]


def is_room(name: str) -> bool:
    """Whether a part of the package is a folder."""
    return (ROOT / "pgt" / name / "__init__.py").is_file()


def room_of(module: str) -> str:
    """As ``city`` for ``wherenext.town_map``, ``core`` for ``pgt.model``, ``lab`` for ``lab.run``."""
    first, *rest = module.split(".")
    if first == "lab":
        return "lab"
    return rest[0] if rest and is_room(rest[0]) else CORE


def arrows() -> set[tuple[str, str]]:
    """Every (room, room that it imports from).

    Errors, units and batches stand on the lowest floor and are used on every other, so that an
    arrow to them would say nothing. Nor has `pgt.train` one to the room that it opens.
    """
    sys.path[:0] = [str(ROOT), str(ROOT / "book")]
    graph = grimp.build_graph("pgt", "lab", exclude_type_checking_imports=True, cache_dir=None)
    found = {
        (room_of(one), room_of(other))
        for one in graph.modules - {"pgt", "pgt.__main__"}
        for other in graph.find_modules_directly_imported_by(one) - LOWEST
    }
    return {(one, other) for one, other in found if one != other} - {(CORE, "training")}


def size(room: str) -> str:
    """How many modules and lines a room has."""
    folder = ROOT / "book" / "lab" if room == "lab" else ROOT / "pgt" / room
    paths = (ROOT / "pgt").glob("*.py") if room == CORE else folder.rglob("*.py")
    modules = [path.read_text(encoding="utf-8") for path in paths]
    return f"{len(modules)} modules, {sum(text.count(chr(10)) for text in modules):,} lines"


def draw(rows: list[list[str]], uses: set[tuple[str, str]]) -> str:
    """The picture as SVG; arrows to the core, past it and from the lab are bundled."""
    widest = max(map(len, rows))
    across = widest * WIDTH + (widest + 1) * GAP
    down = len(rows) * FLOOR - (FLOOR - HEIGHT) + 2 * GAP
    place: dict[str, tuple[float, float, float]] = {}  # left, top, width
    for level, row in enumerate(rows):
        wide = across - 2 * GAP if row[0] in (CORE, "lab") else WIDTH
        left = (across - len(row) * wide - (len(row) - 1) * GAP) / 2
        for number, room in enumerate(row):
            place[room] = left + number * (wide + GAP), GAP + level * FLOOR, wide
    parts: list[str] = []
    lanes: dict[tuple[float, float], int] = {}
    for one, other in own_arrows(rows, uses):
        parts.append(arrow(one, other, place, own_arrows(rows, uses), lanes))
    boxes = []
    for room, (x, y, breadth) in place.items():
        kind = {CORE: "box core", "lab": "box lab"}.get(room, "box")
        middle = x + breadth / 2
        boxes.append(
            f'<g id="{room}"><rect class="{kind}" x="{x:g}" y="{y:g}" width="{breadth:g}" '
            f'height="{HEIGHT}" rx="8"/><text class="name" x="{middle:g}" y="{y + 20:g}">{room}</text>'
            f'<text x="{middle:g}" y="{y + 37:g}">{escape(SAYS[room])}</text>'
            f'<text x="{middle:g}" y="{y + 53:g}" class="size">{size(room)}</text></g>'
        )
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" role="img" '
        'aria-labelledby="title desc">',
        '<title id="title">The rooms of the package, floor by floor</title>',
        f'<desc id="desc">{escape(described(rows, uses))}</desc>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        '<rect class="paper" width="100%" height="100%"/>', *parts, *boxes, "</svg>", "",
    ])  # fmt: skip


def own_arrows(rows: list[list[str]], uses: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The arrows that get a line of their own: those that stay above the core, or begin in it."""
    floor = {room: number for number, row in enumerate(rows) for room in row}

    def bundled(one: str, other: str) -> bool:
        return one == "lab" or floor[one] < floor[CORE] <= floor[other]

    return sorted(pair for pair in uses if not bundled(*pair))


def arrow(
    one: str,
    other: str,
    place: dict[str, tuple[float, float, float]],
    drawn: list[tuple[str, str]],
    lanes: dict[tuple[float, float], int],
) -> str:
    """A curve from the lower edge of a room to the upper edge of another, by way of the gaps."""

    def port(room: str, end: int) -> float:
        """Where the arrow meets the room: its arrows side by side, in the order of their ends."""
        x, _, wide = place[room]
        mine = [pair for pair in drawn if pair[end] == room]
        mine.sort(key=lambda pair: place[pair[1 - end]][0] + place[pair[1 - end]][2] / 2)
        return x + wide * (mine.index((one, other)) + 1) / (len(mine) + 1)

    x, y = port(one, 0), place[one][1] + HEIGHT
    to_x, to_y = port(other, 1), place[other][1] - 1
    path, floor = f"M{x:g} {y:g}", y
    while to_y - floor > FLOOR:  # a floor between: pass through the gap that is nearest to the way
        top = floor + FLOOR - HEIGHT
        row = sorted(box for box in place.values() if box[1] == top)
        gaps = [row[0][0] - GAP / 2, *(box[0] + box[2] + GAP / 2 for box in row)]
        share = (top - y) / (to_y - y)
        via = min(gaps, key=lambda gap: abs(gap - (x + share * (to_x - x))))
        lane = lanes[via, top] = lanes.get((via, top), -1) + 1
        via += LANE * ((lane + 1) // 2) * (-1) ** lane
        half = (floor + top) / 2
        path += f"C{x:g} {half:g} {via:g} {half:g} {via:g} {top:g}V{top + HEIGHT:g}"
        x, floor = via, top + HEIGHT
    half = (floor + to_y) / 2
    path += f"C{x:g} {half:g} {to_x:g} {half:g} {to_x:g} {to_y:g}"
    return f'<path class="arrow" id="{one}-{other}" d="{path}" marker-end="url(#head)"/>'


def described(rows: list[list[str]], uses: set[tuple[str, str]]) -> str:
    """The picture in words."""
    rooms = [room for row in rows for room in row if room != CORE]
    free = [room for room in rooms if (room, CORE) not in uses]
    lines = ["From the top: " + "; ".join(" and ".join(row) for row in rows) + "."]
    lines.append("Every room uses the core" + (f", except {', '.join(free)}." if free else "."))
    for room in rooms:
        used = [other for other in rooms if (room, other) in uses]
        if used:
            lines.append(f"{room} uses {', '.join(used)}.")
    return " ".join(lines)


def main() -> int:
    """Write the picture; return the exit status."""
    PICTURE.write_text(draw(floors(), arrows()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
