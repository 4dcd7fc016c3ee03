"""What the package promised before it was taken apart, it still does: see `record.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ..helpers import environment
from . import acts

pytestmark = pytest.mark.filterwarnings("ignore")
NEAR = {"training": 1e-4, "score": 1e-4, "gps": 2e-8}  # of 108 degrees: 0.2 m


@pytest.mark.parametrize("name", ["predictor", "log_probabilities", "training", "gps"])
def test_an_act_is_as_on_its_tape(name: str) -> None:
    acts.compare(name, getattr(acts, name)(), NEAR.get(name, 1e-5))


@pytest.mark.slow
def test_the_scores_are_as_on_their_tape() -> None:
    acts.compare("score", acts.score(), NEAR["score"])


def test_the_ranks_are_as_on_their_tape() -> None:
    now = acts.ranks()
    with np.load(acts.TAPES / "ranks.npz") as taped:
        assert sorted(now) == sorted(taped)
        others = {name: int((now[name] != taped[name]).any(1).sum()) for name in now}
    # Of the network, two windows of 3,102 may hang on the last bit of a sum.
    assert others.pop("PGT") <= 2
    assert others == {"Last": 0, "MostFrequent": 0, "Markov": 0, "ContextKernel": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("promises")
    acts.files_for_commands(folder)
    return folder


@pytest.mark.parametrize("name", acts.COMMANDS)
def test_a_command_of_the_readme(folder: Path, name: str) -> None:
    taped, now = acts.tape("commands")[name], acts.plain(acts.run(folder, acts.COMMANDS[name]))
    assert list(acts.differences(taped, now, 1e-4)) == []


@pytest.mark.slow
def test_commands_that_train(folder: Path) -> None:
    for name, asked in acts.SLOW.items():
        taped, now = acts.tape("commands")[name], acts.plain(acts.run(folder, asked))
        assert (name, list(acts.differences(taped, now, 1e-4))) == (name, [])


def test_the_module_is_a_command(folder: Path) -> None:
    asked = [sys.executable, "-m", "pgt", "predict", str(folder / "nothing.csv")]
    done = subprocess.run(asked, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("pgt: ") and "nothing.csv" in done.stderr


@pytest.mark.parametrize(
    "other",
    [
        {"a": [1.1, None, "x", 3], "b": {"c": 250.0}},
        {"a": [float("nan"), None, "x", 3], "b": {"c": 250.0}},
        {"a": [1.0, 0.0, "x", 3], "b": {"c": 250.0}},
        {"a": [1.0, None, "y", 3], "b": {"c": 250.0}},
        {"a": [1.0, None, "x", 4], "b": {"c": 250.0}},
        {"a": [1.0, None, "x"], "b": {"c": 250.01}},
        {"a": [1.0, None, "x", 3]},
    ],
)
def test_a_difference_would_be_noticed(other: dict[str, object]) -> None:
    taped = {"a": [1.0, None, "x", 3], "b": {"c": 250.0}}
    assert list(acts.differences(taped, other, 1e-5))
    assert list(acts.differences(other, taped, 1e-5))
    near = {"a": [1.000001, None, "x", 3], "b": {"c": 250.001}}
    assert list(acts.differences(taped, near, 1e-5)) == []
