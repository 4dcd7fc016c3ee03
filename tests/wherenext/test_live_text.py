"""Pages with hostile text in every name: the page is the same page, and says the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from html import unescape
from typing import Any

import pytest
from bs4 import BeautifulSoup
from jinja2 import Template
from matplotlib import pyplot as plt
from wherenext import figures, live, live_predictor
from wherenext.page_text import safe_html, safe_json
from wherenext.walkthrough import walkthrough

from pgt.predictor.predictor import NextLocation
from pgt.visits import check

from ..helpers import ROOT
from ..hostile import HOSTILE, Scene, scene

PLAIN = "plainword"


def steps(now: Scene) -> Any:
    places = now.town.places
    names = dict(zip(places.location_id, places.name, strict=True))
    return walkthrough(now.model, now.windows, 0, names)


def page(now: Scene) -> Any:
    return live.build(now.model, now.windows, places=now.town.places)


def own(now: Scene) -> Any:
    return live_predictor.live(NextLocation.pretrained(), check(now.town.visits))


# What draws a page that holds text of data.
PAGES: dict[str, Callable[[Scene], Any]] = {"live": page, "predictor": own, "steps": steps}


def read(page: str, text: str) -> tuple[int, list[Any], str]:
    """How many scripts a page has; its tags with attributes, and its text, with PLAIN for ours."""
    soup = BeautifulSoup(page, "html.parser")
    n_scripts = len([script.extract() for script in soup.find_all("script")])
    tags = [
        [
            tag.name,
            *((name, "".join(value).replace(text, PLAIN)) for name, value in tag.attrs.items()),
        ]
        for tag in soup.find_all()
    ]
    return n_scripts, tags, soup.get_text().replace(text, PLAIN)


@lru_cache
def drawn(name: str, text: str) -> str:
    html: str = PAGES[name](scene(text)).html()
    return html


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_is_text(name: str, text: str) -> None:
    page, plain = drawn(name, text), drawn(name, PLAIN)
    assert PLAIN in plain, "the page shows none of the text"
    assert page.count("1337") == plain.count("1337"), "a template ran"
    assert read(page, text) == read(plain, PLAIN)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_gives_the_text_back_and_is_no_template(text: str) -> None:
    safe = safe_html(text)
    assert unescape(safe) == text and not set("<>\"'{") & set(safe)
    assert Template(safe, keep_trailing_newline=True).render() == safe
    value = {text: [{"name": text, "deep": {"empty": {}}}, text]}
    safe = safe_json(value)
    assert json.loads(safe) == value and not set("<>&\n") & set(safe) and safe.isascii()
    assert Template(safe).render() == safe
    shown = figures.show(plt.figure(), alt=text, caption=text)._repr_mimebundle_()["text/html"]
    soup = BeautifulSoup(shown, "html.parser")
    assert soup.select_one("figcaption").get_text() == text  # type: ignore[union-attr]
    assert soup.select_one("[role=img]")["aria-label"] == text  # type: ignore[index]
    plt.close("all")


def test_no_script_of_a_page_writes_html() -> None:
    for path in (ROOT / "book" / "wherenext" / "web").glob("*.js"):
        assert not re.search("innerHTML|insertAdjacentHTML", path.read_text("utf-8")), path.name
