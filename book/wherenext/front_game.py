"""The front page's game as HTML, drawn when the book is built; no quiz tool has maps.

Every week is drawn here; ``front-game.js`` shows one after the other, with the answers of `game`.
The town is drawn once: each map shows a part of it by shifting and stretching what was drawn.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from wherenext import city as towns
from wherenext.game import Question, questions
from wherenext.ground import UNIT, ground_of
from wherenext.page_text import safe_html, safe_json

WIDTH, HEIGHT, MARGIN = 600, 340, 44  # units of a picture, and around what it shows
CLOSEST = 0.012  # degrees of latitude that a picture shows at least, about 1.3 km
DAYS = 8  # of the strip beside a place: today, and the seven before
STRIP = 24 * DAYS, 20  # units: an hour is one
MARK = 19  # radius of a place's mark
MINE = "You"


def letter(place: int) -> str:
    """The letter that stands for a place on the map and beside it."""
    return chr(ord("A") + place)


def apart(spots: np.ndarray, least: float) -> np.ndarray:
    """Push spots from each other until their marks do not touch; inside the picture they stay."""
    at, edge = spots.copy(), least / 2
    for _ in range(200):
        for i in range(len(at)):
            for j in range(i):
                gap = at[i] - at[j]
                far = float(np.hypot(*gap))
                if far < least - 0.5:
                    way = gap / far if far > 1e-6 else np.array([1.0, 0.0])
                    at[i] += way * (least - far) / 2
                    at[j] -= way * (least - far) / 2
        at = at.clip([edge, edge], [WIDTH - edge, HEIGHT - edge])
    return at.round(1)


def map_of(question: Question, corner: tuple[float, float]) -> str:
    """The week on the map of a town with this south-west corner: way and places."""
    spots = question.places[["lon", "lat"]].to_numpy(dtype=float)
    low, high = spots.min(0), spots.max(0)
    middle = (low + high) / 2
    shrink = math.cos(math.radians(middle[1]))  # a degree of longitude is that much shorter
    scale = min(
        (WIDTH - 2 * MARGIN) / max((high - low)[0] * shrink, 1e-9),
        (HEIGHT - 2 * MARGIN) / max((high - low)[1], CLOSEST),
    )
    stretch = np.array([scale * shrink, -scale])
    at = apart((spots - middle) * stretch + [WIDTH / 2, HEIGHT / 2], 2 * MARK + 8).tolist()
    left, top = (np.array(corner) - middle) * stretch + [WIDTH / 2, HEIGHT / 2]
    ground = f"matrix({UNIT * stretch[0]:.6f} 0 0 {UNIT * stretch[1]:.6f} {left:.1f} {top:.1f})"
    stops = question.visits.place.tolist()
    ways = ""
    for i, (here, there) in enumerate(pairwise(stops), start=2):
        if here != there:
            (x1, y1), (x2, y2) = at[here], at[there]
            pale = 0.1 + 0.6 * (i / len(stops)) ** 2
            ways += f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" opacity="{pale:.2f}"/>'
    (x1, y1), (x2, y2) = at[question.here], at[question.truth]
    marks = "".join(
        f'<g class="spot{" here" if place == question.here else ""}" data-place="{place}">'
        f'<circle cx="{x}" cy="{y}" r="{MARK}"/><text x="{x}" y="{y}">{letter(place)}</text></g>'
        for place, (x, y) in enumerate(at)
    )
    label = (
        f"Map of a simulated town with one person's week: {len(stops)} visits to {len(spots)} "
        "places. The list of places says the same."
    )
    return (
        f'<svg class="game-map" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{safe_html(label)}"><use href="#game-ground" transform="{ground}"/>'
        f'<g class="way">{ways}</g>'
        f'<line class="trail" pathLength="1" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>{marks}</svg>'
    )


def strip(visits: pd.DataFrame, start: pd.Timestamp) -> str:
    """When the person was at one place, as a strip of days."""
    wide, high = STRIP
    begins, ends = (
        ((times.dt.tz_localize(None) - start).dt.total_seconds() / 3600).clip(0, wide)
        for times in (visits.started_at, visits.finished_at)
    )
    stays = "".join(
        f"M{begin:.1f} 0h{max(2.0, end - begin):.1f}v{high}H{begin:.1f}z"
        for begin, end in zip(begins, ends, strict=True)
    )
    nights = "".join(f"M{24 * day} 0v{high}" for day in range(1, DAYS))
    return (
        f'<svg class="strip" viewBox="0 0 {wide} {high}" preserveAspectRatio="none" '
        f'aria-hidden="true"><path class="nights" d="{nights}"/>'
        f'<path class="stays" d="{stays}"/></svg>'
    )


def place_row(question: Question, place: int, start: pd.Timestamp) -> str:
    """One place: a button, unless the person is there."""
    about = question.places.iloc[place]
    visits = question.visits[question.visits.place == place]
    last = visits.started_at.iloc[-1]
    often = "1 visit" if len(visits) == 1 else f"{len(visits)} visits"
    told = safe_html(f", {often}, the last on {last:%A at %H:%M}")
    here = place == question.here
    body = (
        f'<span class="letter">{letter(place)}</span>'
        f'<span class="about"><span class="name">{safe_html(about["name"])}</span> '
        f'<span class="kind">{safe_html(about.kind)}{", is here now" if here else ""}</span></span>'
        f'<span class="visually-hidden">{told}</span>{strip(visits, start)}'
    )
    if here:
        return f'<li class="here"><div class="place">{body}</div></li>'
    return (
        f'<li data-place="{place}"><button type="button" class="place" data-place="{place}" '
        f'disabled>{body}<span class="said"></span></button></li>'
    )


def week(question: Question, number: int, of: int, corner: tuple[float, float]) -> str:
    """One question: what is asked, the map, and the places to choose from."""
    now = question.now
    start = now.tz_localize(None).normalize() - pd.Timedelta(days=DAYS - 1)
    days = "".join(f"<span>{f'{start + pd.Timedelta(days=d):%a}'[:2]}</span>" for d in range(DAYS))
    leaves = safe_html(question.places.name.iloc[question.here])
    rows = "".join(place_row(question, place, start) for place in range(len(question.places)))
    return (
        f'<div class="game-week"{" hidden" if number > 1 else ""}>'
        f'<p class="ask" tabindex="-1"><span class="count">{number} of {of}</span> '
        f"It is {now:%A, %H:%M}. A {safe_html(question.role)} leaves "
        f"<b>{letter(question.here)}</b>, {leaves}. <b>Where next?</b> Click a place, on the map "
        "or in the list.</p>"
        f'<div class="board">{map_of(question, corner)}<div class="choices">'
        f'<div class="days" aria-hidden="true"><span class="days-of">{days}</span></div>'
        f'<ul class="places">{rows}</ul></div></div></div>'
    )


PLAYERS = """
<b>Rule</b>: the <a href="04_baselines.html">context kernel</a>, five numbers, over the last
hundred visits. <b>PGT</b>: the <a href="09_model.html">Transformer of this book</a>, trained in
this town; like you, it sees the week. <b>Pointer</b>: the predictor that comes with the package,
a small <a href="20_contextual_pointer.html">contextual pointer</a>; it sees the person's whole
past, but was never trained in this town. You alone know what kind of place each is.
"""


def fragment() -> str:
    """The game with its weeks, words and answers, as HTML."""
    town = towns.load()
    asked = questions()
    corner = town.bounds[:2]
    names = [MINE, *asked[0].guesses]
    numbers: dict[str, Any] = {
        "players": names,
        "weeks": [{"truth": q.truth, "guesses": list(q.guesses.values())} for q in asked],
    }
    # One path a kind and width, from the ground up; wide streets on top.
    ground = "".join(
        f'<path class="{kind}" stroke-width="{width:g}" d="{path}"/>'
        for kind, width, path in ground_of(town.base["features"], corner)["layers"]
    )
    scores = "".join(f"<li><span>{safe_html(name)}</span> <b>0</b></li>" for name in names)
    first = asked[0]
    went = safe_html(first.places.name.iloc[first.truth])
    weeks = "".join(week(q, i, len(asked), corner) for i, q in enumerate(asked, start=1))
    return (
        '<link rel="stylesheet" href="../_static/front.css">'
        '<figure class="front-game screen-only" id="front-game">'
        '<svg class="game-ground" width="0" height="0" aria-hidden="true"><defs>'
        f'<g id="game-ground" class="game-town">{ground}</g></defs></svg>{weeks}'
        '<div class="foot"><p class="told" role="status"></p>'
        f'<ul class="scores" aria-label="Right answers so far">{scores}</ul>'
        '<button type="button" class="next" hidden>Next question</button></div>'
        "<noscript><style>.front-game .foot{display:none!important}</style>"
        f'<p class="ask">They went to {letter(first.truth)}, {went}. With JavaScript this is a '
        "game of several such weeks, against three models.</p></noscript>"
        "<figcaption>The town and its people are simulated. In each of "
        f"{len(asked)} weeks another person leaves the place of most visits and goes to another "
        "place of that week. So few questions cannot say who is best; the chart below tests models "
        "on thousands of weeks of real people.</figcaption>"
        f'<script type="application/json">{safe_json(numbers)}</script></figure>'
        '<details class="front-more screen-only"><summary>The players</summary>'
        f"<p>{' '.join(PLAYERS.split())}</p></details>"
        '<script defer src="../_static/front-game.js"></script>'
    )
