"""Every example in the docstrings of the stage runs, and says the truth."""

from __future__ import annotations

import doctest
import importlib

import pytest

from ..helpers import ROOT

STAGE = ROOT / "book" / "wherenext"
MODULES = [
    ".".join(path.relative_to(STAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(STAGE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    tested = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert tested.attempted and not tested.failed
