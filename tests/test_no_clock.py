"""No test depends on how fast the machine is: none reads a clock, none gives up early."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from .helpers import PATIENCE, ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

import colab

CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
CLOCKS |= {f"{name}_ns" for name in (*CLOCKS, "time")}
CALENDARS = {"Timestamp", "datetime", "date"}
IN_A_PAGE = re.compile(r"\b(performance|Date)\.now\(")
IN_A_COMMAND = re.compile(r"--[a-z-]*timeout[= ]\d{1,3}\b")
# What the package, the chapters' reports and the benchmarks call a time that they have measured.
MEASURED = {"seconds", "execution_seconds", "processor_seconds", "took"}
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def offences(source: str) -> Iterator[str]:
    """What in the source of a test depends on the speed of the machine."""
    for node in ast.walk(ast.parse(source)):
        found = None
        match node:
            case ast.Import(names=names) if {"time", "timeit"} & {name.name for name in names}:
                found = "reads a clock"
            case ast.ImportFrom(module="time" | "timeit"):
                found = "reads a clock"
            case ast.Attribute(attr=name) if name in CLOCKS:
                found = "reads a clock"
            case ast.Attribute(attr="now" | "today" | "utcnow", value=of) if (
                ast.unparse(of).split(".")[-1] in CALENDARS
            ):
                found = "reads a clock"
            case ast.Constant(value=str(text)) if IN_A_PAGE.search(text):
                found = "reads a clock"
            case ast.Assert(test=test) if any(map(limits_a_time, ast.walk(test))):
                found = "limits a time"
            case ast.keyword(arg="timeout", value=ast.Constant(value=int() | float())):
                found = "gives up early"
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(), *_]) if (
                name == "timeout" or re.fullmatch(r"set_default_\w*timeout", name)
            ):
                found = "gives up early"
            case ast.Constant(value=str(text)) if IN_A_COMMAND.search(text):
                found = "gives up early"
        if found:
            yield f"line {getattr(node, 'lineno', '?')} {found}"


def limits_a_time(node: ast.AST) -> bool:
    """Whether a node compares a time that was measured with something, by its size."""
    if not isinstance(node, ast.Compare) or not any(isinstance(op, ORDER) for op in node.ops):
        return False
    for part in ast.walk(node):
        match part:
            case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)):
                if name in MEASURED:
                    return True
    return False


FILES = sorted(set((ROOT / "tests").rglob("*.py")) - {Path(__file__).resolve()})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_file_does_not_depend_on_the_speed_of_the_machine(path: Path) -> None:
    assert list(offences(path.read_text(encoding="utf-8"))) == []


def test_what_guards_against_hanging_leaves_time_enough() -> None:
    execute = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["execute"]
    assert execute["timeout"] == colab.TIMEOUT >= 1800
    assert PATIENCE >= 600_000
