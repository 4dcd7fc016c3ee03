"""Every example in the docstrings of the package runs, and says the truth."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import pgt

from .helpers import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


MODULES = [
    path.stem for path in sorted((ROOT / "pgt").glob("*.py")) if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"pgt.{name}")
    monkeypatch.chdir(tmp_path)
    tested = doctest.testmod(module, optionflags=FLAGS)
    assert tested.attempted and not tested.failed
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


@pytest.mark.parametrize("name", pgt.__all__)
def test_public_names_are_documented_with_an_example(name: str) -> None:
    thing = getattr(pgt, name)
    text = inspect.getdoc(thing) or ""
    assert "Examples\n--------\n>>> " in text
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        section = f"{text}Parameters\n----------\n\n\n".split("Parameters\n----------\n")[1]
        heads = [line for line in section.split("\n\n")[0].splitlines() if line[0] != " "]
        listed = [one.strip() for head in heads for one in head.split(" : ")[0].split(",")]
        assert listed == list(signature.parameters)
        returns = signature.return_annotation
        assert ("Returns\n-------\n" in text) == (returns not in (None, "None"))
