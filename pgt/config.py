"""The configuration of the model, its documented presets, and its ablations."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

PARTS = (
    "user", "time", "weekday", "recency", "duration", "position_from_end",  # embeddings
    "sinusoid", "position_bias", "pointer", "generator", "gate",
)  # fmt: skip


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
    when : {"unknown", "day"}
        What the model is told of the target's time: nothing (recency counts back from the last
        visit), or its day (recency counts back from the target's day, as the design documents
        have it).
    without : tuple of str
        Parts to remove, of `PARTS`. Without an embedding its columns are gone; without the gate
        the mixture is half and half; without the pointer or the generator the other one is the
        model.

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
    when: Literal["unknown", "day"] = "unknown"
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.without) - set(PARTS)
        if unknown:
            raise ValueError(f"without names {min(unknown)!r}; it can name {', '.join(PARTS)}.")
        if {"pointer", "generator"} <= set(self.without):
            raise ValueError("Without pointer and generator nothing is left to predict with.")
        if self.d_model % self.n_heads or self.d_model % 4:
            raise ValueError(
                f"d_model={self.d_model} must be divisible by n_heads={self.n_heads} and by 4."
            )
        if self.when not in ("unknown", "day"):
            raise ValueError(f"when is {self.when!r}; it must be 'unknown' or 'day'.")
        for name in ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "max_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")

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


# The two configurations of the design documents; sizes of the vocabulary are the data's.
DIY: dict[str, Any] = {
    "d_model": 64, "n_heads": 4, "n_layers": 2, "d_feedforward": 256, "dropout": 0.2, "when": "day",
}  # fmt: skip
GEOLIFE: dict[str, Any] = {
    "d_model": 96, "n_heads": 2, "n_layers": 2, "d_feedforward": 192, "dropout": 0.25,
    "when": "day",
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
