"""The page on one's own data says what the code reads, in tables that are equal to it."""

from __future__ import annotations

import re

from pgt import cli
from pgt.readers.columns import ALIASES
from pgt.readers.recordings import FOREIGN, KINDS

from ..helpers import ROOT

PAGE = (ROOT / "book" / "data_in.md").read_text(encoding="utf-8")


def table(heading: str) -> dict[str, str]:
    """The first and the last cell of each row of the table below a heading, without marks."""
    part = re.split(r"^## ", PAGE.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")][2:]
    return {row[0].strip(" `."): row[-1].strip().replace("`", "") for row in rows}


def test_the_tables_of_the_page_are_what_the_code_reads() -> None:
    assert list(table("Which files").items()) == list(KINDS.items())
    assert table("What is not read") == FOREIGN
    names = {ours: ", ".join(" ".join(tiers).split()) for ours, tiers in ALIASES.items()}
    assert table("Which columns") == names


def test_the_options_of_the_page_exist() -> None:
    known = {name for action in cli.parser()._subparsers._group_actions[0].choices.values()  # type: ignore[union-attr]
             for option in action._actions for name in option.option_strings}  # fmt: skip
    named = set(re.findall(r"--[a-z][a-z-]*", PAGE))
    assert {"--person", "--fixes", "--visits"} <= named <= known
