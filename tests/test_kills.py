"""Whenever a process is killed: each file is whole or as before, and a training goes on from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .helpers import ROOT, run_python

pytest.importorskip("resource")  # nor can Windows fork


@pytest.mark.slow
def test_a_training_killed_twenty_times_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    done = run_python("-m", "tests.killed", "training", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]  # after every kill its checkpoint was read
    found = json.loads(done.stdout)
    assert found["kills"] >= 20 and len(found["epochs"]) >= 15
    assert len(set(found["epochs"])) > 7 and found["best epoch"] < 10
    # Weights, the optimizer's state, the best weights and the history of each life.
    assert found["lives"] and not any(found["lives"])


def test_every_writer_killed_at_any_moment_leaves_all_or_nothing(tmp_path: Path) -> None:
    done = run_python("-m", "tests.killed", "writers", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(found) == 6
    for moments, halves, wrong in found.values():
        assert moments >= 4 and halves == 1
        assert wrong == []
