"""The mutation score of a tiny package: what is noticed, what survives, what is on the list."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .helpers import ROOT, run_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
SOURCE = '''"""A tiny module."""

LIMIT: int = 3


def few(n: int) -> bool:
    """Up to 3."""
    if n < 0:
        raise ValueError(f"{n} is under {0}")
    return n <= LIMIT
'''
LOOP = """

def countdown(n: int) -> int:
    while n > 0:
        n -= 1
    return n
"""
TESTS = """
import pytest
from tiny.counts import few

def test_few():
    assert few(3) and not few(4)

def test_less_than_nothing():
    with pytest.raises(ValueError):
        few(-2)"""
TESTS_OF_LOOP = """
from tiny.counts import countdown

def test_countdown():
    assert countdown(9) == 0
"""
BOUNDARY = "if n < 0:"
SURVIVORS = ("n < 0 → n <= 0", "n < 0 → n < 1")  # what nobody asks: is 0 less than nothing?


@pytest.fixture(scope="module")
def operators() -> ModuleType:
    """The module beside the script."""
    spec = importlib.util.spec_from_file_location("mutations", ROOT / ".ci" / "mutations.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["mutations"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tried(
    folder: Path, *equivalent: tuple[str, str], more: tuple[str, str] = ("", "")
) -> tuple[int, list[str]]:
    """Run the script on the tiny package; its exit status and the lines that it prints."""
    for name, text in (
        ("tiny/counts.py", SOURCE + more[0]), ("tests/test_counts.py", TESTS + more[1]),
    ):  # fmt: skip
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    listed = [
        f"[[equivalent]]\nmodule = 'tiny/counts.py'\nline = '{line}'\nchange = '{change}'\n"
        for line, change in equivalent
    ]
    settings = folder / "mutants.toml"
    settings.write_text("modules = ['tiny/*.py']\npatience = 0\n" + "".join(listed), "utf-8")
    script = str(ROOT / ".ci" / "mutants.py")
    done = run_python(script, "--root", str(folder), "--config", str(settings))
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_survivors_are_named_and_endless_loops_are_noticed(tmp_path: Path) -> None:
    code, lines = tried(tmp_path, more=(LOOP, TESTS_OF_LOOP))
    assert lines[:2] == [f"tiny/counts.py:8: {change}" for change in SURVIVORS]
    assert lines[2] == ""  # nothing else survives, also none of the two that count for ever
    assert code == 1


def test_what_changes_nothing_is_not_asked_for_until_its_line_changes(tmp_path: Path) -> None:
    code, lines = tried(tmp_path, *((BOUNDARY, change) for change in SURVIVORS))
    assert code == 0 and lines[0] == "" and "100.0%" in lines[-1]
    code, lines = tried(tmp_path, *(("if n < 00:", change) for change in SURVIVORS))
    assert code == 1
    assert [line for line in lines if "stale" in line and "if n < 00:" in line] == lines[2:4]


def test_each_fault_is_another_program_and_can_be_taken_back(operators: ModuleType) -> None:
    tree = ast.parse(SOURCE)
    before = ast.dump(tree)
    found = operators.mutations(tree)
    changed = set()
    for fault in found:
        fault.apply()
        compile(tree, "counts.py", "exec")
        changed.add(ast.dump(tree))
        fault.undo()
        assert ast.dump(tree) == before
    assert len(changed) == len(found) == len({(one.line, one.change) for one in found})
    assert before not in changed


@pytest.mark.parametrize(
    "source",
    [
        '"""Text, 1 + 1."""',
        "x: Literal[1] | None",
        "def f(x: 'int' = None) -> Literal[3]: ...",
        "assert 1 < 2",
        "@cache(size=3)\nclass A(B[1]): ...",
        "from a import b\nif TYPE_CHECKING:\n    c = 1",
    ],
)
def test_what_computes_nothing_has_no_faults(operators: ModuleType, source: str) -> None:
    assert operators.mutations(ast.parse(source)) == []


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("raise E(f'{a + 1}')", ["dropped: raise E(f'{a + 1}')"]),
        ("zip(a, b, strict=True)", ["dropped: zip(a, b, strict=True)"]),
        ("x = -1", ["-1 → 1", "-1 → -2"]),
        ("x = a and not b", ["a and (not b) → a or not b", "a and (not b) → a and b"]),
        ("x = min(a) if b else c.any()",
         ["min(a) if b else c.any() → c.any() if b else min(a)",
          "min(a) → max(a)", "c.any() → c.all()"]),
        ("def f(a=0.5, *, b=False):\n    return a",
         ["0.5 → 1.0", "False → True", "return a → return None"]),
    ],
)  # fmt: skip
def test_the_faults_of_some_lines(operators: ModuleType, source: str, changes: list[str]) -> None:
    assert sorted(one.change for one in operators.mutations(ast.parse(source))) == sorted(changes)
