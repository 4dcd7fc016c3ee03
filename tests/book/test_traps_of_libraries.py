"""The page of traps names every finding, and only what is there."""

from __future__ import annotations

import re

from ..helpers import ROOT

PAGE = (ROOT / "book" / "traps_of_libraries.md").read_text(encoding="utf-8")
SCRIPTS = {path.stem for path in (ROOT / "findings").glob("*.sh")}


def test_the_page_names_every_finding_and_only_what_is_there() -> None:
    named = {name for name in re.findall(r"`([a-z0-9_]+)`", PAGE) if name.count("_") >= 2}
    assert set(re.findall(r"`([a-z0-9_]+)`", PAGE)) >= SCRIPTS
    assert {name for name in named if name not in {"min_samples", "week_monday"}} <= SCRIPTS
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file()


def test_every_finding_installs_pinned_packages_in_a_folder_that_goes_and_can_fail() -> None:
    for path in sorted((ROOT / "findings").glob("*.sh")):
        text = path.read_text(encoding="utf-8")
        assert "mktemp" in text and "==" in text and "set -euo pipefail" in text, path.name
        assert "assert" in text or "exit 1" in text, path.name
        assert not re.search(r"\bpgt\b|wherenext", text), path.name
