"""Text on its way into a page: no language that a page speaks takes it for its own."""

from __future__ import annotations

import ast
import json
from html import unescape

import pytest
from jinja2 import Template
from wherenext.page_text import safe_html, safe_json

from ..helpers import ROOT
from ..hostile import HOSTILE


@pytest.mark.parametrize("text", HOSTILE)
def test_html_is_the_text_again_and_no_template(text: str) -> None:
    safe = safe_html(text)
    assert unescape(safe) == text
    assert not set("<>\"'{") & set(safe)
    assert Template(safe, keep_trailing_newline=True).render() == safe


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_the_value_again_and_no_template(text: str) -> None:
    value = {text: [{"name": text, "deep": {"empty": {}}}, text]}
    safe = safe_json(value)
    assert json.loads(safe) == value
    assert not set("<>&\n") & set(safe) and safe.isascii()
    assert Template(safe).render() == safe


def test_what_is_no_string_is_shown_as_python_writes_it() -> None:
    assert [safe_html(value) for value in (12, 1.5, None)] == ["12", "1.5", "None"]


def test_there_is_one_way_into_a_page() -> None:
    own = [ROOT / "book" / "_ext" / name for name in ("front_chart.py", "hero.py")]
    for path in [*(ROOT / "pgt").rglob("*.py"), *own]:
        if path.name == "page_text.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {node.module or ""}
            else:
                continue
            assert not names & {"html", "markupsafe", "xml.sax.saxutils"}, path.name
