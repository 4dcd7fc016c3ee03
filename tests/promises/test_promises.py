"""What the package promised before it was taken apart, it still does: see `acts.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import acts

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", ["predictor", pytest.param("score", marks=pytest.mark.slow)])
def test_an_act_is_as_on_its_tape(name: str) -> None:
    now = acts.plain(getattr(acts, name)())
    assert list(acts.differences(acts.tape(name), now, 1e-4))[:10] == []


def test_the_ranks_are_as_on_their_tape() -> None:
    taped, now = acts.tape("ranks"), acts.ranks()
    # Of the network, two windows of 3,102 may hang on the last bit of a sum.
    pairs = zip(taped.pop("PGT"), now.pop("PGT"), strict=True)
    assert sum(old != new for old, new in pairs) <= 2
    assert taped == now


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_commands_of_the_readme(slow: bool, tmp_path: Path) -> None:
    acts.files_for_commands(tmp_path)
    for name, asked in acts.commands(slow).items():
        taped, now = acts.tape("readme")[name], acts.plain(acts.run(tmp_path, *asked))
        assert (name, list(acts.differences(taped, now, 1e-4))) == (name, [])
