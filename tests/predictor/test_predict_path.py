"""How far a table travels until it is an answer: files entered, functions called, calls deep."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pgt
from pgt.predictor.predictor import NextLocation
from pgt.readers import tables
from pgt.visits import check

from ..helpers import routine_visits

PACKAGE = str(Path(pgt.__file__).resolve().parent)


def walked(run: Any) -> tuple[set[str], set[tuple[str, str]], int]:
    """The files and functions of the package that a call enters, and how deep it goes in them."""
    entered: set[tuple[str, str]] = set()
    depth = deepest = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        # A comprehension, a lambda or the body of a module is no function that one looks up.
        if not code.co_filename.startswith(PACKAGE) or code.co_name.startswith("<"):
            return
        if event == "call":
            entered.add((code.co_filename, code.co_qualname))
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return {file for file, _ in entered}, entered, deepest


def test_a_table_becomes_an_answer_in_few_steps() -> None:
    table, model = check(routine_visits(users=3, days=20)), NextLocation.pretrained()
    files, functions, depth = walked(lambda: model.predict(table))
    names = sorted(f"{Path(file).name}:{name}" for file, name in functions)
    assert len(files) <= 20, sorted(files)
    assert len(functions) <= 90, "\n".join(names)
    assert depth <= 8
    assert {"predictor.py:NextLocation.predict", "predictor.py:ask"} <= set(names)


def test_a_file_and_the_networks_add_few(tmp_path: Path) -> None:
    """From the name of a CSV file, the networks read as well: what the command line does."""
    path = tmp_path / "visits.csv"
    tables.write(check(routine_visits(users=3, days=20)), path)
    files, functions, depth = walked(lambda: NextLocation.pretrained().predict(path))
    assert len(files) <= 20, sorted(files)
    assert len(functions) <= 128, sorted(name for _, name in functions)
    assert depth <= 9
