"""The whole network in one drawing, as SVG; chapters light up their parts, and boxes are links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pgt.colours import COPIED, GATE, GENERATED, GRID, INK, MUTED, PAPER, TRUTH, themed
from wherenext.page_text import framed, safe_html

SITE = "https://where-next-book.github.io/where-next/book/"
WIDTH = 380  # units; a phone shows about one a pixel


@dataclass(frozen=True)
class Part:
    """A part of the network, and its box in the drawing."""

    name: str
    note: str  # a line for the box
    says: str  # a plain sentence
    chapter: str  # the page that builds it
    row: int  # from the top
    left: int  # of the box, in units
    width: int
    colour: str = INK  # of the box's edge, when it is lit


PARTS = {
    part.name: part
    for part in (
        Part("visits", "place, hour, length of stay, …",
             "The window: one person's last visits, each with seven facts.",
             "03_windows", 0, 65, 250),
        Part("embeddings", "a vector for each fact",
             "Each fact becomes a vector: numbers that training may move.",
             "05_embeddings", 1, 65, 250),
        Part("projection", "seven vectors become one",
             "The seven vectors of a visit become one.", "05_embeddings", 2, 65, 250),
        Part("position", "plus waves: which visit is where",
             "A fixed pattern is added that says which visit stands where.",
             "06_position_and_encoder", 3, 65, 250),
        Part("encoder", "visits look at each other",
             "The visits look at each other.",
             "06_position_and_encoder", 4, 65, 250),
        Part("context", "here and now",
             "The vector of the last visit stands for here and now.", "07_pointer", 5, 128, 124),
        Part("pointer", "weighs the visits",
             "It weighs the past visits: which of them would you copy?",
             "07_pointer", 6, 2, 126, COPIED),
        Part("bias", "by position",
             "A learned number for the last visit, the one before, and so on.",
             "07_pointer", 5, 2, 82, COPIED),
        Part("copies", "one sum a place",
             "The weights of visits to the same place are added up.",
             "07_pointer", 7, 2, 126, COPIED),
        Part("gate", "how much?",
             "It says how much to trust the copies.", "08_generator_and_gate", 6, 137, 106, GATE),
        Part("generator", "weighs all places",
             "It gives every place of the town a probability.",
             "08_generator_and_gate", 6, 252, 126, GENERATED),
        Part("mixture", "copied + generated",
             "It adds up what was copied and generated, each with its share.",
             "08_generator_and_gate", 8, 65, 250, TRUTH),
        Part("answer", "a probability for every place",
             "A probability for every place; the likeliest is the guess.",
             "09_model", 9, 65, 250, TRUTH),
    )
}  # fmt: skip
# (from, to, where it leaves, where it arrives), from the left.
ARROWS = (
    ("visits", "embeddings", 190, 190), ("embeddings", "projection", 190, 190),
    ("projection", "position", 190, 190), ("position", "encoder", 190, 190),
    ("encoder", "context", 190, 190), ("encoder", "pointer", 106, 94),
    ("bias", "pointer", 43, 43), ("context", "pointer", 150, 117),
    ("context", "gate", 190, 190), ("context", "generator", 246, 285),
    ("pointer", "copies", 65, 65), ("copies", "mixture", 96, 96),
    ("gate", "mixture", 190, 190), ("generator", "mixture", 290, 290),
    ("mixture", "answer", 190, 190),
)  # fmt: skip
WORDS = (
    "The network from top to bottom: visits, embeddings, projection, position, encoder. From the "
    "encoder all visits lead to the pointer, and the last visit becomes the context. The context "
    "leads to pointer, gate and generator; the position bias leads to the pointer, too. The "
    "pointer's weights become copies. Copies, gate and generator meet in the mixture, which gives "
    "the answer."
)


@dataclass(frozen=True)
class Drawing:
    """The drawing with alt text and caption, for the notebook to display."""

    page: str
    alt: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.page, "text/plain": self.alt}


def architecture(*lit: str, caption: str) -> Drawing:
    """Draw the network; `PARTS` named in ``lit`` stand out, with a sentence each (none: all)."""
    shown = [part for part in PARTS.values() if part.name in lit or not lit]
    alt = WORDS
    if lit:
        alt += f" Lit: {', '.join(part.name for part in shown)}."
    svg = drawing(lit, alt, lambda part: f"{SITE}{part.chapter}.html", small=bool(lit))
    width = 250 if lit else 360
    rows = "".join(
        f'<li style="margin:0 0 .5em"><b>{safe_html(part.name)}</b>: '
        f"{safe_html(part.says[0].lower() + part.says[1:])}</li>"
        for part in shown
    )
    beside = (
        '<ul style="flex:1 1 16em;margin:0;padding:0;list-style:none;font-size:.9em;'
        f'line-height:1.45">{rows}</ul>'
    )
    page = (
        '<div style="display:flex;flex-wrap:wrap;gap:16px 28px;align-items:center;'
        'justify-content:center">'
        f'<div style="flex:0 1 {width}px;min-width:min(100%,{min(width, 300)}px)">{svg}</div>'
        f"{beside}</div>"
    )
    return Drawing(framed(page, caption), alt)


def drawing(
    lit: Collection[str], alt: str, link: Callable[[Part], str], *, small: bool = False,
    numbers: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """The drawing as SVG; ``link`` says where a box leads. Small, a box has only its large name.

    ``numbers``: what stands above a box's end, by the name of its part.
    """
    high, gap = (38, 15) if small else (41, 22)
    if numbers:
        gap += 9  # room for them

    def top(part: Part) -> int:
        return 2 + part.row * (high + gap)

    marks = [
        _arrow(x, top(PARTS[one]) + high, to_x, top(PARTS[other]), not lit or other in lit)
        for one, other, x, to_x in ARROWS
    ]
    for part in PARTS.values():
        box = _box(part, top(part), high, not lit or part.name in lit, bool(lit), small, link(part))
        if numbers:
            # At the end where no arrow arrives.
            x, end = part.left + 4, "start"
            if part.left > WIDTH / 2:
                x, end = part.left + part.width - 4, "end"
            box = box.removesuffix("</a>") + (
                f'<text x="{x}" y="{top(part) - 5}" font-size="17" text-anchor="{end}" '
                f'fill="{INK}">{safe_html(numbers[part.name])}</text></a>'
            )
        marks.append(box)
    down = max(map(top, PARTS.values())) + high + 2
    up, y = (18, ' y="-18"') if numbers else (0, "")  # room for the first number
    # A group, since links inside an image cannot be reached.
    return themed(
        f'<svg role="group" aria-label="{safe_html(alt)}" viewBox="0 {-up} {WIDTH} {up + down:g}" '
        'style="display:block;width:100%;height:auto" text-anchor="middle" '
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\">"
        f'<rect{y} width="{WIDTH}" height="{up + down:g}" fill="{PAPER}"/>'
        f"{''.join(marks)}</svg>"
    )


def _arrow(x: float, y: float, to_x: float, to_y: float, lit: bool) -> str:
    colour, thick = (INK, 1.6) if lit else (MUTED, 1)
    end, half = to_y - 6, (y + to_y) / 2
    bend = f"C{x:g} {half:g} {to_x:g} {half:g} {to_x:g} {end:g}" if x != to_x else f"V{end:g}"
    return (
        f'<path d="M{x:g} {y:g}{bend}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
        f'<path d="M{to_x - 4:g} {end - 1:g}h8l-4 7z" fill="{colour}"/>'
    )


def _box(part: Part, y: float, high: float, lit: bool, some: bool, small: bool, link: str) -> str:
    edge, thick, ink = (part.colour, 2.4 if some else 1.8, INK) if lit else (GRID, 1.4, MUTED)
    at = f'x="{part.left}" y="{y:g}" width="{part.width}" height="{high:g}" rx="7"'
    size, line = (20, y + high / 2 + 7) if small else (15, y + 17)
    middle, kind = f"{part.left + part.width / 2:g}", ' class="lit"' if lit else ""
    marks = [
        f'<a href="{safe_html(link)}" data-part="{part.name}"{kind} '
        f'style="--part:{part.colour};text-decoration:none">',
        f"<title>{safe_html(f'{part.name}: {part.says}')}</title>",
        f'<rect {at} fill="{PAPER}" stroke="{edge}" stroke-width="{thick}"/>',
    ]
    if lit and some:  # among muted ones it is tinted in its colour
        marks.append(f'<rect {at} fill="{part.colour}" fill-opacity=".14"/>')
    marks.append(
        f'<text x="{middle}" y="{line:g}" font-size="{size}" font-weight="600" fill="{ink}">'
        f"{safe_html(part.name)}</text>"
    )
    if not small:
        marks.append(
            f'<text x="{middle}" y="{y + 33:g}" font-size="13" fill="{MUTED}">'
            f"{safe_html(part.note)}</text>"
        )
    return "".join(marks) + "</a>"
