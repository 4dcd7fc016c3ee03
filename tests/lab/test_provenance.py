"""Where a figure comes from: fingerprints see every window; hashes see every file."""

from __future__ import annotations

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


def test_the_files_that_are_imported_are_named() -> None:
    assert {
        "pgt/windows.py",
        "lab/provenance.py",
        "wherenext/__init__.py",
    } <= provenance.imported().keys()
