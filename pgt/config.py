"""The configuration of windows, model and training, the presets, and the ablations."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from pgt.errors import DataError
from pgt.refusals.settings import require_model, require_training, require_windows

Protocol = Literal["published", "exact"]
Anchor = Literal["target_day", "last_visit"]
TargetTime = Literal["unknown", "day", "hour", "time"]

PARTS = (
    "user", "time", "weekday", "recency", "duration", "position_from_end",  # embeddings
    "sinusoid", "position_bias", "pointer", "generator", "gate",
)  # fmt: skip


@dataclass(frozen=True)
class WindowConfig:
    """Everything that shapes the windows.

    Parameters
    ----------
    days : int
        Days of history before the day that ``anchor`` names.
    min_visits : int
        Windows with fewer visits are left out.
    protocol : {"published", "exact"}
        What becomes of places that the training visits never show: one location "unknown"
        (id 1), as in the literature, or each its own id after the known ones.
    anchor : {"target_day", "last_visit"}, optional
        Which day the history goes back from: the target's, as in the literature, or that of the
        last visit before it. From the target's day, a long pause leaves a short window, so the
        window's length hints at when the next visit will be; from the last visit it tells nothing.
        Left out, it is as the protocol has it: the target's day if published, else the last visit.

    Raises
    ------
    DataError
        A field is out of its range.

    Examples
    --------
    >>> WindowConfig(days=14)
    WindowConfig(days=14, min_visits=3, protocol='published', anchor=None)
    >>> WindowConfig(protocol="exact").goes_back_from
    'last_visit'
    """

    days: int = 7
    min_visits: int = 3
    protocol: Protocol = "published"
    anchor: Anchor | None = None

    def __post_init__(self) -> None:
        for name in ("days", "min_visits"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise DataError(f"{name}={value!r} must be a whole number of at least 1.")
        require_windows(self)
        for name, choices in (("protocol", get_args(Protocol)), ("anchor", get_args(Anchor))):
            value = getattr(self, name)
            if value not in choices and not (name == "anchor" and value is None):
                one, other = choices
                raise DataError(f"{name} is {value!r}; it must be {one!r} or {other!r}.")

    @property
    def goes_back_from(self) -> Anchor:
        """The anchor, or the protocol's own if it was left out."""
        return self.anchor or ("target_day" if self.protocol == "published" else "last_visit")

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> WindowConfig:
        """Read what `to_dict` wrote."""
        return cls(**raw)


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
        The most visits the model looks at; of longer windows it keeps the most recent ones.
    target_time : {"unknown", "day"}
        What the model knows of the target's time: nothing (recency counts back from the last
        visit), or its day (recency counts back from the target's day, as the design documents
        have it). Only the contextual pointer can know its "hour" or its "time".
    without : tuple of str
        Parts to remove, of `PARTS`. Without an embedding its columns are gone; without the gate
        the mixture is half and half; without the pointer or the generator the other one is the
        model.

    Raises
    ------
    ValueError
        When a field is out of its range, or nothing would be left to predict with.

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

    def __post_init__(self) -> None:
        require_model(self)
        unknown = set(self.without) - set(PARTS)
        if unknown:
            raise ValueError(f"without names {min(unknown)!r}; it can name {', '.join(PARTS)}.")
        if {"pointer", "generator"} <= set(self.without):
            raise ValueError("Without pointer and generator nothing is left to predict with.")
        if self.d_model % self.n_heads or self.d_model % 4:
            raise ValueError(
                f"d_model={self.d_model} must be divisible by n_heads={self.n_heads} and by 4."
            )
        self._check_target_time()
        for name in ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "max_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")

    def _check_target_time(self) -> None:
        if self.target_time not in ("unknown", "day"):
            raise ValueError(
                f"target_time is {self.target_time!r}; it must be 'unknown' or 'day', since only "
                "the contextual pointer can look at the target's 'hour' or 'time'."
            )

    def has(self, part: str) -> bool:
        """Whether a part is there."""
        return part not in self.without

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ModelConfig:
        """Read what `to_dict` wrote."""
        return cls(**{**raw, "without": tuple(raw["without"])})


@dataclass(frozen=True)
class TrainConfig:
    """Everything that shapes a training run.

    Parameters
    ----------
    learning_rate, weight_decay, betas, eps
        Of AdamW.
    batch_size : int
        Windows a step.
    label_smoothing : float
        Share of the target's probability that is spread over all V locations.
    warmup_epochs, max_epochs : int
        The rate rises linearly from 0, then falls along a cosine to 0 at ``max_epochs``.
    patience : int
        Stop after so many epochs without a better validation score.
    clip : float
        Longest gradient, as a norm.
    monitor : {"loss", "acc@1"}
        What "better" means on validation.
    seed : int
        Of shuffling and dropout. (Initial weights are the model's: seed before building it.)
    amp : {"auto", "on", "off"}
        bf16 in the encoder; auto is on for GPUs that have it.

    Raises
    ------
    ValueError
        When a field is out of its range.

    Examples
    --------
    >>> config = TrainConfig(max_epochs=3, warmup_epochs=1)
    >>> config.batch_size, config.learning_rate
    (128, 0.00065)
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
    amp: Literal["auto", "on", "off"] = "auto"

    def __post_init__(self) -> None:
        require_training(self)
        for name in ("learning_rate", "batch_size", "max_epochs", "patience", "clip", "eps"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}={getattr(self, name)} must be positive.")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing={self.label_smoothing} must lie in [0, 1).")
        if self.monitor not in ("loss", "acc@1"):
            raise ValueError(f"monitor is {self.monitor!r}; it must be 'loss' or 'acc@1'.")

    def learning_rate_at(self, step: int, steps_per_epoch: int) -> float:
        """Learning rate of a step, counted from 0.

        Examples
        --------
        >>> config = TrainConfig(learning_rate=1.0, warmup_epochs=1, max_epochs=3)
        >>> [round(config.learning_rate_at(step, 2), 2) for step in range(6)]
        [0.5, 1.0, 1.0, 0.85, 0.5, 0.15]
        """
        warmup = self.warmup_epochs * steps_per_epoch
        if step < warmup:
            return self.learning_rate * (step + 1) / warmup
        total = max(self.max_epochs * steps_per_epoch - warmup, 1)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / total))


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
