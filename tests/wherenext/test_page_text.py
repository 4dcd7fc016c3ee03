"""Text on its way into a page: no language that a page speaks takes it for its own."""

from __future__ import annotations

import json
from html import unescape

import pytest
from jinja2 import Template
from wherenext.page_text import safe_html, safe_json

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
