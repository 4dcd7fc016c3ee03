"""Bundle: all that is needed to predict, in one safetensors file without anybody's visits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgt import checkpoint
from pgt.calibration import threshold
from pgt.contextual import ContextualConfig, ContextualPointer
from pgt.errors import DataError
from pgt.files import built
from pgt.predictor.experts import Experts

FORMAT = "predictor-1"
# A network without places or people of its own needs no more of them than it has.
NO_PLACES: dict[str, Any] = {"n_locations": 2, "n_users": 1, "n_trained_ids": 2}


@dataclass(frozen=True)
class Novelty:
    """How likely the next place is a new one: the share of late, drawn towards a mean.

    Attributes
    ----------
    mean : float
        The share of new places among everybody's visits, 0 to 1.
    strength : float
        How many visits the mean is worth.
    """

    mean: float
    strength: float

    def __call__(self, new: np.ndarray) -> np.ndarray:
        """(W, 2) how many of the latest visits were to new places, and how many there are -> (W,).

        Examples
        --------
        >>> Novelty(mean=0.2, strength=10)(np.array([[0, 0], [15, 50]])).round(3).tolist()
        [0.2, 0.283]
        """
        n_new, n = np.asarray(new, dtype=float).T
        share: np.ndarray = (n_new + self.strength * self.mean) / (n + self.strength)
        return share

    @classmethod
    def fit(cls, new: np.ndarray, is_new: np.ndarray) -> Novelty:
        """The mean, and the strength that foretells best which next places are new."""
        mean = float(np.clip(is_new.mean(), 0.01, 0.99))

        def loss(strength: float) -> float:
            p = np.clip(cls(mean, strength)(new), 1e-4, 1 - 1e-4)
            return float(-np.where(is_new, np.log(p), np.log(1 - p)).mean())

        return cls(mean, min((1.0, 3.0, 10.0, 30.0, 100.0, 300.0), key=loss))


@dataclass
class Bundle:
    """Two networks, and what turns their scores into promises.

    Attributes
    ----------
    next_place, at_a_time : Experts
        One knows nothing of the next visit's time, the other its weekday and minute.
    memory, older : int
        What they see, as in `pgt.history.with_history`.
    novelty : Novelty
    calibration : ndarray
        How strange the true answers of windows were that the networks were not trained on: 1 minus
        their probability.
    notes : dict
        Where it comes from.
    """

    next_place: Experts
    at_a_time: Experts
    memory: int
    older: int
    novelty: Novelty
    calibration: np.ndarray
    notes: dict[str, Any] = field(default_factory=dict)

    def limit(self, coverage: float) -> float:
        """How strange an answer of a set may be, for sets that hold the truth so often.

        Raises
        ------
        DataError
            The coverage is no share.
        """
        if not 0 < coverage < 1:
            raise DataError(f"coverage={coverage} must lie between 0 and 1, say 0.9.")
        return threshold(self.calibration, 1 - coverage)

    def save(self, path: str | Path) -> None:
        """Write the file as a whole or not at all."""
        tensors: dict[str, Tensor] = {"calibration": torch.from_numpy(self.calibration).float()}
        for name, network in self._networks().items():
            tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
        info = {
            "predictor": FORMAT,
            "models": {name: [one.config.to_dict() for one in net.networks]
                       for name, net in self._networks().items()},
            "memory": self.memory, "older": self.older,
            "novelty": [self.novelty.mean, self.novelty.strength], "notes": self.notes,
        }  # fmt: skip
        checkpoint.write(path, tensors, info)

    @classmethod
    def load(cls, path: str | Path) -> Bundle:
        """Read what `save` wrote.

        Raises
        ------
        DataError
            The file is missing, damaged, or of another kind.
        """
        tensors, info = checkpoint.read(path)
        name = Path(path).name
        if info.get("predictor") != FORMAT:
            raise DataError(
                f"{name} holds a single model, not a predictor; open it with pgt.load_model or "
                "pgt.load_contextual, or fit a pgt.NextLocation."
            )
        try:
            networks: dict[str, Any] = {}
            for part, raw in info["models"].items():
                configs = [ContextualConfig.from_dict(each) for each in raw]
                own = {k.removeprefix(f"{part}."): v for k, v in tensors.items()
                       if k.startswith(f"{part}.")}  # fmt: skip
                networks[part] = built(partial(_experts, configs), own, name)
            return cls(
                **networks, memory=int(info["memory"]), older=int(info["older"]),
                novelty=Novelty(*map(float, info["novelty"])),
                calibration=tensors["calibration"].double().numpy(), notes=info["notes"],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The header of {name} does not fit this version of pgt ({error})."
            ) from error

    def _networks(self) -> dict[str, Any]:
        return {"next_place": self.next_place, "at_a_time": self.at_a_time}


def _experts(configs: list[ContextualConfig]) -> Experts:
    return Experts([ContextualPointer(config) for config in configs])
