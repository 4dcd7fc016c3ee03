"""Training: the loss, the schedule, stopping, and going on after a kill."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from pgt import graphs
from pgt import train as training_run
from pgt.checkpoint import load_model, read_tensors, save_model, write_tensors
from pgt.config import MOST_SEED, TrainConfig
from pgt.errors import DataError
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.optimizer import AdamW
from pgt.train import TrainingLog, fit
from pgt.windows import Dataset, prepare

from .helpers import random_visits, routine_visits, tiny_config

QUICK = TrainConfig(learning_rate=3e-3, batch_size=64, warmup_epochs=1, max_epochs=3)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(routine_visits(users=3, days=50))


def new_model(data: Dataset, seed: int = 0, **changes: Any) -> PointerGeneratorTransformer:
    torch.manual_seed(seed)
    return PointerGeneratorTransformer(tiny_config(data, **changes))


def run(data: Dataset, config: TrainConfig = QUICK, **options: Any) -> tuple[Any, TrainingLog]:
    model = new_model(data, **options.pop("model", {}))
    history = fit(model, data.train, data.valid, config, progress=False, device="cpu", **options)
    return model, history


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def half(log_probs: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
    """A loss whose gradient is half of the usual one."""
    return cross_entropy(log_probs, target, smoothing) / 2


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


def test_two_threads_train_to_the_same_bits_twice(data: Dataset) -> None:
    """One number of threads, one result; another number adds up in another order."""
    torch.set_num_threads(2)
    try:
        (one, _), (two, _) = run(data), run(data)
    finally:
        torch.set_num_threads(1)
    assert same(weights(one), weights(two))


class Killed(Exception):
    """Stands for a power cut."""


def test_our_adamw_takes_the_steps_of_pytorchs() -> None:
    ends = []
    for kind in (AdamW, torch.optim.AdamW):
        torch.manual_seed(0)
        layer = nn.Linear(5, 3)
        optimizer = kind(layer.parameters(), lr=0.1, weight_decay=0.1, fused=True)
        for _ in range(3):
            optimizer.zero_grad()
            layer(torch.randn(4, 5)).pow(2).sum().backward()
            optimizer.step()
        again = kind(layer.parameters())
        again.load_state_dict(optimizer.state_dict())
        again.step()
        assert torch.is_grad_enabled()
        ends.append(weights(layer))
    assert same(*ends)


def test_the_history_and_the_bar_tell_the_truth(
    data: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    # The largest seed, too, is one of 64 bits; and the caller's randomness is left alone.
    model, before = new_model(data), torch.get_rng_state()
    config = replace(QUICK, seed=MOST_SEED)
    history = fit(model, data.train, data.valid, config, device="cpu")
    assert torch.equal(torch.get_rng_state(), before) and not model.training
    row, said = history.rows[-1], capsys.readouterr().out
    assert "3/3" in said and "epoch" in said
    assert f"loss {row['valid_loss']:.3f}, Acc@1 {row['valid_acc@1']:.1f}" in said
    assert history.table().index.tolist() == [1, 2, 3]
    run(data, replace(QUICK, max_epochs=1))
    assert capsys.readouterr().out == ""
    best = history.rows[history.best_epoch - 1]
    batch = data.valid.batch(np.arange(len(data.valid)))
    with torch.no_grad():
        loss = cross_entropy(model(batch).log_probs, batch.target).mean().item()
    assert best["valid_loss"] == pytest.approx(loss, rel=1e-5)
    accuracy = 100 * gains(evaluate(model, data.valid))["acc@1"].mean()
    assert best["valid_acc@1"] == pytest.approx(accuracy)
    steps = math.ceil(len(data.train) / QUICK.batch_size)
    expected = [QUICK.learning_rate_at(steps * e - 1, steps) for e in (1, 2, 3)]
    assert [row["learning_rate"] for row in history.rows] == pytest.approx(expected)


def test_a_row_tells_the_loss_and_the_gradient_before_clipping(
    data: Dataset, tmp_path: Path
) -> None:
    # Steps of next to no length: every batch meets the first weights. Half of the loss is asked.
    config = replace(QUICK, learning_rate=1e-12, label_smoothing=0.1, clip=1e-3, max_epochs=1,
                     batch_size=4)  # fmt: skip
    train = data.train.subset(np.arange(150))  # the last batch is a small one
    model = new_model(data, dropout=0.0)
    norms, losses = [], []
    shuffle = np.random.default_rng((config.seed, 0))
    for batch in train.batches(4, shuffle=shuffle, max_len=50):
        loss = half(model(batch).log_probs, batch.target, 0.1)
        gradients = torch.autograd.grad(loss.mean(), list(model.parameters()))
        norms.append(float(torch.cat([one.flatten() for one in gradients]).norm()))
        losses += loss.tolist()
    path = tmp_path / "run.safetensors"
    how: dict[str, Any] = {"progress": False, "device": "cpu", "checkpoint": path, "loss": half}
    (row,) = fit(model, train, data.valid, config, **how).rows
    assert len(norms) == 38 and min(norms) > 100 * config.clip
    assert row["gradient_norm"] == pytest.approx(np.mean(norms), rel=1e-3)
    assert row["train_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    # What the optimizer was given is the gradient after clipping.
    kept = [value.flatten() for name, value in read_tensors(path)[0].items() if ".exp_avg." in name]
    assert 0 < torch.cat(kept).norm() <= config.clip * (1 - config.betas[0] ** 38) * 1.001


def test_every_number_of_the_configuration_counts(data: Dataset) -> None:
    few = replace(data, train=data.train.subset(np.arange(96)), valid=data.valid.subset([0]))
    changes: Any = ({}, {"weight_decay": 1.0}, {"eps": 1e-3}, {"betas": (0.5, 0.98)},
                    {"betas": (0.9, 0.5)}, {"clip": 0.1}, {"label_smoothing": 0.3})  # fmt: skip
    found = [weights(run(few, replace(QUICK, max_epochs=1, **one))[0]) for one in changes]
    assert not any(same(*pair) for pair in combinations(found, 2))


def test_a_target_out_of_reach_costs_much_and_does_not_stop_the_training() -> None:
    data = prepare(random_visits(4, users=4, visits=130, places=20))
    _, history = run(data, replace(QUICK, max_epochs=1), model={"without": ("generator",)})
    assert math.log(20) < history.rows[0]["valid_loss"] < -math.log(1e-10)


def test_a_run_cut_off_goes_on_to_the_very_same_weights(data: Dataset, tmp_path: Path) -> None:
    whole, expected = run(data)
    per_epoch = math.ceil(len(data.train) / QUICK.batch_size)
    step = training_run.TrainingRun.step
    for last in (2, per_epoch + 2, 2 * per_epoch + 1):
        path, steps = tmp_path / f"{last}.safetensors", iter(range(1, last))

        def fails(self: Any, *arguments: Any, steps: Any = steps) -> None:
            if next(steps, None) is None:
                raise Killed
            step(self, *arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(training_run.TrainingRun, "step", fails)
            with pytest.raises(Killed):
                run(data, checkpoint=path)
        # Whatever the weights it starts from: the checkpoint's are used, if there is one.
        resumed, history = run(data, checkpoint=path, model={"seed": 99 if path.exists() else 0})
        assert path.exists() and same(weights(whole), weights(resumed))
        for one, two in zip(expected.rows, history.rows, strict=True):
            assert one | {"seconds": 0} == two | {"seconds": 0}
        assert history.best_epoch == expected.best_epoch
    other, _ = run(data, replace(QUICK, seed=7), checkpoint=path, resume=False)
    assert not same(weights(whole), weights(other))  # a fresh run with other batches
    again, _ = run(data, checkpoint=path, resume=False)
    assert same(weights(whole), weights(again))


@pytest.mark.parametrize(
    ("monitor", "scores", "best", "n"),
    [
        ("loss", [(3, 0), (1, 0), (2, 9), (1.5, 0), (1, 0), (0, 0)], 2, 5),  # three worse, and over
        ("acc@1", [(1, 10), (2, 30), (3, 20), (4, 30), (4, 40), (5, 0)], 5, 6),
    ],
)
def test_training_stops_when_nothing_gets_better_and_keeps_the_best(
    data: Dataset, tmp_path: Path, monitor: Any, scores: list[Any], best: int, n: int
) -> None:
    seen, path, given = [], tmp_path / "run.safetensors", iter(scores)
    config = replace(QUICK, max_epochs=6, patience=3, monitor=monitor)
    model = new_model(data, n_layers=1)

    def remember(row: dict[str, float]) -> None:
        seen.append(weights(model))
        if len(seen) == 3:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run.TrainingRun, "score", lambda run: next(given))
        how: dict[str, Any] = {"checkpoint": path, "progress": False, "device": "cpu"}
        with pytest.raises(Killed):
            fit(model, data.train, data.valid, config, after_epoch=remember, **how)
        # The best so far survives, and a finished run is not trained again.
        history = fit(model, data.train, data.valid, config, after_epoch=remember, **how)
    again = fit(new_model(data, 9, n_layers=1), data.train, data.valid, config, **how)
    assert (history.best_epoch, len(history.rows)) == (best, n) == (again.best_epoch, len(seen))
    assert same(weights(model), seen[best - 1]) and not same(seen[best - 1], seen[0])
    loaded, vocabulary = load_model(path)  # a run's checkpoint is a model, too
    assert same(weights(model), weights(loaded)) and vocabulary == data.vocabulary


@pytest.mark.parametrize("which", ["train", "valid"])
def test_a_loss_that_is_no_number_stops_with_a_sentence(data: Dataset, which: str) -> None:
    model = new_model(data)
    if which == "train":
        with torch.no_grad():
            model.embeddings.project.weight.fill_(math.nan)
    with pytest.MonkeyPatch.context() as patch:
        if which == "valid":
            patch.setattr(training_run.TrainingRun, "score", lambda run: (math.nan, 0.0))
        with pytest.raises(FloatingPointError, match=rf"{which}_loss is nan in epoch 1; lower"):
            fit(model, data.train, data.valid, QUICK, progress=False, device="cpu")


def test_nobody_with_enough_history_is_said_so() -> None:
    data = prepare(random_visits(1, visits=4))
    with pytest.raises(DataError, match="no train windows; people need more visits"):
        run(data)


def test_a_checkpoint_of_anything_else_is_refused(data: Dataset, tmp_path: Path) -> None:
    path, short = tmp_path / "run.safetensors", replace(QUICK, max_epochs=1)
    run(data, short, checkpoint=path)
    tensors, info = read_tensors(path)
    before = path.read_bytes()
    # The same places and the same number of windows, but a visit in another place.
    moved = data.train.visits.copy()
    moved.loc[30, "location_id"] = moved.location_id[31]
    visits = pd.concat([moved, data.valid.visits, data.test.visits])
    cases: list[tuple[str, Dataset, TrainConfig, dict[str, Any]]] = [
        ("another training \\(seed was 42, now 7\\)", data, replace(short, seed=7), {}),
        ("another model \\(d_model was 16, now 32\\)", data, short, {"model": {"d_model": 32}}),
        ("another windows \\(fingerprint", prepare(visits), short, {}),
        ("loss was cross-entropy, now half", data, short, {"loss": half}),
    ]
    for says, other, config, options in cases:
        with pytest.raises(DataError, match=says):
            run(other, config, checkpoint=path, **options)
        assert path.read_bytes() == before
    name = next(name for name in tensors if name.startswith("optimizer.exp_avg."))
    for changed, about, says in (
        ({k: v for k, v in tensors.items() if k != name}, info, f"'{name}' is not there in"),
        (tensors | {name: torch.zeros(2, 2, 2)}, info, r"is \(2, 2, 2\) in run.safetensors but"),
        (tensors | {"more": torch.zeros(1)}, info, "but not there in this model"),
        (tensors | {k: v * math.nan for k, v in tensors.items() if k.startswith("model.")}, info,
         "weights that are no numbers"),
        (tensors, info | {"epoch": "two"}, "does not fit this version"),
    ):  # fmt: skip
        write_tensors(path, changed, about)
        with pytest.raises(DataError, match=says):
            run(data, short, checkpoint=path)
    save_model(path, new_model(data), data.vocabulary)
    with pytest.raises(DataError, match="finished model, not a training run; choose another name"):
        run(data, checkpoint=path)


@pytest.mark.parametrize("device", ["nonsense", "cuda:9999"])
def test_training_refuses_a_device_that_is_not_here(data: Dataset, device: str) -> None:
    model = new_model(data)
    before = weights(model)
    with pytest.raises(DataError, match=f"Nothing can be computed on '{device}' here; use cpu"):
        fit(model, data.train, data.valid, QUICK, device=device)
    assert same(weights(model), before)
    assert graphs.pick_device("cpu") == torch.device("cpu")
