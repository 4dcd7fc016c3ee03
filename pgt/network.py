"""What all networks have in common, and what training wants of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pgt.batch import Batch
from pgt.mixture import Mixture
from pgt.sparse.ranking import Ranked


class PlaceModel(nn.Module):
    """What all networks share that score places: PGT, its relatives, its rivals."""

    config: Any

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """(B, V) log-probabilities, in evaluation mode; the interface that baselines share."""
        with evaluating(self):
            scores: Tensor = self(batch).log_probs
        return scores

    def n_parameters(self) -> int:
        """Count the trained numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


class MixtureModel(PlaceModel):
    """A `PlaceModel` that can do without (B, V): `pgt.mixture.Mixture` says how."""

    def mixture(self, batch: Any) -> Mixture:
        """Predict every window of a batch, and write down what a loss or a rank needs."""
        raise NotImplementedError

    @torch.no_grad()
    def rank(self, batch: Batch, k: int = 1) -> Ranked:
        """Rank the targets of a batch, in evaluation mode, see `pgt.mixture.Mixture.rank`."""
        with evaluating(self):
            return self.mixture(batch).rank(batch.target, batch.index, k)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, and leave the model as it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def at_least_float32(x: Tensor) -> Tensor:
    """Widen half precision, leave the rest."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


class HasLogProbs(Protocol):
    """What a network returns: at least (B, V) log-probabilities."""

    @property
    def log_probs(self) -> Tensor: ...


class NetworkConfig(Protocol):
    """What a network's configuration tells of itself."""

    @property
    def max_len(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...


class Network(Protocol):
    """What `pgt.train.fit` trains and a checkpoint holds: PGT, or a rival of it.

    A ``torch.nn.Module`` with a configuration, that gives log-probabilities for a batch.
    """

    @property
    def config(self) -> NetworkConfig: ...
    def __call__(self, batch: Batch, /) -> HasLogProbs: ...
    def scores(self, batch: Batch) -> Tensor: ...
    def n_parameters(self) -> int: ...
    def to(self, device: Any, /) -> Any: ...
    def train(self, mode: bool = True) -> Any: ...
    def eval(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> Any: ...
    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...
