"""Live pages with hostile text in every name: the page is the same page, and says the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from bs4 import BeautifulSoup, NavigableString, Tag
from wherenext import live

from ..hostile import HOSTILE, Scene, scene

PLAIN = "plainword"


def about(now: Scene) -> dict[str, str]:
    """Title and caption."""
    return {"title": f"{now.text} title", "caption": f"{now.text} caption"}


# What draws a live page, by module and name.
PAGES: dict[str, Callable[[Scene], Any]] = {
    "live.build": lambda now: live.build(now.model, now.windows, **about(now)),
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
    """The page, without what differs from one drawing to the next."""
    page = page_of(PAGES[name](scene(text)))
    return re.sub(r'("fingerprint":)"\w{6}"', r'\1""', page)  # of the vocabulary


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_is_text(name: str, text: str) -> None:
    page, plain = drawn(name, text), drawn(name, PLAIN)
    expected = read(plain, PLAIN)
    assert PLAIN in str(expected), "the page shows none of the text"
    assert page.count("1337") == plain.count("1337"), "a template ran"
    assert tags(page) == tags(plain), "text became a tag"
    assert read(page, text) == expected
