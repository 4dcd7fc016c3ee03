"""The code that the page on the design documents links to exists."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from typing import Any

import pytest
from toc import REPOSITORY

from ..helpers import ROOT

PAGE = (ROOT / "book" / "documents.md").read_text(encoding="utf-8")
LINKS = dict(re.findall(r"^\[(\w+)\]: (\S+)$", PAGE, re.MULTILINE))


@pytest.mark.parametrize(
    ("name", "label"), sorted(set(re.findall(r"\[`([\w.]+)`\]\[(\w+)\]", PAGE)))
)
def test_code_exists_where_its_link_leads(name: str, label: str) -> None:
    path = LINKS[label].removeprefix(REPOSITORY)
    module: Any = import_module(path.removesuffix(".py").replace("/", "."))
    # A field of a dataclass without a default has a type and no value.
    found = reduce(
        lambda thing, part: getattr(thing, part, None) or thing.__annotations__[part],
        name.split("."), module,
    )  # fmt: skip
    assert found is not None
