"""What the package promised before it was taken apart, it still does: see `record.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..helpers import environment
from . import acts

pytestmark = pytest.mark.filterwarnings("ignore")
# Of a number, or of 1 if it is smaller; 2e-8 of 108 degrees are 0.2 m.
NEAR = {"predictor": 1e-5, "log_probabilities": 1e-5, "training": 1e-4, "gps": 2e-8, "score": 1e-4}


@pytest.mark.parametrize("name", [*list(NEAR)[:4], pytest.param("score", marks=pytest.mark.slow)])
def test_an_act_is_as_on_its_tape(name: str) -> None:
    now = acts.plain(getattr(acts, name)())
    assert list(acts.differences(acts.tape(name), now, NEAR[name]))[:10] == []


def test_the_ranks_are_as_on_their_tape() -> None:
    taped, now = acts.tape("ranks"), acts.ranks()
    # Of the network, two windows of 3,102 may hang on the last bit of a sum.
    pairs = zip(taped.pop("PGT"), now.pop("PGT"), strict=True)
    assert sum(old != new for old, new in pairs) <= 2
    assert taped == now


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("promises")
    acts.files_for_commands(folder)
    return folder


@pytest.mark.parametrize("name", acts.commands(slow=False))
def test_a_command_of_the_readme(folder: Path, name: str) -> None:
    asked = acts.commands(slow=False)[name]
    taped, now = acts.tape("readme")[name], acts.plain(acts.run(folder, *asked))
    assert list(acts.differences(taped, now, 1e-4)) == []


@pytest.mark.slow
def test_commands_that_train(folder: Path) -> None:
    for name, asked in acts.commands(slow=True).items():
        taped, now = acts.tape("readme")[name], acts.plain(acts.run(folder, *asked))
        assert (name, list(acts.differences(taped, now, 1e-4))) == (name, [])


def test_the_module_is_a_command(folder: Path) -> None:
    asked = [sys.executable, "-m", "pgt", "predict", str(folder / "nothing.csv")]
    done = subprocess.run(asked, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("pgt: ") and "nothing.csv" in done.stderr
