"""The predictor's file: what is in it comes back, and what cannot be in it is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pgt.predictor.bundle import Bundle, Novelty
from pgt.predictor.estimator import PRETRAINED

from pgt import checkpoint
from pgt.errors import DataError
from pgt.files import folder

SHIPPED = folder("checkpoints") / PRETRAINED


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    one = Bundle.load(SHIPPED)
    one.save(tmp_path / "p.safetensors")
    again = Bundle.load(tmp_path / "p.safetensors")
    for name in ("next_place", "at_a_time"):
        old, new = getattr(one, name).state_dict(), getattr(again, name).state_dict()
        assert old.keys() == new.keys()
        assert all(torch.equal(old[key], new[key]) for key in old)
    assert np.array_equal(one.calibration, again.calibration)
    assert (one.novelty, one.memory, one.older, one.notes) == (
        again.novelty, again.memory, again.older, again.notes
    )  # fmt: skip


def test_novelty_is_a_share_drawn_towards_a_mean() -> None:
    novelty = Novelty(mean=0.2, strength=10)
    share = novelty(np.array([[0, 0], [50, 50], [0, 50]]))
    assert share[0] == pytest.approx(0.2)
    assert 0 < share[2] < 0.2 < share[1] < 1


def widened(info: dict[str, Any]) -> dict[str, Any]:
    models = {name: [one | {"n_components": 10**9} for one in some]
              for name, some in info["models"].items()}  # fmt: skip
    return info | {"models": models}


CHANGES: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "weights that are no numbers":
        (lambda t, i: ({n: torch.full_like(v, torch.nan) if "tables" in n else v
                        for n, v in t.items()}, i), "weights that are no numbers"),
    "sizes that no memory holds": (lambda t, i: (t, widened(i)), "in this model"),
    "an expert too few":
        (lambda t, i: (t, i | {"models": {n: s[:1] for n, s in i["models"].items()}}),
         "does not have|in this model"),
    "no novelty": (lambda t, i: (t, {n: v for n, v in i.items() if n != "novelty"}),
                   "does not fit this version"),
    "one network": (lambda t, i: (t, i | {"models": {}}), "does not fit this version"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_cannot_be_a_predictor_is_refused(name: str, tmp_path: Path) -> None:
    change, says = CHANGES[name]
    path = tmp_path / "p.safetensors"
    checkpoint.write(path, *change(*checkpoint.read(SHIPPED)))
    with pytest.raises(DataError, match=says):
        Bundle.load(path)
