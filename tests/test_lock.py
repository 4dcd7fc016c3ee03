"""What builds the book is locked: every version, and the hash of every file of it."""

from __future__ import annotations

import re

import pytest

from .helpers import ROOT

LINE = re.compile(r"(?m)^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; ([^\\\n]+?))?(?: \\)?$")
SHIPPED_APART = "torch"  # its platforms need other files each; the Makefile says so
LOCKS = {"requirements": 150, ".ci/npm": 2}  # file with the versions -> at least so many of them


def pinned(name: str) -> dict[str, tuple[str, str]]:
    """Package -> version, and where it is needed."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {
        package.lower().replace("_", "-"): (version, where)
        for package, version, where in LINE.findall(text)
    }


@pytest.mark.parametrize("name", LOCKS)
def test_every_version_has_its_hashes(name: str) -> None:
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", text)[1:]
    assert len(blocks) >= LOCKS[name]
    assert [
        block for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", block)
    ] == []


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_holds_what_it_is_made_of(name: str) -> None:
    asked, locked = pinned(f"{name}.in"), pinned(f"{name}.txt")
    asked.pop(SHIPPED_APART, None)
    assert asked == locked and len(asked) >= LOCKS[name]


@pytest.mark.parametrize("ending", ["in", "txt"])
@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_names_no_registry(name: str, ending: str) -> None:
    assert "://" not in (ROOT / f"{name}.{ending}").read_text(encoding="utf-8")


def test_pip_compares_the_hashes_of_all_that_make_installs() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    locks = re.findall(r"pip install --quiet --require-hashes --requirement (\S+)\n", text)
    assert sorted(locks) == sorted(f"{name}.txt" for name in LOCKS)
    others = re.findall(r"pip install (?!--quiet --require-hashes)(.+)", text)
    assert [one for one in others if SHIPPED_APART not in one and "--editable ." not in one] == []
