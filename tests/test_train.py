"""Training: the loss, the schedule, stopping, and going on after a kill."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pgt.counter_random import Dropout, use_keys
from pgt.mixture import PlaceModel
from pgt.sparse import cross_entropy
from torch import nn

from pgt import train as training_run
from pgt.batch import Batch
from pgt.checkpoint import load_model, read, save_model, write
from pgt.config import MOST_SEED, TrainConfig
from pgt.errors import DataError
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.train import TrainingLog, fit
from pgt.windows import Dataset, prepare

from .helpers import random_visits, routine_visits, tiny_config

QUICK = TrainConfig(learning_rate=3e-3, batch_size=64, warmup_epochs=1, max_epochs=4)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(routine_visits())


def new_model(data: Dataset, seed: int = 0, **changes: Any) -> PointerGeneratorTransformer:
    torch.manual_seed(seed)
    return PointerGeneratorTransformer(tiny_config(data, **changes))


def run(data: Dataset, config: TrainConfig = QUICK, **options: Any) -> tuple[Any, TrainingLog]:
    model = new_model(data, **options.pop("model", {}))
    history = fit(model, data.train, data.valid, config, progress=False, device="cpu", **options)
    return model, history


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


# --- training


def test_a_clockwork_life_is_learned(data: Dataset) -> None:
    model, history = run(data, replace(QUICK, max_epochs=10))
    table = history.table()
    assert table.train_loss.iloc[-1] < table.train_loss.iloc[0] / 2
    assert gains(evaluate(model, data.test))["acc@1"].mean() > 0.9
    assert table["valid_acc@1"].max() > 90
    assert list(table.index) == list(range(1, len(table) + 1))
    assert not model.training


def test_a_trained_model_predicts_whatever_was_done_between_its_epochs(data: Dataset) -> None:
    model = new_model(data)
    fit(model, data.train, data.valid, QUICK, progress=False, device="cpu",
        after_epoch=lambda row: model.train() and None)  # fmt: skip
    assert not any(module.training for module in model.modules())


def test_a_batch_of_one_window_counts(data: Dataset) -> None:
    one = data.train.subset(np.arange(1))
    log = fit(new_model(data), one, one, QUICK, progress=False, device="cpu")
    assert log.rows[0]["train_loss"] > 0 and log.rows[0]["gradient_norm"] > 0


def test_the_history_tells_the_truth(data: Dataset) -> None:
    model, history = run(data)
    best = history.rows[history.best_epoch - 1]
    batch = data.valid.batch(np.arange(len(data.valid)))
    with torch.no_grad():
        loss = cross_entropy(model(batch).log_probs, batch.target).mean().item()
    assert best["valid_loss"] == pytest.approx(loss, rel=1e-5)
    accuracy = 100 * gains(evaluate(model, data.valid))["acc@1"].mean()
    assert best["valid_acc@1"] == pytest.approx(accuracy)
    steps = math.ceil(len(data.train) / QUICK.batch_size)
    expected = [QUICK.learning_rate_at(steps * e - 1, steps) for e in (1, 2, 3, 4)]
    assert [row["learning_rate"] for row in history.rows] == pytest.approx(expected)


def test_a_row_tells_the_loss_and_the_gradient_before_clipping(
    data: Dataset, tmp_path: Path
) -> None:
    # Steps of next to no length: every batch meets the first weights.
    config = replace(QUICK, learning_rate=1e-12, label_smoothing=0.1, clip=1e-3, max_epochs=1)
    train = data.train.subset(np.arange(150))  # the last batch is a small one
    model = new_model(data, dropout=0.0)
    norms, losses = [], []
    shuffle = np.random.default_rng((config.seed, 0))
    for batch in train.batches(64, shuffle=shuffle, max_len=50):
        loss = cross_entropy(model(batch).log_probs, batch.target, 0.1)
        gradients = torch.autograd.grad(loss.mean(), list(model.parameters()))
        norms.append(float(torch.cat([one.flatten() for one in gradients]).norm()))
        losses += loss.tolist()
    path = tmp_path / "run.safetensors"
    history = fit(model, train, data.valid, config, progress=False, device="cpu", checkpoint=path)
    (row,) = history.rows
    assert len(norms) == 3 and min(norms) > 100 * config.clip
    assert row["gradient_norm"] == pytest.approx(np.mean(norms), rel=1e-3)
    assert row["train_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    # What the optimizer was given is the gradient after clipping.
    kept = [value.flatten() for name, value in read(path)[0].items() if ".exp_avg." in name]
    assert 0 < torch.cat(kept).norm() <= config.clip * (1 - config.betas[0] ** 3) * 1.001


def test_the_optimizer_is_that_of_the_configuration(data: Dataset) -> None:
    config = replace(QUICK, betas=(0.8, 0.7), eps=1e-5, weight_decay=0.3)
    few = data.train.subset(np.arange(9))
    made = training_run.TrainingRun(
        new_model(data), few, few, config, torch.device("cpu"), loss=None
    )
    (group,) = made.optimizer.param_groups
    assert {name: group[name] for name in ("lr", "betas", "eps", "weight_decay")} == {
        "lr": QUICK.learning_rate, "betas": (0.8, 0.7), "eps": 1e-5, "weight_decay": 0.3,
    }  # fmt: skip
    assert sum(map(len, made.optimizer.state.values())) == 0 and not made.amp
    assert (made.epoch, made.finished, made.history.best_epoch) == (0, False, 0)


def test_what_draws_without_keys_draws_anew_in_every_epoch_of_every_seed(data: Dataset) -> None:
    few, drawn = data.train.subset(np.arange(9)), set()
    with torch.random.fork_rng(devices=[]):
        for seed in (0, 1, 2, 42):
            made = training_run.TrainingRun(
                new_model(data, n_layers=1), few, few, replace(QUICK, seed=seed),
                torch.device("cpu"), loss=None,
            )  # fmt: skip
            for _ in range(2):
                made.one_epoch()
                drawn.add(torch.initial_seed())
    assert len(drawn) == 4 * 2


def test_the_log_adds_up_its_time() -> None:
    rows = [{"epoch": epoch, "seconds": 0.5 * epoch} for epoch in (1, 2, 3)]
    log = TrainingLog([*rows])
    assert log.seconds == 3.0 and log.table().seconds.tolist() == [0.5, 1.0, 1.5]
    assert TrainingLog().seconds == 0


def test_another_loss_is_what_training_makes_small(data: Dataset) -> None:
    """Half of the loss has half of the gradient; validation stays what it was."""
    config = replace(QUICK, learning_rate=1e-12, max_epochs=1)

    def half(log_probs: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
        return cross_entropy(log_probs, target, smoothing) / 2

    plain, other = (run(data, config, loss=loss, model={"dropout": 0.0})[1].rows[0]
                    for loss in (None, half))  # fmt: skip
    assert other["train_loss"] == pytest.approx(plain["train_loss"] / 2, rel=1e-4)
    assert other["gradient_norm"] == pytest.approx(plain["gradient_norm"] / 2, rel=1e-3)
    assert other["valid_loss"] == pytest.approx(plain["valid_loss"], rel=1e-5)


def test_a_network_without_a_mixture_is_scored_by_the_same_losses(data: Dataset) -> None:
    """One that writes all places down, as the models from elsewhere do."""

    class Written(PlaceModel):
        def __init__(self, inside: PointerGeneratorTransformer) -> None:
            super().__init__()
            self.inside, self.config = inside, inside.config

        def forward(self, batch: Batch) -> Any:
            return self.inside(batch)

    config = replace(QUICK, learning_rate=1e-12, label_smoothing=0.1, max_epochs=1)
    rows = []
    for written in (False, True):
        inside = new_model(data, dropout=0.0)
        model: Any = Written(inside) if written else inside
        rows += fit(model, data.train, data.valid, config, progress=False, device="cpu").rows
    for name in ("train_loss", "valid_loss", "valid_acc@1"):
        assert rows[1][name] == pytest.approx(rows[0][name], rel=1e-5)


def test_an_epoch_says_how_long_it_took(data: Dataset) -> None:
    clock = iter([7.0, 9.5, 20.0, 24.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run.time, "perf_counter", lambda: next(clock))
        _, history = run(data, replace(QUICK, max_epochs=2), model={"n_layers": 1})
    assert [row["seconds"] for row in history.rows] == [2.5, 4.0]


def test_a_run_goes_on_with_the_loss_that_it_began_with(data: Dataset, tmp_path: Path) -> None:
    def other(log_probs: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
        return cross_entropy(log_probs, target, smoothing) / 2

    short, few = replace(QUICK, max_epochs=1), data.train.subset(np.arange(40))
    for began, goes_on, says in ((other, None, "loss was other, now cross-entropy"),
                                 (None, other, "loss was cross-entropy, now other")):  # fmt: skip
        model, path = new_model(data, n_layers=1), tmp_path / f"{goes_on is None}.safetensors"
        fit(model, few, few, short, progress=False, checkpoint=path, loss=began)
        with pytest.raises(DataError, match=says):
            fit(model, few, few, short, progress=False, checkpoint=path, loss=goes_on)


def test_the_same_seed_gives_the_same_weights_and_another_others(data: Dataset) -> None:
    config = replace(QUICK, max_epochs=2)
    one, two = run(data, config)[0], run(data, config)[0]
    other = run(data, replace(config, seed=7))[0]
    assert same(weights(one), weights(two))
    assert not same(weights(one), weights(other))


def test_training_leaves_the_callers_randomness_alone(data: Dataset) -> None:
    model = new_model(data)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fit(model, data.train, data.valid, replace(QUICK, max_epochs=1), progress=False, device="cpu")
    assert torch.equal(torch.rand(3), expected)
    # The dropout of the model that is left draws again, for windows of any number.
    drops = [part for part in model.modules() if isinstance(part, Dropout)]
    assert drops and all(part.key is None for part in drops)


def test_early_stopping_restores_the_best_weights(data: Dataset) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    model = new_model(data)
    scores = iter([3.0, 1.0, 2.0, 1.5, 9.0, 9.0])

    def remember(row: dict[str, float]) -> None:
        seen.append(weights(model))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run.TrainingRun, "score", lambda run: (next(scores), 0.0))
        history = fit(
            model, data.train, data.valid, replace(QUICK, max_epochs=50, patience=3),
            progress=False, device="cpu", after_epoch=remember,
        )  # fmt: skip
    assert len(history.rows) == len(seen) == 5  # the best is the second, then three worse ones
    assert history.best_epoch == 2
    assert same(weights(model), seen[1])
    assert not same(seen[1], seen[4])


def test_the_steps_are_as_long_as_the_schedule_says(data: Dataset) -> None:
    model = new_model(data)
    before = weights(model)
    slow = TrainConfig(learning_rate=1.0, warmup_epochs=10**6, max_epochs=1)
    fit(model, data.train, data.valid, slow, progress=False, device="cpu")
    steps = -(-len(data.train) // slow.batch_size)
    allowed = 2 * sum(slow.learning_rate_at(step, steps) for step in range(steps))
    for name, value in weights(model).items():
        assert (value - before[name]).abs().max() < allowed, name


def test_accuracy_can_be_monitored(data: Dataset) -> None:
    pairs = iter([(1.0, 10.0), (2.0, 30.0), (3.0, 20.0)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run.TrainingRun, "score", lambda run: next(pairs))
        _, history = run(data, replace(QUICK, max_epochs=3, monitor="acc@1"))
    assert history.best_epoch == 2


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


def test_bf16_trains_about_as_well(data: Dataset) -> None:
    full = run(data, replace(QUICK, amp="off"))[1]
    half = run(data, replace(QUICK, amp="on"))[1]
    assert half.rows[0]["train_loss"] != full.rows[0]["train_loss"]
    for one, two in zip(full.rows, half.rows, strict=True):
        assert two["valid_loss"] == pytest.approx(one["valid_loss"], rel=0.05)


def test_a_bar_tells_how_far_it_is_unless_nobody_wants_it(
    data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, path = data.train.subset(np.arange(64)), tmp_path / "run.safetensors"
    model = new_model(data, n_layers=1)
    config = replace(QUICK, max_epochs=2)

    def stop(row: dict[str, float]) -> None:
        raise Killed

    with pytest.raises(Killed):
        fit(model, few, few, config, checkpoint=path, after_epoch=stop)
    said = capsys.readouterr().out
    assert "0/2" in said and "1/2" in said and "training" in said and "epoch" in said
    row = fit(model, few, few, config, checkpoint=path).rows[-1]
    said = capsys.readouterr().out
    assert "1/2" in said and "2/2" in said
    assert f"loss {row['valid_loss']:.3f}, Acc@1 {row['valid_acc@1']:.1f} %" in said
    assert "0/2" not in said  # a bar of what is left begins where it was left
    fit(model, few, few, replace(QUICK, max_epochs=1), progress=False)
    assert capsys.readouterr().out == ""


def test_without_settings_the_documented_ones_are_taken(data: Dataset) -> None:
    few = data.train.subset(np.arange(40))

    def stop(row: dict[str, float]) -> None:
        assert row["learning_rate"] == TrainConfig().learning_rate_at(0, 1)
        raise Killed

    with pytest.raises(Killed):
        fit(new_model(data, n_layers=1), few, few, progress=False, after_epoch=stop)


def test_nobody_with_enough_history_is_said_so() -> None:
    data = prepare(random_visits(1, visits=4))
    with pytest.raises(DataError, match="no train windows; people need more visits"):
        run(data)


# --- checkpoints of a run


class Killed(Exception):
    """Stands for a power cut."""


def stop_at(call: int) -> Any:
    """A `use_keys`, which begins every training step, that fails the given time it is called."""
    calls = iter(range(1, 10**9))

    def fails(*arguments: Any) -> None:
        if next(calls) == call:
            raise Killed
        use_keys(*arguments)

    return fails


@pytest.mark.parametrize("after", [3, 9, 14])
def test_a_run_cut_off_goes_on_to_the_very_same_weights(
    data: Dataset, tmp_path: Path, after: int
) -> None:
    whole, expected = run(data)
    path = tmp_path / "run.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run, "use_keys", stop_at(after))
        with pytest.raises(Killed):
            run(data, checkpoint=path)
    done = read(path)[1]["epoch"] if path.exists() else 0
    # Whatever the weights it starts from: the checkpoint's are used, if there is one.
    resumed, history = run(data, checkpoint=path, model={"seed": 99 if done else 0})
    assert same(weights(whole), weights(resumed))
    drop = ("seconds",)
    for one, two in zip(expected.rows, history.rows, strict=True):
        assert {k: v for k, v in one.items() if k not in drop} == {
            k: v for k, v in two.items() if k not in drop
        }
    assert history.best_epoch == expected.best_epoch


def test_the_best_score_so_far_survives(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    scores = iter([5.0, 1.0, 9.0, 3.0, 2.0])  # cut off in the third epoch; 3 is no improvement

    def score(run: Any) -> tuple[float, float]:
        value = next(scores)
        if value == 9.0:
            raise Killed
        return value, 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run.TrainingRun, "score", score)
        with pytest.raises(Killed):
            run(data, checkpoint=path)
        best = read(path)[0]
        model, history = run(data, checkpoint=path)
    assert (history.best_epoch, len(history.rows)) == (2, 4)
    assert all(torch.equal(value, best[f"best.{name}"]) for name, value in weights(model).items())


def test_a_finished_run_is_not_trained_again(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    whole, expected = run(data, checkpoint=path)
    again, history = run(data, checkpoint=path, model={"seed": 99})
    assert same(weights(whole), weights(again))
    assert history.rows == expected.rows


def test_without_resume_a_run_starts_anew(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    run(data, replace(QUICK, seed=1), checkpoint=path)
    fresh, _ = run(data, checkpoint=path, resume=False)
    assert same(weights(fresh), weights(run(data)[0]))


def test_a_run_checkpoint_is_also_a_model(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    whole, _ = run(data, checkpoint=path)
    loaded, vocabulary = load_model(path)
    assert same(weights(whole), weights(loaded))
    assert vocabulary == data.vocabulary


def test_a_checkpoint_of_anything_else_is_refused(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    short = replace(QUICK, max_epochs=1)
    run(data, short, checkpoint=path)
    before = path.read_bytes()
    cases: list[tuple[str, Dataset, TrainConfig, dict[str, Any]]] = [
        ("another training \\(seed was 42, now 7\\)", data, replace(short, seed=7), {}),
        ("another model \\(d_model was 16, now 32\\)", data, short, {"d_model": 32}),
        ("another model|another vocabulary", prepare(routine_visits(users=5)), short, {}),
    ]
    # The same places and the same number of windows, but a visit in another place.
    visits = data.train.visits
    other = routine_visits()
    other.loc[30, "location_id"] = other.location_id[31]
    cases.append(("another windows \\(fingerprint", prepare(other), short, {}))
    assert len(visits) == len(prepare(other).train.visits)
    for says, changed_data, config, model in cases:
        with pytest.raises(DataError, match=says):
            run(changed_data, config, checkpoint=path, model=model)
        assert path.read_bytes() == before


def test_a_fingerprint_is_short_and_sees_the_windows(data: Dataset) -> None:
    prints = [
        training_run.fingerprint(*parts)
        for parts in ((data.train,), (data.valid,), (data.train, data.valid))
    ]
    assert len(set(prints)) == 3 and all(len(one) == 12 for one in prints)


def test_of_equally_good_epochs_the_first_is_kept(data: Dataset) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run.TrainingRun, "score", lambda run: (1.0, 0.0))
        _, history = run(data, replace(QUICK, max_epochs=3), model={"n_layers": 1})
    assert (history.best_epoch, len(history.rows)) == (1, 3)


def test_a_finished_model_is_no_checkpoint_of_a_run(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(path, new_model(data), data.vocabulary)
    before = path.read_bytes()
    with pytest.raises(DataError, match="finished model, not a training run; choose another name"):
        run(data, checkpoint=path)
    assert path.read_bytes() == before


def test_a_run_of_another_shape_is_refused(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    run(data, replace(QUICK, max_epochs=1), checkpoint=path)
    tensors, info = read(path)
    name = next(name for name in tensors if name.startswith("optimizer.exp_avg."))
    for changed, says in (
        ({k: v for k, v in tensors.items() if k != name}, f"'{name}' is not there in"),
        (tensors | {name: torch.zeros(2, 2, 2)}, r"is \(2, 2, 2\) in run.safetensors but"),
        (tensors | {"more": torch.zeros(1)}, "but not there in this model"),
        (tensors | {k: v * math.nan for k, v in tensors.items() if k.startswith("model.")},
         "weights that are no numbers"),
    ):  # fmt: skip
        write(path, changed, info)
        with pytest.raises(DataError, match=says):
            run(data, replace(QUICK, max_epochs=1), checkpoint=path)
    write(path, tensors, info | {"epoch": "two"})
    with pytest.raises(DataError, match="does not fit this version"):
        run(data, replace(QUICK, max_epochs=1), checkpoint=path)


@pytest.mark.parametrize("device", ["nonsense", "cpu:x", "cuda:9999", "CPU"])
def test_training_refuses_a_device_that_is_not_here(data: Dataset, device: str) -> None:
    model = new_model(data)
    before = weights(model)
    with pytest.raises(DataError, match=f"Nothing can be computed on '{device}' here; use cpu"):
        fit(model, data.train, data.valid, QUICK, device=device)
    assert same(weights(model), before)
    assert training_run.pick_device("cpu") == torch.device("cpu")


def test_the_largest_seed_can_be_trained_with(data: Dataset) -> None:
    """An epoch's number is added to a multiple of it, and must still be one of 64 bits."""
    few = data.train.subset(np.arange(4))
    config = TrainConfig(seed=MOST_SEED, max_epochs=1, warmup_epochs=0)
    assert fit(new_model(data), few, few, config, progress=False).best_epoch == 1


def test_two_halves_of_each_batch_have_the_gradient_of_the_whole(data: Dataset) -> None:
    """What processes that share a batch rely on: a window draws the same whoever it is with."""
    model, index = new_model(data).double().train(), np.arange(40)
    config = TrainConfig(label_smoothing=0.03)
    run = training_run.TrainingRun(model, data.train, data.valid, config, torch.device("cpu"))

    def gradient(*parts: np.ndarray) -> torch.Tensor:
        model.zero_grad()
        for part in parts:
            batch = data.train.batch(part, 50)
            use_keys(model, 42, 3, batch.index)
            losses = run.losses(batch)
            (losses.sum() / len(index)).backward()
        return torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])

    torch.testing.assert_close(gradient(index[::2], index[1::2]), gradient(index))
