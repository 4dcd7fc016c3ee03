"""The pages of the book by its parts, and where they lie, for what runs when no Sphinx does."""

from __future__ import annotations

import re
from pathlib import Path

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]


def parts(root: Path = ROOT) -> dict[str, list[str]]:
    """The names of the pages, as ``07_pointer``, by the captions of the parts, in reading order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return {
        part["caption"]: [Path(page["file"]).name for page in part["chapters"]]
        for part in toc["parts"]
    }


def chapter(page: str) -> int | None:
    """The number of a chapter, which its file has in its name, or None."""
    found = re.match(r"(\d\d)_", page.rpartition("/")[2])
    return int(found[1]) if found else None
