"""The settings that LSTM, MHSA and PGT are compared with: as documented, and tuned with equal care.

Each model has the same ten candidates: its documented settings; the same, stopped on the validation
accuracy; and eight corners of a cube of six settings with two levels each. Which of them won on the
validation windows of GeoLife (`lab.tuning`) is written down here as `TUNED`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import torch

from lab.lstm_mhsa import KINDS, PUBLISHED, NeuralConfig, neural
from pgt.config import PRESETS, ModelConfig, TrainConfig
from pgt.model import PlaceModel, PointerGeneratorTransformer
from pgt.vocabulary import Vocabulary

MODELS = (*KINDS, "pgt")


@dataclass(frozen=True)
class Settings:
    """One candidate."""

    shape: dict[str, Any] = field(default_factory=dict)
    training: TrainConfig = field(default_factory=TrainConfig)


# Hong et al. (2023), config/geolife/transformer.yml. Theirs is Adam with a linear decay that starts
# anew at a tenth of the rate when validation stalls; ours is AdamW with one cosine.
_PUBLISHED_TRAINING = TrainConfig(
    learning_rate=1e-3, weight_decay=1e-6, betas=(0.9, 0.999), eps=1e-8, batch_size=32,
    label_smoothing=0.0, warmup_epochs=2, max_epochs=50, patience=3, clip=1.0,
)  # fmt: skip

DOCUMENTED: dict[str, Settings] = {
    "lstm": Settings(PUBLISHED["lstm"], _PUBLISHED_TRAINING),
    "mhsa": Settings(PUBLISHED["mhsa"], _PUBLISHED_TRAINING),
    "pgt": Settings(
        PRESETS["geolife"].model | {"target_time": "unknown"}, PRESETS["geolife"].training
    ),
}

# The two levels of each setting that is tuned.
LEVELS: dict[str, tuple[Any, Any]] = {
    "learning_rate": (5e-4, 2e-3),
    "dropout": (0.1, 0.3),
    "d_model": (64, 128),
    "n_layers": (1, 2),
    "label_smoothing": (0.0, 0.1),
    "weight_decay": (1e-5, 1e-2),
}

# Eight of the 64 corners, chosen so that any two settings meet in all four combinations, each twice
# (the orthogonal array L8: three settings vary freely, the others are parities of them).
CORNERS: tuple[dict[str, Any], ...] = tuple(
    {
        name: LEVELS[name][i]
        for name, i in zip(LEVELS, (a, b, c, a ^ b ^ c, a ^ b, a ^ c), strict=True)
    }
    for a, b, c in product((0, 1), repeat=3)
)


def candidates(model: str) -> dict[str, Settings]:
    """The ten candidates of a model, by name."""
    documented = DOCUMENTED[model]
    on_accuracy = replace(documented.training, monitor="acc@1")
    corners = {f"corner_{i}": corner(model, **at) for i, at in enumerate(CORNERS, 1)}
    return {
        "documented": documented,
        "documented_acc": Settings(documented.shape, on_accuracy),
    } | corners


def corner(
    model: str, *, learning_rate: float, dropout: float, d_model: int, n_layers: int,
    label_smoothing: float, weight_decay: float,
) -> Settings:  # fmt: skip
    """Settings for any of the models; what is not tuned is the same for all."""
    shape = {
        "d_model": d_model, "n_heads": 4, "n_layers": n_layers, "d_feedforward": 2 * d_model,
        "dropout": dropout,
    }  # fmt: skip
    if model in KINDS:
        shape["head_dropout"] = dropout
    return Settings(
        shape,
        TrainConfig(
            learning_rate=learning_rate, weight_decay=weight_decay, batch_size=128,
            label_smoothing=label_smoothing, warmup_epochs=2, max_epochs=20, patience=3,
            monitor="acc@1",
        ),
    )  # fmt: skip


# The candidate of each model with the best Acc@1 on GeoLife's validation windows (published
# protocol), measured by `python book/lab/run.py geolife_published` and checked against its results
# file by a test. The other data sets take the same settings: no model is tuned on them.
TUNED: dict[str, str] = {"lstm": "corner_4", "mhsa": "corner_8", "pgt": "corner_4"}


def build(
    model: str, settings: Settings, vocabulary: Vocabulary, seed: int
) -> tuple[PlaceModel, TrainConfig]:
    """A model with its first weights, and how to train it.

    It knows nothing of the target's time.
    """
    if model == "pgt":
        return build_pgt(settings, vocabulary, seed)
    if model not in KINDS:
        raise ValueError(f"There is no model {model!r}; choose of {', '.join(MODELS)}.")
    torch.manual_seed(seed)
    sizes = vocabulary.n_locations, vocabulary.n_users
    network = neural(NeuralConfig(model, *sizes, **settings.shape))  # type: ignore[arg-type]
    return network, replace(settings.training, seed=seed)


def build_pgt(
    settings: Settings, vocabulary: Vocabulary, seed: int
) -> tuple[PointerGeneratorTransformer, TrainConfig]:
    """As `build`, for PGT."""
    torch.manual_seed(seed)
    sizes = vocabulary.n_locations, vocabulary.n_users
    network = PointerGeneratorTransformer(ModelConfig(*sizes, **settings.shape))
    return network, replace(settings.training, seed=seed)


def tuned(model: str) -> Settings:
    """The best of a model's candidates."""
    return candidates(model)[TUNED[model]]
