"""The published address stands in pyproject.toml; one command puts another one everywhere."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import address
import notebooks
import pytest

from ..helpers import ROOT

OWNER, NAME = address.CODE.rsplit("/", 2)[1:]
# Any repository of our name, where GitHub or Colab has it, and any pages of that name.
OURS = re.compile(rf"github(?:\\*\.com)?/([\w.-]+/{NAME})\b|([\w.-]+\.io/{NAME})\b")
# In pieces, so that no address of this file is moved back.
CODE = "/".join(("https://github.com", "somebody-else", "other_name"))
SITE = "/".join(("https://pages.example.org", "town"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files of the repository in another folder."""
    for path in address.files():
        place = tmp_path / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return tmp_path


def texts(root: Path) -> dict[str, bytes]:
    """The bytes of all files by their names."""
    return {str(path.relative_to(root)): path.read_bytes() for path in address.files(root)}


def test_every_address_is_that_of_the_project() -> None:
    named = {f"{OWNER}/{NAME}", address.SITE.removeprefix("https://")}
    there = {}
    for name, data in texts(ROOT).items():
        found = {a or b for a, b in OURS.findall(data.decode("utf-8", "ignore"))}
        there |= {name: found} if found else {}
    assert {name: found - named for name, found in there.items() if found - named} == {}
    assert {"README.md", "CITATION.cff", "_config.yml", "book/01_where_next.ipynb"} <= there.keys()


@pytest.mark.slow
def test_one_command_moves_all_of_it_and_keeps_every_output(copy: Path) -> None:
    before = texts(copy)
    changed = address.move(CODE, SITE, copy)
    assert len(changed) > 80
    left = [name for name, data in texts(copy).items() if OWNER.encode() in data]
    assert left == []
    book = copy / "book"
    assert all(notebooks.committed(script) for script in notebooks.chapters(book))
    assert notebooks.refresh(False, book) == 0 and notebooks.outdated(book) == []
    assert address.published(copy) == (CODE, SITE)
    address.move(address.CODE, address.SITE, copy)
    assert notebooks.refresh(False, book) == 0
    assert texts(copy) == before


@pytest.mark.parametrize("given", ["", "github.com/a/b", "https://gitlab.com/a/b"])
def test_an_address_that_colab_cannot_open_is_one_sentence(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["address.py", given])
    monkeypatch.setattr(address, "move", lambda *_: pytest.fail("It has written."))
    assert address.main() == 2
    assert "make address URL=https://github.com/" in capsys.readouterr().err
