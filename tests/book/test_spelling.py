"""What of a chapter is prose, so that its spelling is checked."""

from __future__ import annotations

import sys

import pytest

from ..helpers import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

import spelling


@pytest.mark.parametrize(
    "text",
    [
        "`zqx`", "``zqx``", "```python\nzqx\n```", "$zqx$", "$$\nzqx\n$$", "<b class='zqx'>",
        "[a](zqx.ipynb)", "https://zqx.org", "[Zqx (2020)](https://doi.org/10.1/a)", "<!-- zqx -->",
    ],
)  # fmt: skip
def test_what_is_no_prose_stays_out(text: str) -> None:
    left = spelling.prose(f"before {text} after\n\n{text}\n\nend")
    assert "zqx" not in left.lower()
    assert "before" in left
    assert "end" in left
    assert left.count("\n") == f"before {text} after\n\n{text}\n\nend".count("\n")


def test_a_script_gives_its_markdown_only_on_the_same_lines() -> None:
    script = "# %% [markdown]\n# # Title\n#\n# Prose.\n\n# %%\n# a comment\nx = 1\n"
    lines = spelling.markdown_of(script).split("\n")
    assert lines[1] == "# Title"
    assert lines[3] == "Prose."
    assert not any("comment" in line or "x = 1" in line for line in lines)


def test_the_list_of_words_is_sorted_and_needed() -> None:
    lines = spelling.WORDS.read_text(encoding="utf-8").splitlines()[1:]
    assert lines == sorted(set(lines), key=lambda word: (word.lower(), word))
    assert spelling.unused() == []


def test_every_chapter_and_page_is_read() -> None:
    names = {path.name for path in spelling.sources()}
    assert {"README.md", "glossary.md", "01_where_next.py"} <= names
