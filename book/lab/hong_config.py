"""The shapes of the neural baselines (`lab.hong`), and those that their authors publish."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

KINDS = ("lstm", "mhsa")


@dataclass(frozen=True)
class NeuralConfig:
    """Everything that shapes a neural baseline.

    >>> NeuralConfig("mhsa", n_locations=100, n_users=10, **PUBLISHED["mhsa"]).d_model
    32
    """

    kind: Literal["lstm", "mhsa"]
    n_locations: int
    n_users: int
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    d_feedforward: int = 128
    dropout: float = 0.1
    head_dropout: float = 0.2
    max_len: int = 150

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; it must be 'lstm' or 'mhsa'.")
        for name in ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "d_feedforward",
                     "max_len"):  # fmt: skip
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        if self.kind == "mhsa" and (self.d_model % self.n_heads or self.d_model % 2):
            raise ValueError(
                f"d_model={self.d_model} must be divisible by n_heads={self.n_heads} and by 2."
            )
        for name in ("dropout", "head_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must lie in [0, 1).")

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> NeuralConfig:
        """Read what `to_dict` wrote."""
        return cls(**raw)


# The sizes that the authors publish for GeoLife: of self-attention in the repository that
# `lab.hong` names (config/geolife/transformer.yml), of the LSTM in that of their earlier study
# (https://github.com/mie-lab/location-mode-prediction, config/geolife/lstm.yml).
PUBLISHED: dict[str, dict[str, Any]] = {
    "mhsa": {"d_model": 32, "n_heads": 8, "n_layers": 2, "d_feedforward": 128},
    "lstm": {"d_model": 32, "n_layers": 1, "d_feedforward": 128},
}
