"""Where a figure comes from: fingerprints see every window; hashes see every file."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import provenance

from pgt.windows import prepare

from ..helpers import random_visits


def test_data_fingerprints_see_every_window() -> None:
    visits = random_visits(2, visits=200)
    before = provenance.fingerprint(prepare(visits))
    assert before == provenance.fingerprint(prepare(visits.copy()))
    changed = visits.copy()
    changed.loc[changed.index[-1], "location_id"] = changed.location_id.iloc[0]
    shifted = visits.assign(started_at=visits.started_at + (visits.finished_at - visits.started_at))
    assert len({before, provenance.fingerprint(prepare(changed)),
                provenance.fingerprint(prepare(shifted))}) == 3  # fmt: skip


def test_a_changed_or_missing_file_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by = provenance.imported()
    assert {"pgt/windows.py", "lab/provenance.py", "wherenext/__init__.py"} <= made_by.keys()
    assert provenance.unchanged(made_by)
    monkeypatch.setitem(provenance.ROOTS, "lab", tmp_path)
    (tmp_path / "one.py").write_text("n = 1")
    files = {"lab/one.py": provenance.hash_of(tmp_path / "one.py")}
    assert provenance.unchanged(files)
    assert not provenance.unchanged(files | {"lab/other.py": "0"})
    (tmp_path / "one.py").write_text("n = 2")
    assert not provenance.unchanged(files)
