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


def modules_with_examples(folder: Path) -> list[str]:
    """Names of the modules below a package's folder whose source shows an example."""
    return [
        ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(folder.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ]


MODULES = modules_with_examples(ROOT / "pgt")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
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
        assert ("Parameters\n----------\n" in text) == bool(inspect.signature(thing).parameters)
        returns = inspect.signature(thing).return_annotation
        assert ("Returns\n-------\n" in text) == (returns not in (None, "None"))


def documented_parameters(text: str) -> list[str]:
    """The names that a numpydoc section "Parameters" lists, in their order."""
    if "Parameters\n" not in text:
        return []
    section = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
    heads = [line for line in section.splitlines() if not line[0].isspace()]
    return [name.strip() for head in heads for name in head.split(" : ")[0].split(",")]


@pytest.mark.parametrize("name", [name for name in pgt.__all__ if name.islower()])
def test_documented_parameters_are_those_of_the_signature(name: str) -> None:
    function = getattr(pgt, name)
    assert documented_parameters(inspect.getdoc(function) or "") == list(
        inspect.signature(function).parameters
    )
