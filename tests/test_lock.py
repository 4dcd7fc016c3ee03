"""What builds the book is locked: every version, and the hash of every file of it."""

from __future__ import annotations

import re

from .helpers import ROOT

LINE = re.compile(r"(?m)^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; ([^\\\n]+?))?(?: \\)?$")
SHIPPED_APART = "torch"  # its platforms need other files each; the Makefile says so


def pinned(name: str) -> dict[str, tuple[str, str]]:
    """Package -> version, and where it is needed."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {
        package.lower().replace("_", "-"): (version, where)
        for package, version, where in LINE.findall(text)
    }


def test_every_version_has_its_hashes() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", text)[1:]
    assert len(blocks) > 150
    assert [
        block for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", block)
    ] == []


def test_the_lock_holds_what_it_is_made_of() -> None:
    asked, locked = pinned("requirements.in"), pinned("requirements.txt")
    asked.pop(SHIPPED_APART)
    assert asked == locked


def test_the_lock_names_no_registry() -> None:
    for name in ("requirements.in", "requirements.txt"):
        assert "://" not in (ROOT / name).read_text(encoding="utf-8")
