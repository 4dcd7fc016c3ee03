"""A run goes on from a file that a run has written, and from nothing else."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pgt
from pgt.files import read, write
from pgt.refusals.runs import require_progress, require_settings_in, require_tensors
from pgt.train import TrainingLog, fit
from pgt.windows import PreparedDataset

from ..helpers import model_of, refusal, routine_visits, tiny_config

CONFIG = pgt.TrainConfig(max_epochs=3, batch_size=16, warmup_epochs=1)
Tensors = dict[str, Tensor]
REMEDY = "; remove it, or train with resume=False (--fresh)."


class Stopped(Exception):
    """Stands for a power cut."""


@pytest.fixture(scope="module")
def data() -> PreparedDataset:
    return pgt.prepare(routine_visits(users=2, days=50))


@pytest.fixture(scope="module")
def go_on(data: PreparedDataset) -> Callable[..., TrainingLog]:
    """Train on, from the file that is there."""

    def act(path: Path, **options: Any) -> TrainingLog:
        model = model_of(tiny_config(data, d_model=8, d_feedforward=8, n_layers=1)).float()
        train, valid = data.train.subset(np.arange(40)), data.valid.subset(np.arange(20))
        config = options.pop("config", CONFIG)
        return fit(model, train, valid, config, checkpoint=path, device="cpu", progress=False,
                   **options)  # fmt: skip

    return act


@pytest.fixture(scope="module")
def run(
    go_on: Callable[..., TrainingLog], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tensors, dict[str, Any]]:
    """What a run has written that was cut off after its second epoch."""

    def stop(row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise Stopped

    path = tmp_path_factory.mktemp("run") / "r.run.safetensors"
    with pytest.raises(Stopped):
        go_on(path, after_epoch=stop)
    return read(path)


def test_an_intact_run_goes_on(
    run: tuple[Tensors, dict[str, Any]], go_on: Callable[..., TrainingLog], tmp_path: Path
) -> None:
    tensors, info = run
    path = tmp_path / "r.run.safetensors"
    write(path, tensors, info)
    assert len(go_on(path).rows) == 3
    # The square of a large gradient is infinite; the step that it makes is none.
    key = next(key for key in tensors if key.startswith("optimizer.exp_avg_sq."))
    write(path, tensors | {key: torch.full_like(tensors[key], math.inf)}, info)
    assert len(go_on(path).rows) == 3


def gone(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda info: info.pop(key)


def other(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda info: info.update({key: value})


NO_NUMBERS = [None, "x", [], {}, math.nan, math.inf, 10**400, True, 1.5, -1, 0]
HEADERS = {
    **{f"no {key}": gone(key) for key in (
        "model", "training", "vocabulary", "windows", "epoch", "best_score", "best_epoch", "history"
    )},
    **{f"training {value}": other("training", value) for value in (None, [], 1, "x")},
    **{f"{key} {str(value)[:5]}": other(key, value)
       for key in ("epoch", "best_score", "best_epoch", "history") for value in NO_NUMBERS},
    "more epochs than there can be": other("epoch", 4),
    "the best epoch to come": other("best_epoch", 3),
}  # fmt: skip


@pytest.mark.parametrize("what", HEADERS)
def test_a_tampered_header_is_refused(
    what: str, run: tuple[Tensors, dict[str, Any]], go_on: Callable[..., TrainingLog],
    tmp_path: Path,
) -> None:  # fmt: skip
    tensors, info = run[0], copy.deepcopy(run[1])
    HEADERS[what](info)
    path = tmp_path / "r.run.safetensors"
    write(path, tensors, info)
    before = path.read_bytes()
    says = refusal(lambda: go_on(path))
    assert says.startswith("r.run.safetensors is damaged (it") and says.endswith(REMEDY)
    assert path.read_bytes() == before
    assert len(go_on(path, resume=False).rows) == 3  # the remedy


CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "numbers": lambda value: value * math.nan,
    "endless": lambda value: torch.full_like(value, math.inf),
    "shape": lambda value: value.reshape(-1)[:1].repeat(2),
    "kind": lambda value: value.double(),
}
WEIGHTS, SQUARES = ("model", "best", "optimizer.exp_avg"), "optimizer.exp_avg_sq"
CASES = [
    (what, part)
    for what in (*CHANGES, "gone", "negative", "more")
    for part in (*WEIGHTS, "optimizer.step", SQUARES)
    if (what, part) != ("endless", SQUARES) and not (what == "negative" and part in WEIGHTS)
]


@pytest.mark.parametrize(("what", "part"), CASES)
def test_tampered_tensors_are_refused(
    what: str, part: str, run: tuple[Tensors, dict[str, Any]], go_on: Callable[..., TrainingLog],
    tmp_path: Path,
) -> None:  # fmt: skip
    tensors, info = dict(run[0]), run[1]
    key = next(key for key in tensors if key.startswith(f"{part}."))
    if what == "gone":
        del tensors[key]
    elif what == "more":
        key = f"{part}.more\nlines"
        tensors[key] = torch.ones(1)
    elif what == "negative":
        tensors[key] = -tensors[key] - 1
    else:
        tensors[key] = CHANGES[what](tensors[key])
    path = tmp_path / "r.run.safetensors"
    write(path, tensors, info)
    says = refusal(lambda: go_on(path))
    assert says.startswith("r.run.safetensors is damaged (") and says.endswith(REMEDY)
    assert repr(key) in says and "\n" not in says


def test_a_tensor_of_no_part_is_refused(
    run: tuple[Tensors, dict[str, Any]], go_on: Callable[..., TrainingLog], tmp_path: Path
) -> None:
    path = tmp_path / "r.run.safetensors"
    write(path, run[0] | {"more": torch.ones(1)}, run[1])
    assert "it has 'more', which is nothing of this model" in refusal(lambda: go_on(path))


def test_another_setting_is_named_in_one_line(
    run: tuple[Tensors, dict[str, Any]], go_on: Callable[..., TrainingLog], tmp_path: Path
) -> None:
    tensors, info = run[0], copy.deepcopy(run[1])
    info["training"]["loss"] = "mean\n\n" + " squares" * 1000
    path = tmp_path / "r.run.safetensors"
    write(path, tensors, info)
    says = refusal(lambda: go_on(path))
    assert "another training (loss was mean squares squares" in says
    assert "\n" not in says and len(says) < 300
    assert "(max_epochs was 3, now 5)" in refusal(
        lambda: go_on(path, config=replace(CONFIG, max_epochs=5))
    )


# --- the epochs alone


def history(*scores: float, best: int, **changed: Any) -> dict[str, Any]:
    """A header of so many epochs, of at most three."""
    rows = [
        {"epoch": number, "train_loss": 1.0, "valid_loss": score, "valid_acc@1": 100 - score,
         "learning_rate": 0.0, "gradient_norm": math.inf, "seconds": 0.0}
        for number, score in enumerate(scores, 1)
    ]  # fmt: skip
    made = {"training": {"max_epochs": 3, "monitor": "loss"}, "epoch": len(rows), "history": rows,
            "best_epoch": best, "best_score": rows[best - 1]["valid_loss"]}  # fmt: skip
    return made | changed


def refused(info: dict[str, Any]) -> str:
    return refusal(lambda: require_progress("r", info))


@pytest.mark.parametrize(
    ("scores", "best"), [((0.0,), 1), ((3.0, 2.0), 2), ((2.0, 3.0), 1), ((3.0, 2.0, 2.0), 2)]
)
@pytest.mark.parametrize("monitor", ["loss", "acc@1"])
def test_epochs_that_agree_are_taken(scores: tuple[float, ...], best: int, monitor: str) -> None:
    info = history(*scores, best=best)
    if monitor == "acc@1":
        info["training"] = info["training"] | {"monitor": monitor}
        info["best_score"] = -info["history"][best - 1]["valid_acc@1"]
    assert refused(info) == "" and refused(history(*scores, best=best)) == ""


def test_no_run_has_more_epochs_than_its_settings_allow() -> None:
    assert "its epoch is no number from 1 to 3" in refused(history(4.0, 3.0, 2.0, 1.0, best=4))


@pytest.mark.parametrize("number", [-sys.float_info.max, 0, sys.float_info.max])
def test_any_finite_number_is_a_loss(number: float) -> None:
    info = history(2.0, best=1)
    info["history"][0] |= {"train_loss": number, "gradient_norm": 0.0}
    assert refused(info) == ""


@pytest.mark.parametrize("best", [1, 3])
def test_the_best_epoch_is_the_first_of_the_best(best: int) -> None:
    says = refused(history(3.0, 2.0, 2.0, best=best))
    assert f"epoch {best} is its best_epoch, and another one is better or as good" in says


def test_the_best_score_is_that_of_its_epoch() -> None:
    says = refused(history(3.0, 2.0, best=2, best_score=3.0))
    assert "its best_score is not that of epoch 2, its best_epoch" in says


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("epoch", [*NO_NUMBERS, 1]),
        ("train_loss", NO_NUMBERS[:8]),
        ("valid_loss", NO_NUMBERS[:8]),
        ("valid_acc@1", [*NO_NUMBERS[:8], -1, 100.1]),
        ("learning_rate", [*NO_NUMBERS[:8], -1]),
        ("seconds", [*NO_NUMBERS[:8], -1]),
        ("gradient_norm", [*[one for one in NO_NUMBERS[:8] if one != math.inf], -1]),
    ],
)
def test_a_row_is_an_epoch(key: str, values: list[Any]) -> None:
    for value in values:
        info = history(3.0, 2.0, best=2)
        info["history"][1][key] = value
        assert "epoch 2 of its history is none" in refused(info), value
    info = history(3.0, 2.0, best=2)
    del info["history"][1][key]
    assert "epoch 2 of its history is none" in refused(info)


@pytest.mark.parametrize("row", [None, [], "x", 1])
def test_a_row_is_a_table(row: Any) -> None:
    info = history(3.0, 2.0, best=2)
    info["history"][0] = row
    assert "epoch 1 of its history is none" in refused(info)


# --- the tensors alone


def of_layer(layer: nn.Module, **changed: Tensor) -> str:
    """Why the tensors of a layer's run are refused."""
    names, parameters = zip(*layer.named_parameters(), strict=True)
    parts = ("model", "best", "optimizer.exp_avg", "optimizer.exp_avg_sq")
    own = dict(zip(names, parameters, strict=True))
    tensors = {f"{part}.{name}": own[name].detach().abs() for part in parts for name in own}
    tensors |= {f"optimizer.step.{name}": torch.ones(()) for name in names}
    tensors |= {name.replace("__", "."): one for name, one in changed.items()}
    return refusal(lambda: require_tensors("r", tensors, layer, names, parameters))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_tensors_are_of_the_models_own_kind_and_steps_are_floats(kind: torch.dtype) -> None:
    layer = nn.Linear(2, 2, dtype=kind)
    assert of_layer(layer) == ""
    says = of_layer(layer, optimizer__step__weight=torch.ones((), dtype=torch.float64))
    assert "torch.float64 of shape (), not torch.float32 of ()" in says


def test_every_number_of_a_tensor_counts() -> None:
    layer = nn.Linear(2, 1)
    for bad in (math.nan, math.inf, -1.0):
        one = torch.tensor([[1.0, bad]])
        names = ["optimizer__exp_avg_sq__weight"] if bad != math.inf else []
        names += (
            ["model__weight", "best__weight", "optimizer__exp_avg__weight"] if bad != -1 else []
        )
        for name in names:
            assert "holds numbers that no run has" in of_layer(layer, **{name: one}), (name, bad)
    for step in (0.5, 0.0, -1.0, math.nan, math.inf):
        says = of_layer(layer, optimizer__step__bias=torch.tensor(step))
        assert "'optimizer.step.bias' holds numbers that no run has" in says


def test_a_finished_model_is_no_concern_of_these() -> None:
    require_settings_in("m", {"model": {}, "vocabulary": {}})
