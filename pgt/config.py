"""The settings of windows, model and training; the presets and the ablations by name."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from pgt.errors import DataError

Protocol = Literal["published", "exact"]
Anchor = Literal["target_day", "last_visit"]
TargetTime = Literal["unknown", "day", "hour", "time"]

PARTS = (
    "user", "time", "weekday", "recency", "duration", "position_from_end",  # embeddings
    "sinusoid", "position_bias", "pointer", "generator", "gate",
)  # fmt: skip

LARGEST_INT = 2**31 - 1
MOST_SEED = 2**40  # generators are seeded with seed and epoch, as one number of 64 bits
BELOW_ONE = 0.999999


def check_range(config: Any, **bounds: tuple[float, float]) -> None:
    """Refuse settings that are no numbers, or lie outside of their bounds, which are included."""
    types = {field.name: field.type for field in fields(config)}
    for name, (low, high) in bounds.items():
        value, whole = getattr(config, name), types[name] == "int"
        is_number = type(value) is int or (isinstance(value, float) and not whole)
        if not (is_number and low <= value <= high):
            noun = "whole number (an int of Python)" if whole else "number"
            raise DataError(f"{name}={value!r} must be a {noun} from {low} to {high}.")


def check_choice(config: Any, **choices: tuple[Any, ...]) -> None:
    """Refuse settings that are none of the choices."""
    for name, allowed in choices.items():
        if (value := getattr(config, name)) not in allowed:
            raise DataError(f"{name} is {value!r}; choose {' or '.join(map(repr, allowed))}.")


@dataclass(frozen=True)
class WindowConfig:
    """Everything that shapes the windows: days of history, and at least so many visits."""

    days: int = 7
    min_visits: int = 3
    # Places that the training visits never show are one location "unknown" (id 1), as in the
    # literature ("published"), or each has its own id ("exact").
    protocol: Protocol = "published"
    # The day that the history goes back from: the target's, as in the literature (the window's
    # length then hints at when the next visit will be), or the last visit's. Left out: the
    # target's day if published, else the last visit's.
    anchor: Anchor | None = None
    # Of `pgt.with_history`: visits that come with each question, and summaries of older places.
    memory: int = 0
    older: int = 0

    def __post_init__(self) -> None:
        check_range(self, days=(1, LARGEST_INT), min_visits=(1, LARGEST_INT))
        check_range(self, memory=(0, LARGEST_INT), older=(0, LARGEST_INT))
        check_choice(self, protocol=get_args(Protocol), anchor=(*get_args(Anchor), None))

    @property
    def goes_back_from(self) -> Anchor:
        """The anchor, or the protocol's own if it was left out."""
        return self.anchor or ("target_day" if self.protocol == "published" else "last_visit")

    def differences(self, other: Self) -> str:
        """The settings that differ, as "days=4 and not 7", or nothing."""
        names = ("days", "min_visits", "protocol", "goes_back_from")
        both = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return ", ".join(f"{name}={one!r} and not {two!r}" for name, one, two in both if one != two)


@dataclass(frozen=True)
class ModelConfig:
    """Everything that shapes the model.

    Parameters
    ----------
    n_locations, n_users : int
        Vocabulary sizes with their special ids (`Vocabulary.n_locations`, ``n_users``).
    d_model, n_heads, n_layers, d_feedforward, dropout
        As in PyTorch's ``TransformerEncoderLayer``.
    max_len : int
        The most visits the model looks at: the most recent ones.
    target_time : {"unknown", "day"}
        What it knows of the target: nothing, or its day.
    without : tuple of str
        Parts to remove, of `PARTS`. Without the gate the mixture is half and half.

    Examples
    --------
    >>> ModelConfig(n_locations=100, n_users=10, without=("gate",)).without
    ('gate',)
    """

    n_locations: int
    n_users: int
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    d_feedforward: int = 128
    dropout: float = 0.15
    max_len: int = 150
    target_time: TargetTime = "unknown"
    without: tuple[str, ...] = ()

    TARGET_TIMES: ClassVar = ("unknown", "day")  # hour and time are the contextual pointer's

    def __post_init__(self) -> None:
        sizes = ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "d_feedforward",
                 "max_len")  # fmt: skip
        check_range(self, dropout=(0, BELOW_ONE), **dict.fromkeys(sizes, (1, LARGEST_INT)))
        if unknown := set(self.without) - set(PARTS):
            raise DataError(f"without names {min(unknown)!r}; it can name {', '.join(PARTS)}.")
        if {"pointer", "generator"} <= set(self.without):
            raise DataError("Without pointer and generator nothing is left to predict with.")
        if self.d_model % self.n_heads or self.d_model % 4:
            raise DataError(
                f"d_model={self.d_model} must be divisible by n_heads={self.n_heads} and by 4."
            )
        check_choice(self, target_time=self.TARGET_TIMES)

    def has(self, part: str) -> bool:
        """Whether a part is there."""
        return part not in self.without

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Self:
        """Read what `dataclasses.asdict` wrote, from JSON or not."""
        tuples: Any = {name: tuple(raw[name]) for name in ("without", "features") if name in raw}
        return cls(**raw | tuples)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that shapes a training run.

    Parameters
    ----------
    learning_rate, weight_decay, betas, eps
        Of AdamW.
    batch_size, label_smoothing
    warmup_epochs, max_epochs, patience
        The rate rises linearly, then falls along a cosine to 0 at ``max_epochs``; training stops
        after ``patience`` epochs without a better validation score, which is the ``monitor``.
    clip, seed
        Longest gradient, as a norm. Of shuffling and dropout (first weights are the model's).

    Examples
    --------
    >>> TrainConfig(max_epochs=3, warmup_epochs=1).batch_size
    128
    """

    learning_rate: float = 6.5e-4
    weight_decay: float = 0.015
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    batch_size: int = 128
    label_smoothing: float = 0.03
    warmup_epochs: int = 5
    max_epochs: int = 50
    patience: int = 5
    clip: float = 0.8
    monitor: Literal["loss", "acc@1"] = "loss"
    seed: int = 42

    def __post_init__(self) -> None:
        check_range(
            self, learning_rate=(1e-12, 1e3), weight_decay=(0, 1e3), eps=(1e-30, 1),
            clip=(1e-12, 1e12), label_smoothing=(0, BELOW_ONE), warmup_epochs=(0, LARGEST_INT),
            seed=(0, MOST_SEED),
            **dict.fromkeys(("batch_size", "max_epochs", "patience"), (1, LARGEST_INT)),
        )  # fmt: skip
        check_choice(self, monitor=("loss", "acc@1"))

    def learning_rate_at(self, step: int, steps_per_epoch: int) -> float:
        """Learning rate of a step, counted from 0: linearly up, then down along a cosine."""
        warmup = self.warmup_epochs * steps_per_epoch
        if step < warmup:
            return self.learning_rate * (step + 1) / warmup
        total = max(self.max_epochs * steps_per_epoch - warmup, 1)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / total))


class Preset(NamedTuple):
    """A model's shape and its training under one name; vocabulary sizes are the data's."""

    model: dict[str, Any]
    training: TrainConfig


# Its training stops on the accuracy, chosen on validation: the loss stops too early (chapter 10).
CITY = TrainConfig(monitor="acc@1")

PRESETS: dict[str, Preset] = {
    "default": Preset({}, TrainConfig()),
    "city": Preset({}, CITY),
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
    **{f"no_{part}": {"without": (part,)} for part in PARTS[: PARTS.index("position_bias")]},
    "one_layer": {"n_layers": 1},
    **{f"no_{part}": {"without": (part,)} for part in ("pointer", "generator", "gate")},
}


def ablate(config: ModelConfig, name: str) -> ModelConfig:
    """The configuration with one row of `ABLATIONS` applied."""
    if name not in ABLATIONS:
        raise DataError(f"There is no ablation {name!r}; choose of {', '.join(ABLATIONS)}.")
    return replace(config, **ABLATIONS[name])
