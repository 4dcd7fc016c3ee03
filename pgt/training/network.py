"""What training wants of a network: PGT, or a rival of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor, nn

from pgt.batch import Batch


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
