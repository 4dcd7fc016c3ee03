"""Configurations by name: the presets, and the rows of the table of ablations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pgt.config import ModelConfig, TrainConfig


@dataclass(frozen=True)
class Preset:
    """A model's shape and its training, under one name.

    Attributes
    ----------
    model : dict
        Fields of `ModelConfig`; the vocabulary's sizes are the data's.
    training : TrainConfig
    """

    model: dict[str, Any] = field(default_factory=dict)
    training: TrainConfig = field(default_factory=TrainConfig)


# Its training stops on the accuracy, chosen on validation: the loss stops too early (chapter 10).
CITY = TrainConfig(monitor="acc@1")

PRESETS: dict[str, Preset] = {
    "default": Preset(),
    "city": Preset(training=CITY),
    # The two configurations of the design documents; the second one is theirs for GeoLife.
    "diy": Preset(
        {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_feedforward": 256, "dropout": 0.2,
         "target_time": "day"},
        TrainConfig(learning_rate=5e-4, weight_decay=1e-5, batch_size=64, label_smoothing=0.05,
                    warmup_epochs=7),
    ),
    "geolife": Preset(
        {"d_model": 96, "n_heads": 2, "n_layers": 2, "d_feedforward": 192, "dropout": 0.25,
         "target_time": "day"},
        TrainConfig(learning_rate=1e-3, weight_decay=1e-5, batch_size=64, label_smoothing=0.0,
                    warmup_epochs=5),
    ),
}  # fmt: skip

# The twelve rows of the documents' ablation table, each one field of the configuration.
ABLATIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "no_user": {"without": ("user",)},
    "no_time": {"without": ("time",)},
    "no_weekday": {"without": ("weekday",)},
    "no_recency": {"without": ("recency",)},
    "no_duration": {"without": ("duration",)},
    "no_position_from_end": {"without": ("position_from_end",)},
    "no_sinusoid": {"without": ("sinusoid",)},
    "one_layer": {"n_layers": 1},
    "no_pointer": {"without": ("pointer",)},
    "no_generator": {"without": ("generator",)},
    "no_gate": {"without": ("gate",)},
}


def ablate(config: ModelConfig, name: str) -> ModelConfig:
    """The configuration with one row of `ABLATIONS` applied."""
    if name not in ABLATIONS:
        raise ValueError(f"There is no ablation {name!r}; choose of {', '.join(ABLATIONS)}.")
    return replace(config, **ABLATIONS[name])
