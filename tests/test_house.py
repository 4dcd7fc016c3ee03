"""The rules of the house: how large the package is, who imports whom, and what is never stored."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

from .helpers import ROOT

LINES, FILES = 9_000, 36
MODULES = sorted((ROOT / "pgt").rglob("*.py"))


def test_the_package_is_small_and_flat() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES)
    assert lines <= LINES and len(MODULES) <= FILES
    assert all(path.parent == ROOT / "pgt" for path in MODULES)


def test_no_chapter_imports_the_laboratory() -> None:
    for chapter in sorted((ROOT / "book").glob("[0-9]*.py")):
        found = re.findall(r"(?m)^\s*(?:from|import)\s+lab\b", chapter.read_text(encoding="utf-8"))
        assert not found, chapter.name


def test_only_what_grows_can_be_changed() -> None:
    modules = [import_module(f"pgt.{path.stem}") for path in MODULES if path.stem[0] != "_"]
    made = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    loose = {c.__name__ for c in filter(is_dataclass, made) if not c.__dataclass_params__.frozen}
    assert loose == {"NextLocation", "TrainingLog"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_nothing_is_pickled(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\bpickle\b|\btorch\.(load|save)\(|\bjoblib\b|\ballow_pickle=True", text)
