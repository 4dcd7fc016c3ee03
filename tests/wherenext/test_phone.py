"""The invented phone: its export is made by a function, and the README's first command reads it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from wherenext import city, phone

import pgt
from pgt import cli

from ..helpers import ROOT


def test_export_is_a_persons_last_visits() -> None:
    town = city.load()
    assert phone.TIMELINE.read_text(encoding="utf-8") == phone.timeline(town)
    assert phone.TIMELINE.stat().st_size < 60_000
    read = pgt.read_visits(phone.TIMELINE)
    true = town.visits[town.visits.user_id == 32].tail(len(read)).reset_index(drop=True)
    assert read.location_id.tolist() == [f"larkmere-{place}" for place in true.location_id]
    for name in ("started_at", "finished_at"):
        assert (read[name] == true[name]).all()
        assert read[name].map(str).tolist() == true[name].map(str).tolist(), (
            "the clock of the place"
        )


def test_first_command_of_the_readme_answers_for_it(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    words = re.search(r"^python -m pgt ([^#\n]*)", text, re.MULTILINE)
    assert words is not None
    monkeypatch.chdir(tmp_path)
    command = words[1].split()
    shutil.copy(phone.TIMELINE, command[-1])
    cli.main(command)
    said = capsys.readouterr().out
    assert "larkmere-" in said and "Timeline" in said
