"""The invented phone: its export is made by a function, and the README's first commands read it."""

from __future__ import annotations

import re
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


def test_first_commands_of_the_readme_work_in_a_clone(monkeypatch: Any, capsys: Any) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block, *_) = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.partition("#")[0].split() for line in block.splitlines()]
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [words[0] for words in lines] == ["make", "make", ".venv/bin/python"]
    assert all(re.search(rf"(?m)^{words[1]}:", made) for words in lines[:2])
    monkeypatch.chdir(ROOT)
    assert lines[2][1:3] == ["-m", "pgt"] and Path(lines[2][-1]).resolve() == phone.TIMELINE
    cli.main(lines[2][3:])
    said = capsys.readouterr().out
    assert "larkmere-" in said and "Timeline" in said
