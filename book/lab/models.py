"""The models that experiments compare: how each is made, and how it is trained or fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from wherenext import pointer_variants
from wherenext.relatives.improvements import IMPROVEMENTS, improved

from lab import data_sets
from lab.data_sets import DATA
from lab.provenance import MEMORY
from lab.search_space import DOCUMENTED, Settings, build, build_pgt, candidates, tuned
from pgt import metrics
from pgt.baselines import ContextKernel, baselines, fit_baseline
from pgt.checkpoint import save_model, shipped
from pgt.config import PRESETS, ModelConfig, TargetTime, TrainConfig, ablate
from pgt.model import PlaceModel, PointerGeneratorTransformer
from pgt.predictor.memory import with_history
from pgt.train import fit
from pgt.vocabulary import Vocabulary
from pgt.windows import Dataset

Trained = tuple[metrics.Predictor, dict[str, Any]]
HUNDRED = "hundred_"  # of a variant: a candidate of `lab.search_space` that sees a hundred visits


@dataclass(frozen=True)
class Run:
    """One row's worth of work: which model, in which variant, which knows what, which seed."""

    model: str
    variant: str = "full"
    target_time: TargetTime = "unknown"
    seed: int | None = None

    @property
    def key(self) -> str:
        """As in ``pgt-no_pointer-day-42``."""
        return "-".join(str(part) for part in asdict(self).values())


def windows_of(key: str, run: Run) -> Dataset:
    """What a run is trained and scored on: the windows, with a memory if it has one."""
    if run.variant.startswith(HUNDRED):
        return with_history(data_sets.dataset(key), MEMORY)
    return WINDOWS[run.model](key, run) if run.model in WINDOWS else data_sets.dataset(key)


def untrained(key: str, run: Run) -> tuple[PlaceModel, TrainConfig]:
    """A run's network with its first weights, and the settings of its training.

    A variant "tuned" has the settings that were best on the validation windows
    (`lab.search_space`); an LSTM or MHSA that is "full" those that its authors published; PGT's
    variant "default" has the default values of the package, its others are ablations of the
    preset of the data.
    """
    if run.variant.startswith(HUNDRED):
        assert run.seed is not None
        settings = candidates(run.model)[run.variant.removeprefix(HUNDRED)]
        return build(run.model, settings, data_sets.dataset(key).vocabulary, run.seed)
    return NETWORKS[run.model](key, run)


def trained(key: str, run: Run) -> Trained:
    """Make and train a run's model; what it is, and notes on it."""
    data = windows_of(key, run)
    if run.model in baselines() or run.model == "kernel_memory":
        rule = fit_baseline(run.model.removesuffix("_memory"), data.train, data.valid)
        grid = ContextKernel.GRID if isinstance(rule, ContextKernel) else ()
        return rule, {name: getattr(rule, name) for name in grid}
    # "on_accuracy": the network that the variant names, as when it is "full", stopped on Acc@1.
    full = replace(run, model=run.variant, variant="full") if run.model == "on_accuracy" else run
    network, training = untrained(key, full)
    if full is not run:
        training = replace(training, monitor="acc@1")
    improvement = IMPROVEMENTS[run.variant] if run.model == "improved" else None
    loss = None if improvement is None else improvement.loss(data.train)
    history = fit(network, data.train, data.valid, training, progress=False, loss=loss)
    return network, {"parameters": network.n_parameters(), "epochs": history.best_epoch}


def ship() -> None:
    """Train the model of the town that the package ships, and write its file."""
    torch.set_num_threads(1)
    run, data = Run("pgt", seed=42), data_sets.dataset("city")
    network, notes = trained("city", run)
    assert isinstance(network, PlaceModel)
    about = {"windows": data.counts(), "preset": DATA["city"].preset, "seed": run.seed}
    save_model(shipped("city"), network, data.vocabulary, about | notes)


def _pgt(key: str, run: Run) -> tuple[PlaceModel, TrainConfig]:
    assert run.seed is not None
    if run.variant == "tuned":
        return build_pgt(tuned(run.model), data_sets.dataset(key).vocabulary, run.seed)
    torch.manual_seed(run.seed)
    if run.variant == "default":
        return build_pgt(Settings(), data_sets.dataset(key).vocabulary, run.seed)
    config, training = preset(key, data_sets.dataset(key).vocabulary, run.seed, run.target_time)
    return PointerGeneratorTransformer(ablate(config, run.variant)), training


def _rival(key: str, run: Run) -> tuple[PlaceModel, TrainConfig]:
    assert run.seed is not None
    settings = tuned(run.model) if run.variant == "tuned" else DOCUMENTED[run.model]
    return build(run.model, settings, data_sets.dataset(key).vocabulary, run.seed)


def _contextual(key: str, run: Run) -> tuple[PlaceModel, TrainConfig]:
    assert run.seed is not None
    variant = pointer_variants.VARIANTS[run.variant]
    data = data_sets.dataset(key)
    network: Any = pointer_variants.build(variant, data, run.seed, run.target_time)
    return network  # its batches are of another kind, and `fit` does not mind


def _improved(key: str, run: Run) -> tuple[PlaceModel, TrainConfig]:
    assert run.seed is not None
    torch.manual_seed(run.seed)
    config, training = preset(key, data_sets.dataset(key).vocabulary, run.seed, run.target_time)
    model = improved(config, data_sets.dataset(key).train, run.variant)
    return model, replace(training, **IMPROVEMENTS[run.variant].training)


def preset(
    key: str, vocabulary: Vocabulary, seed: int, target_time: TargetTime = "unknown"
) -> tuple[ModelConfig, TrainConfig]:
    """PGT's configuration on an entry of `DATA`, and how it is trained there."""
    chosen = PRESETS[DATA[key].preset]
    shape = chosen.model | {"target_time": target_time}
    config = ModelConfig(vocabulary.n_locations, vocabulary.n_users, **shape)
    return config, replace(chosen.training, seed=seed)


def _with_memory(key: str, run: Run) -> Dataset:
    return with_history(data_sets.dataset(key), int(run.variant.removeprefix("memory_")))


def _with_history(key: str, run: Run) -> Dataset:
    return pointer_variants.windows(data_sets.dataset(key), pointer_variants.VARIANTS[run.variant])


def _augmented(key: str, run: Run) -> Dataset:
    data = data_sets.dataset(key)
    return replace(data, train=IMPROVEMENTS[run.variant].windows(data.train))


# The windows of models that need others than the data set's; how each network is made.
WINDOWS: dict[str, Callable[[str, Run], Dataset]] = {
    "kernel_memory": _with_memory, "contextual": _with_history, "improved": _augmented,
}  # fmt: skip
NETWORKS: dict[str, Callable[[str, Run], tuple[PlaceModel, TrainConfig]]] = {
    "pgt": _pgt, "lstm": _rival, "mhsa": _rival, "contextual": _contextual, "improved": _improved,
}  # fmt: skip
