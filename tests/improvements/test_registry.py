"""Every improvement in the one model: what it must leave as it is, and what it may cost."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from lab import models
from lab.models import Run
from wherenext import city
from wherenext.results import read_results, results_folder

from pgt.batch import Batch
from pgt.config import ModelConfig, TrainConfig, WindowConfig
from pgt.errors import DataError
from pgt.files import load_weights
from pgt.improvements import IMPROVEMENTS, improved, training_of
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import Dataset, prepare

from ..helpers import MONDAY, changed, pad_to, random_visits, tiny_config

BUDGET = 500_000
FIELDS = ("log_probs", "gate", "pointer_log_probs", "generator_log_probs")
# Parts whose first weights make them do nothing yet, or that change the training only.
QUIET = {
    "plain", "focal", "balanced", "no_smoothing", "more_smoothing", "augmented", "temperature",
    "coverage",
}  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130, places=30), protocol="exact")


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    lengths = data.train.lengths
    return data.train.batch([lengths.argmin(), lengths.argmax(), *range(0, len(lengths), 17)])


def built(data: Dataset, *names: str, seed: int = 0) -> PointerGeneratorTransformer:
    """A small model with its first weights."""
    torch.manual_seed(seed)
    return improved(tiny_config(data), data.train, *names)


def scrambled(data: Dataset, *names: str) -> PointerGeneratorTransformer:
    """The model in double precision, as if every part had learned something."""
    model = built(data, *names).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for values in model.parameters():
            values += 0.3 * torch.randn(values.shape, generator=generator)
    return model


def test_with_nothing_plugged_in_it_is_pgt(data: Dataset, batch: Batch) -> None:
    torch.manual_seed(3)
    pgt = PointerGeneratorTransformer(tiny_config(data)).eval()
    for names in ((), ("plain",)):
        model = built(data, *names, seed=3).eval()
        assert type(model) is PointerGeneratorTransformer and model.config == pgt.config
        assert torch.equal(model(batch).log_probs, pgt(batch).log_probs)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_models_of_one_seed_begin_alike(data: Dataset, batch: Batch, name: str) -> None:
    plain, model = built(data).state_dict(), built(data, name)
    if name != "four_layers":  # further layers are drawn before what comes after them
        mine = model.state_dict()
        shared = [k for k, v in plain.items() if k in mine and mine[k].shape == v.shape]
        new = ("feedforward", "tables.time", "tables.weekday", "tables.location",
               "embeddings.project", "encoder.lstm", "generator.softmax")  # fmt: skip
        assert len(shared) >= len(plain) / 3
        assert not [
            k for k in shared if not torch.equal(plain[k], mine[k]) and not any(n in k for n in new)
        ]
    with torch.no_grad():
        ours, theirs = (m.eval()(batch).log_probs for m in (model, built(data)))
    assert torch.allclose(ours, theirs, atol=1e-5) == (name in QUIET)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_padding_batch_mates_and_batch_size_change_nothing(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = scrambled(data, name)
    with torch.no_grad():
        whole = model(batch)
        wider = model(pad_to(batch, batch.location.shape[1] + 7))
        numbers = batch.index.numpy()
        backwards = model(data.train.batch(numbers[::-1].copy()))
        for field in FIELDS:
            value = getattr(whole, field)
            torch.testing.assert_close(getattr(wider, field), value, atol=1e-11, rtol=0)
            torch.testing.assert_close(getattr(backwards, field).flip(0), value, atol=1e-11, rtol=0)
        for i in (0, 1, 3):
            alone = model(data.train.batch(numbers[[i]]))
            torch.testing.assert_close(alone.log_probs[0], whole.log_probs[i], atol=1e-11, rtol=0)
        hidden = {n: getattr(batch, n).masked_fill(batch.padding, 3)
                  for n in ("location", "time", "weekday", "duration", "days_ago")}  # fmt: skip
        other = model(changed(batch, **hidden)).log_probs
        torch.testing.assert_close(other, whole.log_probs, atol=1e-11, rtol=0)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_every_output_is_a_distribution_and_nothing_tells_of_the_target(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = scrambled(data, name)
    out = model(batch)
    for log_probs in (out.log_probs, out.pointer_log_probs, out.generator_log_probs):
        assert (log_probs.logsumexp(1).abs() < 1e-11).all()
    assert (out.pointer_attention[batch.padding] == 0).all()
    hidden = {n: torch.ones_like(getattr(batch, n))
              for n in ("target", "target_time", "target_weekday", "gap_days")}  # fmt: skip
    assert torch.equal(model(changed(batch, **hidden)).log_probs, out.log_probs)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_one_step_of_training_reaches_every_weight(data: Dataset, batch: Batch, name: str) -> None:
    model, part = built(data, name).train(), IMPROVEMENTS[name]
    training = training_of(name, TrainConfig())
    losses = part.loss(data.train)(model(batch).log_probs, batch.target, training.label_smoothing)
    assert losses.shape == (len(batch),) and (losses >= 0).all()
    losses.mean().backward()  # type: ignore[no-untyped-call]
    for key, values in model.named_parameters():
        assert values.grad is not None, key
        assert torch.isfinite(values.grad).all(), key
    before = {k: v.detach().clone() for k, v in model.named_parameters()}
    torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01).step()
    assert all(torch.isfinite(v).all() for v in model.parameters())
    # A weight that neither the loss nor decay moves is one that starts at zero and is not read.
    still = {k for k, v in model.named_parameters() if torch.equal(v, before[k])}
    assert all(not before[k].any() for k in still)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_weights_can_be_put_into_another_model_of_the_kind(
    data: Dataset, batch: Batch, name: str
) -> None:
    model, other = scrambled(data, name), built(data, name, seed=5).double().eval()
    load_weights(other, model.state_dict(), "other")
    assert torch.equal(model(batch).log_probs, other(batch).log_probs)


# --- the budget


@pytest.fixture(scope="module")
def as_large_as_geolife() -> Dataset:
    """45 people and 2,048 places, of which 1,185 are known from training, as on GeoLife."""
    rows = []
    for split, first, last, day in (("train", 0, 1185, 0), ("valid", 1185, 1500, 100),
                                    ("test", 1500, 2048, 140)):  # fmt: skip
        for place in range(first, last):
            at = (place - first) // 45
            for n in (0, 30):
                since = pd.Timedelta(days=day, hours=12 * (at + n))
                rows.append((place % 45, place, MONDAY + since, split))
    table = pd.DataFrame(rows, columns=["user_id", "location_id", "started_at", "split"])
    table["finished_at"] = table.started_at + pd.Timedelta(hours=6)
    table = table.sort_values(["user_id", "started_at", "location_id"], ignore_index=True)
    return prepare(table.drop_duplicates(["user_id", "started_at"]), protocol="exact")


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_every_variant_stays_below_the_budget(as_large_as_geolife: Dataset, name: str) -> None:
    vocabulary = as_large_as_geolife.vocabulary
    assert vocabulary.n_locations > 2000 and vocabulary.n_users == 46
    config = ModelConfig(vocabulary.n_locations, vocabulary.n_users)
    assert improved(config, as_large_as_geolife.train, name).n_parameters() < BUDGET


def test_the_models_that_were_measured_stayed_below_it_in_the_town() -> None:
    """On GeoLife they have the documents' own size, which is above it without any improvement."""
    notes = read_results("improvements").header["runs"]
    sizes = {k: note["parameters"] for k, note in notes.items() if "parameters" in note}
    town = {k: n for k, n in sizes.items() if k.startswith("city/")}
    assert len(town) >= 5 * 20
    assert not {k: n for k, n in town.items() if n >= BUDGET}
    assert min(n for k, n in sizes.items() if "/improved-plain-" in k and k not in town) > BUDGET


# --- several at once


@pytest.mark.parametrize(
    "names",
    [
        ("relative_bias", "post_norm"), ("geglu", "post_norm"), ("post_norm", "geglu"),
        ("multi_scale_time", "cross_attention"), ("cross_attention", "multi_scale_time"),
        ("adaptive_embeddings", "mixture_of_softmaxes"), ("coverage", "adaptive_softmax", "rope"),
    ],
)  # fmt: skip
def test_parts_can_be_plugged_in_together(
    data: Dataset, batch: Batch, names: tuple[str, ...]
) -> None:
    both = scrambled(data, *names)
    assert (both(batch).log_probs.logsumexp(1).abs() < 1e-11).all()
    kinds = {type(module).__name__ for module in both.modules()}
    for name in names:  # nothing that one of them brought has been lost
        alone = {type(module).__name__ for module in built(data, name).modules()}
        plain = {type(module).__name__ for module in built(data).modules()}
        assert alone - plain <= kinds, name


def test_the_definite_list_is_the_five_of_the_document(data: Dataset) -> None:
    kinds = {type(module).__name__ for module in built(data, "all_five").modules()}
    assert {"RelativeSelfAttention", "GeGLU", "CyclicTime", "EncoderLayer"} <= kinds
    loss = IMPROVEMENTS["all_five"].loss(data.train)
    assert loss.__name__.startswith("focal")


def test_a_name_that_does_not_exist_is_named(data: Dataset) -> None:
    with pytest.raises(ValueError, match="no improvement 'reglu'; choose of plain"):
        built(data, "reglu")


# --- training


def test_what_is_measured_trains_on_the_data_that_it_should() -> None:
    """Only augmentation changes windows, and only those of training."""
    plain = models.windows_of("city", Run("improved", "plain", seed=1))
    for name in IMPROVEMENTS:
        seen = models.windows_of("city", Run("improved", name, seed=1))
        assert seen.valid is plain.valid and seen.test is plain.test
        assert (seen.train is plain.train) == (name != "augmented"), name


def test_the_training_is_the_plain_ones_but_for_what_is_proposed() -> None:
    base = TrainConfig(learning_rate=0.5)
    changed_by = {name: training_of(name, base) for name in IMPROVEMENTS}
    assert {n for n, r in changed_by.items() if r != base} == {"no_smoothing", "more_smoothing"}
    assert changed_by["no_smoothing"] == replace(base, label_smoothing=0.0)


def test_a_run_is_not_resumed_with_another_loss(data: Dataset, tmp_path: Path) -> None:
    once = TrainConfig(max_epochs=1)
    focal = IMPROVEMENTS["focal"].loss(data.train)
    path = tmp_path / "run.safetensors"
    fit(built(data), data.train, data.valid, once, checkpoint=path, progress=False, loss=focal)
    with pytest.raises(DataError, match=r"loss was focal_2, now cross-entropy"):
        fit(built(data), data.train, data.valid, once, checkpoint=path, progress=False)


@pytest.mark.parametrize("name", ["focal", "balanced", "augmented", "temperature"])
def test_the_loss_reaches_the_training_and_not_the_validation(data: Dataset, name: str) -> None:
    """Two epochs with the proposal and without: other weights, validated by the same measure."""
    part, training = IMPROVEMENTS[name], TrainConfig(max_epochs=2, warmup_epochs=1)
    models, histories = [], []
    for loss, train in ((part.loss(data.train), part.windows(data.train)),
                        (IMPROVEMENTS["plain"].loss(data.train), data.train)):  # fmt: skip
        model = built(data, name)
        histories.append(fit(model, train, data.valid, training, progress=False, loss=loss))
        models.append(model)
    same = torch.equal(*(m(data.test.batch([0])).log_probs for m in models))
    assert same == (name == "temperature")
    model, history = models[0], histories[0]
    total = 0.0
    with torch.no_grad():
        for seen in data.valid.batches(512):
            total -= float(model(seen).log_probs.gather(1, seen.target[:, None]).sum())
    best = history.table().loc[history.best_epoch]
    assert math.isclose(total / len(data.valid), best.valid_loss, rel_tol=1e-5)


@pytest.mark.slow
def test_every_variant_has_its_size_on_the_city() -> None:
    """As measured: the same numbers of parameters as book/results tells."""
    if not (results_folder() / "improvements.json").exists():
        pytest.skip("book/results/improvements.json is not there")
    header = read_results("improvements").header
    notes = header["runs"]
    # Which places come often enough for a wide vector hangs on the windows.
    anchor = next(one for one in header["data"] if one["name"] == "city").get("anchor")
    config = WindowConfig(protocol="exact", anchor=anchor or "target_day")
    data = prepare(city.load().visits, config=config)
    config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    for name in IMPROVEMENTS:
        note = notes.get(f"city/improved-{name}-unknown-42")
        if note is not None:
            assert improved(config, data.train, name).n_parameters() == note["parameters"], name
