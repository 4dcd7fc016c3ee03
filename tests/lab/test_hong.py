"""The neural baselines: what they read, what they do not, and what changes nothing."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from lab.hong import (
    BatchNorm,
    LSTMBaseline,
    MHSABaseline,
    NeuralBaseline,
    neural,
)
from lab.hong_config import KINDS, PUBLISHED, NeuralConfig
from torch import Tensor

from pgt.batch import Batch
from pgt.checkpoint import read
from pgt.config import TrainConfig
from pgt.counter_random import Dropout
from pgt.metrics import evaluate, gains
from pgt.train import fit
from pgt.windows import Dataset, prepare

from ..helpers import changed, pad_to, random_visits, routine_visits

both = pytest.mark.parametrize("kind", KINDS)
VISIT = ("location", "time", "weekday", "duration")  # what they read of a visit


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130))


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    lengths = data.train.lengths
    some = [int(lengths.argmin()), int(lengths.argmax()), *range(0, len(lengths), 17)]
    return data.train.batch(some)


def config_of(kind: str, data: Dataset, **changes: Any) -> NeuralConfig:
    size = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_feedforward": 24, "max_len": 50}
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    return NeuralConfig(kind, *sizes, **{**size, **changes})  # type: ignore[arg-type]


def model_of(kind: str, data: Dataset, seed: int = 0, **changes: Any) -> NeuralBaseline:
    """In double precision, with running statistics of the head that are not the first ones."""
    torch.manual_seed(seed)
    model = neural(config_of(kind, data, **changes)).double()
    torch.nn.init.normal_(model.head.norm.running_mean)  # type: ignore[arg-type]
    return model.eval()


def other(batch: Batch, name: str, at: Tensor) -> Batch:
    """The batch with other values of a visit's feature where `at` is true."""
    highest = {"location": 9, "time": 96, "weekday": 7, "duration": 100}[name]
    value = getattr(batch, name)
    return changed(batch, **{name: torch.where(at, value % highest + 1, value)})


# --- what changes nothing


@both
def test_padding_batch_mates_and_batch_size_change_nothing(
    data: Dataset, batch: Batch, kind: str
) -> None:
    model = model_of(kind, data)
    with torch.no_grad():
        whole = model(batch).log_probs
        wide = model(pad_to(batch, batch.location.shape[1] + 7)).log_probs
        torch.testing.assert_close(wide, whole, atol=1e-12, rtol=0)
        numbers = batch.index.numpy()
        for i in (0, 1, 3):
            alone = model(data.train.batch(numbers[[i]])).log_probs
            torch.testing.assert_close(alone, whole[[i]], atol=1e-12, rtol=0)
        backwards = model(data.train.batch(numbers[::-1].copy())).log_probs
        torch.testing.assert_close(backwards, whole.flip(0), atol=1e-12, rtol=0)


@both
def test_what_stands_in_the_padding_is_never_read(data: Dataset, batch: Batch, kind: str) -> None:
    model = model_of(kind, data)
    base = model(batch).log_probs
    for name in VISIT:
        after = model(other(batch, name, batch.padding)).log_probs
        torch.testing.assert_close(after, base, atol=1e-12, rtol=0)


@both
def test_nothing_of_the_target_and_nothing_else_is_read(
    data: Dataset, batch: Batch, kind: str
) -> None:
    model = model_of(kind, data)
    base = model(batch).log_probs
    unread = ("target", "target_time", "target_weekday", "gap_days", "days_ago", "now_minute",
              "start_minute", "index")  # fmt: skip
    for name in unread:
        after = model(changed(batch, **{name: getattr(batch, name) + 1})).log_probs
        assert torch.equal(after, base), name


@both
def test_encoders_look_back_only(data: Dataset, batch: Batch, kind: str) -> None:
    model = model_of(kind, data)
    n = batch.location.shape[1]
    base = model.encode(batch)
    for i in (0, n // 2, n - 1):
        late = torch.zeros(n, dtype=torch.bool)
        late[i] = True
        for name in VISIT:
            after = model.encode(other(batch, name, late.expand_as(batch.location)))
            torch.testing.assert_close(after[:, :i], base[:, :i], atol=1e-12, rtol=0)
            moved = (after - base).abs().amax(-1)  # (B, L)
            assert (moved[:, i:] > 1e-9).all(), name  # it and everything later does change


@both
def test_training_and_evaluation_are_one_function_without_dropout(
    data: Dataset, batch: Batch, kind: str
) -> None:
    """PyTorch's layers have a fast path for evaluation: it must say the same."""
    model = model_of(kind, data, dropout=0.0, head_dropout=0.0)
    model.head.norm.momentum = None
    fast = model.scores(batch)
    slow = model(batch).log_probs
    assert slow.requires_grad
    torch.testing.assert_close(fast, slow.detach(), atol=1e-12, rtol=0)
    model.encoder.train()
    model.embeddings.train()
    torch.testing.assert_close(model(batch).log_probs, slow, atol=1e-12, rtol=0)


# --- what is read


@both
@pytest.mark.parametrize("name", VISIT)
def test_every_feature_of_every_visit_is_read(
    data: Dataset, batch: Batch, kind: str, name: str
) -> None:
    model = model_of(kind, data)
    base = model(batch).log_probs
    for i in range(int(batch.length.min())):
        first = torch.zeros_like(batch.padding)
        first[:, i] = True
        moved = (model(other(batch, name, first)).log_probs - base).abs().amax(-1)
        assert (moved > 1e-12).all()


@both
def test_all_hours_and_all_quarters_are_told_apart(data: Dataset, batch: Batch, kind: str) -> None:
    model = model_of(kind, data)
    inside = (~batch.padding).long()
    some = [model.embeddings(changed(batch, time=t * inside))[0, 0] for t in range(1, 97)]
    distance = torch.cdist(torch.stack(some), torch.stack(some))
    assert (distance + torch.eye(96) > 1e-6).all()
    hour = model.embeddings.tables["hour"].weight
    quarter = model.embeddings.tables["quarter"].weight
    assert isinstance(hour, Tensor) and isinstance(quarter, Tensor)
    gap = some[4 * 7 + 2] - some[4 * 5 + 1]  # 07:30 - 05:15
    expected = hour[8] - hour[6] + quarter[3] - quarter[2]
    torch.testing.assert_close(gap, expected)


@both
def test_the_person_is_read_and_a_stranger_has_no_embedding(
    data: Dataset, batch: Batch, kind: str
) -> None:
    model = model_of(kind, data)
    base = model(batch).log_probs
    neighbour = model(changed(batch, user=batch.user % 4 + 1)).log_probs
    assert ((neighbour - base).abs().amax(-1) > 1e-9).all()
    assert (model.head.user.weight[0] == 0).all()


@both
def test_the_order_of_visits_matters(data: Dataset, batch: Batch, kind: str) -> None:
    """Swapping the two first visits changes the answer although the set stays.

    One layer: with two, looking back only would tell the order even without positions.
    """
    model = model_of(kind, data, n_layers=1)
    swap = torch.arange(batch.location.shape[1])
    swap[:2] = torch.tensor([1, 0])
    after = changed(batch, **{name: getattr(batch, name)[:, swap] for name in VISIT})
    differ = (batch.location[:, 0] != batch.location[:, 1]) & (batch.length > 2)
    moved = (model(after).log_probs - model(batch).log_probs).abs().amax(-1)
    assert differ.any()
    assert (moved[differ] > 1e-9).all()


@both
def test_a_longer_window_is_its_most_recent_visits(data: Dataset, batch: Batch, kind: str) -> None:
    model = model_of(kind, data, max_len=4)
    assert batch.location.shape[1] > 4
    short = model(batch.most_recent(4)).log_probs
    torch.testing.assert_close(model(batch).log_probs, short, atol=1e-12, rtol=0)


# --- what comes out


@both
def test_the_answer_is_a_distribution_over_the_vocabulary(
    data: Dataset, batch: Batch, kind: str
) -> None:
    log_probs = model_of(kind, data)(batch).log_probs
    assert log_probs.shape == (len(batch), data.vocabulary.n_locations)
    assert (log_probs.logsumexp(1).abs() < 1e-12).all()
    model = model_of(kind, data).float()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        half = model(batch).log_probs
    assert half.dtype == torch.float32
    assert (half.logsumexp(1).abs() < 1e-5).all()


@both
def test_scores_leave_the_mode_as_it_was(data: Dataset, batch: Batch, kind: str) -> None:
    model = neural(config_of(kind, data, dropout=0.5)).train()
    one, two = model.scores(batch), model.scores(batch)
    assert model.training
    assert torch.equal(one, two)
    assert not one.requires_grad


@both
def test_the_head_is_the_published_one(data: Dataset, batch: Batch, kind: str) -> None:
    model = model_of(kind, data, dropout=0.1, head_dropout=0.2)
    head, norm = model.head, model.head.norm
    context = torch.randn(len(batch), norm.num_features, dtype=torch.float64)
    x = context + head.user.weight[batch.user]
    first, second = (part for part in head.residual if isinstance(part, torch.nn.Linear))
    x = x + second(first(x).relu())
    assert norm.running_mean is not None and norm.running_var is not None
    x = (x - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias
    torch.testing.assert_close(head(context, batch.user), head.out(x))
    assert [part.p for part in head.modules() if isinstance(part, Dropout)] == [0.1, 0.2, 0.2]


def linear(n: int, m: int) -> int:
    return n * m + m


@both
def test_parameters_of_the_published_size_are_these(kind: str) -> None:
    v, u, d, f = 1_187, 46, 32, 128  # the authors' GeoLife
    config = NeuralConfig(kind, v, u, **PUBLISHED[kind])  # type: ignore[arg-type]
    embeddings = (v + 25 + 5 + 8 + 101) * d
    if kind == "mhsa":
        attention = linear(d, 3 * d) + linear(d, d)
        layer = attention + linear(d, f) + linear(f, d) + 2 * 2 * d
        encoder, e = 2 * layer + 2 * d, d
    else:
        encoder, e = 4 * (d * f + f * f + 2 * f), f
    head = u * e + linear(e, 2 * e) + linear(2 * e, e) + 2 * e + linear(e, v)
    assert neural(config).n_parameters() == embeddings + encoder + head


@both
def test_dropout_acts_in_training_only(data: Dataset, batch: Batch, kind: str) -> None:
    for here, there in ((0.5, 0.0), (0.0, 0.5)):
        model = model_of(kind, data, dropout=here, head_dropout=there)
        assert torch.equal(model(batch).log_probs, model(batch).log_probs)
        model.train()
        assert not torch.equal(model(batch).log_probs, model(batch).log_probs)


@both
def test_padding_embeds_to_nothing_and_stays_so(data: Dataset, kind: str) -> None:
    torch.manual_seed(0)
    model = neural(config_of(kind, data))
    fit(model, data.train, data.valid, TrainConfig(max_epochs=1), progress=False, device="cpu")
    tables = [part for part in model.modules() if isinstance(part, torch.nn.Embedding)]
    assert len(tables) == 6
    assert all((table.weight[0] == 0).all() for table in tables)


def test_a_batch_of_one_window_can_be_trained_on() -> None:
    norm = BatchNorm(3)
    norm.running_mean = torch.tensor([1.0, 2.0, 3.0])
    x = torch.randn(1, 3)
    expected = (x - norm.running_mean) / (1 + norm.eps) ** 0.5
    torch.testing.assert_close(norm(x), expected)
    torch.testing.assert_close(norm.running_mean, torch.tensor([1.0, 2.0, 3.0]))
    many = torch.randn(8, 3)
    torch.testing.assert_close(norm(many).mean(0), torch.zeros(3), atol=1e-6, rtol=0)


# --- training


@both
def test_a_clockwork_life_is_learned_and_the_seed_decides(kind: str) -> None:
    data = prepare(routine_visits(users=2))
    config = TrainConfig(learning_rate=1e-2, batch_size=32, label_smoothing=0.0, warmup_epochs=1,
                         patience=15, monitor="acc@1")  # fmt: skip

    def trained(seed: int, epochs: int) -> NeuralBaseline:
        torch.manual_seed(seed)
        model = neural(config_of(kind, data, n_layers=1))
        settings = replace(config, seed=seed, max_epochs=epochs)
        fit(model, data.train, data.valid, settings, progress=False, device="cpu")
        return model

    assert gains(evaluate(trained(0, 15), data.test))["acc@1"].mean() > 0.95
    one, two, third = trained(0, 2), trained(0, 2), trained(1, 2)
    for name, value in one.state_dict().items():
        assert torch.equal(value, two.state_dict()[name]), name
    assert not torch.equal(one.head.out.weight, third.head.out.weight)


@both
def test_random_lives_are_learned_by_heart(data: Dataset, kind: str) -> None:
    """Nothing general is to be learned there: only memory lowers the loss of training."""
    torch.manual_seed(0)
    model = neural(config_of(kind, data, d_model=32, d_feedforward=64, dropout=0.0,
                             head_dropout=0.0))  # fmt: skip
    some = data.train.subset(np.arange(0, len(data.train), 4))
    settings = TrainConfig(learning_rate=5e-3, batch_size=16, label_smoothing=0.0,
                           warmup_epochs=1, max_epochs=30, patience=30, clip=5.0)  # fmt: skip
    fit(model, some, some, settings, progress=False, device="cpu")
    assert gains(evaluate(model, some))["acc@1"].mean() > 0.95


@both
def test_training_goes_on_after_a_kill(kind: str, tmp_path: Any) -> None:
    data = prepare(routine_visits(users=2, days=40))
    settings = TrainConfig(learning_rate=3e-3, batch_size=64, warmup_epochs=1, max_epochs=3)

    def start() -> NeuralBaseline:
        torch.manual_seed(0)
        return neural(config_of(kind, data))

    class Killed(Exception):
        pass

    def kill(row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise Killed

    path = tmp_path / "run.safetensors"
    options: dict[str, Any] = {"progress": False, "device": "cpu"}
    with pytest.raises(Killed):
        fit(start(), data.train, data.valid, settings, checkpoint=path, after_epoch=kill, **options)
    assert read(path)[1]["epoch"] == 2
    resumed, whole = start(), start()
    fit(resumed, data.train, data.valid, settings, checkpoint=path, **options)
    fit(whole, data.train, data.valid, settings, **options)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


# --- configuration


@both
def test_configuration_survives_a_dictionary(kind: str) -> None:
    config = NeuralConfig(kind, 10, 3, n_layers=1)  # type: ignore[arg-type]
    assert NeuralConfig.from_dict(asdict(config)) == config
    assert type(neural(config)) is {"lstm": LSTMBaseline, "mhsa": MHSABaseline}[kind]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "gru"}, "'lstm' or 'mhsa'"),
        ({"d_model": 30}, "divisible"),
        ({"n_layers": 0}, "n_layers=0"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"head_dropout": -0.1}, "head_dropout"),
    ],
)
def test_impossible_configurations_are_refused(change: dict[str, Any], says: str) -> None:
    raw = {"kind": "mhsa", "n_locations": 10, "n_users": 3}
    with pytest.raises(ValueError, match=says):
        NeuralConfig(**{**raw, **change})


def test_a_model_refuses_the_other_ones_configuration() -> None:
    with pytest.raises(ValueError, match="'mhsa'"):
        LSTMBaseline(NeuralConfig("mhsa", 10, 3))
    with pytest.raises(ValueError, match="'lstm'"):
        MHSABaseline(NeuralConfig("lstm", 10, 3))
