"""The errata point to tests that exist, and every erratum's test is listed there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "errata.md").read_text(encoding="utf-8")


def defined() -> set[str]:
    """``tests/test_x.py::test_name`` of every test function."""
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        names = re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        found |= {f"{path.relative_to(ROOT).as_posix()}::{name}" for name in names}
    return found


def test_every_test_named_in_the_errata_exists() -> None:
    named = set(re.findall(r"tests/[\w/]+\.py::test_\w+", PAGE))
    assert len(named) > 15
    assert not named - defined()


def test_every_erratum_test_is_named_in_the_errata() -> None:
    pinned = {name for name in defined() if "::test_erratum_" in name}
    assert not {name for name in pinned if name not in PAGE}
