"""A chain's file with counts that cannot be is refused where it is opened, not where it answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import wherenext.city
from torch import Tensor

import pgt
from pgt.files import read, write
from pgt.refusals.chains import require_chain, require_ids

Tensors = dict[str, Tensor]
N, USERS = 3, 2


def chain(**changed: Tensor) -> Tensors:
    """A whole chain over three places and two people, with something changed."""
    whole = {
        "popularity": torch.zeros(N), "everybody__keys": torch.tensor([0, N**2 - 1]),
        "everybody__counts": torch.ones(2), "own__keys": torch.tensor([USERS * N**2 - 1]),
        "own__counts": torch.ones(1),
    }  # fmt: skip
    return {name.replace("__", "."): one for name, one in (whole | changed).items()}


def test_a_whole_chain_is_taken() -> None:
    require_chain(chain(), N, USERS)
    require_chain(chain(everybody__counts=torch.zeros(2)), N, USERS)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"popularity": torch.zeros(N + 1)}, "another vocabulary"),
        ({"popularity": torch.zeros(N, 1)}, "another vocabulary"),
        ({"popularity": torch.tensor([0, torch.nan, 0])}, "another vocabulary"),
        ({"everybody__keys": torch.tensor([0.0, 1.0])}, "have no count"),
        ({"everybody__keys": torch.tensor([0])}, "have no count"),
        ({"own__keys": torch.tensor([[0]]), "own__counts": torch.ones(1, 1)}, "have no count"),
        ({"own__keys": torch.empty(0, dtype=torch.int64), "own__counts": torch.empty(0)},
         "steps are none"),
        ({"everybody__keys": torch.tensor([-1, 1])}, "steps are none"),
        ({"everybody__keys": torch.tensor([1, N**2])}, "steps are none"),
        ({"own__keys": torch.tensor([USERS * N**2])}, "steps are none"),
        ({"everybody__keys": torch.tensor([1, 0])}, "steps are none"),
        ({"everybody__keys": torch.tensor([1, 1])}, "steps are none"),
        ({"everybody__keys": torch.tensor([0, 5, 3]), "everybody__counts": torch.ones(3)},
         "steps are none"),
        ({"everybody__counts": torch.tensor([1.0, -1.0])}, "no counts"),
        ({"everybody__counts": torch.tensor([1.0, torch.inf])}, "no counts"),
        ({"own__counts": torch.tensor([torch.inf])}, "no counts"),
        ({"own__counts": torch.tensor([torch.nan])}, "no counts"),
    ],
)  # fmt: skip
def test_what_no_chain_has_is_refused(changed: Tensors, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        require_chain(chain(**changed), N, USERS)


@pytest.mark.parametrize("raw", [{"locations": [[]], "users": [1]}, {"locations": [1, "a"],
                                 "users": [None]}, {"locations": [1.5], "users": []},
                                 {"locations": [], "users": [True]}])  # fmt: skip
def test_ids_are_numbers_or_texts(raw: dict[str, Any]) -> None:
    require_ids({"locations": [1, "a"], "users": []})
    with pytest.raises(ValueError, match="is no id"):
        require_ids(raw)


@pytest.mark.parametrize("name", ["locations", "users"])
def test_no_id_is_there_twice(name: str) -> None:
    require_ids({"locations": [1, "1"], "users": [1, "1"]})
    with pytest.raises(ValueError, match=f"two of its {name} have the same id"):
        require_ids({"locations": [1], "users": [1]} | {name: [1, "a", "a"]})
    with pytest.raises(ValueError, match=f"its {name} are no list"):
        require_ids({"locations": [1], "users": [1]} | {name: "ab"})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chain") / "m.safetensors"
    pgt.NextLocation("markov").fit(wherenext.city.load().visits).save(path)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, info: tensors.update({"own.keys": tensors["own.keys"].flip(0)}),
        lambda tensors, info: tensors.update({"own.counts": tensors["own.counts"][1:]}),
        lambda tensors, info: info["vocabulary"]["locations"].__setitem__(0, {}),
        lambda tensors, info: info["vocabulary"]["locations"].__setitem__(
            0, info["vocabulary"]["locations"][1]
        ),
    ],
)
def test_a_tampered_file_is_refused_when_it_is_opened(
    file: Path, tmp_path: Path, change: Callable[[Tensors, dict[str, Any]], None]
) -> None:
    tensors, info = read(file)
    change(tensors, info)
    write(tmp_path / "m.safetensors", tensors, info)
    assert pgt.NextLocation.load(file)
    with pytest.raises(pgt.DataError, match=r"m\.safetensors"):
        pgt.NextLocation.load(tmp_path / "m.safetensors")
