"""Fingerprints change with behaviour and with data, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgt import provenance, runs
from pgt.windows import prepare

from .helpers import random_visits


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1", "x = 1  # why", True),
        ("def f(a: int) -> int:\n    return a", "def f(a):\n    'Says.'\n    return a", True),
        ("class A:\n    x: int = 1", "class A:\n    'Doc.'\n    x: float = 1", True),
        ("class A:\n    x: int = 1", "class A:\n    y: int = 1", False),
        ("def f(a=1): return a", "def f(a=2): return a", False),
        ("print('one')", "print('two')", False),
    ],
)
def test_behaviour_is_what_counts(one: str, other: str, same: bool) -> None:
    assert (provenance.behaviour(one) == provenance.behaviour(other)) is same


def test_code_is_followed_through_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("from pgt.b import f\n")
    (tmp_path / "b.py").write_text("def f(): return 1\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").write_text("import pgt.b\n")
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    assert provenance.closure(["a"]) == ["a", "b"]
    assert provenance.closure(["part"]) == ["b", "part"]
    provenance.code_fingerprint.cache_clear()
    before = provenance.code_fingerprint(("a",))
    (tmp_path / "b.py").write_text("def f(): return 2\n")
    provenance.code_fingerprint.cache_clear()
    assert provenance.code_fingerprint(("a",)) != before
    provenance.code_fingerprint.cache_clear()


def test_every_models_code_holds_what_it_runs() -> None:
    assert {"model", "encoder", "mixture", "recipe", "metrics"} <= set(
        provenance.closure((*runs.CODE["pgt"], "metrics"))
    )
    assert set(runs.CODE) >= {run.model for e in _experiments() for _, run in e.jobs}


def _experiments() -> list[runs.Any]:
    from pgt.experiments import EXPERIMENTS

    return list(EXPERIMENTS.values())


def test_data_fingerprints_see_every_window() -> None:
    visits = random_visits(2, visits=200)
    before = provenance.fingerprint(prepare(visits))
    assert before == provenance.fingerprint(prepare(visits.copy()))
    changed = visits.copy()
    changed.loc[changed.index[-1], "location_id"] = changed.location_id.iloc[0]
    shifted = visits.assign(started_at=visits.started_at + (visits.finished_at - visits.started_at))
    assert len({before, provenance.fingerprint(prepare(changed)),
                provenance.fingerprint(prepare(shifted))}) == 3  # fmt: skip
