"""Every map with hostile text in every name: the page is the same page, and says the same text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup, NavigableString, Tag
from wherenext import live
from wherenext.viz import maps, prediction_map
from wherenext.viz.basemap import MapFigure, dot, map_figure, of_town
from wherenext.viz.flow_map import flow_map
from wherenext.viz.person_map import person_map

from pgt.visits import check

from ..helpers import ROOT, routine_visits
from ..hostile import HOSTILE, Scene, scene

PLAIN = "plainword"
DRAWINGS = {"MapFigure", "Playground"}


def legend_and_title(now: Scene) -> MapFigure:
    """What every map has: signs with their meaning, a title, a caption and a table."""
    return map_figure(
        of_town(now.town, [(0, 0, now.text)]) | {"layers": [], "about": [now.text]},
        "map_city.js", title=now.text, caption=now.text, table=pd.DataFrame({now.text: [now.text]}),
        legend=[(dot("attention"), now.text)],
    )  # fmt: skip


def of_a_person(now: Scene) -> MapFigure:
    """Somebody with three places and two guesses, all of them named by the text."""
    visits = check(routine_visits(users=1, days=20))
    names = now.text + " " + visits.location_id.astype(str)
    visits = visits.assign(
        user_id=now.text, name=names, lon=16 + visits.location_id / 100, lat=48.2
    )
    guesses = pd.DataFrame(
        {"user_id": now.text, "rank": [1, 2], "location_id": [1, 0],
         "probability": [0.5, 0.25], "somewhere_new": 0.1}
    )  # fmt: skip
    return person_map(visits, guesses)


def about(now: Scene) -> dict[str, str]:
    """Title and caption."""
    return {"title": f"{now.text} title", "caption": f"{now.text} caption"}


# What draws a map, by module and name.
MAPS: dict[str, Callable[[Scene], Any]] = {
    "basemap.map_figure": legend_and_title,
    "person_map.person_map": of_a_person,
    "maps.city_map": lambda now: maps.city_map(now.town, **about(now)),
    "prediction_map.window_map": lambda now: prediction_map.window_map(
        now.town, now.looks[0], **about(now)
    ),
    "prediction_map.film_map": lambda now: prediction_map.film_map(
        now.town, now.looks, **about(now)
    ),
    "flow_map.flow_map": lambda now: flow_map(now.town, now.flows, **about(now)),
    "live.playground": lambda now: live.playground(small="pointer", state=now.text),
    "live.of_town": lambda now: live.of_town(
        now.model, now.windows.vocabulary, now.town, window=0, state=now.text
    ),
    "live.build": lambda now: live.build(now.model, now.windows, state=now.text, **about(now)),
}


def page_of(drawn: Any) -> str:
    """The whole page."""
    page: str = drawn.html()
    return page


# ---- What a reader of the page gets ---------------------------------------------------------

STRING = re.compile(r'("(?:[^"\\]|\\.)*")')


def read(page: str, text: str) -> list[Any]:
    """Tags, attributes, texts and the strings of scripts in order, with PLAIN for the text."""

    def clean(read_back: str) -> str:
        # Pandas shows the end of a line and a tab in a table as signs.
        in_table = text.replace("\n", "\\n").replace("\t", "\\t")
        return read_back.replace(text, PLAIN).replace(in_table, PLAIN)

    def script(code: str) -> list[Any]:
        parts: list[Any] = []
        for part in STRING.split(code):
            try:
                value = json.loads(part) if part.startswith('"') else part
            except ValueError:
                value = part
            parts.append(clean(value))
        return parts

    parts: list[Any] = []
    for node in BeautifulSoup(page, "html.parser").descendants:
        if isinstance(node, Tag):
            values = {name: node.get_attribute_list(name) for name in node.attrs}
            parts.append([node.name, {k: [clean(str(v)) for v in vs] for k, vs in values.items()}])
        elif isinstance(node, NavigableString):
            scripted = node.parent is not None and node.parent.name == "script"
            parts.append([type(node).__name__, script(node) if scripted else clean(node)])
    return parts


def tags(page: str) -> list[str]:
    """The names of a page's tags, in order."""
    return [tag.name for tag in BeautifulSoup(page, "html.parser").find_all()]


@lru_cache
def drawn(name: str, text: str) -> str:
    """The page of a map, without what differs from one drawing to the next."""
    page = page_of(MAPS[name](scene(text)))
    page = re.sub(r"pgt-map-[0-9a-f]{10}", "pgt-map", page)  # of what is drawn
    return re.sub(r'("fingerprint":)"\w{6}"', r'\1""', page)  # of the vocabulary


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", MAPS)
def test_hostile_text_is_text(name: str, text: str) -> None:
    page, plain = drawn(name, text), drawn(name, PLAIN)
    expected = read(plain, PLAIN)
    assert PLAIN in str(expected), "the map shows none of the text"
    assert page.count("1337") == plain.count("1337"), "a template ran"
    assert tags(page) == tags(plain), "text became a tag"
    assert read(page, text) == expected


def test_no_map_is_left_out() -> None:
    found = set()
    for path in (ROOT / "pgt").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                result = ast.unparse(node.returns) if node.returns else ""
                if result in DRAWINGS:
                    found.add(f"{path.stem}.{node.name}")
    assert found == set(MAPS)


@pytest.mark.parametrize("column", ["lon", "lat"])
def test_a_coordinate_is_a_number_or_an_error(column: str) -> None:
    now = scene(PLAIN)
    places = now.town.places.assign(**{column: "{{ 7*191 }}"})
    evil = replace(now, town=replace(now.town, places=places))
    for name in ("maps.city_map", "prediction_map.film_map"):
        with pytest.raises(ValueError, match="could not convert string to float"):
            MAPS[name](evil)
